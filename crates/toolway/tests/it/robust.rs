//! Availability: whatever a peer sends and whatever a handler does, is the next request answered?

use std::future::{Ready, pending};
use std::sync::Arc;

use serde_json::{Value, json};
use tokio::sync::{Notify, Semaphore};
use toolway::prelude::*;
use toolway::server::element::{PromptHandler, ResourceDefinition, ResourceHandler, ToolHandler};
use toolway::server::parameter::{Arguments, Scope};
use toolway::server::{
    Completer, CompletionProvider, CompletionRequest, PromptEntry, PromptError, ReadRequest, ResourceEntry,
    ResourceError, ToolEntry,
};
use toolway::testing::each_wire;
use toolway::types::{
    CallToolResult, Completion, GetPromptResult, PromptArgument, ReadResourceResult, Resource,
    ResourceTemplate, Tool,
};
use toolway::{BoxFuture, Error};

use crate::pipe::Talk;

/// The number of requests of one pipe that may run, and how many of them may be subscription streams. We chose these
/// numbers.
const MAX_RUNNING: usize = 256;
const MAX_LISTENS: usize = 32;

fn call(id: impl Into<Value>, tool: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id.into(), "method": "tools/call", "params": {"name": tool}})
}

fn ping(id: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": "ping"})
}

fn cancel(id: usize) -> Value {
    json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}})
}

fn listen(id: impl Into<Value>) -> Value {
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let params = json!({"notifications": {"toolsListChanged": true}, "_meta": meta});
    json!({"jsonrpc": "2.0", "id": id.into(), "method": "subscriptions/listen", "params": params})
}

/// Returns whether the reply is a temporary refusal.
fn is_busy(reply: &Value) -> bool {
    reply["error"]["code"] == -32603 && reply["error"]["data"]["retryAfterMs"].as_u64().is_some()
}

/// A tool that reports when it begins and when it is dropped, and never ends.
fn endless(begun: &Arc<Semaphore>, dropped: &Arc<Notify>) -> ToolEntry {
    struct Tell(Arc<Notify>);
    impl Drop for Tell {
        fn drop(&mut self) {
            self.0.notify_one();
        }
    }
    let (begun, dropped) = (begun.clone(), dropped.clone());
    ToolEntry::from_fn("endless", move || {
        let tell = Tell(dropped.clone());
        begun.add_permits(1);
        async move {
            let _tell = tell;
            pending::<&'static str>().await
        }
    })
}

#[tokio::test]
async fn as_many_calls_as_may_run_can_all_tell_of_their_progress() {
    let gate = Arc::new(Semaphore::new(0));
    let open = gate.clone();
    let tool = ToolEntry::from_fn("steps", move |ctx: Ctx| {
        let open = open.clone();
        async move {
            ctx.progress(1, 2, "waiting").await;
            open.acquire().await.unwrap().forget();
            ctx.progress(2, 2, "through").await;
            "done"
        }
    });
    let server = Server::new("busy", "1.0.0").tool(tool).build().unwrap();
    let mut talk = Talk::start(&server);
    for id in 0..MAX_RUNNING {
        let mut call = call(id, "steps");
        call["params"]["_meta"] = json!({"progressToken": id});
        talk.send_json(call).await;
    }
    // All are running, more than fit into any queue.
    for _ in 0..MAX_RUNNING {
        assert_eq!(talk.receive().await["params"]["progress"], 1);
    }
    gate.add_permits(MAX_RUNNING);
    let mut told = vec![false; MAX_RUNNING];
    let mut answered = 0;
    while answered < MAX_RUNNING {
        let message = talk.receive().await;
        match message["params"]["progressToken"].as_u64() {
            Some(token) => told[usize::try_from(token).unwrap()] = true,
            None => {
                assert_eq!(message["result"]["content"][0]["text"], "done", "{message}");
                let id = usize::try_from(message["id"].as_u64().unwrap()).unwrap();
                assert!(told[id], "what a call says comes before its answer");
                answered += 1;
            }
        }
    }
    assert_eq!(talk.end().await, Vec::<Value>::new());
}

