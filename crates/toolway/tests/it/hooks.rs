//! What do hooks around a call know about it, and what can they not change?

use std::future::{Ready, ready};
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use http::HeaderValue;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use toolway::Form;
use toolway::client::Answer;
use toolway::prelude::*;
use toolway::server::ask::AskErrorKind;
use toolway::server::{Admit, ErrorReport, Extensions, RequestStats, ServerBuilder, ToolEntry};
use toolway::testing::{connect, each_wire, each_wire_as};

use crate::http::post;

fn app() -> ServerBuilder {
    Server::new("app", "1.0.0")
        .tool(ToolEntry::from_fn("works", || async { "done" }))
        .tool(ToolEntry::from_fn("fails", || async { Err::<(), _>(std::io::Error::other("inside")) }))
}

fn call(tool: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": {}, "_meta": {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }}})
}

#[tokio::test]
async fn a_hook_that_panics_before_its_first_step_harms_nobody() {
    let server = app()
        .on_error(|_: ErrorReport| -> Ready<()> { panic!("in the hook") })
        .on_request_end(|_: RequestStats| -> Ready<()> { panic!("in the hook") })
        .build()
        .unwrap();
    each_wire(&server, async |client| {
        assert!(client.call("fails", json!({})).await.unwrap().is_error());
        assert_eq!(client.call("works", json!({})).await.unwrap().first_text(), Some("done"));
    })
    .await;
}

#[derive(Debug, Form)]
struct Comment {
    #[expect(dead_code, reason = "nobody can be asked for it")]
    text: String,
}

#[tokio::test]
async fn a_hook_cannot_turn_a_failure_into_a_question() {
    let seen: Arc<Mutex<Vec<AskErrorKind>>> = Arc::default();
    let kinds = seen.clone();
    let ask = move |ctx: Ctx| {
        let kinds = kinds.clone();
        async move {
            let error = ctx.ask::<Comment>("What happened?").await.unwrap_err();
            kinds.lock().unwrap().push(error.kind());
        }
    };
    let too = ask.clone();
    let server = app()
        .on_error(move |_: ErrorReport, ctx: Ctx| ask(ctx))
        .on_request_end(move |_: RequestStats, ctx: Ctx| too(ctx))
        .build()
        .unwrap();
    let client = Client::builder().on_elicit(async |_| Answer::accept(json!({"text": "nothing"})));
    each_wire_as(client, &server, async |client| {
        seen.lock().unwrap().clear();
        assert!(client.call("fails", json!({})).await.unwrap().is_error());
        assert_eq!(*seen.lock().unwrap(), [AskErrorKind::NotAllowed; 2]);
    })
    .await;
}

#[tokio::test]
async fn a_hook_remembers_what_its_call_remembers() {
    /// Counts calls.
    #[tool]
    async fn count(ctx: Ctx) -> Result<u32, ToolError> {
        let count = ctx.memory_update(|count: &mut u32| {
            *count += 1;
            *count
        });
        Ok(count.await?)
    }
    let (sender, told) = mpsc::unbounded_channel();
    let server = Server::new("app", "1.0.0")
        .tools(tools![count])
        .on_connect(async || Admit::as_principal("ann"))
        .on_request_end(move |stats: RequestStats, ctx: Ctx| {
            let sender = sender.clone();
            async move {
                if stats.tool.is_some() {
                    sender.send(*ctx.memory::<u32>().await.unwrap()).unwrap();
                }
            }
        })
        .build()
        .unwrap();
    let told = tokio::sync::Mutex::new(told);
    each_wire(&server, async |client| {
        let counted = client.call("count", json!({})).await.unwrap();
        let remembered = told.lock().await.recv().await.unwrap().to_string();
        assert_eq!(counted.first_text(), Some(&*remembered));
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_server_that_stops_waits_for_hooks_that_are_not_done_yet() {
    let (sender, mut told) = mpsc::unbounded_channel();
    let server = app()
        .on_request_end(move |stats: RequestStats| {
            let sender = sender.clone();
            async move {
                tokio::time::sleep(Duration::from_secs(1)).await;
                sender.send(stats.tool).unwrap();
            }
        })
        .build()
        .unwrap();
    let service = server.http();
    let mut request = post(&call("works"));
    for (name, value) in
        [("mcp-protocol-version", "2026-07-28"), ("mcp-method", "tools/call"), ("mcp-name", "works")]
    {
        request.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    assert_eq!(service.handle(request).await.status(), 200);
    assert!(told.try_recv().is_err(), "the answer came first");
    service.stop().await;
    assert_eq!(told.try_recv().unwrap().as_deref(), Some("works"));
}

#[test]
fn a_host_without_a_runtime_has_its_hooks() {
    let seen: Arc<Mutex<Vec<&'static str>>> = Arc::default();
    let (failed, ended) = (seen.clone(), seen.clone());
    let server = app()
        .on_error(move |_: ErrorReport| {
            let failed = failed.clone();
            async move { failed.lock().unwrap().push("failed") }
        })
        .on_request_end(move |_: RequestStats| {
            let ended = ended.clone();
            async move { ended.lock().unwrap().push("ended") }
        })
        .build()
        .unwrap();
    let answer = pin!(server.handle_json(call("fails").to_string(), Extensions::new()));
    assert!(matches!(answer.poll(&mut Context::from_waker(Waker::noop())), Poll::Ready(Some(_))));
    assert_eq!(*seen.lock().unwrap(), ["failed", "ended"]);
}

#[tokio::test]
async fn what_a_caller_may_not_see_is_not_there_for_statistics_either() {
    let (sender, mut told) = mpsc::unbounded_channel();
    let server = app()
        .on_connect(async || Admit::anyone().only_tools(["fails"]))
        .on_request_end(move |stats: RequestStats| {
            sender.send((stats.tool, stats.error)).unwrap();
            ready(())
        })
        .build()
        .unwrap();
    connect(&server).await.call("works", json!({})).await.unwrap_err();
    assert_eq!(told.recv().await.unwrap(), (None, Some("tool_not_found")));
}
