//! What is kept of messages that are not read, and how often is something done for a server?

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};
use tokio::time::{Duration, Instant};
use toolway::client::Answer;
use toolway::prelude::*;
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};

use crate::wire::{Peer, over_http, over_pipe, reply, streams_over_http};
use crate::{peak_of, turn};

const MIB: usize = 1 << 20;

fn notification(method: &str, params: &Value) -> String {
    json!({"jsonrpc": "2.0", "method": method, "params": params}).to_string()
}

/// Sends messages, and then a request, so that the client has handled all of them when its reply arrives.
async fn flood(peer: &mut Peer, count: usize, message: impl Fn(usize) -> String) {
    for number in 0..count {
        peer.say(&message(number)).await;
    }
    peer.say(r#"{"jsonrpc":"2.0","id":"last","method":"ping"}"#).await;
    while peer.next().await.unwrap()["id"] != "last" {}
}

#[tokio::test]
async fn notifications_that_are_not_read_need_little_memory() {
    let _turn = turn().await;
    let (client, mut peer) = Peer::connect(Client::builder(), MIB).await;
    let mut reader = client.notifications();
    // The text is short, but the objects need a hundred times as much.
    let objects = vec![r#"{"":0}"#; 50_000].join(",");
    let message = format!(
        r#"{{"jsonrpc":"2.0","method":"notifications/message","params":{{"level":"info","data":0,"_meta":{{"a":[{objects}]}}}}}}"#
    );
    let ((), peak) = peak_of(flood(&mut peer, 12, |_| message.clone())).await;
    assert!(peak < 100 * MIB, "{} MiB", peak / MIB);
    assert!(reader.try_next().is_some(), "the newest is kept");
    assert!(reader.try_next().is_none());
}

#[tokio::test]
async fn progress_that_is_not_read_needs_little_memory() {
    let _turn = turn().await;
    let (client, mut peer) = Peer::connect(Client::builder(), MIB).await;
    let running = client.call("slow", json!({})).start();
    let server = async {
        let call = peer.next().await.unwrap();
        let params = json!({
            "progressToken": call["params"]["_meta"]["progressToken"],
            "progress": 1,
            "message": "x".repeat(MIB / 2),
        });
        let message = notification("notifications/progress", &params);
        flood(&mut peer, 80, |_| message.clone()).await;
        peer.say(&reply(&call, r#"{"content":[]}"#)).await;
    };
    let ((result, ()), peak) = peak_of(async { tokio::join!(running, server) }).await;
    result.unwrap();
    assert!(peak < 20 * MIB, "{} MiB", peak / MIB);
}

#[tokio::test]
async fn changes_that_are_not_read_need_little_memory() {
    let _turn = turn().await;
    let (client, mut peer) = Peer::connect(Client::builder(), MIB).await;
    let watching = client.watch(["file:///a/"]);
    let subscribed = async {
        let subscribe = peer.next().await.unwrap();
        assert_eq!(subscribe["method"], "resources/subscribe");
        peer.say(&reply(&subscribe, "{}")).await;
    };
    let (watch, ()) = tokio::join!(watching, subscribed);
    let mut watch = watch.unwrap();
    let long = "x".repeat(MIB / 2);
    let ((), peak) = peak_of(flood(&mut peer, 80, |number| {
        notification("notifications/resources/updated", &json!({"uri": format!("file:///a/{number}{long}")}))
    }))
    .await;
    assert!(peak < 20 * MIB, "{} MiB", peak / MIB);
    let mut all = Vec::new();
    while all.last() != Some(&toolway::client::Change::Resource("file:///a/".to_owned())) {
        all.push(watch.next().await.unwrap());
    }
    assert_eq!(all.len(), 2, "one change, and then the watched resource for all others");
}

#[tokio::test]
async fn a_gateway_keeps_little_of_what_its_caller_does_not_read() {
    let _turn = turn().await;
    let (upstream, mut peer) = Peer::connect(Client::builder().forward_questions(), MIB).await;
    let gateway = Server::new("gateway", "1.0.0").mount(upstream).build().unwrap();
    let (near, far) = tokio::io::duplex(1 << 10);
    let (reader, writer) = tokio::io::split(far);
    tokio::spawn(async move { gateway.serve_io(reader, writer).await });
    // The caller sends a call and reads nothing.
    let (_reader, mut writer) = tokio::io::split(near);
    let opening = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"},
    }});
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
        "name": "slow", "arguments": {}, "_meta": {"progressToken": 1},
    }});
    let ready = notification("notifications/initialized", &json!({}));
    for message in [opening.to_string(), ready, call.to_string()] {
        tokio::io::AsyncWriteExt::write_all(&mut writer, format!("{message}\n").as_bytes()).await.unwrap();
    }
    let call = loop {
        let request = peer.next().await.unwrap();
        let list = match request["method"].as_str().unwrap() {
            "tools/list" => r#"{"tools":[{"name":"slow","inputSchema":{"type":"object"}}]}"#,
            "resources/list" => r#"{"resources":[]}"#,
            "resources/templates/list" => r#"{"resourceTemplates":[]}"#,
            "prompts/list" => r#"{"prompts":[]}"#,
            "tools/call" => break request,
            _ => "{}",
        };
        peer.say(&reply(&request, list)).await;
    };
    let long = "x".repeat(MIB / 2);
    let progress = |number: usize| {
        let token = &call["params"]["_meta"]["progressToken"];
        notification(
            "notifications/progress",
            &json!({"progressToken": token, "progress": number, "message": long}),
        )
    };
    let ((), peak) = peak_of(flood(&mut peer, 200, progress)).await;
    // The server of the gateway has a queue of its own.
    assert!(peak < 80 * MIB, "{} MiB", peak / MIB);
}

