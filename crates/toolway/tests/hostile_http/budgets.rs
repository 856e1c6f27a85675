//! How much memory, and how many places, can one peer take? It is refused beyond its share, and other peers are served
//! meanwhile.

use std::sync::Arc;

use serde_json::json;
use tokio::sync::Semaphore;
use toolway::prelude::*;
use toolway::server::http::Network;

use crate::wire::{Answer, Served, Wire, call, framed, get, mirrored, post};
use crate::{MEMORY, peak_since, turn};

const MIB: usize = 1 << 20;
/// The share of one peer in these tests, of each kind of memory.
const SHARE: usize = 2 * MIB;
/// The most that one peer may take: its share, and what its connections and the test take.
const MOST_OF_ONE_PEER: usize = 3 * SHARE;
/// Another address of this machine, which counts as another peer.
pub(crate) const OTHER_PEER: &str = "127.0.0.2";

/// Returns much.
#[tool]
fn much() -> String {
    "x".repeat(3_000_000)
}

/// Returns more than the buffers of a socket take.
#[tool]
fn very_much() -> String {
    "x".repeat(14_000_000)
}

/// Says something, and returns much.
#[tool]
async fn much_later(ctx: Ctx) -> String {
    ctx.progress(1, 2, "soon").await;
    "x".repeat(200_000)
}

/// Says far more than a peer may leave unread.
#[tool]
async fn talk(ctx: Ctx, gate: State<Arc<Semaphore>>) -> &'static str {
    let text = "x".repeat(200_000);
    for n in 1..=200 {
        ctx.progress(n, 200, &text).await;
    }
    gate.add_permits(1);
    "all said"
}

#[tool]
fn little() -> &'static str {
    "little"
}

/// Waits until it is told to go on.
#[tool]
async fn hold(gate: State<Arc<Semaphore>>) -> &'static str {
    gate.acquire().await.unwrap().forget();
    "held"
}

fn server() -> toolway::server::ServerBuilder {
    Server::new("budgets", "1.0.0")
        .body_budget(4 * SHARE, SHARE)
        .reply_budget(4 * SHARE, SHARE)
        .kept_budget(4 * SHARE, SHARE)
        .state(Arc::new(Semaphore::new(0)))
        .tools(tools![much, very_much, much_later, talk, little, hold])
}

/// Returns whether an answer reports that the server is full, and when to retry.
pub(crate) fn is_full(answer: &Answer) -> bool {
    let error = &answer.json()["error"];
    let is_busy = error["code"] == -32603 && error["data"]["retryAfterMs"].is_u64();
    answer.status == 503 && answer.header("retry-after").is_some() && is_busy
}

/// Calls a tool as another peer, often.
async fn other_peer_is_served(door: &Served) {
    for _ in 0..100 {
        let mut wire = Wire::connect_from(OTHER_PEER, door.address).await;
        wire.send(&call("little")).await;
        assert!(wire.answer().await.unwrap().is_result());
    }
}

