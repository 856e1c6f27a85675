//! What can be observed of a call from outside, and does that affect the call?

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;
use tokio::sync::Notify;
use toolway::prelude::*;
use toolway::server::layer::layer_fn;
use toolway::server::{ErrorReport, Principal, RequestStats, ResourceEntry, ToolEntry};
use toolway::testing::{connect, each_wire};
use toolway::types::ResourceTemplate;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing_subscriber::layer::{Context, SubscriberExt};

type Fields = BTreeMap<&'static str, String>;

/// Records the fields of the spans of calls.
#[derive(Clone, Default)]
struct Spans(Arc<Mutex<Vec<(u64, Fields)>>>);

struct Into<'f>(&'f mut Fields);

impl Visit for Into<'_> {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name(), value.to_owned());
    }

    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        self.0.insert(field.name(), format!("{value:?}"));
    }
}

impl<S: tracing::Subscriber> tracing_subscriber::Layer<S> for Spans {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, _: Context<'_, S>) {
        if attributes.metadata().target() == "toolway" && attributes.metadata().name() == "call" {
            let mut fields = Fields::new();
            attributes.record(&mut Into(&mut fields));
            self.0.lock().unwrap().push((id.into_u64(), fields));
        }
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, _: Context<'_, S>) {
        if let Some((_, fields)) =
            self.0.lock().unwrap().iter_mut().rev().find(|(known, _)| *known == id.into_u64())
        {
            values.record(&mut Into(fields));
        }
    }
}

impl Spans {
    fn one(&self) -> Fields {
        let spans = std::mem::take(&mut *self.0.lock().unwrap());
        let [(_, fields)] = &spans[..] else { panic!("{spans:?}") };
        fields.clone()
    }
}

