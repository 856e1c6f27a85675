//! Does the log at `debug` or above stay free of the data that peers and handlers exchange?
//!
//! Each place where a secret might be gets its own canary; then the whole log is searched. Only the text of a handler's
//! own internal failure may be found, at `error`: that is the purpose of the log.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::fmt::{Debug, Write};
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http::{Method, Request, Response};
use http_body_util::{BodyExt, Full};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use toolway::prelude::*;
use toolway::server::http::ResponseBody;
use toolway::server::layer::layer_fn;
use toolway::server::{
    Admit, Completer, ConnectRequest, ErrorReport, PromptEntry, PromptValues, Refuse, RequestStats,
    ResourceEntry, ToolEntry,
};
use toolway::testing::each_wire;
use toolway::types::{PromptArgument, Resource, ResourceTemplate};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Level, Metadata};
use tracing_subscriber::layer::{Context, SubscriberExt};

/// The canaries that may be in the log, and at which level: causes of internal failures, for the operator.
const ALLOWED: [(&str, Level); 4] = [
    ("canary-hidden-error", Level::ERROR),
    // The text of a panic is the cause of a failure like any other.
    ("canary-panic-text", Level::ERROR),
    // The URI that was requested when a handler failed.
    ("canary-failing-uri", Level::ERROR),
    ("canary-on-connect-error", Level::ERROR),
];

/// Everything that was logged, one line per event or span.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<(Level, String)>>>);

impl Log {
    fn add(&self, metadata: &Metadata<'_>, fields: &str) {
        let line = format!("{} {}{fields}", metadata.target(), metadata.name());
        self.0.lock().unwrap().push((*metadata.level(), line));
    }
}

struct Fields(String);

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        write!(self.0, " {field}={value:?}").unwrap();
    }
}

impl<S: tracing::Subscriber> tracing_subscriber::Layer<S> for Log {
    fn enabled(&self, metadata: &Metadata<'_>, _: Context<'_, S>) -> bool {
        *metadata.level() <= Level::DEBUG
    }

    fn on_new_span(&self, attributes: &Attributes<'_>, _: &Id, _: Context<'_, S>) {
        let mut fields = Fields(String::new());
        attributes.record(&mut fields);
        self.add(attributes.metadata(), &fields.0);
    }

    fn on_record(&self, _: &Id, values: &Record<'_>, _: Context<'_, S>) {
        let mut fields = Fields(String::new());
        values.record(&mut fields);
        self.0.lock().unwrap().push((Level::INFO, fields.0));
    }