#[tokio::test]
async fn capabilities_without_end_are_refused() {
    let _turn = turn().await;
    for name in ["tools", "tasks", "experimental", "extensions", "unknown"] {
        let url = over_http(move |request| {
            if request["method"] != "initialize" {
                return crate::wire::opening(request);
            }
            let long = json!({"a": "x".repeat(64 << 10)});
            let result = json!({
                "protocolVersion": "2025-11-25",
                "capabilities": {name: long},
                "serverInfo": {"name": "hostile", "version": "1"},
            });
            Some(reply(request, &result.to_string()))
        })
        .await;
        let error = Client::connect(&*url).await.unwrap_err();
        let causes = format!("{error:?}");
        assert!(causes.contains("the server's capabilities are"), "{name}: {causes}");
    }
}

fn question(id: usize, message: &str) -> String {
    let params = json!({"message": message, "requestedSchema": {"type": "object", "properties": {}}});
    json!({"jsonrpc": "2.0", "id": id, "method": "elicitation/create", "params": params}).to_string()
}

#[tokio::test]
async fn questions_that_wait_are_limited_by_their_length() {
    let _turn = turn().await;
    let builder = Client::builder().on_elicit(|_| std::future::pending());
    let (_client, mut peer) = Peer::connect(builder, MIB).await;
    let long = "x".repeat(MIB - 1000);
    let mut refused = 0;
    for id in 0..30 {
        peer.say(&question(id, &long)).await;
    }
    while refused < 26 {
        let answer = peer.next().await.unwrap();
        assert_eq!(answer["error"]["message"], "too many questions wait for their answers");
        refused += 1;
    }
}

#[tokio::test(start_paused = true)]
async fn questions_that_are_answered_at_once_have_a_rate() {
    let _turn = turn().await;
    let asked = Arc::new(AtomicUsize::new(0));
    let count = asked.clone();
    let builder = Client::builder().on_elicit(move |_| {
        count.fetch_add(1, Ordering::Relaxed);
        async { Answer::decline() }
    });
    let (_client, mut peer) = Peer::connect(builder, MIB).await;
    let ask = async |peer: &mut Peer, id: usize| {
        peer.say(&question(id, "?")).await;
        peer.next().await.unwrap()
    };
    for id in 0..2048 {
        assert_eq!(ask(&mut peer, id).await["result"]["action"], "decline");
    }
    for id in 2048..3000 {
        assert_eq!(ask(&mut peer, id).await["error"]["message"], "too many questions within a short time");
    }
    assert_eq!(asked.load(Ordering::Relaxed), 2048);
    tokio::time::advance(Duration::from_secs(10)).await;
    assert_eq!(ask(&mut peer, 3000).await["result"]["action"], "decline");
}

