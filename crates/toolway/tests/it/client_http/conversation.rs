//! The session that a client keeps, its stream for notifications, and replies that break off.

use std::collections::BTreeMap;

use serde_json::json;
use tokio::io::AsyncWriteExt;
use toolway::prelude::*;
use toolway::{ErrorKind, ProtocolVersion};

use super::stage::{Asked, SESSION, Stage, calling, heard, in_session, news, number, opened, text};
use crate::ports::Port;

#[tokio::test]
async fn everything_after_the_opening_names_its_session_and_revision() {
    let (client, mut stage) = opened(SESSION).await;
    let of_session = |asked: &Asked| {
        assert_eq!(asked.header("mcp-session-id"), Some("s-1"));
        assert_eq!(asked.header("mcp-protocol-version"), Some("2025-11-25"));
    };
    let listening = stage.next().await;
    listening.assert_get(None);
    of_session(&listening);
    let stream = listening.stream().await;
    let call = calling(&client, "a");
    let asked = stage.next().await;
    of_session(&asked);
    asked.json("", &text("done")).await;
    assert_eq!(call.await.unwrap().unwrap(), "done");
    let clone = client.clone();
    let closing = tokio::spawn(client.close());
    let asked = stage.next().await;
    assert_eq!(asked.method, "DELETE");
    of_session(&asked);
    asked.plain("204 No Content").await;
    closing.await.unwrap().unwrap();
    stream.abandoned().await;
    assert!(clone.ping().await.unwrap_err().is_cancelled(), "it is closed for all clones");
}

#[tokio::test(start_paused = true)]
async fn a_server_without_sessions_is_neither_listened_to_nor_told_of_the_end() {
    let (client, mut stage) = opened("").await;
    let call = calling(&client, "a");
    let asked = stage.next().await;
    assert_eq!(asked.rpc(), "tools/call");
    // Only the reply to `initialize` can set a session.
    asked.json(SESSION, &text("")).await;
    call.await.unwrap().unwrap();
    let call = calling(&client, "a");
    let asked = stage.next().await;
    assert_eq!(asked.header("mcp-session-id"), None);
    asked.json("", &text("")).await;
    call.await.unwrap().unwrap();
    client.close().await.unwrap();
    stage.stays_quiet().await;
}

#[tokio::test]
async fn a_session_id_that_is_not_visible_ascii_is_refused() {
    let mut stage = Stage::open().await;
    let url = stage.url.clone();
    let builder = Client::builder().protocol(ProtocolVersion::LATEST_HANDSHAKE);
    let connecting = tokio::spawn(async move { builder.connect_http(&url).await });
    stage.next().await.json("mcp-session-id: a b\r\n", &json!({})).await;
    let error = connecting.await.unwrap().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::PeerMisbehaved, "{error}");
    assert!(format!("{error:?}").contains("visible ASCII"), "{error:?}");
}

#[tokio::test(start_paused = true)]
async fn a_server_that_offers_no_stream_is_not_asked_again() {
    for status in ["405 Method Not Allowed", "404 Not Found", "400 Bad Request", "200 OK"] {
        let (client, mut stage) = opened(SESSION).await;
        stage.next().await.plain(status).await;
        let call = calling(&client, "a");
        let asked = stage.next().await;
        assert_eq!(asked.rpc(), "tools/call", "after {status}");
        asked.json("", &text("works")).await;
        assert_eq!(call.await.unwrap().unwrap(), "works");
        stage.stays_quiet().await;
    }
}

