//! What happens to clients that send or read too slowly? They are disconnected, and other clients are not affected.

use std::time::Duration;

use serde_json::json;
use tokio::sync::Notify;
use toolway::prelude::*;

use crate::wire::{HANDSHAKE, Served, Wire, framed, mirrored, post};
use crate::{MEMORY, peak_since, turn};

const SHORT: Duration = Duration::from_millis(300);

#[tokio::test]
async fn forty_stalled_sockets_are_cut_and_others_served_meanwhile() {
    let _turn = turn().await;
    let server = Server::new("slow", "1.0.0").build().unwrap();
    let door = Served::start(server.http().head_timeout(SHORT).body_timeout(SHORT)).await;
    let mut in_head = Vec::new();
    let mut in_body = Vec::new();
    for _ in 0..20 {
        let mut wire = door.connect().await;
        wire.send(b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nX-A: ").await;
        in_head.push(wire);
        let mut wire = door.connect().await;
        let headers = mirrored("server/discover", "");
        wire.send(&framed(&format!("{headers}Content-Length: 100\r\n"), b"{\"jsonrpc\"")).await;
        in_body.push(wire);
        assert!(door.is_well().await);
    }
    // A client that never sends anything does not get an answer.
    let mut silent = door.connect().await;
    for mut wire in in_head {
        let answer = wire.answer().await;
        assert!(answer.is_none_or(|answer| answer.status == 408));
        assert!(wire.is_closed().await);
        assert!(door.is_well().await);
    }
    for mut wire in in_body {
        let answer = wire.answer().await.expect("it says what took too long");
        assert_eq!((answer.status, &answer.json()["error"]["code"]), (408, &json!(-32600)));
        assert!(wire.is_closed().await, "half a body is nothing that another request could follow");
        assert!(door.is_well().await);
    }
    assert!(silent.is_closed().await);
}

/// The number of messages of the tool, and the size of each.
const TIMES: u32 = 8_000;
const PIECE: usize = 4 << 10;
/// The most that may be kept of a stream: the events, their keys, and the data in transit.
const MOST_KEPT: usize = 4 << 20;

#[derive(Default)]
struct Done(Notify);

/// Says far more than a server keeps or a socket takes.
#[tool]
async fn flood(ctx: Ctx, done: State<Done>) -> &'static str {
    let text = "x".repeat(PIECE);
    for n in 1..=TIMES {
        ctx.progress(n, TIMES, &text).await;
    }
    done.0.notify_one();
    "all said"
}

#[tool]
fn echo(text: String) -> String {
    text
}

#[tokio::test]
async fn a_reader_that_never_reads_keeps_nobody_waiting_and_no_memory() {
    let _turn = turn().await;
    let server =
        Server::new("slow", "1.0.0").state(Done::default()).tools(tools![flood, echo]).build().unwrap();
    let door = Served::start(server.http()).await;
    let session = door.open("").await;
    assert!(door.ask(&post(&session, &call(1, "echo"))).await.is_result());
    let before = MEMORY.current_usage();
    MEMORY.reset_peak_usage();

    let mut deaf = Wire::connect_small(door.address).await;
    deaf.send(&post(&session, &call(2, "flood"))).await;
    assert_eq!(deaf.head().await.unwrap().status, 200);
    // The client stops reading here; other requests of the same session are answered.
    for id in 0..50 {
        assert!(door.ask(&post(&session, &call(100 + id, "echo"))).await.is_result());
    }
    // The call still ends.
    server.state::<Done>().unwrap().0.notified().await;
    let peak = peak_since(before);
    assert!(peak < MOST_KEPT, "{peak} bytes at the peak, of {} that were said", TIMES as usize * PIECE);

    // A client that resumes gets the kept events, and the answer.
    let first = deaf.until("id: ").await;
    let first = first.lines().find_map(|line| line.strip_prefix("id: ")).unwrap();
    let mut wire = door.connect().await;
    wire.send(&crate::wire::get(&format!("{session}Last-Event-ID: {first}\r\n"))).await;
    assert_eq!(wire.answer().await.unwrap().body.windows(8).filter(|part| part == b"all said").count(), 1);
    drop(deaf);
    assert!(door.is_well().await);
}

fn call(id: u32, tool: &str) -> String {
    let params = json!({"name": tool, "arguments": arguments(tool), "_meta": {"progressToken": id}});
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}).to_string()
}

fn arguments(tool: &str) -> serde_json::Value {
    if tool == "echo" { json!({"text": HANDSHAKE}) } else { json!({}) }
}