    fn on_event(&self, event: &tracing::Event<'_>, _: Context<'_, S>) {
        let mut fields = Fields(String::new());
        event.record(&mut fields);
        self.add(event.metadata(), &fields.0);
    }
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Sent {
    text: String,
}

/// A value whose `Debug` output shows its content.
#[derive(Debug, Clone)]
#[expect(dead_code, reason = "it is only shown")]
struct Attached(&'static str);

fn server() -> Server {
    let asks = toolway::types::Prompt::new("asks").with_arguments(vec![PromptArgument::new("language")]);
    let tools = [
        ToolEntry::from_fn("echo", |sent: Sent, ctx: Ctx| async move {
            ctx.progress(1, 2, "canary-progress-message").await;
            ctx.log().error("canary-log-message", json!({"canary-log-key": "canary-log-value"})).await;
            format!("{} canary-tool-result", sent.text)
        }),
        ToolEntry::from_fn("visible", || async { Err::<(), _>(ToolError::new("canary-visible-error")) }),
        ToolEntry::from_fn("hidden", || async {
            Err::<(), ToolError>(std::io::Error::other("canary-hidden-error").into())
        }),
        ToolEntry::from_fn("panics", async || -> () { panic!("canary-panic-text") }),
    ];
    Server::new("app", "1.0.0")
        .instructions("canary-instructions")
        .description("canary-description")
        .cursor_secret("canary-cursor-secret")
        .page_size(1)
        .state(Attached("canary-state"))
        .on_connect(|connecting: ConnectRequest, _: State<Attached>| async move {
            match connecting.bearer() {
                Some("canary-refused") => Err(Refuse::forbidden("canary-refusal")),
                Some("canary-accident") => panic!("canary-on-connect-error"),
                _ => Ok(Admit::as_principal("canary-principal").with(Attached("canary-extension"))),
            }
        })
        .tools(tools)
        .resource(ResourceEntry::define(Resource::new("app://one", "one"), || async { "canary-contents" }))
        .resource(ResourceEntry::define(ResourceTemplate::new("app://notes/{id}", "note"), || async {
            "a note"
        }))
        .resource(ResourceEntry::define(ResourceTemplate::new("app://bad/{id}", "bad"), || async {
            Err::<String, _>(std::io::Error::other("canary-hidden-error"))
        }))
        .prompt(
            PromptEntry::define(asks, async |filled: PromptValues| {
                format!("canary-prompt-message {:?}", filled.text("language"))
            })
            .with_completer("language", Completer::list(["canary-completion-value"])),
        )
        .method("acme/echo", |sent: Sent| async move { sent.text })
        .notification("acme/told", |_: Sent| async {})
        .layer(layer_fn(|mut call, next| async move {
            call.insert(Attached("canary-inserted"));
            let answer = next.run(call).await;
            drop(format!("{answer:?}"));
            answer
        }))
        .on_error(|report: ErrorReport| async move { drop(format!("{report:?}")) })
        .on_request_end(|_: RequestStats| async {})
        .build()
        .unwrap()
}

/// Requests of a peer, with a secret in each place.
fn requests() -> Vec<(&'static str, Value)> {
    let meta = json!({
        "canary-meta-key": "canary-meta-value",
        "progressToken": "canary-progress-token",
        "traceparent": "canary-traceparent",
        "tracestate": "canary=tracestate",
        "baggage": "canary=baggage",
    });
    let call = |name: &str, arguments: Value| {
        ("tools/call", json!({"name": name, "arguments": arguments, "_meta": meta}))
    };
    vec![
        call("echo", json!({"text": "canary-argument"})),
        call("echo", json!({"canary-argument-name": 1})),
        call("echo", json!({"text": {"canary": "canary-wrong-argument"}})),
        call("canary-tool-name", json!({})),
        call("visible", json!({})),
        call("hidden", json!({})),
        call("panics", json!({})),
        (
            "tools/call",
            json!({"name": "echo", "arguments": {"text": "x"}, "requestState": "canary-request-state",
                   "inputResponses": {"canary-question": {"action": "accept", "content": {"a": "canary-answer"}}}}),
        ),
        ("tools/call", json!({"name": ["canary-wrong-name"]})),
        ("tools/list", json!({"cursor": "canary-cursor"})),
        ("resources/read", json!({"uri": "app://one"})),
        ("resources/read", json!({"uri": "app://notes/canary-uri-variable"})),
        ("resources/read", json!({"uri": "app://bad/canary-failing-uri"})),
        ("resources/read", json!({"uri": "canary://unknown-uri"})),
        ("prompts/get", json!({"name": "asks", "arguments": {"language": "canary-prompt-argument"}})),
        ("prompts/get", json!({"name": "asks", "arguments": {"canary-prompt-argument-name": "x"}})),
        ("prompts/get", json!({"name": "canary-prompt-name"})),
        (
            "completion/complete",
            json!({"ref": {"type": "ref/prompt", "name": "asks"}, "argument": {"name": "language", "value": "canary-typed"}}),
        ),
        ("acme/echo", json!({"text": "canary-params"})),
        ("acme/echo", json!({"canary-params-name": 1})),
        ("canary/method", json!({})),
    ]
}

fn message(id: usize, method: &str, params: &Value) -> String {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string()
}

fn initialize() -> String {
    let info = json!({"name": "canary-client-name", "version": "canary-client-version", "title": "canary-client-title"});
    let params = json!({"protocolVersion": "2025-11-25", "capabilities": {"experimental": {"canary-capability": {}}},
                        "clientInfo": info});
    message(1_000, "initialize", &params)
}

/// Connects over a pipe, and also sends lines that are not messages.
async fn over_a_pipe(server: &Server) {
    let (near, far) = tokio::io::duplex(1 << 20);
    let (reader, writer) = tokio::io::split(far);
    let serving = server.serve_io(reader, writer);
    let talking = async move {
        let (reader, mut writer) = tokio::io::split(near);
        let mut lines =
            vec![initialize(), r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#.to_owned()];
        lines.push(r#"{"canary-broken-line": "#.to_owned());
        lines.push(
            r#"{"jsonrpc":"2.0","method":"acme/told","params":{"text":"canary-notification"}}"#.to_owned(),
        );
        lines.push(message(1_001, "logging/setLevel", &json!({"level": "debug"})));
        let asked = requests();
        lines.extend(asked.iter().enumerate().map(|(id, (method, params))| message(id, method, params)));
        lines.push(message(1_002, "ping", &json!({})));
        let all = lines.join("\n") + "\n";
        writer.write_all(all.as_bytes()).await.unwrap();
        let mut answers = BufReader::new(reader).lines();
        let mut left = asked.len() + 4;
        while left > 0 {
            let line = answers.next_line().await.unwrap().unwrap();
            left -= usize::from(!line.contains("\"method\""));
        }
        writer.shutdown().await.unwrap();
    };
    let (outcome, ()) = tokio::join!(serving, talking);
    outcome.unwrap();
}

/// Connects over HTTP. Returns the session id, which is a secret too.
async fn over_http(server: &Server) -> String {
    let service = server.http();
    let post = async |bearer: &str, session: &str, body: String| -> Response<ResponseBody> {
        let mut request = Request::new(Full::new(Bytes::from(body)));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = "/mcp?token=canary-query".parse().unwrap();
        let headers = request.headers_mut();
        for (name, value) in [
            ("host", "localhost"),
            ("content-type", "application/json"),
            ("accept", "application/json, text/event-stream"),
            ("cookie", "id=canary-cookie"),
            ("x-custom", "canary-header"),
            ("traceparent", "canary-traceparent-header"),
            ("baggage", "a=canary-baggage-header"),
        ] {
            headers.insert(name, value.parse().unwrap());
        }
        headers.insert("authorization", format!("Bearer {bearer}").parse().unwrap());
        if !session.is_empty() {
            headers.insert("mcp-session-id", session.parse().unwrap());
            headers.insert("mcp-protocol-version", "2025-11-25".parse().unwrap());
        }
        service.handle(request).await
    };
    let opened = post("canary-token", "", initialize()).await;
    let session = opened.headers()["mcp-session-id"].to_str().unwrap().to_owned();
    for (id, (method, params)) in requests().iter().enumerate() {
        let response = post("canary-token", &session, message(id, method, params)).await;
        let body = response.into_body().collect().await.unwrap().to_bytes();
        assert!(!body.is_empty(), "{method}");
    }
    for (bearer, session, status) in [
        ("canary-refused", &*session, 403),
        ("canary-accident", &*session, 500),
        ("canary-token", "canary-session-id", 404),
    ] {
        let response = post(bearer, session, message(1, "tools/list", &json!({}))).await;
        assert_eq!(response.status(), status, "{bearer}");
    }
    session
}

#[tokio::test]
async fn no_secret_gets_into_the_log() {
    let log = Log::default();
    tracing::subscriber::set_global_default(tracing_subscriber::registry().with(log.clone())).unwrap();
    let server = server();
    // The other era, and every transport: the client adds its own members to these.
    each_wire(&server, async |client| {
        for (method, params) in requests() {
            let _ = client.request(method, params).await;
        }
        let _ = client.notify("acme/told", json!({"text": "canary-notification"})).await;
    })
    .await;
    over_a_pipe(&server).await;
    let session = over_http(&server).await;

    let log = log.0.lock().unwrap();
    let is_allowed = |level: Level, line: &str| {
        ALLOWED
            .iter()
            .any(|(text, at)| *at == level && line.contains(text) && line.matches("canary").count() <= 2)
    };
    let leaks: Vec<_> = log
        .iter()
        .filter(|(level, line)| {
            line.contains(&session) || line.contains("canary") && !is_allowed(*level, line)
        })
        .collect();
    assert!(leaks.is_empty(), "{leaks:#?}");
    // Checks that the search can find something: the allowed canaries are there, and calls were logged.
    for (text, _) in ALLOWED {
        assert!(log.iter().any(|(_, line)| line.contains(text)), "{text}");
    }
    assert!(log.iter().any(|(_, line)| line.contains("gen_ai.tool.name=\"echo\"")), "{:?}", log.first());
}