#[tokio::test(start_paused = true)]
async fn the_servers_stream_is_opened_again_where_it_ended() {
    let (client, mut stage) = opened(SESSION).await;
    let mut told = client.notifications();
    let mut stream = stage.next().await.stream().await;
    stream.say(&format!("id: a\nretry: 7\ndata: {}\n\ndata: no message\n\n", news(1))).await;
    assert_eq!(number(&told.next().await.unwrap()), 1);
    stream.end().await;
    let asked = stage.next().await;
    asked.assert_get(Some("a"));
    // Unavailable for a moment.
    asked.plain("503 Service Unavailable").await;
    let asked = stage.next().await;
    asked.assert_get(Some("a"));
    let mut stream = asked.stream().await;
    stream.say(&format!("id: b\ndata: {}\n\nid: c\ndata: {}", news(2), news(3))).await;
    drop(stream);
    let asked = stage.next().await;
    asked.assert_get(Some("b"));
    // The server cannot resume the stream any more: a new one is opened.
    asked.plain("400 Bad Request").await;
    let asked = stage.next().await;
    asked.assert_get(None);
    let mut stream = asked.stream().await;
    stream.say(&format!("id: d\ndata: {}\n\n", news(4))).await;
    stream.end().await;
    let asked = stage.next().await;
    asked.assert_get(Some("d"));
    asked.plain("404 Not Found").await;
    stage.stays_quiet().await;
    assert_eq!(heard(&mut told), [2, 4]);
}

/// A proxy has cut the stream, and the server has not noticed yet.
#[tokio::test(start_paused = true)]
async fn a_stream_that_was_there_is_asked_for_again() {
    let (client, mut stage) = opened(SESSION).await;
    stage.next().await.stream().await.end().await;
    for _ in 0..3 {
        let asked = stage.next().await;
        asked.assert_get(None);
        asked.plain("409 Conflict").await;
    }
    let asked = stage.next().await;
    asked.assert_get(None);
    asked.stream().await.end().await;
    // If the conflict persists, only another session helps.
    for _ in 0..5 {
        let asked = stage.next().await;
        asked.assert_get(None);
        asked.plain("409 Conflict").await;
    }
    stage.stays_quiet().await;
    assert!(!client.is_connected());
}

#[tokio::test]
async fn the_servers_stream_ends_with_the_last_clone() {
    let (client, mut stage) = opened(SESSION).await;
    let mut told = client.notifications();
    let mut stream = stage.next().await.stream().await;
    let clone = client.clone();
    drop(client);
    stream.say(&format!("data: {}\n\n", news(1))).await;
    assert_eq!(number(&told.next().await.unwrap()), 1, "a clone is left");
    drop(clone);
    stream.abandoned().await;
    assert!(told.next().await.is_none());
    let asked = stage.next().await;
    assert_eq!(asked.method, "DELETE");
    assert_eq!(asked.header("mcp-session-id"), Some("s-1"));
}

#[tokio::test]
async fn closing_is_content_with_a_server_that_knows_of_no_end() {
    for (status, is_fine) in
        [("200 OK", true), ("404 Not Found", true), ("405 Method Not Allowed", true), ("500 Oops", false)]
    {
        let (client, mut stage) = in_session().await;
        let closing = tokio::spawn(client.close());
        let asked = stage.next().await;
        assert_eq!(asked.method, "DELETE");
        asked.plain(status).await;
        assert_eq!(closing.await.unwrap().is_ok(), is_fine, "{status}");
    }
}

/// The client opens a new session, and sends nothing of the old one.
#[tokio::test(start_paused = true)]
async fn a_session_that_the_server_has_forgotten_is_over() {
    let (client, mut stage) = in_session().await;
    let call = calling(&client, "a");
    let asked = stage.next().await;
    assert_eq!(asked.header("mcp-session-id"), Some("s-1"));
    asked.plain("404 Not Found").await;
    stage.initialize("mcp-session-id: s-2\r\n").await;
    let mut waiting = 2;
    while waiting > 0 {
        let asked = stage.next().await;
        assert_eq!(asked.header("mcp-session-id"), Some("s-2"));
        match asked.method.as_str() {
            "GET" => asked.plain("405 Method Not Allowed").await,
            _ => asked.json("", &text("done")).await,
        }
        waiting -= 1;
    }
    assert_eq!(call.await.unwrap().unwrap(), "done");
    drop(client);
    // The lost session is not deleted.
    let asked = stage.next().await;
    assert_eq!((asked.method.as_str(), asked.header("mcp-session-id")), ("DELETE", Some("s-2")));
    asked.plain("200 OK").await;
    stage.stays_quiet().await;
}

