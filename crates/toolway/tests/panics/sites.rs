//! A server that panics in every place where its author's code runs.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Number, Value, json};
use toolway::prelude::*;
use toolway::server::ask::FormField;
use toolway::server::convert::{IntoReply, IntoToolResult};
use toolway::server::element::ToolHandler;
use toolway::server::layer::{Call, CallKind, Next, layer_fn, tower};
use toolway::server::parameter::{Arguments, Missing, Parameter, Scope};
use toolway::server::{
    Amount, Completer, CompletionRequest, Cursor, ErrorPolicy, ErrorReport, ErrorScope, PromptEntry,
    PromptValues, ReadRequest, RequestStats, ResourceEntry, ResourcePage, ServerBuilder, ToolEntry,
};
use toolway::types::{CallToolResult, Field, PromptArgument, Resource, ResourceTemplate, Tool};
use toolway::{BoxFuture, Form, RawJson};

use crate::peer::{Era, Way};

/// The text of every panic, which the peer must not see.
pub(crate) const WORDS: &str = "words of a panic";

/// The expected answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    /// The result of a tool that has failed.
    Tool,
    /// An error of the protocol.
    Rpc,
    /// The right result: the panic did not affect the call.
    Right,
    /// No answer, because the message does not need one.
    Silent,
}

/// A place to panic.
pub(crate) struct Site {
    pub(crate) name: &'static str,
    pub(crate) method: &'static str,
    pub(crate) params: &'static str,
    /// Returns `None` where the site cannot be reached.
    pub(crate) shape: fn(Way, Era) -> Option<Shape>,
    /// `true` if the peer is told what is wrong, and gets no reference.
    pub(crate) is_told: bool,
}

macro_rules! sites {
    ($($name:literal: $method:literal $params:literal => $shape:expr $(, $told:ident)?;)*) => {
        &[$(Site {
            name: $name,
            method: $method,
            params: $params,
            shape: $shape,
            is_told: !stringify!($($told)?).is_empty(),
        },)*]
    };
}

const TOOL: fn(Way, Era) -> Option<Shape> = |_, _| Some(Shape::Tool);
const RPC: fn(Way, Era) -> Option<Shape> = |_, _| Some(Shape::Rpc);
const RIGHT: fn(Way, Era) -> Option<Shape> = |_, _| Some(Shape::Right);
const SILENT: fn(Way, Era) -> Option<Shape> = |_, _| Some(Shape::Silent);
/// Messages cannot be sent to a direct caller, because it has no connection.
const SPOKEN: fn(Way, Era) -> Option<Shape> = |way, _| (way != Way::Direct).then_some(Shape::Tool);
/// A direct caller cannot be asked either, except in rounds.
const ASKED: fn(Way, Era) -> Option<Shape> =
    |way, era| (way != Way::Direct || era == Era::Stateless).then_some(Shape::Tool);
const ASKED_RIGHT: fn(Way, Era) -> Option<Shape> =
    |way, era| (way != Way::Direct || era == Era::Stateless).then_some(Shape::Right);

