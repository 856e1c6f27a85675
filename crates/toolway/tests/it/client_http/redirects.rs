//! Redirects: are they followed only within the same server, so that nothing reaches another one?

use serde_json::json;
use tokio::io::AsyncReadExt;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use toolway::client::Http;
use toolway::prelude::*;
use toolway::{Chain, ErrorKind, ProtocolVersion};

use super::stage::{SESSION, Stage, calling, text};

/// A server that must not be contacted. Returns the bytes that it received.
async fn forbidden() -> (String, JoinHandle<Vec<u8>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let hearing = tokio::spawn(async move {
        let mut heard = Vec::new();
        let (mut socket, _) = listener.accept().await.unwrap();
        socket.read_to_end(&mut heard).await.unwrap();
        heard
    });
    (address, hearing)
}

fn dressed(url: &str) -> Http {
    Http::new(url).bearer("t0ken").header("x-key", "secret")
}

#[tokio::test]
async fn a_message_is_sent_on_within_the_server() {
    for status in ["307 Temporary Redirect", "308 Permanent Redirect"] {
        let mut stage = Stage::open().await;
        let origin = stage.url.strip_suffix("/mcp").unwrap().to_owned();
        let connecting = tokio::spawn(Client::connect_http(dressed(&stage.url)));
        for (path, location) in [
            ("/mcp", "/mcp/"),
            ("/mcp/", "new?x=1"),
            ("/mcp/new?x=1", "//127.0.0.1:PORT/b"),
            ("/b", "ORIGIN/last"),
            ("/last", ""),
        ] {
            let asked = stage.next().await;
            assert_eq!(asked.path, path);
            assert_eq!(asked.rpc(), "server/discover", "the body goes along");
            assert_eq!(asked.header("authorization"), Some("Bearer t0ken"));
            assert_eq!(asked.header("x-key"), Some("secret"));
            assert_eq!(asked.header("mcp-method"), Some("server/discover"));
            if location.is_empty() {
                asked.json("", &json!({"supportedVersions": ["2026-07-28"], "capabilities": {}})).await;
            } else {
                let port = origin.rsplit_once(':').unwrap().1;
                let location = location.replace("ORIGIN", &origin).replace("PORT", port);
                asked.with(status, &format!("location: {location}\r\n"), "").await;
            }
        }
        let client = connecting.await.unwrap().unwrap();
        let call = calling(&client, "a");
        let asked = stage.next().await;
        // A permanent redirect is remembered.
        assert_eq!(asked.path, if status.starts_with("308") { "/last" } else { "/mcp" });
        asked.json("", &text("done")).await;
        assert_eq!(call.await.unwrap().unwrap(), "done");
    }
}

#[tokio::test]
async fn listening_and_the_farewell_are_sent_on_too() {
    let mut stage = Stage::open().await;
    let builder = Client::builder().protocol(ProtocolVersion::LATEST_HANDSHAKE);
    let connecting = tokio::spawn(builder.connect_http(dressed(&stage.url)));
    stage.initialize(SESSION).await;
    let client = connecting.await.unwrap().unwrap();
    let moved = "location: /else\r\n";
    stage.next().await.with("302 Found", moved, "").await;
    let asked = stage.next().await;
    asked.assert_get(None);
    assert_eq!(asked.path, "/else");
    assert_eq!(asked.header("mcp-session-id"), Some("s-1"));
    asked.plain("405 Method Not Allowed").await;
    let closing = tokio::spawn(client.close());
    stage.next().await.with("307 Temporary Redirect", moved, "").await;
    let asked = stage.next().await;
    assert_eq!((asked.method.as_str(), asked.path.as_str()), ("DELETE", "/else"));
    asked.plain("200 OK").await;
    closing.await.unwrap().unwrap();
}

