//! Changes of a running server under load: does a peer that does not read get each notification only once, when it
//! reads again?

use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use toolway::prelude::*;

use crate::raw_http::{Events, Raw};
use crate::sessions::REVISIONS;

#[resource("news://today")]
fn today() -> &'static str {
    "nothing new"
}

#[resource("news://yesterday")]
fn yesterday() -> &'static str {
    "nothing either"
}

#[tool]
fn hello() -> &'static str {
    "hello"
}

fn server() -> Server {
    let builder = Server::new("live", "1.0.0").tools(tools![hello]).resources(resources![today, yesterday]);
    builder.build().unwrap()
}

/// Makes ten thousand changes; the server may send notifications after each.
async fn change_a_lot(server: &Server) {
    for _ in 0..10_000 {
        server.resource_updated("news://today");
        server.resource_updated("news://yesterday");
        server.tools_changed();
        tokio::task::yield_now().await;
    }
}

/// Counts notifications, until the last one.
#[derive(Debug, Default)]
struct Count {
    today: usize,
    tools: usize,
}

impl Count {
    /// Counts a message; returns whether more will follow.
    fn note(&mut self, message: &Value) -> bool {
        match message["method"].as_str() {
            Some("notifications/resources/updated") => {
                assert_eq!(
                    message["params"]["uri"], "news://today",
                    "nobody has subscribed to anything else"
                );
                self.today += 1;
            }
            Some("notifications/tools/list_changed") => self.tools += 1,
            Some("notifications/resources/list_changed") => return false,
            _ => {}
        }
        true
    }

    fn is_few(&self, most: usize) {
        let few = 1..=most;
        assert!(few.contains(&self.today) && few.contains(&self.tools), "{self:?}");
    }
}

fn meta() -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    })
}

fn listen() -> Value {
    let wanted = json!({"toolsListChanged": true, "resourcesListChanged": true, "resourceSubscriptions": ["news://today"]});
    json!({"jsonrpc": "2.0", "id": 1, "method": "subscriptions/listen", "params": {"notifications": wanted, "_meta": meta()}})
}

#[tokio::test]
async fn ten_thousand_changes_are_few_news_on_a_pipe_that_nobody_reads() {
    let opening = crate::raw_http::initialize("2025-11-25");
    let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    let subscribe = json!({"jsonrpc": "2.0", "id": 1, "method": "resources/subscribe", "params": {"uri": "news://today"}});
    for frames in [vec![opening, ready, subscribe], vec![listen()]] {
        let server = server();
        let (near, far) = tokio::io::duplex(1 << 10);
        let (reader, writer) = tokio::io::split(far);
        let serving = server.clone();
        let task = tokio::spawn(async move { serving.serve_io(reader, writer).await });
        let (reader, mut writer) = tokio::io::split(near);
        let mut lines = BufReader::new(reader).lines();
        for frame in &frames {
            writer.write_all(format!("{frame}\n").as_bytes()).await.unwrap();
            if frame.get("id").is_some() {
                lines.next_line().await.unwrap().unwrap();
            }
        }
        change_a_lot(&server).await;
        server.resources_changed();
        let mut count = Count::default();
        while let Some(line) =
            tokio::time::timeout(Duration::from_secs(10), lines.next_line()).await.unwrap().unwrap()
        {
            if !count.note(&serde_json::from_str(&line).unwrap()) {
                break;
            }
        }
        // As many as fit into the pipe and the queue before it.
        count.is_few(100);
        task.abort();
    }
}

#[tokio::test]
async fn ten_thousand_changes_are_few_news_on_the_stream_of_a_session() {
    for version in REVISIONS {
        let server = server();
        let raw = Raw::open(&server.http(), version).await;
        raw.ask("resources/subscribe", json!({"uri": "news://today"})).await;
        let mut stream = raw.stream(None).await;
        server.tools_changed();
        assert!(stream.message().await.is_some());
        change_a_lot(&server).await;
        server.resources_changed();
        let mut count = Count::default();
        while count.note(&stream.message().await.unwrap()) {}
        // List changes come first, and the end of this test is one of them.
        assert_eq!(count.tools, 1);
        assert_eq!(stream.message().await.unwrap()["params"]["uri"], "news://today");
    }
}

#[tokio::test]
async fn ten_thousand_changes_are_few_news_for_whoever_listens_by_a_request() {
    let server = server();
    let headers = [("mcp-protocol-version", "2026-07-28"), ("mcp-method", "subscriptions/listen")]
        .map(|(name, value)| (name, value.to_owned()));
    let raw = Raw { service: server.http(), session: String::new(), version: "", headers: headers.to_vec() };
    let mut events = Events::of(raw.post(&listen()).await);
    assert_eq!(events.message().await.unwrap()["method"], "notifications/subscriptions/acknowledged");
    change_a_lot(&server).await;
    server.resources_changed();
    let mut count = Count::default();
    while count.note(&events.message().await.unwrap()) {}
    count.is_few(2);
}