pub(crate) const SITES: &[Site] = sites! {
    "at once": "tools/call" r#"{"name": "at_once"}"# => TOOL;
    "before there is a future": "tools/call" r#"{"name": "before_future"}"# => TOOL;
    "after waiting": "tools/call" r#"{"name": "after_waiting"}"# => TOOL;
    "a marked function": "tools/call" r#"{"name": "marked"}"# => TOOL;
    "on a thread of its own": "tools/call" r#"{"name": "blocking"}"# => TOOL;
    "a handler by hand": "tools/call" r#"{"name": "by_hand"}"# => TOOL;
    "arguments that are read": "tools/call" r#"{"name": "argument", "arguments": {"text": "x"}}"# => TOOL;
    "one of several arguments": "tools/call" r#"{"name": "arguments", "first": 1, "arguments": {"first": 1, "second": {"text": "x"}}}"# => TOOL;
    "results that are written": "tools/call" r#"{"name": "result"}"# => TOOL;
    "results that are converted": "tools/call" r#"{"name": "conversion"}"# => TOOL;
    "dropped": "tools/call" r#"{"name": "dropped"}"# => TOOL;
    "dropped after waiting": "tools/call" r#"{"name": "dropped_later"}"# => TOOL;
    "dropped at its deadline": "tools/call" r#"{"name": "dropped_in_time"}"# => TOOL, told;
    "a returned value is dropped": "tools/call" r#"{"name": "value_dropped"}"# => TOOL;
    "with a text of its own": "tools/call" r#"{"name": "owned"}"# => TOOL;
    "without words": "tools/call" r#"{"name": "no_words"}"# => TOOL;
    "with something that panics when it is dropped": "tools/call" r#"{"name": "no_end"}"# => TOOL;
    "around, before there is a future": "tools/call" r#"{"name": "layer_at_once"}"# => RPC;
    "around, before": "tools/call" r#"{"name": "layer_before"}"# => RPC;
    "around, after": "tools/call" r#"{"name": "layer_after"}"# => RPC;
    "one tool is layered": "tools/call" r#"{"name": "layered"}"# => RPC;
    "around lists": "prompts/list" "{}" => RPC;
    "a service of tower is cloned": "tools/call" r#"{"name": "tower_clone"}"# => RPC;
    "a service of tower gets ready": "tools/call" r#"{"name": "tower_ready"}"# => RPC;
    "a service of tower is called": "tools/call" r#"{"name": "tower_call"}"# => RPC;
    "a service of tower answers": "tools/call" r#"{"name": "tower_future"}"# => RPC;
    "an error is reported, before there is a future": "tools/call" r#"{"name": "report_at_once"}"# => TOOL;
    "an error is reported": "tools/call" r#"{"name": "report_later"}"# => TOOL;
    "the end is told, before there is a future": "tools/call" r#"{"name": "end_at_once"}"# => RIGHT;
    "the end is told": "tools/call" r#"{"name": "end_later"}"# => RIGHT;
    "an argument is completed": "completion/complete"
        r#"{"ref": {"type": "ref/prompt", "name": "review"}, "argument": {"name": "language", "value": ""}}"# => RPC;
    "a variable is completed": "completion/complete"
        r#"{"ref": {"type": "ref/resource", "uri": "family://{id}"}, "argument": {"name": "id", "value": ""}}"# => RPC;
    "resources are listed": "resources/list" "{}" => RPC;
    "a resource": "resources/read" r#"{"uri": "one://resource"}"# => RPC;
    "one of a family": "resources/read" r#"{"uri": "family://1"}"# => RPC;
    "the reader of everything else": "resources/read" r#"{"uri": "else://where"}"# => RPC;
    "a resource that a tool reads": "tools/call" r#"{"name": "reads"}"# => TOOL;
    "a prompt": "prompts/get" r#"{"name": "review"}"# => RPC;
    "a prompt after waiting": "prompts/get" r#"{"name": "later"}"# => RPC;
    "a method": "app/method" "{}" => RPC;
    "the answer of a method": "app/reply" "{}" => RPC;
    "a notification": "app/notification" "{}" => SILENT;
    "something that is done once": "tools/call" r#"{"name": "once"}"# => TOOL;
    "something that is remembered": "tools/call" r#"{"name": "remember"}"# => TOOL;
    "a field of a form": "tools/call" r#"{"name": "form"}"# => ASKED;
    "asks and panics": "tools/call" r#"{"name": "asks_and_panics"}"# => ASKED_RIGHT;
    "asks, is answered and panics": "tools/call" r#"{"name": "answered_and_panics"}"# => ASKED;
    "a parameter": "tools/call" r#"{"name": "parameter"}"# => TOOL;
    "memory is changed": "tools/call" r#"{"name": "memory"}"# => TOOL;
    "an amount of progress": "tools/call" r#"{"name": "progress"}"# => SPOKEN;
    "the text of progress": "tools/call" r#"{"name": "progress_text"}"# => SPOKEN;
};

fn boom<T>() -> T {
    panic!("{WORDS}")
}

