//! What is written to a server that reads slowly? Whole lines, and no call that was cancelled before it was begun.

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, DuplexStream, ReadHalf, WriteHalf};

use toolway::ProtocolVersion;

use super::*;

/// A client whose server has answered once, and the server's end of a small pipe.
async fn connected() -> (Client, BufReader<ReadHalf<DuplexStream>>, WriteHalf<DuplexStream>) {
    let (near, far) = tokio::io::duplex(1024);
    let (reader, writer) = tokio::io::split(near);
    let connecting = tokio::spawn(Client::connect_io(reader, writer));
    let (reader, mut writer) = tokio::io::split(far);
    let mut reader = BufReader::new(reader);
    let asked = next(&mut reader).await.unwrap();
    let answer = json!({
        "jsonrpc": "2.0", "id": asked["id"],
        "result": {"resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}},
    });
    writer.write_all(format!("{answer}\n").as_bytes()).await.unwrap();
    (soon(connecting).await.unwrap().unwrap(), reader, writer)
}

async fn next(reader: &mut (impl AsyncBufReadExt + Unpin)) -> Option<Value> {
    let mut line = String::new();
    soon(reader.read_line(&mut line)).await.unwrap();
    (!line.is_empty()).then(|| serde_json::from_str(&line).expect("a whole message"))
}

type Calling =
    std::pin::Pin<Box<dyn Future<Output = toolway::Result<toolway::types::CallToolResult>> + Send>>;

/// Begins a call that is larger than the pipe.
async fn call(client: &Client, tool: &'static str) -> Calling {
    let client = client.clone();
    let mut call: Calling =
        Box::pin(async move { client.call(tool, json!({"x": "x".repeat(10_000)})).await.map(Into::into) });
    // Everything runs on one thread: when only this task is ready, the writer has done what it can.
    for _ in 0..100 {
        tokio::select! {
            biased;
            result = &mut call => panic!("{result:?}"),
            () = tokio::task::yield_now() => {}
        }
    }
    call
}

#[tokio::test]
async fn a_call_that_is_dropped_before_it_is_written_is_not_written() {
    let (client, mut reader, _writer) = connected().await;
    let first = call(&client, "first").await;
    let second = call(&client, "second").await;
    let third = call(&client, "third").await;
    drop(second);
    // A message that was begun is written to its end, even if its call is cancelled.
    drop(first);
    let mut tools = Vec::new();
    while tools.last() != Some(&json!("third")) {
        let message = next(&mut reader).await.unwrap();
        if message["method"] == "tools/call" {
            tools.push(message["params"]["name"].clone());
        }
    }
    assert_eq!(tools, ["first", "third"]);
    drop(third);
}

#[tokio::test]
async fn what_was_begun_is_lost_and_what_was_not_can_be_sent_again() {
    let (client, mut reader, writer) = connected().await;
    let first = call(&client, "first").await;
    let second = call(&client, "second").await;
    reader.read_exact(&mut [0; 100]).await.unwrap();
    drop((reader, writer));
    let (first, second) = (soon(first).await.unwrap_err(), soon(second).await.unwrap_err());
    assert!(first.is_reply_lost(), "{first:?}");
    assert!(second.is_unsent(), "{second:?}");
    tells(&second, &["the server closed the connection"]);
}

#[tokio::test]
async fn a_line_that_was_begun_is_not_cut_by_the_end() {
    let (client, mut reader, _writer) = connected().await;
    let first = call(&client, "first").await;
    let second = call(&client, "second").await;
    drop((client, first, second));
    let message = next(&mut reader).await.unwrap();
    assert_eq!(message["params"]["name"], "first");
    // The second call is not sent. The cancellations that follow are written to the end as well.
    let mut taken_back = Vec::new();
    while let Some(message) = next(&mut reader).await {
        assert_eq!(message["method"], "notifications/cancelled", "{message}");
        taken_back.push(message["params"]["requestId"].clone());
    }
    assert!(taken_back.contains(&message["id"]), "{taken_back:?}");
}

/// The clock is paused, so the test does not really wait for a server that never reads.
#[tokio::test(start_paused = true)]
async fn a_pipe_whose_server_never_reads_is_let_go() {
    let (client, mut reader, _writer) = connected().await;
    let first = call(&client, "first").await;
    client.close().await.unwrap();
    let error = first.await.unwrap_err();
    assert!(error.is_reply_lost());
    tokio::time::sleep(Duration::from_secs(2)).await;
    // Only the bytes that were already in the pipe arrive.
    let mut rest = Vec::new();
    reader.read_to_end(&mut rest).await.unwrap();
    assert!(rest.len() < 10_000 && !rest.contains(&b'\n'));
}

/// If cancelling waited for room, each cancelled call would leave a waiting task.
#[tokio::test]
async fn giving_up_does_not_wait_for_a_server_that_does_not_read() {
    let (client, mut reader, _writer) = connected().await;
    let _first = call(&client, "first").await;
    for _ in 0..200 {
        soon(client.notify("notifications/cancelled", json!({"requestId": 1}))).await.unwrap();
    }
    // If there is room, the cancellation is sent.
    assert_eq!(next(&mut reader).await.unwrap()["method"], "tools/call");
    assert_eq!(next(&mut reader).await.unwrap()["method"], "notifications/cancelled");
}

#[tokio::test]
async fn an_error_that_belongs_to_no_request_is_remembered() {
    let (client, reader, mut writer) = connected().await;
    let calling = call(&client, "first").await;
    let stray = json!({"jsonrpc": "2.0", "id": null, "error": {"code": -32700, "message": "what?"}});
    writer.write_all(format!("{stray}\nprinted\n").as_bytes()).await.unwrap();
    drop((reader, writer));
    let error = soon(calling).await.unwrap_err();
    tells(
        &error,
        &[
            "its output has a line that is not a message: `printed`",
            "; it sent an error without the id of a request: what? (-32700)",
        ],
    );
}

/// A client of the handshake era, and the server's end of a small pipe.
async fn conversing() -> (Client, BufReader<ReadHalf<DuplexStream>>, WriteHalf<DuplexStream>) {
    let (near, far) = tokio::io::duplex(1024);
    let (reader, writer) = tokio::io::split(near);
    let roots = [toolway::types::Root::new("file:///home/ada")];
    let connecting = tokio::spawn(Client::builder().roots(roots).connect_io(reader, writer));
    let (reader, mut writer) = tokio::io::split(far);
    let mut reader = BufReader::new(reader);
    for answer in [
        json!({"error": {"code": -32601, "message": "no"}}),
        json!({"result": {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "x", "version": "1"}}}),
    ] {
        let mut answer = answer;
        answer["jsonrpc"] = json!("2.0");
        answer["id"] = next(&mut reader).await.unwrap()["id"].clone();
        writer.write_all(format!("{answer}\n").as_bytes()).await.unwrap();
    }
    let client = soon(connecting).await.unwrap().unwrap();
    assert_eq!(next(&mut reader).await.unwrap()["method"], "notifications/initialized");
    (client, reader, writer)
}