#[tokio::test]
async fn a_reply_goes_on_after_the_last_event_that_came_whole() {
    let cut_off = [
        String::new(),
        ": a comment\n".into(),
        format!("id: 3\ndata: {}", news(3)),
        format!("id: 3\ndata: {}\n", news(3)),
        format!("data: {}\nid: 3", news(3)),
        "id: 3".into(),
        "i".into(),
    ];
    for rest in cut_off {
        for is_clean in [true, false] {
            let (client, mut stage) = in_session().await;
            let mut told = client.notifications();
            let call = calling(&client, "a");
            let asked = stage.next().await;
            let reply = asked.reply(&text("done"));
            let mut stream = asked.stream().await;
            // A primer: an id and nothing else.
            stream.say("id: 1\nretry: 1\ndata:\n\n").await;
            stream.say(&format!("id: 2\ndata: {}\n\n{rest}", news(2))).await;
            if is_clean {
                stream.end().await;
            } else {
                drop(stream);
            }
            let asked = stage.next().await;
            asked.assert_get(Some("2"));
            assert_eq!(asked.header("mcp-session-id"), Some("s-1"));
            assert_eq!(asked.header("mcp-protocol-version"), Some("2025-11-25"));
            let mut stream = asked.stream().await;
            // The second time without anything in between.
            stream.say(&format!("id: 3\ndata: {}\n\n", news(3))).await;
            stream.end().await;
            let asked = stage.next().await;
            asked.assert_get(Some("3"));
            let mut stream = asked.stream().await;
            stream.say(&format!("id: 4\ndata: {}\n\nid: 5\ndata: {reply}\n\n", news(4))).await;
            assert_eq!(call.await.unwrap().unwrap(), "done", "{rest:?}");
            assert_eq!(heard(&mut told), [2, 3, 4], "{rest:?}");
        }
    }
}

#[tokio::test]
async fn an_event_that_comes_again_after_resuming_is_heard_once() {
    let (client, mut stage) = in_session().await;
    let mut told = client.notifications();
    let call = calling(&client, "a");
    let asked = stage.next().await;
    let reply = asked.reply(&text("done"));
    let mut stream = asked.stream().await;
    stream.say(&format!("retry: 1\nid: 1\ndata: {}\n\n", news(1))).await;
    stream.end().await;
    let mut stream = stage.next().await.stream().await;
    stream.say(&format!("id: 1\ndata: {}\n\nid: 2\ndata: {}\n\ndata: {reply}\n\n", news(1), news(2))).await;
    call.await.unwrap().unwrap();
    assert_eq!(heard(&mut told), [1, 2]);
}

#[tokio::test(start_paused = true)]
async fn whoever_was_told_to_wait_longer_comes_back_later() {
    let (client, mut stage) = in_session().await;
    let mut calls = Vec::new();
    // Without `retry` it is a second.
    for (tool, retry) in [("slow", "retry: 20000\n"), ("quick", "retry: 20\n"), ("unsaid", "")] {
        calls.push(calling(&client, tool));
        let mut stream = stage.next().await.stream().await;
        stream.say(&format!("id: {tool}\n{retry}data:\n\n")).await;
        stream.end().await;
        if tool == "quick" {
            let asked = stage.next().await;
            asked.assert_get(Some("quick"));
            asked.plain("400 Bad Request").await;
        }
    }
    let unsaid = stage.next().await;
    unsaid.assert_get(Some("unsaid"));
    let slow = stage.next().await;
    slow.assert_get(Some("slow"));
}

#[tokio::test(start_paused = true)]
async fn a_reply_without_ids_is_lost_when_it_breaks_off() {
    for said in ["", ": hello\n\n", "id: 1\ndata: {}", "retry: 5\n\n", "id: 1\ndata:\n\nid:\ndata:\n\n"] {
        let (client, mut stage) = in_session().await;
        let call = calling(&client, "a");
        let mut stream = stage.next().await.stream().await;
        if !said.is_empty() {
            stream.say(said).await;
        }
        stream.end().await;
        let error = call.await.unwrap().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Transport);
        assert!(error.is_reply_lost() && !error.is_session_ended(), "{error}");
        assert!(error.to_string().contains("before its first event id"), "{said:?}: {error}");
        stage.stays_quiet().await;
    }
}