/// A server; a dressed one has layers and hooks around everything, which panic as well.
pub(crate) fn server(errors: ErrorPolicy, dress: Dress) -> Server {
    let right = |name: &str| ToolEntry::from_fn(name, || async { "right" });
    let prompt =
        |name: &str| toolway::types::Prompt::new(name).with_arguments(vec![PromptArgument::new("language")]);
    Server::new("panics", "1.0.0")
        .max_in_flight(4, 2)
        .errors(errors)
        .tools(calls())
        .tools(failures())
        .tools(contexts())
        .tools(
            ["layer_at_once", "layer_before", "layer_after", "report_at_once", "report_later"]
                .into_iter()
                .chain(["end_at_once", "end_later"])
                .map(|name| if name.starts_with("report") { failing(name) } else { right(name) }),
        )
        .tool(right("layered").layer(layer_fn(|_, _| async { boom() })))
        .tools([Part::Clone, Part::Ready, Part::Call, Part::Future].map(|part| {
            right(&format!("tower_{}", format!("{part:?}").to_lowercase())).layer(tower(Parts(part)))
        }))
        .prompt(
            PromptEntry::define(prompt("review"), |_: PromptValues| async { boom::<String>() })
                .with_completer(
                    "language",
                    Completer::function(|_: CompletionRequest| async { boom::<Vec<String>>() }),
                ),
        )
        .prompt(PromptEntry::define(prompt("later"), |_: PromptValues| async {
            tokio::task::yield_now().await;
            boom::<String>()
        }))
        .resource(ResourceEntry::define(Resource::new("one://resource", "one"), || async {
            boom::<String>()
        }))
        .resource(
            ResourceEntry::define(ResourceTemplate::new("family://{id}", "family"), || async {
                tokio::task::yield_now().await;
                boom::<String>()
            })
            .with_completer(
                "id",
                Completer::function(|_: CompletionRequest| boom::<std::future::Ready<Vec<String>>>()),
            ),
        )
        .read_resource(|_: ReadRequest| async { boom::<String>() })
        .list_resources(|_: Cursor| async { boom::<ResourcePage>() })
        .method("app/method", || async { boom::<String>() })
        .method("app/reply", || async { Bad })
        .notification("app/notification", || async { boom::<()>() })
        .when(dress == Dress::Dressed, dressed)
        .build()
        .unwrap()
}

/// Layers and hooks around the calls of a server, or none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dress {
    Bare,
    Dressed,
}

fn dressed(server: ServerBuilder) -> ServerBuilder {
    server
        .layer_for(
            CallKind::Tool,
            layer_fn(|call: Call, next: Next| {
                let tool = call.tool().unwrap_or_default().to_owned();
                if tool == "layer_at_once" {
                    boom::<()>();
                }
                async move {
                    if tool == "layer_before" {
                        tokio::task::yield_now().await;
                        boom::<()>();
                    }
                    let answer = next.run(call).await;
                    if tool == "layer_after" {
                        boom::<()>();
                    }
                    answer
                }
            }),
        )
        .layer_for(
            CallKind::List,
            layer_fn(|call, next| async move {
                if call.method() == "prompts/list" {
                    boom::<()>();
                }
                next.run(call).await
            }),
        )
        .on_error(|report: ErrorReport| {
            let is = |meant: &str| matches!(report.scope(), ErrorScope::Tool { name, .. } if name == meant);
            if is("report_at_once") {
                boom::<()>();
            }
            let is_later = is("report_later");
            async move {
                tokio::task::yield_now().await;
                if is_later {
                    boom::<()>();
                }
            }
        })
        .on_request_end(|stats: RequestStats| {
            if stats.tool.as_deref() == Some("end_at_once") {
                boom::<()>();
            }
            async move {
                tokio::task::yield_now().await;
                if stats.tool.as_deref() == Some("end_later") {
                    boom::<()>();
                }
            }
        })
}

fn failing(name: &str) -> ToolEntry {
    ToolEntry::from_fn(name, || async { Err::<String, _>(ToolError::from(std::io::Error::other(WORDS))) })
}