#[tokio::test]
async fn a_pipe_that_runs_all_it_may_refuses_more_and_still_hears_pings_and_cancels() {
    let (begun, dropped) = (Arc::new(Semaphore::new(0)), Arc::new(Notify::new()));
    let server = Server::new("busy", "1.0.0").tool(endless(&begun, &dropped)).build().unwrap();
    let mut talk = Talk::start(&server);
    for id in 0..MAX_RUNNING {
        talk.send_json(call(id, "endless")).await;
    }
    begun.acquire_many(u32::try_from(MAX_RUNNING).unwrap()).await.unwrap().forget();
    talk.send_json(call("more", "endless")).await;
    let refusal = talk.receive().await;
    assert_eq!(refusal["id"], "more");
    assert!(is_busy(&refusal), "{refusal}");
    talk.send_json(ping("first")).await;
    assert_eq!(talk.receive().await, json!({"jsonrpc": "2.0", "id": "first", "result": {}}));
    talk.send_json(cancel(7)).await;
    dropped.notified().await;
    // There is room for one again, and only for one.
    talk.send_json(call("more", "endless")).await;
    begun.acquire().await.unwrap().forget();
    talk.send_json(call("too much", "endless")).await;
    let refusal = talk.receive().await;
    assert_eq!(refusal["id"], "too much");
    assert!(is_busy(&refusal), "{refusal}");
    talk.send_json(ping("last")).await;
    assert_eq!(talk.receive().await["id"], "last");
}

#[tokio::test]
async fn streams_of_changes_leave_room_for_other_requests() {
    let tool = ToolEntry::from_fn("hello", || async { "hello" });
    let server = Server::new("listened", "1.0.0").tool(tool).build().unwrap();
    let mut talk = Talk::start(&server);
    let mut open = 0;
    for id in 0..MAX_RUNNING {
        talk.send_json(listen(id)).await;
        let reply = talk.receive().await;
        if reply["method"] == "notifications/subscriptions/acknowledged" {
            open += 1;
        } else {
            assert_eq!(reply["id"], id);
            assert!(is_busy(&reply), "{reply}");
        }
    }
    assert_eq!(open, MAX_LISTENS);
    talk.send_json(call("x", "hello")).await;
    assert_eq!(talk.receive().await["result"]["content"][0]["text"], "hello");
    // A cancelled stream frees its slot once it has ended.
    talk.send_json(cancel(0)).await;
    loop {
        talk.send_json(listen("another")).await;
        let reply = talk.receive().await;
        if reply["method"] == "notifications/subscriptions/acknowledged" {
            break;
        }
        assert!(is_busy(&reply), "{reply}");
    }
    // 2026-07-28, subscriptions: a stream that the server ends has an answer. Nothing else would end these.
    let rest = talk.end().await;
    assert_eq!(rest.len(), MAX_LISTENS, "{rest:?}");
    assert!(rest.iter().all(|reply| reply.get("result").is_some()), "{rest:?}");
}

/// Panics before the handler has created its future.
fn at_once<T>() -> Ready<T> {
    panic!("the password is swordfish")
}

struct Rash;

impl ToolHandler for Rash {
    fn definition(&self) -> Tool {
        Tool::new("written", json!({"type": "object"}))
    }

    fn call(&self, _: Arguments, _: Scope) -> BoxFuture<'static, Result<CallToolResult, ToolError>> {
        Box::pin(at_once())
    }
}

impl ResourceHandler for Rash {
    fn definition(&self) -> ResourceDefinition {
        Resource::new("rash://written", "written").into()
    }

    fn read(
        &self,
        _: ReadRequest,
        _: Scope,
    ) -> BoxFuture<'static, Result<ReadResourceResult, ResourceError>> {
        Box::pin(at_once())
    }
}

impl PromptHandler for Rash {
    fn definition(&self) -> toolway::types::Prompt {
        toolway::types::Prompt::new("written")
    }

    fn get(
        &self,
        _: toolway::__private::values::Values,
        _: Scope,
    ) -> BoxFuture<'static, Result<GetPromptResult, PromptError>> {
        Box::pin(at_once())
    }
}

impl CompletionProvider for Rash {
    fn complete(&self, _: CompletionRequest, _: Ctx) -> impl Future<Output = Completion> + Send {
        at_once()
    }
}