#[tokio::test]
async fn a_failure_to_connect_is_no_reply_that_broke_off() {
    let port = Port::hold();
    let error = Client::connect_http(&port.url()).await.unwrap_err();
    assert!(error.kind() == ErrorKind::Transport && !error.is_reply_lost(), "{error}");
    // A server that accepts the request and then disconnects may have run the call.
    let (client, mut stage) = in_session().await;
    let call = calling(&client, "a");
    drop(stage.next().await);
    let error = call.await.unwrap().unwrap_err();
    assert!(error.kind() == ErrorKind::Transport && error.is_reply_lost(), "{error}");
}

#[tokio::test(start_paused = true)]
async fn a_server_that_cannot_resume_says_so_once() {
    for (status, code) in [("400 Bad Request", 400), ("404 Not Found", 404), ("405 Method Not Allowed", 405)]
    {
        let (client, mut stage) = in_session().await;
        let call = calling(&client, "a");
        let mut stream = stage.next().await.stream().await;
        stream.say("id: 1\nretry: 1\ndata:\n\n").await;
        stream.end().await;
        let asked = stage.next().await;
        asked.assert_get(Some("1"));
        asked.plain(status).await;
        let error = call.await.unwrap().unwrap_err();
        assert!(error.kind() == ErrorKind::Transport && error.is_reply_lost(), "{error}");
        assert!(error.to_string().contains("cannot be resumed any more"), "{error}");
        assert_eq!(error.http_status(), Some(code));
        stage.stays_quiet().await;
    }
}

#[tokio::test(start_paused = true)]
async fn five_attempts_that_bring_nothing_are_enough() {
    let (client, mut stage) = in_session().await;
    let call = calling(&client, "a");
    let mut stream = stage.next().await.stream().await;
    stream.say("id: 1\ndata:\n\n").await;
    stream.end().await;
    for attempt in 0..3 {
        stage.next().await.plain("503 Busy").await;
        if attempt == 2 {
            // Progress: the count begins again.
            let mut stream = stage.next().await.stream().await;
            stream.say("id: 2\ndata:\n\n").await;
            stream.end().await;
        }
    }
    for attempt in 0..5 {
        let asked = stage.next().await;
        asked.assert_get(Some("2"));
        match attempt {
            0 | 3 => asked.plain("502 Bad Gateway").await,
            1 => drop(asked),
            // Repeating an event, and setting `retry`, is not progress.
            _ => {
                let mut stream = asked.stream().await;
                stream.say("id: 2\nretry: 3\ndata:\n\nretry: 4\n\n").await;
                stream.end().await;
            }
        }
    }
    let error = call.await.unwrap().unwrap_err();
    assert!(error.kind() == ErrorKind::Transport && error.is_reply_lost(), "{error}");
    assert!(error.to_string().contains("several attempts"), "{error}");
    stage.stays_quiet().await;
}

#[tokio::test(start_paused = true)]
async fn a_request_that_stands_alone_is_never_resumed() {
    let mut stage = Stage::open().await;
    let url = stage.url.clone();
    let builder = Client::builder().protocol(ProtocolVersion::LATEST);
    let connecting = tokio::spawn(async move { builder.connect_http(&url).await });
    let asked = stage.next().await;
    assert_eq!(asked.rpc(), "server/discover");
    asked.json(SESSION, &json!({"supportedVersions": ["2026-07-28"], "capabilities": {}})).await;
    let client = connecting.await.unwrap().unwrap();
    let call = calling(&client, "a");
    let asked = stage.next().await;
    assert_eq!(asked.header("mcp-session-id"), None);
    let mut stream = asked.stream().await;
    // A question is not allowed here either.
    let question = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"});
    stream.say(&format!("id: 1\nretry: 1\ndata: {question}\n\n")).await;
    stream.end().await;
    let error = call.await.unwrap().unwrap_err();
    assert!(error.kind() == ErrorKind::Transport && error.is_reply_lost(), "{error}");
    drop(client);
    stage.stays_quiet().await;
}

