//! Replies without a result: pages of proxies, requests to retry later, refusals. And replies that are too large.

use std::time::Duration;

use serde_json::json;
use tokio::io::AsyncWriteExt;
use tokio::time::Instant;
use toolway::client::Http;
use toolway::prelude::*;
use toolway::transport::frame::MAX_MESSAGE;
use toolway::{Chain, ErrorKind, ProtocolVersion};

use super::stage::{Asked, SESSION, Stage, calling, in_session, text};
use crate::ports::Port;

/// A client of the stateless era.
async fn standing_alone() -> (Client, Stage) {
    let mut stage = Stage::open().await;
    let builder = Client::builder().protocol(ProtocolVersion::LATEST);
    let connecting = tokio::spawn(builder.connect_http(stage.url.clone()));
    let found = json!({"supportedVersions": ["2026-07-28"], "capabilities": {}});
    stage.next().await.json("", &found).await;
    (connecting.await.unwrap().unwrap(), stage)
}

#[tokio::test]
async fn a_page_instead_of_a_message_is_shown() {
    let page = "<!doctype html>\n<html><head><title>Sign in</title></head>";
    for (status, kind, part) in [
        ("200 OK", ErrorKind::PeerMisbehaved, "answered 200 OK with text/html instead of a message"),
        ("502 Bad Gateway", ErrorKind::Transport, "the proxy in front of it (502 Bad Gateway)"),
        ("500 Internal Server Error", ErrorKind::Transport, "failed (500 Internal Server Error)"),
    ] {
        let mut stage = Stage::open().await;
        let connecting = tokio::spawn(Client::connect_http(stage.url.clone()));
        stage.next().await.with(status, "content-type: text/html\r\n", page).await;
        let error = connecting.await.unwrap().unwrap_err();
        let text = Chain(&error).to_string();
        assert_eq!(error.kind(), kind, "{text}");
        assert!(text.contains(part), "{text}");
        assert!(
            text.contains("it said: <!doctype html> <html><head><title>Sign in</title></head>"),
            "{text}"
        );
        assert_eq!(error.http_status(), status[..3].parse().ok());
    }
}

/// Statuses that older servers return for a request they do not understand.
const REFUSED: [&str; 4] =
    ["400 Bad Request", "404 Not Found", "406 Not Acceptable", "415 Unsupported Media Type"];

/// Ids that differ from the request's: Python's `mcp` 1.x writes the first into every refusal.
const STRANGE_IDS: [&str; 5] = ["\"server-error\"", "\"\"", "-1", "null", "{}"];

/// Regression: the probe of an auto-negotiating client got such an answer, and the client gave up instead of using a
/// handshake.
#[tokio::test]
async fn a_refusal_of_the_probe_means_a_handshake_whatever_id_it_names() {
    for (status, id) in REFUSED.iter().flat_map(|status| STRANGE_IDS.map(|id| (*status, id))) {
        let mut stage = Stage::open().await;
        let mut connecting = tokio::spawn(Client::connect_http(stage.url.clone()));
        let asked = stage.next().await;
        assert_eq!(asked.rpc(), "server/discover");
        asked.with(status, "content-type: application/json\r\n", &refusal(id)).await;
        tokio::select! {
            biased;
            () = stage.initialize("") => {}
            given_up = &mut connecting => panic!("{status} {id}: {given_up:?}"),
        }
        let client = connecting.await.unwrap().unwrap();
        assert_eq!(client.protocol_version(), ProtocolVersion::LATEST_HANDSHAKE, "{status} {id}");
    }
}

