//! What does the operator of a server see, with or without a log?
//!
//! | file | question |
//! |---|---|
//! | `mod.rs` | What is in the log? |
//! | `reports.rs` | What do hooks tell about errors and completed requests? |
//! | `process.rs` | What is on stderr if no log is installed? |

#[cfg(unix)]
mod process;
mod reports;

use std::fmt::Write;
use std::sync::{Arc, LazyLock, Mutex};
use std::time::Duration;

use serde_json::json;
use toolway::prelude::*;
use toolway::server::layer::layer_fn;
use toolway::server::{Admit, ConnectRequest, Extension, Extensions, Principal, ServerBuilder, ToolEntry};
use toolway::testing::each_wire;
use tracing::Level;
use tracing::field::{Field, Visit};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};

/// Keeps the warnings and errors of the library, one text each.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<String>>>);

impl Log {
    /// Installs the log on this thread, on which the whole test runs.
    fn install(&self) -> tracing::subscriber::DefaultGuard {
        // With a single subscriber in the process, the thread that reaches an event first decides for all threads
        // whether it is enabled, and that may be a test without a log. With two, both are asked.
        static SECOND: LazyLock<tracing::Dispatch> = LazyLock::new(|| tracing_subscriber::registry().into());
        LazyLock::force(&SECOND);
        tracing::subscriber::set_default(tracing_subscriber::registry().with(self.clone()))
    }

    /// Returns the entries that contain all of these words.
    fn with(&self, words: &[&str]) -> Vec<String> {
        let entries = self.0.lock().unwrap();
        entries.iter().filter(|entry| words.iter().all(|word| entry.contains(word))).cloned().collect()
    }
}

impl<S: tracing::Subscriber> Layer<S> for Log {
    fn on_event(&self, event: &tracing::Event<'_>, _: Context<'_, S>) {
        struct Text(String);
        impl Visit for Text {
            fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
                let _ = write!(self.0, " {field}={value:?}");
            }
        }
        if *event.metadata().level() <= Level::WARN {
            let mut text = Text(event.metadata().level().to_string());
            event.record(&mut text);
            self.0.lock().unwrap().push(text.0);
        }
    }
}

#[test]
fn a_maximum_above_the_share_of_a_peer_is_logged_with_the_budget_to_raise() {
    let log = Log::default();
    let _guard = log.install();
    let app = || Server::new("app", "1.0.0");
    app().build().unwrap();
    app()
        .max_message(64 << 20)
        .body_budget(256 << 20, 64 << 20)
        .reply_budget(256 << 20, 64 << 20)
        .build()
        .unwrap();
    assert_eq!(log.with(&["max_message"]), Vec::<String>::new());
    app().max_message(64 << 20).reply_budget(256 << 20, 64 << 20).build().unwrap();
    assert_eq!(log.with(&["max_message"]).len(), 1);
    assert_eq!(log.with(&["raise `body_budget` too", "67108864", "33554432"]).len(), 1);
    app().reply_budget(64 << 20, 8 << 20).build().unwrap();
    assert_eq!(log.with(&["raise `reply_budget` too"]).len(), 1);
}

/// A notification has no reply that could name the mistake, and a peer can send very many.
#[tokio::test]
async fn a_notification_with_wrong_params_is_logged_once_a_second_without_its_values() {
    #[derive(serde::Deserialize, schemars::JsonSchema)]
    struct Seen {
        #[expect(dead_code, reason = "only its type matters")]
        page: u32,
    }
    let log = Log::default();
    let _guard = log.install();
    let server = Server::new("app", "1.0.0")
        .notification("acme/seen", async |_: Seen| ())
        .notification("acme/other", async |_: Seen| ())
        .build()
        .unwrap();
    let mut talk = crate::pipe::Talk::start(&server);
    for _ in 0..20 {
        for method in ["acme/seen", "acme/other"] {
            talk.send_json(json!({"jsonrpc": "2.0", "method": method, "params": {"page": "hunter2"}})).await;
        }
    }
    talk.end().await;
    for method in ["acme/seen", "acme/other"] {
        let text = format!("the notification `{method}` was dropped: its params do not fit its handler");
        let said = log.with(&[&text]);
        // On a very slow machine, a second may pass.
        assert!((1..20).contains(&said.len()), "{said:?}");
    }
    assert_eq!(log.with(&["hunter2"]), Vec::<String>::new());
}

/// Dawdle on the thread that everything runs on.
#[tool]
fn dawdle() {
    std::thread::sleep(Duration::from_millis(150));
}

#[tokio::test]
async fn a_tool_that_blocks_the_others_is_named_once_with_the_remedy() {
    let log = Log::default();
    let _guard = log.install();
    let server = Server::new("app", "1.0.0").tools(tools![dawdle]).build().unwrap();
    each_wire(&server, async |client| {
        client.call("dawdle", json!({})).await.unwrap();
    })
    .await;
    // Once a minute, however often it is called and on every wire.
    let said = log.with(&["`dawdle`", "#[tool(blocking)]"]);
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(said[0].starts_with("WARN"), "{said:?}");
}

#[tool]
fn silent() {}

/// This one says what it does.
#[tool]
fn documented() {}