#[tokio::test]
async fn calls_that_break_off_together_go_on_apart() {
    let (client, mut stage) = in_session().await;
    let (one, two) = (calling(&client, "one"), calling(&client, "two"));
    let mut replies = BTreeMap::new();
    let mut streams = Vec::new();
    for _ in 0..2 {
        let asked = stage.next().await;
        let tool = asked.body["params"]["name"].as_str().unwrap().to_owned();
        replies.insert(format!("{tool}-0"), asked.reply(&text(&tool)));
        let mut stream = asked.stream().await;
        stream.say(&format!("id: {tool}-0\nretry: 1\n")).await;
        streams.push(stream);
    }
    for stream in &mut streams {
        stream.say("data:\n\n").await;
    }
    drop(streams);
    let mut again = vec![stage.next().await, stage.next().await];
    // The answers come in the other order, each on its own stream; an answer to another request is ignored.
    while let Some(asked) = again.pop() {
        let id = asked.header("last-event-id").unwrap().to_owned();
        let other = replies.iter().find(|(key, _)| **key != id).unwrap().1.replace("text", "false");
        let mine = &replies[&id];
        asked.stream().await.say(&format!("id: {id}1\ndata: {other}\n\ndata: {mine}\n\n")).await;
    }
    assert_eq!(one.await.unwrap().unwrap(), "one");
    assert_eq!(two.await.unwrap().unwrap(), "two");
}

#[tokio::test]
async fn a_reply_that_comes_on_the_servers_own_stream_is_the_reply() {
    let (client, mut stage) = opened(SESSION).await;
    let mut news = stage.next().await.stream().await;
    let call = calling(&client, "wait");
    let asked = stage.next().await;
    let reply = asked.reply(&text("there it is"));
    let mut own = asked.stream().await;
    own.say("id: a\ndata:\n\n").await;
    news.say(&format!("data: {reply}\n\n")).await;
    assert_eq!(call.await.unwrap().unwrap(), "there it is");
}

#[tokio::test]
async fn a_question_of_the_server_is_answered_on_either_stream() {
    let (client, mut stage) = opened(SESSION).await;
    let mut listening = stage.next().await.stream().await;
    let call = calling(&client, "a");
    let asked = stage.next().await;
    let reply = asked.reply(&text("done"));
    let mut replying = asked.stream().await;
    for stream in [&mut listening, &mut replying] {
        let ping = json!({"jsonrpc": "2.0", "id": "p", "method": "ping"});
        let sampling = json!({"jsonrpc": "2.0", "id": 7, "method": "sampling/createMessage", "params": {}});
        stream.say(&format!("data: {ping}\n\ndata: {sampling}\n\n")).await;
        let answer = stage.next().await;
        assert_eq!(answer.header("mcp-session-id"), Some("s-1"));
        assert_eq!(answer.header("mcp-protocol-version"), Some("2025-11-25"));
        assert_eq!(answer.body, json!({"jsonrpc": "2.0", "id": "p", "result": {}}));
        answer.plain("202 Accepted").await;
        let answer = stage.next().await;
        assert_eq!(answer.body["id"], 7);
        assert_eq!(answer.body["error"]["code"], -32601);
        // A refused answer does not end the call.
        answer.plain("400 Bad Request").await;
    }
    replying.say(&format!("data: {reply}\n\n")).await;
    assert_eq!(call.await.unwrap().unwrap(), "done");
}

#[tokio::test]
async fn an_event_without_end_is_not_read_to_its_end() {
    let (client, mut stage) = in_session().await;
    let call = calling(&client, "a");
    let mut stream = stage.next().await.stream().await;
    let playing = tokio::spawn(async move {
        stream.say("id: 1\ndata: ").await;
        let piece = "x".repeat(1 << 16);
        while stream.0.write_all(format!("10000\r\n{piece}\r\n").as_bytes()).await.is_ok() {}
    });
    let error = call.await.unwrap().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TooLarge);
    assert!(error.to_string().contains("longer than"), "{error}");
    playing.await.unwrap();
}

#[tokio::test]
async fn a_head_without_end_is_not_read_to_its_end() {
    let (client, mut stage) = in_session().await;
    let call = calling(&client, "a");
    let mut socket = stage.next().await.socket;
    let playing = tokio::spawn(async move {
        socket.write_all(b"HTTP/1.1 200 OK\r\nx: ").await.unwrap();
        let piece = "x".repeat(1 << 14);
        while socket.write_all(piece.as_bytes()).await.is_ok() {}
    });
    assert_eq!(call.await.unwrap().unwrap_err().kind(), ErrorKind::Transport);
    playing.await.unwrap();
}