/// The line that the server sends to ask.
fn question(method: &str, id: u64) -> String {
    json!({"jsonrpc": "2.0", "id": id, "method": method}).to_string() + "\n"
}

/// Begins more calls than the client queues for writing; the first is being written.
async fn many_calls(client: &Client) -> Vec<Calling> {
    let mut calls = Vec::new();
    for _ in 0..100 {
        calls.push(call(client, "many").await);
    }
    calls
}

#[tokio::test]
async fn a_server_that_asks_is_answered_however_many_calls_wait() {
    let (client, mut reader, mut writer) = conversing().await;
    let _calls = many_calls(&client).await;
    for (method, id) in [("ping", 7001), ("roots/list", 7002), ("sampling/createMessage", 7003)] {
        writer.write_all(question(method, id).as_bytes()).await.unwrap();
    }
    let mut answers = Vec::new();
    while answers.len() < 3 {
        let message = next(&mut reader).await.unwrap();
        if message.get("method").is_none() {
            answers.push((message["id"].as_u64().unwrap(), message.get("result").is_some()));
        }
    }
    answers.sort_unstable();
    assert_eq!(answers, [(7001, true), (7002, true), (7003, false)]);
}

#[tokio::test]
async fn a_call_is_taken_back_however_many_calls_wait() {
    let (client, mut reader, _writer) = conversing().await;
    let mut calls = many_calls(&client).await;
    // It is being written.
    drop(calls.remove(0));
    let first = next(&mut reader).await.unwrap();
    let mut taken_back = None;
    while taken_back.is_none() {
        let message = next(&mut reader).await.unwrap();
        taken_back = message["params"].get("requestId").cloned();
    }
    assert_eq!(taken_back, Some(first["id"].clone()));
}