/// HTTP determines which request is answered; only a success may concern another one.
#[tokio::test]
async fn a_refusal_answers_its_request_whatever_id_it_names() {
    let headers = "content-type: application/json\r\n";
    for (status, id) in REFUSED.iter().flat_map(|status| STRANGE_IDS[..4].iter().map(|id| (*status, *id))) {
        let (alone, in_session) = (standing_alone().await, in_session().await);
        for (client, mut stage) in [alone, in_session] {
            let is_in_session = client.protocol_version() != ProtocolVersion::LATEST;
            if is_in_session && status.starts_with("404") {
                // The status reports that the session is gone.
                continue;
            }
            let call = calling(&client, "a");
            stage.next().await.with(status, headers, &refusal(id)).await;
            let error = call.await.unwrap().unwrap_err();
            assert_eq!(error.kind(), ErrorKind::PeerRefused, "{status} {id}: {error:?}");
            assert_eq!(error.rpc().unwrap().message, "Bad Request: no", "{status} {id}");
            let call = calling(&client, "a");
            stage.next().await.json("", &text("done")).await;
            assert_eq!(call.await.unwrap().unwrap(), "done", "after {status} {id}");
        }
    }
    let (client, mut stage) = standing_alone().await;
    let call = calling(&client, "a");
    stage.next().await.with("200 OK", headers, &refusal("\"server-error\"")).await;
    assert_eq!(call.await.unwrap().unwrap_err().kind(), ErrorKind::PeerMisbehaved);
}

fn refusal(id: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32600,"message":"Bad Request: no"}}}}"#)
}

#[tokio::test]
async fn authorization_that_is_missing_is_asked_for() {
    let problem = r#"{"error":"invalid_token"}"#;
    let refusal = r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"who are you?"}}"#;
    for (status, body, parts) in [
        ("401 Unauthorized", "", ["requires authorization", "`bearer`"]),
        ("401 Unauthorized", problem, ["asks for: Bearer realm=\"x\"", "invalid_token"]),
        ("401 Unauthorized", refusal, ["denies access", "who are you?"]),
        ("403 Forbidden", "", ["denies access", "403 Forbidden"]),
    ] {
        let mut stage = Stage::open().await;
        let builder = Client::builder().protocol(ProtocolVersion::LATEST);
        let connecting = tokio::spawn(builder.connect_http(Http::new(&stage.url).bearer("t0ken")));
        let headers = "content-type: application/json\r\nwww-authenticate: Bearer realm=\"x\"\r\n";
        stage.next().await.with(status, headers, body).await;
        let error = connecting.await.unwrap().unwrap_err();
        let text = Chain(&error).to_string();
        assert_eq!(error.kind(), ErrorKind::PeerRefused, "{text}");
        assert!(parts.iter().all(|part| text.contains(part)), "{text}");
        assert!(!error.is_unsent() && !error.is_reply_lost(), "to try again would not help");
        assert!(!text.contains("t0ken"), "{text}");
        assert_eq!(error.http_status(), status[..3].parse().ok());
    }
}

/// A server that is too busy to answer has not revealed its era.
#[tokio::test]
async fn a_refusal_of_the_moment_is_no_sign_of_an_older_server() {
    for (status, headers) in [
        ("503 Service Unavailable", "content-type: application/json\r\nretry-after: 1\r\n"),
        ("429 Too Many Requests", "content-type: application/json\r\n"),
        ("401 Unauthorized", "content-type: application/json\r\n"),
    ] {
        let mut stage = Stage::open().await;
        let connecting = tokio::spawn(Client::builder().retries(0).connect_http(Http::new(&stage.url)));
        let asked = stage.next().await;
        assert_eq!(asked.rpc(), "server/discover");
        let body = r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32603,"message":"busy"}}"#;
        asked.with(status, headers, body).await;
        // Nothing else is sent: an `initialize` would not get an answer here.
        let error = connecting.await.unwrap().unwrap_err();
        assert_eq!(error.http_status(), status[..3].parse().ok(), "{error:?}");
    }
}

/// The clock is paused, and advances when all tasks are idle.
#[tokio::test(start_paused = true)]
async fn a_server_that_wants_to_be_asked_later_is_asked_later() {
    let busy = r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32603,"message":"busy"}}"#;
    for (status, body) in [
        ("429 Too Many Requests", ""),
        ("503 Service Unavailable", ""),
        ("503 Service Unavailable", busy),
        ("429 Too Many Requests", busy),
    ] {
        let (client, mut stage) = standing_alone().await;
        let begin = Instant::now();
        let call = calling(&client, "a");
        let headers = "content-type: application/json\r\nretry-after: 7\r\n";
        stage.next().await.with(status, headers, body).await;
        let asked = stage.next().await;
        assert!(begin.elapsed() >= Duration::from_secs(7), "{status}");
        asked.json("", &text("done")).await;
        assert_eq!(call.await.unwrap().unwrap(), "done", "nothing was begun, so it was asked again");
    }
}