#[tokio::test]
async fn what_is_no_event_of_a_conversation_is_said_to_be_none() {
    for (said, part) in
        [("id: 1\ndata: {}\n\n", "not a message"), ("id: 1\ndata: <html>\n\n", "not a message")]
    {
        let (client, mut stage) = in_session().await;
        let call = calling(&client, "a");
        let mut stream = stage.next().await.stream().await;
        stream.say(said).await;
        let error = call.await.unwrap().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::PeerMisbehaved);
        assert!(error.to_string().contains(part), "{error}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_given_up_leaves_nothing_behind() {
    let (client, mut stage) = in_session().await;
    let call = calling(&client, "a");
    let mut stream = stage.next().await.stream().await;
    stream.say("id: 1\ndata:\n\n").await;
    call.abort();
    stage.taken_back().await;
    stream.abandoned().await;
    // Also while it waits to resume: the break was noticed, and half a minute is not over.
    let mut told = client.notifications();
    let call = calling(&client, "a");
    let mut stream = stage.next().await.stream().await;
    stream.say(&format!("id: 1\nretry: 30000\ndata: {}\n\n", news(1))).await;
    told.next().await.unwrap();
    stream.end().await;
    call.abort();
    assert!(call.await.unwrap_err().is_cancelled());
    stage.taken_back().await;
    stage.stays_quiet().await;
}

/// The server is told to cancel the calls first: not every server ends the calls of a session that was deleted.
#[tokio::test]
async fn closing_takes_back_the_calls_that_were_given_up_before_it_says_goodbye() {
    let (client, mut stage) = in_session().await;
    let mut call = client.call("a", json!({}));
    let asked = tokio::select! {
        outcome = &mut call => panic!("{outcome:?}"),
        asked = stage.next() => asked,
    };
    let stream = asked.stream().await;
    drop(call);
    let hearing = async {
        stage.taken_back().await;
        let asked = stage.next().await;
        assert_eq!(asked.method, "DELETE");
        asked.plain("204 No Content").await;
    };
    // Closing begins immediately, before any other task runs.
    let (closed, ()) = tokio::join!(biased; client.close(), hearing);
    closed.unwrap();
    stream.abandoned().await;
}

#[tokio::test]
async fn closing_goes_on_when_a_call_cannot_be_taken_back() {
    let (client, mut stage) = in_session().await;
    let mut call = client.call("a", json!({}));
    let asked = tokio::select! {
        outcome = &mut call => panic!("{outcome:?}"),
        asked = stage.next() => asked,
    };
    drop(call);
    let hearing = async {
        let refused = stage.next().await;
        assert_eq!(refused.rpc(), "notifications/cancelled");
        // The connection ends without an answer.
        drop(refused);
        let farewell = stage.next().await;
        assert_eq!(farewell.method, "DELETE");
        farewell.plain("204 No Content").await;
    };
    let (closed, ()) = tokio::join!(biased; client.close(), hearing);
    closed.unwrap();
    drop(asked);
}

#[tokio::test(start_paused = true)]
async fn whoever_does_not_want_to_try_again_learns_that_the_session_is_over() {
    let mut stage = Stage::open().await;
    let url = stage.url.clone();
    let builder = Client::builder().protocol(ProtocolVersion::LATEST_HANDSHAKE).retries(0);
    let (client, ()) = tokio::join!(builder.connect_http(&url), stage.initialize(SESSION));
    let client = client.unwrap();
    stage.next().await.plain("405 Method Not Allowed").await;
    let call = calling(&client, "a");
    stage.next().await.plain("404 Not Found").await;
    let error = call.await.unwrap().unwrap_err();
    assert!(error.is_session_ended() && !error.is_reply_lost(), "{error}");
    assert_eq!(error.kind(), ErrorKind::PeerRefused);
    assert_eq!(error.http_status(), Some(404));
    assert!(!client.is_connected());
    drop(client);
    stage.stays_quiet().await;
}