#[tokio::test]
async fn each_question_of_many_has_an_answer() {
    let (_client, mut reader, mut writer) = conversing().await;
    let asking = tokio::spawn(async move {
        for number in 0..300 {
            writer.write_all(question("roots/list", number).as_bytes()).await.unwrap();
        }
        writer
    });
    let mut ids = Vec::new();
    while ids.len() < 300 {
        ids.push(next(&mut reader).await.unwrap()["id"].as_u64().unwrap());
    }
    ids.sort_unstable();
    assert!(ids.into_iter().eq(0..300));
    drop(asking.await.unwrap());
}

/// A server that asks and does not read the answers.
#[tokio::test]
async fn answers_that_nobody_reads_do_not_pile_up() {
    const ASKED: u64 = 50_000;
    let (client, mut reader, mut writer) = conversing().await;
    let metrics = tokio::runtime::Handle::current().metrics();
    let before = metrics.num_alive_tasks();
    for number in 0..ASKED {
        soon(writer.write_all(question("roots/list", number).as_bytes())).await.unwrap();
    }
    assert!(metrics.num_alive_tasks() <= before + 1100, "{}", metrics.num_alive_tasks());
    // It begins to read, and everything works again: the queued answers arrive, and then the answer to the new request.
    writer.write_all(question("ping", ASKED).as_bytes()).await.unwrap();
    let (mut kept, mut bytes) = (0, 0);
    loop {
        let answer = next(&mut reader).await.unwrap();
        if answer["id"] == ASKED {
            break;
        }
        (kept, bytes) = (kept + 1, bytes + answer.to_string().len());
        if kept % 1000 == 0 {
            // The queue had no room for the first one of these.
            writer.write_all(question("ping", ASKED).as_bytes()).await.unwrap();
        }
    }
    assert!(kept > 64 && bytes < 2 << 20, "{kept} answers, {bytes} bytes");
    soon(client.close()).await.unwrap();
    while metrics.num_alive_tasks() > 0 {
        soon(tokio::task::yield_now()).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_question_stops_the_clock_of_older_calls_only() {
    let (near, far) = tokio::io::duplex(1 << 16);
    let (reader, writer) = tokio::io::split(near);
    let builder = Client::builder()
        .protocol(ProtocolVersion::LATEST_HANDSHAKE)
        .timeout(Duration::from_secs(10))
        // A user who never answers.
        .on_elicit(|_| std::future::pending());
    let connecting = tokio::spawn(builder.connect_io(reader, writer));
    let (reader, mut writer) = tokio::io::split(far);
    let mut reader = BufReader::new(reader);
    let asked = next(&mut reader).await.unwrap();
    let opened = json!({"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "x", "version": "1"}});
    let answer = json!({"jsonrpc": "2.0", "id": asked["id"], "result": opened});
    writer.write_all(format!("{answer}\n").as_bytes()).await.unwrap();
    let client = connecting.await.unwrap().unwrap();
    assert_eq!(next(&mut reader).await.unwrap()["method"], "notifications/initialized");
    let older = tokio::spawn(client.call("ask", json!({})).into_future());
    assert_eq!(next(&mut reader).await.unwrap()["method"], "tools/call");
    tokio::time::sleep(Duration::from_secs(1)).await;
    let form = json!({"message": "?", "requestedSchema": {"type": "object", "properties": {"a": {"type": "string"}}}});
    let question = json!({"jsonrpc": "2.0", "id": 1, "method": "elicitation/create", "params": form});
    writer.write_all(format!("{question}\n").as_bytes()).await.unwrap();
    tokio::time::sleep(Duration::from_secs(1)).await;
    let error = client.call("hang", json!({})).await.unwrap_err();
    assert!(error.is_timeout(), "{error:?}");
    tokio::time::sleep(Duration::from_secs(100)).await;
    assert!(!older.is_finished(), "its caller is being asked");
}

#[tokio::test(start_paused = true)]
async fn a_server_that_does_not_confirm_a_subscription_is_not_waited_for() {
    let (near, far) = tokio::io::duplex(1 << 16);
    let (reader, writer) = tokio::io::split(near);
    let connecting = tokio::spawn(Client::connect_io(reader, writer));
    let (reader, mut writer) = tokio::io::split(far);
    let mut reader = BufReader::new(reader);
    let asked = next(&mut reader).await.unwrap();
    let facts = json!({"resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": {"tools": {"listChanged": true}}});
    let answer = json!({"jsonrpc": "2.0", "id": asked["id"], "result": facts});
    writer.write_all(format!("{answer}\n").as_bytes()).await.unwrap();
    let client = connecting.await.unwrap().unwrap();
    let none: [&str; 0] = [];
    let error = client.watch(none).await.unwrap_err();
    assert!(error.is_timeout(), "{error:?}");
    assert_eq!(next(&mut reader).await.unwrap()["method"], "subscriptions/listen");
}

#[tokio::test]
async fn what_nobody_watches_any_more_is_not_subscribed_to() {
    let (near, far) = tokio::io::duplex(1 << 16);
    let (reader, writer) = tokio::io::split(near);
    let builder = Client::builder().protocol(ProtocolVersion::LATEST_HANDSHAKE);
    let connecting = tokio::spawn(builder.connect_io(reader, writer));
    let (reader, mut writer) = tokio::io::split(far);
    let mut reader = BufReader::new(reader);
    let serving = tokio::spawn(async move {
        let mut heard = Vec::new();
        while heard.last().is_none_or(|last| last != "resources/unsubscribe b://") {
            let asked = next(&mut reader).await.unwrap();
            let method = asked["method"].as_str().unwrap();
            let result = match method {
                "initialize" => {
                    json!({"protocolVersion": "2025-11-25", "capabilities": {"resources": {"subscribe": true}}, "serverInfo": {"name": "x", "version": "1"}})
                }
                "notifications/initialized" => continue,
                _ => json!({}),
            };
            if let Some(uri) = asked["params"]["uri"].as_str() {
                heard.push(format!("{method} {uri}"));
            }
            let answer = json!({"jsonrpc": "2.0", "id": asked["id"], "result": result});
            writer.write_all(format!("{answer}\n").as_bytes()).await.unwrap();
        }
        heard
    });
    let client = soon(connecting).await.unwrap().unwrap();
    client.subscribe("c://").await.unwrap();
    let first = client.watch(["a://"]).await.unwrap();
    let second = client.watch(["a://", "c://"]).await.unwrap();
    let third = client.watch(["b://"]).await.unwrap();
    // `a://` is still watched by `first`, and the application itself subscribed to `c://`.
    drop(second);
    drop(third);
    let heard = soon(serving).await.unwrap();
    assert!(!heard.iter().any(|heard| heard == "resources/unsubscribe a://"), "{heard:?}");
    assert!(!heard.iter().any(|heard| heard == "resources/unsubscribe c://"), "{heard:?}");
    drop(first);
}
