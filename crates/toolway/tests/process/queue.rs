//! What is written to a server that reads slowly: whole lines, and nothing that was taken back.

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, DuplexStream, ReadHalf, WriteHalf};

use super::*;

/// A client whose server has answered once, and the server's end of a pipe that holds little.
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

/// A call that is larger than the pipe, begun.
async fn call(client: &Client, tool: &'static str) -> Calling {
    let client = client.clone();
    let mut call: Calling =
        Box::pin(async move { client.call(tool, json!({"x": "x".repeat(10_000)})).await.map(Into::into) });
    // Everything runs on one thread: when nothing is left to do but this, the writer has done what it can.
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
    // One that was begun is written to its end, also when nobody wants it any more.
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
    assert!(first.is_broken_off(), "{first:?}");
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
    assert!(next(&mut reader).await.is_none(), "the end");
}

/// The clock is not real: nobody waits for a server that never reads.
#[tokio::test(start_paused = true)]
async fn a_pipe_whose_server_never_reads_is_let_go() {
    let (client, mut reader, _writer) = connected().await;
    let first = call(&client, "first").await;
    client.close().await.unwrap();
    let error = first.await.unwrap_err();
    assert!(error.is_broken_off());
    tokio::time::sleep(Duration::from_secs(2)).await;
    // What was in the pipe is all that comes.
    let mut rest = Vec::new();
    reader.read_to_end(&mut rest).await.unwrap();
    assert!(rest.len() < 10_000 && !rest.contains(&b'\n'));
}

/// Were it to wait for room, each call that is given up would leave something that waits.
#[tokio::test]
async fn giving_up_does_not_wait_for_a_server_that_does_not_read() {
    let (client, mut reader, _writer) = connected().await;
    let _first = call(&client, "first").await;
    for _ in 0..200 {
        soon(client.notify("notifications/cancelled", json!({"requestId": 1}))).await.unwrap();
    }
    // Where there is room, it is said.
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
            "its output has a line that is no message: `printed`",
            "; it sent an error that is the reply to no request: what? (-32700)",
        ],
    );
}

/// A server that asks and does not read what it is answered.
#[tokio::test]
async fn answers_that_nobody_reads_do_not_pile_up() {
    let (near, far) = tokio::io::duplex(1024);
    let (reader, writer) = tokio::io::split(near);
    let roots = [toolway::types::Root::new("file:///home/ada")];
    let connecting = tokio::spawn(Client::builder().roots(roots).connect_io(reader, writer));
    let (reader, mut writer) = tokio::io::split(far);
    let mut reader = BufReader::new(reader);
    for answer in [
        json!({"error": {"code": -32601, "message": "no"}}),
        json!({"result": {"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": {"name": "x", "version": "1"}}}),
    ] {
        let mut answer = answer;
        answer["jsonrpc"] = json!("2.0");
        answer["id"] = next(&mut reader).await.unwrap()["id"].clone();
        writer.write_all(format!("{answer}\n").as_bytes()).await.unwrap();
    }
    let client = soon(connecting).await.unwrap().unwrap();
    let metrics = tokio::runtime::Handle::current().metrics();
    let before = metrics.num_alive_tasks();
    for number in 0..10_000 {
        let question = json!({"jsonrpc": "2.0", "id": number, "method": "roots/list"});
        soon(writer.write_all(format!("{question}\n").as_bytes())).await.unwrap();
    }
    assert!(metrics.num_alive_tasks() <= before + 64, "{}", metrics.num_alive_tasks());
    soon(client.close()).await.unwrap();
    while metrics.num_alive_tasks() > 0 {
        soon(tokio::task::yield_now()).await;
    }
}