/// Panics, as most functions are written.
#[tool]
async fn marked() -> String {
    boom()
}

/// Panics on a thread of its own.
#[tool(blocking)]
fn blocking() -> String {
    boom()
}

/// Takes two arguments, of which one panics.
#[tool]
fn arguments(first: u32, second: Bad) -> String {
    format!("{first} {second:?}")
}

/// Takes something that panics when it is asked for.
#[tool]
fn parameter(asked: Asked) -> String {
    format!("{asked:?}")
}

/// Panics around the call itself: when it begins, while it runs, and when it ends.
fn calls() -> Vec<ToolEntry> {
    let mut tools = tools![marked, blocking, arguments, parameter].into_iter().collect::<Vec<_>>();
    tools.extend([
        ToolEntry::from_fn("at_once", || async { boom::<String>() }),
        ToolEntry::from_fn("before_future", boom::<std::future::Ready<String>>),
        ToolEntry::from_fn("after_waiting", || async {
            tokio::task::yield_now().await;
            boom::<String>()
        }),
        ToolEntry::new(ByHand),
        ToolEntry::from_fn("argument", |_: Bad| async { "never" }),
        ToolEntry::from_fn("result", || async { Json(Bad) }),
        ToolEntry::from_fn("conversion", || async { Bad }),
        ToolEntry::from_fn("dropped", || Fragile { polls: 0 }),
        ToolEntry::from_fn("dropped_later", || Fragile { polls: 2 }),
        ToolEntry::from_fn("dropped_in_time", || Fragile { polls: NEVER })
            .with_deadline(Duration::from_secs(1)),
        ToolEntry::from_fn("value_dropped", || async { Value_ }),
    ]);
    tools
}

/// Panics with various payloads.
fn failures() -> [ToolEntry; 3] {
    [
        ToolEntry::from_fn("owned", || async { std::panic::panic_any(format!("the {WORDS}")) as String }),
        ToolEntry::from_fn("no_words", || async { std::panic::panic_any(42_u8) as String }),
        ToolEntry::from_fn("no_end", || async { std::panic::panic_any(BadDrop) as String }),
    ]
}

#[derive(Form)]
struct Polite {
    word: Word,
}

#[derive(Form)]
struct Plain {
    word: String,
}

/// Panics in closures given to the context.
fn contexts() -> [ToolEntry; 10] {
    [
        ToolEntry::from_fn("once", |ctx: Ctx| async move {
            let done = ctx.once("key", || async { boom::<Result<String, ToolError>>() });
            done.await.map_err(ToolError::from)
        }),
        ToolEntry::from_fn("remember", |ctx: Ctx| async move {
            ctx.remember("key", boom::<String>).map_err(ToolError::from)
        }),
        ToolEntry::from_fn("form", |ctx: Ctx| async move {
            let Polite { word } = ctx.ask("Which word?").await?;
            Ok::<_, ToolError>(word.0)
        }),
        ToolEntry::from_fn("asks_and_panics", |ctx: Ctx| async move {
            match ctx.ask::<Plain>("Which word?").await {
                Ok(Plain { word }) if word == "please" => "right",
                _ => boom(),
            }
        }),
        ToolEntry::from_fn("answered_and_panics", |ctx: Ctx| async move {
            let Plain { word } = ctx.ask("Which word?").await?;
            if word == "please" { boom() } else { Ok::<_, ToolError>(word) }
        }),
        ToolEntry::from_fn("memory", |ctx: Ctx| async move {
            ctx.memory_update(|count: &mut u32| {
                *count += 1;
                boom::<u32>()
            })
            .await
            .map_err(ToolError::from)
        }),
        ToolEntry::from_fn("counts", |ctx: Ctx| async move {
            let counted = ctx.memory_update(|count: &mut u32| {
                *count += 1;
                let counted = *count;
                // Reset, because the principal is the same over all transports.
                *count = 0;
                counted
            });
            counted.await.map_err(ToolError::from)
        }),
        ToolEntry::from_fn("progress", |ctx: Ctx| async move {
            ctx.progress(Bad, 1, "").await;
            "told"
        }),
        ToolEntry::from_fn("progress_text", |ctx: Ctx| async move {
            ctx.progress(1, 1, Bad).await;
            "told"
        }),
        ToolEntry::from_fn("reads", |ctx: Ctx| async move {
            let read = ctx.read_resource("one://resource").await?;
            Ok::<_, ToolError>(read.text().unwrap_or_default().to_owned())
        }),
    ]
}

