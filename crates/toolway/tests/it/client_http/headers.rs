//! Headers of the application: which requests carry them, which are refused, and are their values kept secret?

use serde_json::json;
use toolway::ErrorKind;
use toolway::client::{Connector, Http, IntoTarget};
use toolway::prelude::*;

use super::stage::{Asked, SESSION, Stage, calling, text};

fn assert_dressed(asked: &Asked) {
    assert_eq!(asked.header("authorization"), Some("Bearer t0ken"), "{} {}", asked.method, asked.body);
    assert_eq!(asked.header("x-tenant"), Some("blue"), "{} {}", asked.method, asked.body);
    let content = (asked.method == "POST").then_some("application/json");
    assert_eq!(asked.header("content-type"), content);
}

fn dressed(url: &str) -> Http {
    Http::new(url).bearer("other").bearer("t0ken").header("X-Tenant", "blue")
}

#[tokio::test]
async fn headers_go_with_every_request_of_a_conversation() {
    let mut stage = Stage::open().await;
    let server = dressed(&stage.url);
    let connecting = tokio::spawn(Client::connect_http(server));
    let probe = stage.next().await;
    assert_dressed(&probe);
    assert_eq!(probe.rpc(), "server/discover");
    probe.plain("400 Bad Request").await;
    let opening = stage.next().await;
    assert_dressed(&opening);
    let result = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": {"name": "s", "version": "1"}});
    opening.json(SESSION, &result).await;
    let opened = stage.next().await;
    assert_dressed(&opened);
    opened.plain("202 Accepted").await;
    let client = connecting.await.unwrap().unwrap();
    let listening = stage.next().await;
    listening.assert_get(None);
    assert_dressed(&listening);
    let mut own = listening.stream().await;
    let call = calling(&client, "a");
    let asked = stage.next().await;
    assert_dressed(&asked);
    let reply = asked.reply(&text("done"));
    let mut stream = asked.stream().await;
    stream.say("id: 1\nretry: 1\ndata:\n\n").await;
    stream.end().await;
    let resumed = stage.next().await;
    resumed.assert_get(Some("1"));
    assert_dressed(&resumed);
    let ping = json!({"jsonrpc": "2.0", "id": "p", "method": "ping"});
    own.say(&format!("data: {ping}\n\n")).await;
    let answer = stage.next().await;
    assert_dressed(&answer);
    answer.plain("202 Accepted").await;
    resumed.stream().await.say(&format!("data: {reply}\n\n")).await;
    assert_eq!(call.await.unwrap().unwrap(), "done");
    let closing = tokio::spawn(client.close());
    let farewell = stage.next().await;
    assert_eq!(farewell.method, "DELETE");
    assert_dressed(&farewell);
    farewell.plain("200 OK").await;
    closing.await.unwrap().unwrap();
}

#[tokio::test]
async fn headers_go_with_every_request_that_stands_alone() {
    let mut stage = Stage::open().await;
    let connecting = tokio::spawn(Client::connect_http(dressed(&stage.url)));
    let probe = stage.next().await;
    assert_dressed(&probe);
    probe.json("", &json!({"supportedVersions": ["2026-07-28"], "capabilities": {}})).await;
    let client = connecting.await.unwrap().unwrap();
    let call = calling(&client, "a");
    let asked = stage.next().await;
    assert_dressed(&asked);
    assert_eq!(asked.header("mcp-method"), Some("tools/call"));
    asked.json("", &text("done")).await;
    assert_eq!(call.await.unwrap().unwrap(), "done");
}

#[test]
fn what_cannot_be_sent_is_named_before_anything_goes_out() {
    let to = || Http::new("http://localhost:1/mcp");
    for (server, part) in [
        (to().header("x y", "secret"), "\"x y\""),
        (to().header("", "secret"), "name of a header"),
        (to().header("x-key", "secret\n"), "`x-key`"),
        (to().header("x-key", "sec\0ret"), "`x-key`"),
        (to().bearer("secret\n"), "`trim`"),
        (to().bearer(""), "the bearer token is empty"),
        (to().header("Content-Type", "text/plain"), "`content-type`"),
        (to().header("accept", "secret"), "`accept`"),
        (to().header("Accept-Encoding", "gzip"), "`accept-encoding`"),
        (to().header("Host", "secret"), "`host`"),
        (to().header("Content-Length", "1"), "`content-length`"),
        (to().header("Transfer-Encoding", "chunked"), "`transfer-encoding`"),
        (to().header("Last-Event-ID", "1"), "`last-event-id`"),
        (to().header("Mcp-Session-Id", "secret"), "`mcp-session-id`"),
        (to().header("MCP-Protocol-Version", "secret"), "`mcp-protocol-version`"),
        (to().header("Mcp-Param-Region", "secret"), "`mcp-param-region`"),
        // The first mistake is reported.
        (to().header("te", "a").header("x y", "b").header("ok", "c"), "`te`"),
        (Http::new("localhost"), "must begin with http://"),
        (Http::new("http://me:secret@localhost/mcp"), "`Http::bearer`"),
    ] {
        let error = server.into_target().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Misuse, "{error}");
        assert!(error.to_string().contains(part), "{part}: {error}");
        assert!(!format!("{error:?} {error:#?}").contains("secret"), "{error:#?}");
    }
}

#[test]
fn neither_a_server_nor_its_name_shows_a_secret() {
    let server = Http::new("http://localhost:1/mcp?key=secret").bearer("secret").header("X-Key", "secret");
    assert_eq!(server.name(), "http://localhost:1/mcp");
    assert_eq!(
        format!("{server:?}"),
        r#"Http { url: http://localhost:1/mcp, headers: ["authorization", "x-key"], .. }"#
    );
    let target = server.into_target().unwrap();
    assert_eq!(format!("{target:?}"), r#"Target("http://localhost:1/mcp")"#);
}
