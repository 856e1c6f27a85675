//! Does a server that may only use little memory survive what one peer does, and serve the others meanwhile?
//!
//! The servers are processes of their own with a limit on their memory, 192 MiB; their budgets are 64 MiB together.

#[path = "../fixtures/limited_program.rs"]
mod limited_program;

use std::net::SocketAddr;

use limited_program::Limited;
use serde_json::json;

use crate::budgets::{OTHER_PEER, is_full};
use crate::wire::{Wire, call, framed, mirrored, open, post};

const MIB: usize = 1 << 20;
/// How often the attacker tries. Without limits, the least number would take 240 MB; a build without optimization needs
/// a tenth of a second for each megabyte.
const ATTEMPTS: usize = if cfg!(debug_assertions) { 60 } else { 300 };

struct Victim {
    program: Limited,
    address: SocketAddr,
}

impl Victim {
    async fn start(arguments: &[&str]) -> Self {
        let program = Limited::start(arguments).await;
        let address = program.line.parse().unwrap();
        Self { program, address }
    }

    /// Returns how much memory of the system the program uses.
    fn resident_bytes(&self) -> usize {
        let status =
            std::fs::read_to_string(format!("/proc/{}/status", self.program.child.id().unwrap())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        line.trim().trim_end_matches(" kB").parse::<usize>().unwrap() << 10
    }

    /// Calls a tool a hundred times as another peer.
    async fn serves_others(&mut self) {
        for _ in 0..100 {
            let mut wire = Wire::connect_from(OTHER_PEER, self.address).await;
            wire.send(&call("little")).await;
            assert!(wire.answer().await.unwrap().is_result());
        }
        self.program.assert_alive();
    }
}

#[tokio::test]
async fn replies_that_are_not_read() {
    let mut victim = Victim::start(&["server", "192"]).await;
    let _unread = leave_unread(&victim, ATTEMPTS).await;
    victim.serves_others().await;
}

#[tokio::test]
async fn bodies_that_do_not_end() {
    let mut victim = Victim::start(&["server", "192"]).await;
    let _unfinished = leave_unfinished(&victim).await;
    victim.serves_others().await;
}

#[tokio::test]
async fn default_settings_without_a_limit() {
    let mut victim = Victim::start(&["default-server"]).await;
    victim.serves_others().await;
    let before = victim.resident_bytes();
    let unfinished = leave_unfinished(&victim).await;
    let grown = victim.resident_bytes().saturating_sub(before);
    assert!(grown < 200 * MIB, "bodies take {} MiB", grown / MIB);
    drop(unfinished);
    let _unread = leave_unread(&victim, ATTEMPTS).await;
    let grown = victim.resident_bytes().saturating_sub(before);
    assert!(grown < 200 * MIB, "replies take {} MiB", grown / MIB);
    victim.serves_others().await;
}

/// Requests replies of 4 MB and reads none of them. Most are refused.
async fn leave_unread(victim: &Victim, attempts: usize) -> Vec<Wire> {
    let mut unread = Vec::new();
    for _ in 0..attempts {
        let mut wire = Wire::connect_small(victim.address).await;
        wire.send(&call("much")).await;
        match wire.head().await.unwrap().status {
            200 => unread.push(wire),
            503 => {}
            other => panic!("{other}"),
        }
    }
    assert!((1..attempts / 2).contains(&unread.len()), "{} unread", unread.len());
    unread
}

/// Sends 250 bodies of 4 MiB, all but their last byte. Most are refused.
async fn leave_unfinished(victim: &Victim) -> Vec<Wire> {
    let body = vec![b' '; 4 * MIB - 1];
    let mut unfinished = Vec::new();
    for _ in 0..250 {
        let mut wire = Wire::connect(victim.address).await;
        let headers = mirrored("tools/call", "little");
        wire.send(&framed(&format!("{headers}Content-Length: {}\r\n", 4 * MIB), &[])).await;
        // A server that has no room answers before it has read the body.
        if wire.has_answer_or_accepts(&body).await {
            // If the server has closed the connection, its answer may be lost.
            assert!(wire.answer().await.is_none_or(|answer| is_full(&answer)));
        } else {
            unfinished.push(wire);
        }
    }
    assert!((1..50).contains(&unfinished.len()), "{} unfinished", unfinished.len());
    unfinished
}

#[tokio::test]
async fn answers_of_one_session_that_are_kept() {
    let mut victim = Victim::start(&["server", "192"]).await;
    let session = open(victim.address, "").await;
    let mut streams = Vec::new();
    for id in 0..64 {
        let params = json!({"name": "much_later", "_meta": {"progressToken": id}});
        let request = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params});
        let mut wire = Wire::connect_small(victim.address).await;
        wire.send(&post(&session, &request.to_string())).await;
        let head = wire.head().await.unwrap();
        // Half of the clients leave before the answer, and half do not read it.
        if head.status == 200 && id % 2 == 0 {
            streams.push(wire);
        }
    }
    victim.serves_others().await;
    assert!(!streams.is_empty());
}

#[cfg(feature = "h2c")]
#[tokio::test]
async fn http_2_streams_without_a_window() {
    let mut victim = Victim::start(&["server", "192"]).await;
    let mut connections = Vec::new();
    let (mut unread, mut full) = (Vec::new(), 0);
    for _ in 0..3 {
        let socket = tokio::net::TcpStream::connect(victim.address).await.unwrap();
        let mut builder = h2::client::Builder::new();
        let (mut sender, connection) =
            builder.initial_window_size(0).handshake::<_, bytes::Bytes>(socket).await.unwrap();
        connections.push(tokio::spawn(connection));
        for _ in 0..ATTEMPTS / 3 {
            sender = sender.ready().await.unwrap();
            let body = crate::wire::stateless("1", "tools/call", r#""name":"much","#);
            let request = http::Request::post("http://localhost/mcp")
                .header("content-type", "application/json")
                .header("accept", "application/json, text/event-stream")
                .header("mcp-protocol-version", crate::wire::LATEST)
                .header("mcp-method", "tools/call")
                .header("mcp-name", "much");
            let (response, mut stream) = sender.send_request(request.body(()).unwrap(), false).unwrap();
            stream.send_data(body.into(), true).unwrap();
            let response = response.await.unwrap();
            match response.status().as_u16() {
                200 => unread.push(response),
                503 => full += 1,
                other => panic!("{other}"),
            }
        }
    }
    victim.serves_others().await;
    assert!(!unread.is_empty() && full > ATTEMPTS / 2, "{} unread, {full} refused", unread.len());
}

/// With default settings and without a limit.
#[tokio::test]
async fn the_memory_of_finished_bodies_goes_back_to_the_system() {
    let mut victim = Victim::start(&["default-server"]).await;
    let body = " ".repeat(4 * MIB - 1000) + &crate::wire::stateless("1", "tools/call", r#""name":"little","#);
    let request = post(&mirrored("tools/call", "little"), &body);
    let before = victim.resident_bytes();
    for _ in 0..3 {
        // As many at a time as one peer may send.
        for _ in 0..20 {
            let mut wires = Vec::new();
            for _ in 0..5 {
                wires.push(Wire::connect(victim.address).await);
            }
            for wire in &mut wires {
                wire.send(&request).await;
            }
            for wire in &mut wires {
                assert!(wire.answer().await.unwrap().is_result());
            }
        }
    }
    let grown = victim.resident_bytes().saturating_sub(before);
    assert!(grown < 64 * MIB, "{} MiB more than before", grown / MIB);
    victim.serves_others().await;
}