fn rash() -> Server {
    let arguments = ["function", "value"].map(PromptArgument::new).to_vec();
    Server::new("rash", "1.0.0")
        .tool(ToolEntry::from_fn("fine", || async { "fine" }))
        .tool(ToolEntry::from_fn("closure", at_once::<&'static str>))
        .tool(ToolEntry::new(Rash))
        .resource(ResourceEntry::define(Resource::new("rash://closure", "c"), at_once::<&'static str>))
        .resource(ResourceEntry::define(
            ResourceTemplate::new("rash://family/{id}", "family"),
            at_once::<&'static str>,
        ))
        .resource(ResourceEntry::new(Rash))
        .prompt(PromptEntry::define(toolway::types::Prompt::new("closure"), at_once::<&'static str>))
        .prompt(PromptEntry::new(Rash))
        .prompt(
            PromptEntry::define(
                toolway::types::Prompt::new("completed").with_arguments(arguments),
                || async { "" },
            )
            .with_completer("function", Completer::function(at_once::<Vec<String>>))
            .with_completer("value", Completer::provider(Rash)),
        )
        .list_resources(at_once::<Vec<Resource>>)
        .read_resource(at_once::<&'static str>)
        .method("acme/rash", at_once::<&'static str>)
        .notification("acme/rash", at_once::<()>)
        .build()
        .unwrap()
}

/// Checks for one failed call: an internal error without the text of the panic. The next call must work.
async fn one_failure<T>(client: &Client, case: &str, outcome: Result<T, Error>) {
    let Err(error) = outcome else { panic!("{case} did not fail") };
    let rpc = error.rpc().unwrap_or_else(|| panic!("{case}: {error}"));
    assert_eq!(rpc.code.0, -32603, "{case}: {rpc}");
    assert!(!rpc.message.contains("swordfish"), "{case}: {rpc}");
    lives(client, case).await;
}

async fn lives(client: &Client, case: &str) {
    let fine = client.call("fine", json!({})).await.unwrap_or_else(|error| panic!("after {case}: {error}"));
    assert_eq!(fine.first_text(), Some("fine"), "after {case}");
}

#[tokio::test]
async fn a_panic_before_the_first_await_is_one_failed_call() {
    const NONE: [(&str, &str); 0] = [];
    each_wire(&rash(), async |client| {
        for tool in ["closure", "written"] {
            let result = client.call(tool, json!({})).await.unwrap();
            assert_eq!(result.is_error, Some(true), "{tool}");
            assert!(!result.first_text().unwrap().contains("swordfish"), "{result:?}");
            lives(&client, tool).await;
        }
        // The last URI has no resource, so the common reader of the server gets it.
        for uri in ["rash://closure", "rash://written", "rash://family/7", "other://it"] {
            one_failure(&client, uri, client.read_resource(uri).await).await;
        }
        for prompt in ["closure", "written"] {
            one_failure(&client, prompt, client.get_prompt(prompt, NONE).await).await;
        }
        for argument in ["function", "value"] {
            let completion = client.complete_prompt("completed", argument, "", NONE).await;
            one_failure(&client, argument, completion).await;
        }
        one_failure(&client, "a list", client.resources().await).await;
        one_failure(&client, "a method", client.request("acme/rash", json!({})).await).await;
        client.notify("acme/rash", json!({})).await.unwrap();
        lives(&client, "a notification").await;
    })
    .await;
}

#[tokio::test]
async fn resources_that_read_each_other_without_end_are_one_failed_call() {
    let other = |uri: &'static str| {
        move |ctx: Ctx| async move {
            let read = ctx.read_resource(uri).await?;
            Ok::<_, ResourceError>(read.text().unwrap_or_default().to_owned())
        }
    };
    let countdown = |reading: ReadRequest, ctx: Ctx| async move {
        let left: u32 = reading.variables.text("left").unwrap().parse()?;
        if left == 0 {
            return Ok("bottom".to_owned());
        }
        let read = ctx.read_resource(format!("count://{}", left - 1)).await?;
        Ok::<_, ResourceError>(read.text().unwrap_or_default().to_owned())
    };
    let server = Server::new("mirrors", "1.0.0")
        .resource(ResourceEntry::define(Resource::new("mirror://a", "a"), other("mirror://b")))
        .resource(ResourceEntry::define(Resource::new("mirror://b", "b"), other("mirror://a")))
        .resource(ResourceEntry::define(Resource::new("mirror://self", "self"), other("mirror://self")))
        .resource(ResourceEntry::define(ResourceTemplate::new("count://{left}", "count"), countdown))
        .tool(ToolEntry::from_fn("look", |ctx: Ctx| async move {
            let read = ctx.read_resource("mirror://a").await?;
            Ok::<_, ToolError>(read.text().unwrap_or_default().to_owned())
        }))
        .build()
        .unwrap();
    each_wire(&server, async |client| {
        for uri in ["mirror://a", "mirror://self", "count://1000000"] {
            let error = client.read_resource(uri).await.unwrap_err();
            assert_eq!(error.rpc().unwrap().code.0, -32603, "{uri}: {error}");
        }
        assert_eq!(client.call("look", json!({})).await.unwrap().is_error, Some(true));
        // A chain that ends is read to its end.
        assert_eq!(client.read_resource("count://10").await.unwrap().text(), Some("bottom"));
    })
    .await;
}