#[tokio::test]
async fn nothing_is_sent_on_to_another_server() {
    for status in
        ["301 Moved", "302 Found", "303 See Other", "307 Temporary Redirect", "308 Permanent Redirect"]
    {
        for location in [
            "http://ADDRESS/mcp?key=s3cret",
            "//ADDRESS/mcp",
            "https://ADDRESS/mcp",
            "http://localhost:PORT/",
        ] {
            let (address, hearing) = forbidden().await;
            let port = address.rsplit_once(':').unwrap().1.to_owned();
            let location = location.replace("ADDRESS", &address).replace("PORT", &port);
            let mut stage = Stage::open().await;
            let connecting = tokio::spawn(Client::connect_http(dressed(&stage.url)));
            stage.next().await.with(status, &format!("location: {location}\r\n"), "").await;
            let error = connecting.await.unwrap().unwrap_err();
            let text = Chain(&error).to_string();
            assert_eq!(error.kind(), ErrorKind::PeerRefused, "{text}");
            assert_eq!(error.http_status(), status[..3].parse().ok(), "{text}");
            assert!(text.contains(&port) && text.contains("connect to that URL"), "{text}");
            assert!(!text.contains("s3cret"), "{text}");
            assert!(!error.is_unsent() && !error.is_reply_lost(), "to try again would not help");
            assert!(!hearing.is_finished(), "{location}");
            hearing.abort();
            assert!(hearing.await.unwrap_err().is_cancelled(), "nobody has connected");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_session_stays_with_its_server() {
    let (address, hearing) = forbidden().await;
    let mut stage = Stage::open().await;
    let builder = Client::builder().protocol(ProtocolVersion::LATEST_HANDSHAKE);
    let connecting = tokio::spawn(builder.connect_http(dressed(&stage.url)));
    stage.initialize(SESSION).await;
    let client = connecting.await.unwrap().unwrap();
    let moved = format!("location: http://{address}/mcp\r\n");
    stage.next().await.with("307 Temporary Redirect", &moved, "").await;
    let call = calling(&client, "a");
    stage.next().await.with("307 Temporary Redirect", &moved, "").await;
    let error = call.await.unwrap().unwrap_err();
    assert!(error.to_string().contains("another server"), "{error}");
    let closing = tokio::spawn(client.close());
    stage.next().await.with("307 Temporary Redirect", &moved, "").await;
    closing.await.unwrap().unwrap_err();
    // A stream that redirects to another server is not requested again.
    stage.stays_quiet().await;
    hearing.abort();
    assert!(hearing.await.unwrap_err().is_cancelled(), "nobody has connected");
}

#[tokio::test]
async fn a_redirect_that_takes_the_message_away_is_an_error_that_says_where_to() {
    for status in ["301 Moved", "302 Found", "303 See Other"] {
        let mut stage = Stage::open().await;
        let connecting = tokio::spawn(Client::connect_http(stage.url.clone()));
        stage.next().await.with(status, "location: /new/mcp\r\n", "").await;
        let text = Chain(&connecting.await.unwrap().unwrap_err()).to_string();
        assert!(text.contains("/new/mcp instead"), "{text}");
    }
}

#[tokio::test]
async fn redirects_that_lead_nowhere_are_errors() {
    for (headers, part) in [
        ("location: javascript:alert(1)\r\n", "not an HTTP URL"),
        ("location: http://\r\n", "not an HTTP URL"),
        ("location: http://me:pass@127.0.0.1/\r\n", "not an HTTP URL"),
        ("location: /\u{e4}\r\n", "not an HTTP URL"),
        ("", "answered 307"),
    ] {
        let mut stage = Stage::open().await;
        let connecting = tokio::spawn(Client::connect_http(stage.url.clone()));
        stage.next().await.with("307 Temporary Redirect", headers, "").await;
        let text = Chain(&connecting.await.unwrap().unwrap_err()).to_string();
        assert!(text.contains(part), "{headers}: {text}");
    }
}

#[tokio::test]
async fn redirects_have_an_end() {
    let mut stage = Stage::open().await;
    let connecting = tokio::spawn(Client::connect_http(stage.url.clone()));
    for hop in 0..6 {
        let asked = stage.next().await;
        assert_eq!(asked.path == "/mcp", hop == 0);
        asked.with("308 Permanent Redirect", &format!("location: /{hop}\r\n"), "").await;
    }
    let text = Chain(&connecting.await.unwrap().unwrap_err()).to_string();
    assert!(text.contains("more than 5 times"), "{text}");
}

#[tokio::test]
async fn whoever_wants_no_redirects_gets_none() {
    let mut stage = Stage::open().await;
    let server = Http::new(&stage.url).allow_redirects(false);
    let connecting = tokio::spawn(Client::connect_http(server));
    stage.next().await.with("307 Temporary Redirect", "location: /mcp/\r\n", "").await;
    let text = Chain(&connecting.await.unwrap().unwrap_err()).to_string();
    assert!(text.contains("it redirects to") && text.contains("not allowed"), "{text}");
}