/// Many clients may come at once, as after a restart of all servers.
#[tokio::test(start_paused = true)]
async fn a_server_that_wants_a_new_client_to_come_later_is_asked_later() {
    let headers = "content-type: application/json\r\nretry-after: 7\r\n";
    let busy = r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32603,"message":"busy"}}"#;
    for body in ["", busy] {
        let mut stage = Stage::open().await;
        let begin = Instant::now();
        let builder = Client::builder().protocol(ProtocolVersion::LATEST_HANDSHAKE);
        let connecting = tokio::spawn(builder.connect_http(stage.url.clone()));
        stage.next().await.with("503 Service Unavailable", headers, body).await;
        stage.initialize(SESSION).await;
        let client = connecting.await.unwrap().unwrap();
        assert!(begin.elapsed() >= Duration::from_secs(7));
        // So it is with the first subscription of a watch.
        let watching = tokio::spawn(async move { client.watch(["notes://1"]).await.map(|_| client) });
        let asked = stage.next().await;
        asked.assert_get(None);
        asked.plain("405 Method Not Allowed").await;
        let begin = Instant::now();
        let asked = stage.next().await;
        assert_eq!(asked.rpc(), "resources/subscribe");
        asked.with("503 Service Unavailable", headers, body).await;
        let asked = stage.next().await;
        assert_eq!(asked.rpc(), "resources/subscribe");
        assert!(begin.elapsed() >= Duration::from_secs(7));
        asked.json("", &json!({})).await;
        watching.await.unwrap().unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn a_new_client_waits_no_longer_than_it_may() {
    let mut stage = Stage::open().await;
    let builder = Client::builder().protocol(ProtocolVersion::LATEST_HANDSHAKE);
    let connecting =
        tokio::spawn(builder.connect_timeout(Duration::from_secs(5)).connect_http(stage.url.clone()));
    stage.next().await.with("503 Service Unavailable", "retry-after: 7\r\n", "").await;
    let error = connecting.await.unwrap().unwrap_err();
    assert_eq!((error.http_status(), error.is_unsent()), (Some(503), true), "{error:?}");
    stage.stays_quiet().await;
}

#[tokio::test(start_paused = true)]
async fn a_call_that_a_proxy_may_have_passed_on_is_not_repeated() {
    for status in ["502 Bad Gateway", "504 Gateway Timeout", "503 Service Unavailable", "500 Oops"] {
        let (client, mut stage) = standing_alone().await;
        let call = calling(&client, "a");
        stage.next().await.plain(status).await;
        let error = call.await.unwrap().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Transport);
        assert!(!error.is_unsent(), "{error}");
        assert_eq!(error.is_reply_lost(), !status.starts_with("500"), "{error}");
        stage.stays_quiet().await;
    }
}

#[tokio::test]
async fn a_reply_that_is_packed_is_not_read() {
    let (client, mut stage) = standing_alone().await;
    let call = calling(&client, "a");
    let asked = stage.next().await;
    let body = asked.reply(&text("done"));
    asked.with("200 OK", "content-type: application/json\r\ncontent-encoding: gzip\r\n", &body).await;
    let error = call.await.unwrap().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::PeerMisbehaved);
    assert!(error.to_string().contains("content encoding gzip"), "{error}");
    let call = calling(&client, "a");
    let asked = stage.next().await;
    let body = asked.reply(&text("done"));
    asked.with("200 OK", "content-type: application/json\r\ncontent-encoding: identity\r\n", &body).await;
    assert_eq!(call.await.unwrap().unwrap(), "done");
}

/// Neither a long page nor a slow one makes the client wait.
#[tokio::test(start_paused = true)]
async fn a_page_without_end_is_not_read_to_its_end() {
    let (client, mut stage) = standing_alone().await;
    for is_slow in [false, true] {
        let call = calling(&client, "a");
        let mut socket = stage.next().await.socket;
        let playing = tokio::spawn(async move {
            socket
                .write_all(b"HTTP/1.1 400 Bad Request\r\ncontent-type: text/plain\r\n\r\nno ")
                .await
                .unwrap();
            if is_slow {
                return Some(socket);
            }
            while socket.write_all(&[b'o'; 1 << 14]).await.is_ok() {}
            None
        });
        let error = call.await.unwrap().unwrap_err();
        assert_eq!(error.http_status(), Some(400));
        assert_eq!(error.to_string().contains("it said: no ooo"), !is_slow, "{error}");
        playing.await.unwrap();
    }
}

