//! How does a client learn that its session has ended? And what happens to answers that are not accepted immediately?

use serde_json::json;
use toolway::client::{Connector, Http};

use super::stage::{SESSION, Stage, calling, in_session, opened, text};

/// Plays the opening of another session, and answers the call that waits for it.
async fn again(stage: &mut Stage) {
    stage.initialize("mcp-session-id: s-2\r\n").await;
    for _ in 0..2 {
        let asked = stage.next().await;
        assert_eq!(asked.header("mcp-session-id"), Some("s-2"));
        match asked.method.as_str() {
            "GET" => asked.plain("405 Method Not Allowed").await,
            _ => asked.json("", &text("again")).await,
        }
    }
}

/// Waits until the client knows that its session has ended.
async fn until_over(client: &toolway::Client) {
    while client.is_connected() {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_session_whose_stream_is_gone_is_not_used_again() {
    let (client, mut stage) = opened(SESSION).await;
    let mut told = client.notifications();
    let mut stream = stage.next().await.stream().await;
    stream.say(&format!("id: 1\ndata: {}\n\n", super::stage::news(1))).await;
    told.next().await.unwrap();
    stream.end().await;
    let asked = stage.next().await;
    asked.assert_get(Some("1"));
    asked.plain("404 Not Found").await;
    // The call does not use the old session.
    until_over(&client).await;
    let call = calling(&client, "a");
    again(&mut stage).await;
    assert_eq!(call.await.unwrap().unwrap(), "again");
}

/// Many servers answer an unknown session with a status other than 404, and some name an id that is not the request's.
#[tokio::test]
async fn a_session_that_is_refused_with_another_status_is_over_too() {
    for id in ["null", "\"server-error\""] {
        let (client, mut stage) = in_session().await;
        let call = calling(&client, "a");
        let error = r#""error":{"code":-32000,"message":"Bad Request: No valid session ID provided"}"#;
        let error = format!(r#"{{"jsonrpc":"2.0","id":{id},{error}}}"#);
        stage.next().await.with("400 Bad Request", "content-type: application/json\r\n", &error).await;
        again(&mut stage).await;
        assert_eq!(call.await.unwrap().unwrap(), "again", "{id}");
    }
    let (client, mut stage) = in_session().await;
    // An error about the request does not end the session.
    let call = calling(&client, "a");
    let asked = stage.next().await;
    let error = json!({"jsonrpc": "2.0", "id": asked.body["id"], "error": {"code": -32602, "message": "no such session"}});
    asked.with("400 Bad Request", "content-type: application/json\r\n", &error.to_string()).await;
    assert_eq!(call.await.unwrap().unwrap_err().code().unwrap().0, -32602);
}

#[tokio::test]
async fn a_way_that_was_closed_is_not_connected() {
    let transport = Http::new("http://localhost:1/mcp").connect().await.unwrap();
    assert!(transport.is_connected() && transport.has_headers());
    transport.close().await.unwrap();
    assert!(!transport.is_connected());
    transport.disconnected().await;
}

/// The clock is paused, and advances when all tasks are idle.
#[tokio::test(start_paused = true)]
async fn an_answer_that_the_server_does_not_take_yet_is_given_again() {
    let (client, mut stage) = opened(SESSION).await;
    let mut listening = stage.next().await.stream().await;
    listening.say("data: {\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"ping\"}\n\n").await;
    for status in ["429 Too Many Requests", "429 Too Many Requests", "202 Accepted"] {
        let answer = stage.next().await;
        assert_eq!(answer.body, json!({"jsonrpc": "2.0", "id": 7, "result": {}}));
        assert_eq!(answer.header("mcp-session-id"), Some("s-1"));
        answer.plain(status).await;
    }
    // Later messages are processed meanwhile.
    listening.say("data: {\"jsonrpc\":\"2.0\",\"id\":8,\"method\":\"ping\"}\n\n").await;
    let answer = stage.next().await;
    assert_eq!(answer.body["id"], 8);
    // The server understood the answer and does not want it.
    answer.plain("400 Bad Request").await;
    stage.stays_quiet().await;
    drop(client);
}

/// The server ignores an answer that it has already, but waits for one that was lost.
#[tokio::test(start_paused = true)]
async fn an_answer_that_may_be_lost_is_given_again() {
    let (client, mut stage) = opened(SESSION).await;
    let mut listening = stage.next().await.stream().await;
    listening.say("data: {\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"ping\"}\n\n").await;
    for end in ["cut", "502 Bad Gateway", "504 Gateway Timeout", "silence", "202 Accepted"] {
        let answer = stage.next().await;
        assert_eq!(answer.body, json!({"jsonrpc": "2.0", "id": 7, "result": {}}), "before {end}");
        match end {
            "cut" => drop(answer),
            // The clock advances to the time limit.
            "silence" => std::mem::forget(answer),
            status => answer.plain(status).await,
        }
    }
    stage.stays_quiet().await;
    drop(client);
}

#[tokio::test]
async fn an_answer_to_a_session_that_is_over_ends_it() {
    let (client, mut stage) = opened(SESSION).await;
    let mut listening = stage.next().await.stream().await;
    listening.say("data: {\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"ping\"}\n\n").await;
    stage.next().await.plain("404 Not Found").await;
    until_over(&client).await;
    let call = calling(&client, "a");
    again(&mut stage).await;
    assert_eq!(call.await.unwrap().unwrap(), "again");
}