fn fields(expected: &[(&'static str, &str)]) -> Fields {
    expected.iter().map(|(name, value)| (*name, (*value).to_owned())).collect()
}

fn app() -> toolway::server::ServerBuilder {
    let note = ResourceEntry::define(ResourceTemplate::new("notes://{id}", "note"), || async { "a note" });
    Server::new("app", "1.0.0")
        .tool(ToolEntry::from_fn("works", || async { "done" }))
        .tool(ToolEntry::from_fn("says_so", || async { Err::<(), _>(ToolError::new("not today")) }))
        .resource(note)
}

#[tokio::test]
async fn a_call_is_one_span_by_the_conventions() {
    let spans = Spans::default();
    let _guard = tracing::subscriber::set_default(tracing_subscriber::registry().with(spans.clone()));
    each_wire(&app().build().unwrap(), async |client| {
        spans.0.lock().unwrap().clear();
        let version = client.protocol_version();
        let one = || {
            let mut fields = spans.one();
            let id = fields.remove("jsonrpc.request.id").unwrap();
            assert!(!id.is_empty() && !id.contains('"'));
            let wire = (fields.remove("network.transport"), fields.remove("network.protocol.name"));
            let wire = (wire.0.as_deref(), wire.1.as_deref());
            assert!(
                [(None, None), (Some("pipe"), None), (Some("tcp"), Some("http"))].contains(&wire),
                "{wire:?}"
            );
            fields
        };
        let common = |name: &str, method: &str| {
            fields(&[
                ("otel.name", name),
                ("otel.kind", "server"),
                ("mcp.method.name", method),
                ("mcp.protocol.version", version.as_str()),
            ])
        };
        let tool = |name: &str| {
            let mut all = common(&format!("tools/call {name}"), "tools/call");
            all.extend(fields(&[("gen_ai.operation.name", "execute_tool"), ("gen_ai.tool.name", name)]));
            all
        };
        client.call("works", json!({})).await.unwrap();
        assert_eq!(one(), tool("works"));
        client.call("says_so", json!({})).await.unwrap();
        let mut failed = tool("says_so");
        failed.extend(fields(&[("error.type", "tool_error"), ("otel.status_code", "ERROR")]));
        assert_eq!(one(), failed);
        client.call("made-up", json!({})).await.unwrap_err();
        let refused = fields(&[
            ("error.type", "-32602"),
            ("otel.status_code", "ERROR"),
            ("rpc.response.status_code", "-32602"),
        ]);
        let mut unknown = common("tools/call", "tools/call");
        unknown.extend(refused);
        assert_eq!(one(), unknown);
        client.read_resource("notes://7").await.unwrap();
        let mut read = common("resources/read", "resources/read");
        read.extend(fields(&[("mcp.resource.uri", "notes://{id}")]));
        assert_eq!(one(), read);
        let error = client.read_resource("made://up").await.unwrap_err();
        assert_eq!(one()["rpc.response.status_code"], error.code().unwrap().0.to_string());
        client.request("made/up", json!({})).await.unwrap_err();
        assert_eq!(one()["otel.name"], "unknown");
    })
    .await;
}

#[tokio::test]
async fn the_trace_of_the_caller_is_in_the_span_if_it_is_one() {
    const PARENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    let spans = Spans::default();
    let _guard = tracing::subscriber::set_default(tracing_subscriber::registry().with(spans.clone()));
    each_wire(&app().build().unwrap(), async |client| {
        spans.0.lock().unwrap().clear();
        for (parent, expected) in [
            (json!(PARENT), Some("4bf92f3577b34da6a3ce929d0e0e4736")),
            (json!(PARENT.to_uppercase()), None),
            (json!(format!("{PARENT}\n")), None),
            (json!(7), None),
            (json!({"deep": [1]}), None),
            (Value::Null, None),
        ] {
            let params = json!({"name": "works", "_meta": {"traceparent": parent}});
            client.request("tools/call", params).await.unwrap();
            assert_eq!(spans.one().get("trace_id").map(String::as_str), expected, "{parent}");
        }
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn hooks_that_panic_or_hang_harm_nobody() {
    let panics = ToolEntry::from_fn("panics", async || -> () { panic!("inside") });
    let panicking = app()
        .tool(panics.clone())
        .on_error(async |_: ErrorReport| -> () { panic!("in the hook") })
        .on_request_end(async |_: RequestStats| -> () { panic!("in the hook") })
        .build()
        .unwrap();
    let hanging = app()
        .tool(panics.clone())
        .on_error(|_: ErrorReport| std::future::pending())
        .on_request_end(|_: RequestStats| std::future::pending())
        .build()
        .unwrap();
    // Its parameter is missing, because the call has no `Principal`.
    let lacking = app()
        .tool(panics)
        .on_error(|_: ErrorReport, _: Principal| async {})
        .on_request_end(|_: RequestStats, _: Principal| async {})
        .build()
        .unwrap();
    for server in [panicking, hanging, lacking] {
        let client = connect(&server).await;
        assert!(client.call("panics", json!({})).await.unwrap().is_error());
        assert_eq!(client.call("works", json!({})).await.unwrap().first_text(), Some("done"));
    }
}

#[tokio::test]
async fn a_call_that_nobody_waits_for_any_more_is_told_once_as_cancelled() {
    let begun = Arc::new(Notify::new());
    let seen = Arc::new(Mutex::new(Vec::new()));
    let (started, ended) = (begun.clone(), seen.clone());
    let forever = ToolEntry::from_fn("forever", move || {
        let started = started.clone();
        async move {
            started.notify_one();
            std::future::pending::<()>().await;
        }
    });
    let told = Arc::new(Notify::new());
    let tell = told.clone();
    let server = app()
        .tool(forever)
        .on_request_end(move |stats: RequestStats| {
            let (ended, tell) = (ended.clone(), tell.clone());
            async move {
                tokio::task::yield_now().await;
                ended.lock().unwrap().push((stats.tool, stats.error, stats.rounds));
                tell.notify_one();
            }
        })
        .build()
        .unwrap();
    let cancelled = async || {
        told.notified().await;
        let seen = std::mem::take(&mut *seen.lock().unwrap());
        assert_eq!(seen, [(Some("forever".to_owned()), Some("cancelled"), 1)]);
    };
    // A closed connection drops the future, as here.
    let client = connect(&server).await;
    tokio::select! {
        _ = client.call("forever", json!({})) => panic!("it never ends"),
        () = begun.notified() => {}
    }
    cancelled().await;

    // On a pipe the client sends a cancellation.
    let (mut near, far) = tokio::io::duplex(1 << 10);
    let (reader, writer) = tokio::io::split(far);
    let talking = async {
        let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "forever"}});
        near.write_all(format!("{call}\n").as_bytes()).await.unwrap();
        begun.notified().await;
        let cancel =
            json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}});
        near.write_all(format!("{cancel}\n").as_bytes()).await.unwrap();
        cancelled().await;
        near.shutdown().await.unwrap();
    };
    let (outcome, ()) = tokio::join!(server.serve_io(reader, writer), talking);
    outcome.unwrap();
}

#[tokio::test]
async fn a_layer_that_answers_itself_is_counted_without_a_round() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let ended = seen.clone();
    let server = app()
        .layer(layer_fn(|_, _| async { Err(toolway::RpcError::invalid_request("no").into()) }))
        .on_request_end(move |stats: RequestStats| {
            ended.lock().unwrap().push((stats.error, stats.rounds));
            async {}
        })
        .build()
        .unwrap();
    each_wire(&server, async |client| {
        seen.lock().unwrap().clear();
        client.call("works", json!({})).await.unwrap_err();
        assert_eq!(*seen.lock().unwrap(), [(Some("invalid_request"), 0)]);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_slow_hook_does_not_keep_the_answer() {
    let (sender, mut told) = tokio::sync::mpsc::unbounded_channel();
    let server = app()
        .on_request_end(move |stats: RequestStats| {
            let sender = sender.clone();
            async move {
                tokio::time::sleep(Duration::from_secs(3)).await;
                sender.send(stats.tool).unwrap();
            }
        })
        .build()
        .unwrap();
    let client = connect(&server).await;
    client.call("works", json!({})).await.unwrap();
    assert!(told.try_recv().is_err(), "the answer came first");
    assert_eq!(told.recv().await.unwrap().as_deref(), Some("works"));
}
