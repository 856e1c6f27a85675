//! Progress: what is sent, and what may a caller request?

use serde_json::{Value, json};
use toolway::client::Notification;
use toolway::prelude::*;
use toolway::testing::each_wire;

use crate::http::{post, read};
use crate::pipe::one_line;

/// Tells of progress that is none, in between.
#[tool]
async fn count(ctx: Ctx) -> &'static str {
    for done in [f64::NAN, 1.0, f64::INFINITY, 2.0, 1.5, 2.0, f64::NEG_INFINITY, 3.0] {
        ctx.progress(done, f64::NAN, "").await;
    }
    ctx.progress(None::<u8>, 7, "").await;
    ctx.progress(3, 7, "").await;
    ctx.progress(4, 7, "").await;
    "counted"
}

fn server() -> Server {
    Server::new("counter", "1.0.0").tools(tools![count]).build().unwrap()
}

/// The specification: progress must increase; and JSON cannot express NaN.
#[tokio::test]
async fn only_more_is_told() {
    each_wire(&server(), async |client| {
        let mut news = client.notifications();
        let counted = client.call("count", json!({})).await.unwrap();
        assert_eq!(counted.first_text(), Some("counted"));
        let mut told = Vec::new();
        for _ in 0..4 {
            let Some(Notification::Progress(progress)) = news.next().await else { panic!("progress") };
            told.push((progress.progress.as_f64(), progress.total.and_then(|total| total.as_f64())));
        }
        let expected = [(Some(1.0), None), (Some(2.0), None), (Some(3.0), None), (Some(4.0), Some(7.0))];
        assert_eq!(told, expected);
        assert!(news.try_next().is_none());
    })
    .await;
}

/// Tells of progress with and without all that may be said about it.
#[tool]
async fn step(ctx: Ctx) {
    ctx.progress_at(1).await;
    ctx.progress_of(1.5, 3).await;
    ctx.progress(2, (), "two").await;
    ctx.progress(3, 3, "three").await;
}

#[tokio::test]
async fn total_and_message_may_be_left_out() {
    let server = Server::new("steps", "1.0.0").tool(step::entry()).build().unwrap();
    each_wire(&server, async |client| {
        let mut news = client.notifications();
        client.call("step", json!({})).await.unwrap();
        let mut told = Vec::new();
        for _ in 0..4 {
            let Some(Notification::Progress(progress)) = news.next().await else { panic!("progress") };
            told.push((
                progress.progress.as_f64().unwrap(),
                progress.total.and_then(|total| total.as_f64()),
                progress.message.unwrap_or_default(),
            ));
        }
        // The first revision has no messages.
        let has_messages = told.iter().any(|(.., message)| !message.is_empty());
        let message = |text: &str| if has_messages { text.to_owned() } else { String::new() };
        let expected = [
            (1.0, None, String::new()),
            (1.5, Some(3.0), String::new()),
            (2.0, None, message("two")),
            (3.0, Some(3.0), message("three")),
        ];
        assert_eq!(told, expected);
    })
    .await;
}

/// A token is a string or an integer; a call with any other token gets an answer without progress.
#[tokio::test]
async fn a_token_that_is_none_does_not_break_the_call() {
    for token in [json!({}), json!([1]), json!(true), json!(null), json!(1.5), json!({"deep": [{}]})] {
        let plain = json!({"progressToken": token});
        let stateless = json!({
            "progressToken": token,
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
        });
        let call = |meta: &Value| json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "count", "_meta": meta}});
        for meta in [&plain, &stateless] {
            let reply = one_line(&server(), call(meta).to_string().as_bytes()).await;
            assert_eq!(reply["result"]["content"][0]["text"], "counted", "over a pipe: {token}: {reply}");
        }
        let service = server().http().sessionless();
        let (status, reply) = read(service.handle(post(&call(&plain))).await).await;
        assert_eq!(
            (status.as_u16(), &reply["result"]["content"][0]["text"]),
            (200, &json!("counted")),
            "{token}"
        );
        let mut request = post(&call(&stateless));
        for (name, value) in
            [("mcp-protocol-version", "2026-07-28"), ("mcp-method", "tools/call"), ("mcp-name", "count")]
        {
            request.headers_mut().append(name, value.parse().unwrap());
        }
        let (status, reply) = read(service.handle(request).await).await;
        assert_eq!(
            (status.as_u16(), &reply["result"]["content"][0]["text"]),
            (200, &json!("counted")),
            "{token}"
        );
    }
}