#[tokio::test]
async fn replies_that_are_not_read_take_no_more_than_a_share() {
    let _turn = turn().await;
    let share = 8 * MIB;
    let server = server().reply_budget(4 * share, share).build().unwrap();
    let door = Served::start(server.http()).await;
    assert!(door.is_well().await);
    let before = MEMORY.current_usage();
    MEMORY.reset_peak_usage();
    let (mut unread, mut full) = (Vec::new(), 0);
    for _ in 0..30 {
        let mut wire = Wire::connect_small(door.address).await;
        wire.send(&call("much")).await;
        let head = wire.head().await.unwrap();
        match head.status {
            200 => unread.push(wire),
            503 => full += 1,
            other => panic!("{other}"),
        }
    }
    assert!(unread.len() >= 2 && full > 20, "{} unread, {full} refused", unread.len());
    let peak = peak_since(before);
    // Each reply is formatted before it is charged.
    assert!(peak < 3 * share, "{peak} bytes at the peak");
    assert_eq!(server.usage().replies.refused, full);
    other_peer_is_served(&door).await;
    drop(unread);
    // When the connections are closed, there is room again.
    loop {
        let mut wire = door.connect().await;
        wire.send(&call("much")).await;
        if wire.answer().await.unwrap().is_result() {
            break;
        }
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn notifications_that_are_not_read_take_no_more_than_a_share() {
    let _turn = turn().await;
    let server = server().build().unwrap();
    let said = server.state::<Arc<Semaphore>>().unwrap().clone();
    let door = Served::start(server.http()).await;
    assert!(door.is_well().await);
    let before = MEMORY.current_usage();
    MEMORY.reset_peak_usage();
    let mut wire = door.connect().await;
    let body = crate::wire::stateless("1", "tools/call", r#""name":"talk","#);
    let body = body.replacen(r#""_meta":{"#, r#""_meta":{"progressToken":1,"#, 1);
    wire.send(&post(&mirrored("tools/call", "talk"), &body)).await;
    assert_eq!(wire.head().await.unwrap().status, 200);
    said.acquire().await.unwrap().forget();
    let peak = peak_since(before);
    assert!(peak < MOST_OF_ONE_PEER, "{peak} bytes at the peak, of 40 MB that were said");
    assert!(server.usage().replies.refused > 0);
    other_peer_is_served(&door).await;
    // The call has one end, for a client that reads on.
    let rest = wire.until(r#""id":1"#).await;
    assert!(rest.contains("all said") || rest.contains("retryAfterMs"), "{}", rest.len());
}

#[tokio::test]
async fn bodies_that_do_not_end_take_no_more_than_a_share() {
    let _turn = turn().await;
    let server = server().build().unwrap();
    let door = Served::start(server.http()).await;
    assert!(door.is_well().await);
    let before = MEMORY.current_usage();
    MEMORY.reset_peak_usage();
    let half = vec![b' '; SHARE / 8];
    let mut unfinished = Vec::new();
    for n in 0..100 {
        let mut wire = door.connect().await;
        // With and without a length.
        let start = if n % 2 == 0 {
            let headers = mirrored("tools/call", "little");
            framed(&format!("{headers}Content-Length: {}\r\n", 2 * half.len()), &half)
        } else {
            let headers = format!("{}Transfer-Encoding: chunked\r\n", mirrored("tools/call", "little"));
            [framed(&headers, format!("{:x}\r\n", half.len()).as_bytes()), half.clone(), b"\r\n".to_vec()]
                .concat()
        };
        wire.send(&start).await;
        unfinished.push(wire);
    }
    let refused = server.usage().bodies.refused;
    assert!(refused > 80, "{refused} of 100 are refused");
    let peak = peak_since(before);
    assert!(peak < MOST_OF_ONE_PEER, "{peak} bytes at the peak");
    other_peer_is_served(&door).await;
    // Bodies without a length share what is left, so one of them may find room after another was refused.
    for wire in unfinished.iter_mut().step_by(2).skip(10) {
        let answer = wire.answer().await.unwrap();
        assert!(is_full(&answer), "{answer:?}");
    }
}

#[tokio::test]
async fn a_body_larger_than_the_share_is_accepted_alone() {
    let _turn = turn().await;
    let server = server().body_budget(4 * MIB, MIB).build().unwrap();
    let door = Served::start(server.http()).await;
    let large = " ".repeat(3 * MIB) + &crate::wire::stateless("1", "server/discover", "");
    let headers = mirrored("server/discover", "");
    assert!(door.ask(&post(&headers, &large)).await.is_result());
    // And without a length.
    let chunk = format!("{:x}\r\n{large}\r\n0\r\n\r\n", large.len());
    let chunked = framed(&format!("{headers}Transfer-Encoding: chunked\r\n"), chunk.as_bytes());
    assert!(door.ask(&chunked).await.is_result());
    assert_eq!(server.usage().bodies.refused, 0);
}

#[tokio::test]
async fn answers_that_are_kept_take_no_more_than_a_share() {
    let _turn = turn().await;
    let server = server().build().unwrap();
    let door = Served::start(server.http()).await;
    let session = door.open("").await;
    let before = MEMORY.current_usage();
    MEMORY.reset_peak_usage();
    let mut ids = Vec::new();
    for id in 0..64 {
        let params = json!({"name": "much_later", "_meta": {"progressToken": id}});
        let request = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params});
        let answer = door.ask(&post(&session, &request.to_string())).await;
        let text = String::from_utf8(answer.body).unwrap();
        assert!(text.len() > 200_000, "the answer is read");
        ids.push(text.lines().find_map(|line| line.strip_prefix("id: ")).unwrap().to_owned());
    }
    let peak = peak_since(before);
    assert!(peak < MOST_OF_ONE_PEER, "{peak} bytes at the peak");
    // The newest can be resumed, the oldest is forgotten.
    for (id, status) in [(&ids[63], 200), (&ids[0], 400)] {
        let answer = door.ask(&get(&format!("{session}Last-Event-ID: {id}\r\n"))).await;
        assert_eq!(answer.status, status);
    }
    assert!(server.usage().kept.used <= SHARE, "{:?}", server.usage());
}

#[tokio::test]
async fn a_request_runs_until_its_reply_is_read() {
    let _turn = turn().await;
    let server = server().max_in_flight(10, 2).reply_budget(100 * MIB, 100 * MIB).build().unwrap();
    let door = Served::start(server.http()).await;
    let mut unread = Vec::new();
    for _ in 0..2 {
        let mut wire = door.connect().await;
        wire.send(&call("very_much")).await;
        let head = wire.head().await.unwrap();
        assert_eq!(head.status, 200);
        unread.push((wire, head));
    }
    assert!(is_full(&door.ask(&call("little")).await));
    other_peer_is_served(&door).await;
    let (mut read, head) = unread.pop().unwrap();
    read.read_body(&head).await;
    while server.usage().requests.used > 1 {
        tokio::task::yield_now().await;
    }
    assert!(door.ask(&call("little")).await.is_result());
}

#[tokio::test]
async fn one_address_has_a_share_of_the_requests_unless_it_is_a_proxy() {
    let _turn = turn().await;
    let server = server().max_in_flight(8, 2).build().unwrap();
    let gate = server.state::<Arc<Semaphore>>().unwrap().clone();
    let proxy: Network = "127.0.0.1/32".parse().unwrap();
    let door = Served::start(server.http().trusted_proxies([proxy])).await;
    let through_proxy = |client: &str| {
        let headers = format!("{}X-Forwarded-For: 6.6.6.6, {client}\r\n", mirrored("tools/call", "hold"));
        post(&headers, &crate::wire::stateless("1", "tools/call", r#""name":"hold","#))
    };
    let mut running = Vec::new();
    for client in ["192.0.2.1", "192.0.2.2", "2001:db8::1"] {
        for _ in 0..2 {
            let mut wire = door.connect().await;
            wire.send(&through_proxy(client)).await;
            running.push(wire);
        }
        while server.usage().requests.used < running.len() {
            tokio::task::yield_now().await;
        }
        // A network of IPv6 is one peer.
        let same = if client == "2001:db8::1" { "2001:db8::2:3:4:5" } else { client };
        assert!(is_full(&door.ask(&through_proxy(same)).await), "{client} has its share");
    }
    other_peer_is_served(&door).await;
    gate.add_permits(6);
    for mut wire in running {
        assert!(wire.answer().await.unwrap().is_result());
    }
}

#[tokio::test]
async fn one_address_has_a_share_of_the_connections() {
    let _turn = turn().await;
    let server = server().build().unwrap();
    let door = Served::start(server.http().max_connections(10, 3)).await;
    let mut open = Vec::new();
    for _ in 0..3 {
        let mut wire = door.connect().await;
        wire.send(&call("little")).await;
        assert!(wire.answer().await.unwrap().is_result());
        open.push(wire);
    }
    let mut refused = door.connect().await;
    let answer = refused.answer().await.unwrap();
    assert_eq!((answer.status, answer.header("retry-after")), (503, Some("1")));
    assert!(refused.is_closed().await);
    other_peer_is_served(&door).await;
    drop(open);
    while server.usage().connections.used > 0 {
        tokio::task::yield_now().await;
    }
    assert!(door.is_well().await);
}

#[tokio::test]
async fn connections_beyond_the_total_wait_until_others_close() {
    let _turn = turn().await;
    let server = server().build().unwrap();
    let door = Served::start(server.http().max_connections(2, 100)).await;
    let (mut one, mut two) = (door.connect().await, door.connect().await);
    for wire in [&mut one, &mut two] {
        wire.send(&call("little")).await;
        assert!(wire.answer().await.unwrap().is_result());
    }
    let mut waiting = Vec::new();
    for _ in 0..20 {
        let mut wire = door.connect().await;
        wire.send(&call("little")).await;
        waiting.push(wire);
        one.send(&call("little")).await;
        assert!(one.answer().await.unwrap().is_result());
        assert_eq!(server.usage().connections.used, 2);
    }
    drop((one, two));
    for mut wire in waiting {
        assert!(wire.answer().await.unwrap().is_result());
    }
}

#[tokio::test]
async fn one_address_has_a_share_of_the_streams_and_of_the_sessions_of_the_oldest_transport() {
    let _turn = turn().await;
    let server = server().build().unwrap();
    let door = Served::start(server.http().legacy_sse().max_streams(10, 5).max_sessions(10, 3)).await;
    let oldest = b"GET /mcp HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n";
    let mut open = Vec::new();
    for _ in 0..3 {
        let mut wire = door.connect().await;
        wire.send(oldest).await;
        assert_eq!(wire.head().await.unwrap().status, 200);
        open.push(wire);
    }
    assert!(is_full(&door.ask(oldest).await), "a stream of the oldest transport is a session");
    let mut other = Wire::connect_from(OTHER_PEER, door.address).await;
    other.send(oldest).await;
    assert_eq!(other.head().await.unwrap().status, 200);
}