#[tokio::test]
async fn tools_without_a_description_are_named_when_the_server_is_built() {
    let log = Log::default();
    let _guard = log.install();
    let server = Server::new("app", "1.0.0")
        .tools(tools![silent, documented])
        .tool(ToolEntry::from_fn("closure", || async {}).with_name("renamed"))
        .tool(ToolEntry::from_fn("described", || async {}).with_description("Does nothing."))
        .build()
        .unwrap();
    assert_eq!(server.tool("silent").unwrap().definition().description(), "silent");
    let said = log.with(&["silent"]);
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(said[0].starts_with("WARN") && said[0].contains("doc comment"), "{said:?}");
    assert!(said[0].contains("renamed"), "{said:?}");
    assert!(!said[0].contains("`documented`") && !said[0].contains("`described`"), "{said:?}");
    // A tool that is added later is named as well.
    server.add_tool(ToolEntry::from_fn("late", || async {})).unwrap();
    assert_eq!(log.with(&["late"]).len(), 1, "{log:?}", log = log.0.lock().unwrap());
}

struct Plan(&'static str);

/// Say who calls.
#[tool]
fn whoami(caller: Principal) -> String {
    caller.to_string()
}

/// Say which plan the caller has.
#[tool]
fn plan(plan: Extension<Plan>) -> String {
    plan.0.to_owned()
}

/// Say which plan the caller has.
#[prompt]
fn sell(plan: Extension<Plan>) -> String {
    format!("Sell more than {}.", plan.0)
}

/// Returns the error of `serve_http` at an address that is in use, so that it never begins to serve.
async fn serve_http(server: ServerBuilder) -> String {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let error = server.serve_http(taken.local_addr().unwrap()).await.unwrap_err();
    error.to_string()
}

#[tokio::test]
async fn a_server_is_not_served_over_http_whose_tools_take_what_nothing_gives() {
    let app = || Server::new("app", "1.0.0").tools(tools![whoami, plan]).prompts(prompts![sell]);
    let refused = serve_http(app()).await;
    for part in ["tool `whoami`: ", "`Principal`", "tool `plan`: ", "Plan", "prompt `sell`: ", "on_connect"] {
        assert!(refused.contains(part), "{part}: {refused}");
    }
    // A hook or layer that may provide the value is assumed to provide it.
    let given = "another program listens there";
    let admitting =
        app().on_connect(|_: ConnectRequest| async { Admit::as_principal("ann").with(Plan("small")) });
    assert!(serve_http(admitting).await.contains(given));
    let layered =
        Server::new("app", "1.0.0").tools(tools![plan]).layer(layer_fn(|mut call, next| async move {
            call.insert(Plan("small"));
            next.run(call).await
        }));
    assert!(serve_http(layered).await.contains(given));
    let by_tool = ToolEntry::of::<plan>().layer(layer_fn(|call, next| async move { next.run(call).await }));
    assert!(serve_http(Server::new("app", "1.0.0").tool(by_tool)).await.contains(given));
    // A layer cannot provide a principal.
    let layered = Server::new("app", "1.0.0")
        .tools(tools![whoami])
        .layer(layer_fn(|call, next| async move { next.run(call).await }));
    assert!(serve_http(layered).await.contains("`Principal`"));
    // A merged server is checked as well.
    let merged = Server::new("outer", "1.0.0").nest("inner", app());
    assert!(serve_http(merged).await.contains("tool `inner_whoami`: "));
}

fn call(tool: &str) -> String {
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {}
    });
    json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": {}, "_meta": meta}})
        .to_string()
}

#[tokio::test]
async fn the_first_call_that_comes_without_a_value_says_who_must_give_it() {
    let log = Log::default();
    let _guard = log.install();
    let server = Server::new("app", "1.0.0").tools(tools![whoami, plan]).build().unwrap();
    let answer =
        server.handle_json(call("whoami"), Extensions::new().with(Principal::new("ann"))).await.unwrap();
    assert!(answer.contains("ann"), "{answer}");
    assert_eq!(log.with(&["Principal"]), Vec::<String>::new());
    for _ in 0..3 {
        let answer = server.handle_json(call("whoami"), Extensions::new()).await.unwrap();
        assert!(answer.contains("only for authenticated callers"), "{answer}");
    }
    let said = log.with(&["Principal", "handle_json", "on_connect"]);
    assert_eq!(said.len(), 1, "{said:?}");
    let answer = server.handle_json(call("plan"), Extensions::new()).await.unwrap();
    assert!(answer.contains("reference") && !answer.contains("Plan"), "{answer}");
    let said = log.with(&["Plan", "handle_json", "Admit::with"]);
    assert_eq!(said.len(), 1, "{:?}", log.0.lock().unwrap());
}

#[tokio::test]
async fn an_address_that_cannot_be_served_is_told_in_one_line_with_the_reason() {
    let listening = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = listening.local_addr().unwrap().to_string();
    for (address, reason) in [
        (&*taken, "another program listens there: stop it, or choose another port"),
        ("203.0.113.1:8000", "this machine does not have that address: "),
        ("nowhere", "write HOST:PORT, such as 127.0.0.1:8000"),
        ("127.0.0.1:99999", "write HOST:PORT, such as 127.0.0.1:8000"),
    ] {
        let error = Server::new("app", "1.0.0").serve_http(address).await.unwrap_err().to_string();
        assert!(error.contains(address) && error.contains(reason), "{address}: {error}");
        assert_eq!(error.lines().count(), 1, "{error}");
    }
}