struct ByHand;

impl ToolHandler for ByHand {
    fn definition(&self) -> Tool {
        Tool::new("by_hand", json!({"type": "object"}))
    }

    fn call(&self, _: Arguments, _: Scope) -> BoxFuture<'static, Result<CallToolResult, ToolError>> {
        boom()
    }
}

/// Panics in every conversion.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[expect(dead_code, reason = "it is never made from what is sent")]
struct Text {
    text: String,
}

#[derive(Debug, Clone)]
struct Bad;

impl JsonSchema for Bad {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Bad".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        Text::json_schema(generator)
    }
}

impl<'de> Deserialize<'de> for Bad {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // When a server is built, it tests whether a missing argument is accepted; that must not panic.
        Text::deserialize(deserializer)?;
        boom()
    }
}

impl Serialize for Bad {
    fn serialize<S: Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
        boom()
    }
}

impl IntoToolResult for Bad {
    fn into_tool_result(self) -> Result<CallToolResult, ToolError> {
        boom()
    }
}

impl IntoReply for Bad {
    fn into_reply(self) -> Result<RawJson, toolway::server::BoxError> {
        boom()
    }
}

impl Amount for Bad {
    fn amount(self) -> Option<Number> {
        boom()
    }
}

impl From<Bad> for String {
    fn from(_: Bad) -> Self {
        boom()
    }
}

#[derive(Debug)]
struct Asked;

impl Parameter for Asked {
    fn from_scope(_: &Scope) -> Result<Self, Missing> {
        boom()
    }
}

struct Word(String);

impl FormField for Word {
    fn field() -> Field {
        String::field()
    }

    fn read(_: Value) -> Result<Self, String> {
        boom()
    }
}

/// A value that panics after it was converted.
struct Value_;

impl IntoToolResult for Value_ {
    fn into_tool_result(self) -> Result<CallToolResult, ToolError> {
        Ok(CallToolResult::text("never"))
    }
}

impl Drop for Value_ {
    fn drop(&mut self) {
        boom::<()>();
    }
}

/// A future that is ready after a number of polls and panics when it is dropped. One that panics in both cannot be
/// helped: Rust aborts a program that panics while it unwinds.
struct Fragile {
    polls: u32,
}

const NEVER: u32 = u32::MAX;

impl Future for Fragile {
    type Output = &'static str;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<&'static str> {
        match self.polls {
            0 => return Poll::Ready("never"),
            NEVER => return Poll::Pending,
            _ => self.polls -= 1,
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }
}

impl Drop for Fragile {
    fn drop(&mut self) {
        boom::<()>();
    }
}

/// A panic payload that panics again when it is dropped.
#[derive(Debug)]
struct BadDrop;

impl Drop for BadDrop {
    fn drop(&mut self) {
        boom::<()>();
    }
}

/// A tower layer whose service panics in one of its parts.
struct Parts(Part);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Clone,
    Ready,
    Call,
    Future,
}

impl tower_layer::Layer<Next> for Parts {
    type Service = PartService;

    fn layer(&self, _: Next) -> PartService {
        PartService(self.0)
    }
}

struct PartService(Part);

impl Clone for PartService {
    fn clone(&self) -> Self {
        if self.0 == Part::Clone { boom() } else { Self(self.0) }
    }
}

impl ::tower::Service<Call> for PartService {
    type Response = toolway::server::layer::CallReply;
    type Error = toolway::server::layer::CallError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Self::Error>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        if self.0 == Part::Ready { boom() } else { Poll::Ready(Ok(())) }
    }

    fn call(&mut self, _: Call) -> Self::Future {
        if self.0 == Part::Call { boom() } else { Box::pin(async { boom() }) }
    }
}