#[tokio::test]
async fn a_server_that_pings_and_does_not_read_fills_no_queue() {
    let _turn = turn().await;
    let (client, mut peer) = Peer::connect(Client::builder(), 1 << 12).await;
    let mut reader = client.notifications();
    let ((), peak) = peak_of(async {
        // Each answer repeats the id: 20 MB in total.
        let long = "x".repeat(1000);
        for id in 0..20_000 {
            peer.say(&format!(r#"{{"jsonrpc":"2.0","id":"{id}{long}","method":"ping"}}"#)).await;
        }
        peer.say(&notification("notifications/tools/list_changed", &json!({}))).await;
        reader.next().await.unwrap();
    })
    .await;
    assert!(peak < 8 * MIB, "{} MiB", peak / MIB);
}

/// Counts the events of a log.
struct Count(Arc<AtomicUsize>);

impl<S: tracing::Subscriber> Layer<S> for Count {
    fn on_event(&self, event: &tracing::Event<'_>, _: Context<'_, S>) {
        if event.metadata().target().starts_with("toolway") {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
}

#[tokio::test]
async fn useless_lines_do_not_fill_the_log() {
    let _turn = turn().await;
    let (client, mut peer) = Peer::connect(Client::builder(), MIB).await;
    let logged = Arc::new(AtomicUsize::new(0));
    let _log = tracing::subscriber::set_default(tracing_subscriber::registry().with(Count(logged.clone())));
    flood(&mut peer, 5000, |number| match number % 5 {
        0 => json!({"jsonrpc": "2.0", "id": number, "result": {}}).to_string(),
        1 => json!({"jsonrpc": "2.0", "id": null, "error": {"code": -32700, "message": "?"}}).to_string(),
        2 => "not a message".to_owned(),
        3 => notification("notifications/progress", &json!({"progressToken": 77, "progress": 1})),
        _ => json!({"jsonrpc": "2.0", "id": number, "method": "roots/list"}).to_string(),
    })
    .await;
    drop(client);
    let logged = logged.load(Ordering::Relaxed);
    assert!(logged <= 5, "{logged} events");
}

#[tokio::test(start_paused = true)]
async fn a_cut_list_is_logged_once_however_often_it_changes() {
    let _turn = turn().await;
    let logged = Arc::new(AtomicUsize::new(0));
    let _log = tracing::subscriber::set_default(
        tracing_subscriber::registry()
            .with(Count(logged.clone()).with_filter(tracing_subscriber::filter::LevelFilter::WARN)),
    );
    let listed = Arc::new(AtomicUsize::new(0));
    let count = listed.clone();
    let client = over_pipe(Client::builder().max_list(1, MIB), move |request| {
        let number = count.load(Ordering::Relaxed);
        let result = match request["method"].as_str().unwrap_or_default() {
            "tools/list" => {
                count.fetch_add(1, Ordering::Relaxed);
                let tool = |name: String| json!({"name": name, "inputSchema": {"type": "object"}});
                json!({"tools": [tool(format!("a{number}")), tool(format!("b{number}"))]}).to_string()
            }
            "resources/list" => r#"{"resources":[]}"#.to_owned(),
            "resources/templates/list" => r#"{"resourceTemplates":[]}"#.to_owned(),
            "prompts/list" => r#"{"prompts":[]}"#.to_owned(),
            _ => return crate::wire::opening(request).into_iter().collect(),
        };
        vec![reply(request, &result), notification("notifications/tools/list_changed", &json!({}))]
    })
    .await;
    let gateway = Server::new("gateway", "1.0.0").mount(client).build().unwrap();
    let client = Client::connect(&gateway).await.unwrap();
    let started = Instant::now();
    while listed.load(Ordering::Relaxed) < 20 {
        client.tools().await.unwrap();
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert!(started.elapsed() >= Duration::from_secs(40), "{:?}", started.elapsed());
    assert_eq!(logged.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn a_stream_that_ends_again_and_again_is_not_followed_each_time() {
    let _turn = turn().await;
    let (opened, listed) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (streams, lists) = (opened.clone(), listed.clone());
    let url = streams_over_http(
        move |request| {
            let result = match request["method"].as_str().unwrap_or_default() {
                "tools/list" => {
                    lists.fetch_add(1, Ordering::Relaxed);
                    r#"{"tools":[]}"#
                }
                "resources/list" => r#"{"resources":[]}"#,
                "resources/templates/list" => r#"{"resourceTemplates":[]}"#,
                "prompts/list" => r#"{"prompts":[]}"#,
                _ => return crate::wire::opening(request),
            };
            Some(reply(request, result))
        },
        // Each stream ends after an event without an id, so that the client may have missed changes.
        move || {
            streams.fetch_add(1, Ordering::Relaxed);
            "retry: 1\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\"}\n\n".to_owned()
        },
    )
    .await;
    let hub = Hub::new();
    hub.connect("flapping", &*url).await.unwrap();
    let before = listed.load(Ordering::Relaxed);
    while opened.load(Ordering::Relaxed) < 60 {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let listed = listed.load(Ordering::Relaxed) - before;
    assert!(listed < 15, "{listed} lists for 60 streams");
}

#[tokio::test(start_paused = true)]
async fn a_subscription_that_ends_at_once_is_renewed_less_and_less_often() {
    let _turn = turn().await;
    let listened = Arc::new(AtomicUsize::new(0));
    let count = listened.clone();
    let client = over_pipe(Client::builder(), move |request| match request["method"].as_str() {
        Some("server/discover") => {
            let can = r#"{"tools":{"listChanged":true}}"#;
            let facts = format!(
                r#"{{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{can}}}"#
            );
            vec![reply(request, &facts)]
        }
        Some("subscriptions/listen") => {
            count.fetch_add(1, Ordering::Relaxed);
            let meta = json!({"io.modelcontextprotocol/subscriptionId": request["id"]});
            let params = json!({"_meta": meta, "notifications": {"toolsListChanged": true}});
            let accepted = notification("notifications/subscriptions/acknowledged", &params);
            vec![accepted, reply(request, r#"{"resultType":"complete"}"#)]
        }
        _ => Vec::new(),
    })
    .await;
    let mut watch = client.watch([""; 0]).await.unwrap();
    let watching = async { while watch.next().await.is_some() {} };
    assert!(tokio::time::timeout(Duration::from_secs(300), watching).await.is_err(), "the watch goes on");
    let listened = listened.load(Ordering::Relaxed);
    assert!((10..400).contains(&listened), "{listened} requests in 300 seconds");
}