/// Answers with a body of exactly this length.
async fn answer_of(asked: Asked, length: usize) {
    let mut body = asked.reply(&text("done"));
    body.push_str(&" ".repeat(length - body.len()));
    asked.with("200 OK", "content-type: application/json\r\n", &body).await;
}

#[tokio::test]
async fn a_reply_may_be_as_long_as_a_message_and_no_longer() {
    let (client, mut stage) = standing_alone().await;
    for (length, fits) in [(MAX_MESSAGE - 1, true), (MAX_MESSAGE, true), (MAX_MESSAGE + 1, false)] {
        let call = calling(&client, "a");
        let asked = stage.next().await;
        let playing = tokio::spawn(answer_of(asked, length));
        match call.await.unwrap() {
            Ok(said) => assert!(fits && said == "done", "{length}"),
            Err(error) => {
                assert!(!fits, "{length}: {error}");
                assert_eq!(error.kind(), ErrorKind::TooLarge);
                assert!(error.to_string().contains("longer than 16777216 bytes"), "{error}");
                assert!(!error.is_reply_lost(), "it would be as long the second time");
            }
        }
        playing.await.unwrap();
    }
}

#[tokio::test]
async fn an_event_may_be_as_long_as_a_message_and_no_longer() {
    for (length, fits) in [(MAX_MESSAGE - 1, true), (MAX_MESSAGE, true), (MAX_MESSAGE + 1, false)] {
        let (client, mut stage) = in_session().await;
        let call = calling(&client, "a");
        let asked = stage.next().await;
        let mut data = asked.reply(&text("done"));
        data.push_str(&" ".repeat(length - data.len()));
        let mut stream = asked.stream().await;
        let playing = tokio::spawn(async move {
            stream.say("data: ").await;
            stream.say(&data).await;
            stream.say("\n\n").await;
            stream
        });
        let outcome = call.await.unwrap();
        assert_eq!(outcome.is_ok(), fits, "{length}: {outcome:?}");
        drop(playing.await.unwrap());
    }
}

/// The head of a reply with this many headers and bytes, followed by a reply.
fn head(asked: &Asked, headers: usize, bytes: usize) -> String {
    let body = asked.reply(&text("done"));
    let mut head = format!(
        "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: {}\r\n",
        body.len()
    );
    for number in 4..=headers {
        head.extend(["x-", &number.to_string(), ": y\r\n"]);
    }
    let missing = bytes.saturating_sub(head.len() + 2);
    // It belongs to the last header.
    head.truncate(head.len() - 2);
    head.push_str(&"y".repeat(missing));
    format!("{head}\r\n\r\n{body}")
}

#[tokio::test]
async fn the_head_of_a_reply_has_its_limits() {
    for (headers, bytes, fits) in [
        (99, 0, true),
        (100, 0, true),
        (101, 0, false),
        (4, (64 << 10) - 1, true),
        // A head that arrives at once may be longer by the size of one read.
        (4, 2 * (64 << 10), false),
    ] {
        let (client, mut stage) = standing_alone().await;
        let call = calling(&client, "a");
        let asked = stage.next().await;
        let head = head(&asked, headers, bytes);
        asked.raw(head).await;
        let outcome = call.await.unwrap();
        assert_eq!(outcome.is_ok(), fits, "{headers} headers, {bytes} bytes: {outcome:?}");
        if let Err(error) = outcome {
            assert_eq!(error.kind(), ErrorKind::Transport, "{error:?}");
        }
    }
}

#[tokio::test]
async fn a_server_that_is_not_there_has_got_nothing() {
    let port = Port::hold();
    let url = format!("{}?key=s3cret", port.url());
    let error = Client::connect_http(Http::new(&url)).await.unwrap_err();
    assert!(error.is_unsent() && error.kind() == ErrorKind::Transport, "{error:?}");
    assert!(error.to_string().starts_with("failed to connect to http://127.0.0.1"), "{error}");
    assert!(!format!("{error:#?}").contains("s3cret"), "{error:#?}");
}
