//! What do hooks tell an operator about errors and completed requests?

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::json;
use toolway::prelude::*;
use toolway::server::{
    Admit, Completer, CompletionRequest, ConnectRequest, ErrorReport, ErrorScope, Extension, Headers,
    Principal, PromptEntry, PromptValues, RequestStats, ResourceEntry, ServerBuilder, ToolEntry,
};
use toolway::testing::{connect, each_wire};
use toolway::types::{PromptArgument, Resource, ResourceTemplate, Tool};
use toolway::{Code, RawJson};
use tracing_subscriber::layer::{Context, SubscriberExt};

type Reports = Arc<Mutex<Vec<ErrorReport>>>;
type Ended = Arc<Mutex<Vec<RequestStats>>>;

fn taken<T>(all: &Arc<Mutex<Vec<T>>>) -> Vec<T> {
    std::mem::take(&mut *all.lock().unwrap())
}

fn broken() -> std::io::Error {
    std::io::Error::other("the secret cause")
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Told {
    #[expect(dead_code, reason = "it is only sent")]
    text: String,
}

/// A server that fails in every way, with hooks.
fn failing() -> ServerBuilder {
    let wrong = Tool::new("wrong", json!({"type": "object"}))
        .with_output_schema(json!({"type": "object", "required": ["a"]}));
    let asks = toolway::types::Prompt::new("asks").with_arguments(vec![PromptArgument::new("language")]);
    Server::new("app", "1.0.0")
        .tool(ToolEntry::from_fn("breaks", |_: Told| async { Err::<(), ToolError>(broken().into()) }))
        .tool(ToolEntry::from_fn("panics", async || -> () { panic!("the secret cause") }))
        .tool(ToolEntry::define(wrong, || async { Json(json!({})) }))
        .tool(ToolEntry::from_fn("says_so", || async { Err::<(), _>(ToolError::new("not today")) }))
        .tool(ToolEntry::from_fn("works", || async { "done" }))
        .prompt(PromptEntry::define(asks, async |_: PromptValues| Err::<String, _>(broken())).with_completer(
            "language",
            Completer::function(async |_: CompletionRequest| Err::<Vec<String>, _>(broken())),
        ))
        .resource(ResourceEntry::define(Resource::new("app://breaks", "breaks"), || async {
            Err::<String, _>(broken())
        }))
        .resource(ResourceEntry::define(ResourceTemplate::new("app://notes/{id}", "note"), || async {
            "a note"
        }))
        .list_resources(async || Err::<Vec<Resource>, _>(broken()))
        .method("acme/breaks", async || Err::<(), _>(broken()))
        .method("acme/works", async || 1)
        .notification("acme/heard", async || -> () { panic!("the secret cause") })
}

fn reported(builder: ServerBuilder) -> (Server, Reports) {
    let reports = Reports::default();
    let seen = reports.clone();
    let server = builder.on_error(move |report: ErrorReport| {
        seen.lock().unwrap().push(report);
        async {}
    });
    (server.build().unwrap(), reports)
}

fn counted(builder: ServerBuilder) -> (Server, Ended) {
    let ended = Ended::default();
    let seen = ended.clone();
    let server = builder.on_request_end(move |stats: RequestStats| {
        seen.lock().unwrap().push(stats);
        async {}
    });
    (server.build().unwrap(), ended)
}

const NOTHING: [(&str, &str); 0] = [];

/// Records the names of our events.
struct Names(Arc<Mutex<Vec<&'static str>>>);

impl<S: tracing::Subscriber> tracing_subscriber::Layer<S> for Names {
    fn on_event(&self, event: &tracing::Event<'_>, _: Context<'_, S>) {
        if event.metadata().target() == "toolway" {
            self.0.lock().unwrap().push(event.metadata().name());
        }
    }
}

#[tokio::test]
async fn calls_and_http_requests_have_events_with_stable_names() {
    let names = Arc::default();
    let _guard =
        tracing::subscriber::set_default(tracing_subscriber::registry().with(Names(Arc::clone(&names))));
    let http_was_seen = std::cell::Cell::new(false);
    each_wire(&failing().build().unwrap(), async |client| {
        taken(&names);
        client.call("works", json!({})).await.unwrap();
        let seen = taken(&names);
        // Over HTTP another request may be in flight, which waits for notifications.
        let (http, calls): (Vec<_>, Vec<_>) = seen.iter().partition(|name| name.starts_with("toolway.http."));
        assert_eq!(calls, ["toolway.call.start", "toolway.call.stop"]);
        if !http.is_empty() {
            assert_eq!(seen[0], "toolway.http.start");
            assert!(http.contains(&"toolway.http.stop"), "{seen:?}");
            http_was_seen.set(true);
        }
        client.call("panics", json!({})).await.unwrap();
        let seen = taken(&names);
        let call = ["toolway.call.start", "toolway.call.exception", "toolway.call.stop"];
        assert!(seen.windows(3).any(|window| window == call), "{seen:?}");
    })
    .await;
    assert!(http_was_seen.get());
}

#[tokio::test]
async fn methods_of_the_application_are_reported_and_counted_too() {
    let (_, ended) = counted(failing());
    let seen = ended.clone();
    let (server, reports) = reported(failing().on_request_end(move |stats: RequestStats| {
        seen.lock().unwrap().push(stats);
        async {}
    }));
    each_wire(&server, async |client| {
        taken(&ended);
        client.request("acme/works", json!({})).await.unwrap();
        let error = client.request("acme/breaks", json!({})).await.unwrap_err();
        let [report] = &taken(&reports)[..] else { panic!("one report") };
        assert!(error.rpc().unwrap().message.contains(report.reference()));
        assert!(matches!(report.scope(), ErrorScope::Request { method, name: None, .. } if method == "acme/breaks"));
        let [works, breaks] = &taken(&ended)[..] else { panic!("two calls") };
        assert_eq!((&*works.method, works.error), ("acme/works", None));
        assert_eq!((&*breaks.method, breaks.error), ("acme/breaks", Some("internal_error")));
    })
    .await;
}

#[tokio::test]
async fn each_server_has_its_own_hooks() {
    let (one, of_one) = reported(failing());
    let (two, of_two) = reported(failing());
    let plain = failing().build().unwrap();
    for (server, expected) in [(&one, (1, 0)), (&two, (0, 1)), (&plain, (0, 0))] {
        connect(server).await.call("panics", json!({})).await.unwrap();
        assert_eq!((taken(&of_one).len(), taken(&of_two).len()), expected);
    }
    // When two servers are merged, the hooks of the outer one count.
    let inner = Arc::new(Mutex::new(Vec::new()));
    let seen = inner.clone();
    let nested = failing().on_error(move |report: ErrorReport| {
        seen.lock().unwrap().push(report);
        async {}
    });
    let (server, outer) = reported(Server::new("outer", "1.0.0").nest("in", nested));
    connect(&server).await.call("in_panics", json!({})).await.unwrap();
    assert_eq!((taken(&inner).len(), taken(&outer).len()), (0, 1));
}

#[tokio::test]
async fn every_error_that_was_not_meant_for_the_peer_is_reported() {
    let (server, reports) = reported(failing());
    each_wire(&server, async |client| {
        let one = |what: &str| {
            let reports = taken(&reports);
            let [report] = &reports[..] else { panic!("{what}: {reports:?}") };
            assert_eq!(report.reference().len(), 16);
            (report.to_string(), report.is_panic())
        };
        let cause = || ("the secret cause".to_owned(), false);
        let panic = || ("panicked: the secret cause".to_owned(), true);
        let result = client.call("breaks", json!({"text": "x"})).await.unwrap();
        assert!(!result.first_text().unwrap().contains("secret"));
        assert_eq!(one("a tool"), cause());
        client.call("panics", json!({})).await.unwrap();
        assert_eq!(one("a panic"), panic());
        client.call("wrong", json!({})).await.unwrap();
        assert!(one("a wrong result").0.contains("`a`"));
        client.get_prompt("asks", NOTHING).await.unwrap_err();
        assert_eq!(one("a prompt"), cause());
        client.complete_prompt("asks", "language", "", NOTHING).await.unwrap_err();
        assert_eq!(one("a completion"), cause());
        client.read_resource("app://breaks").await.unwrap_err();
        assert_eq!(one("a resource"), cause());
        client.resources().await.unwrap_err();
        assert_eq!(one("a list"), cause());
        client.request("acme/breaks", json!({})).await.unwrap_err();
        assert_eq!(one("a method"), cause());
        client.notify("acme/heard", json!({})).await.unwrap();
        while reports.lock().unwrap().is_empty() {
            tokio::task::yield_now().await;
        }
        assert_eq!(one("a notification"), panic());
        // These are answers, not internal failures.
        client.call("says_so", json!({})).await.unwrap();
        client.call("breaks", json!({"txt": "x"})).await.unwrap();
        client.call("unknown", json!({})).await.unwrap_err();
        client.read_resource("app://unknown").await.unwrap_err();
        client.request("acme/unknown", json!({})).await.unwrap_err();
        assert!(taken(&reports).is_empty());
    })
    .await;
}

#[tokio::test]
async fn a_report_says_which_tool_and_arguments_or_which_request() {
    let (server, reports) = reported(failing());
    each_wire(&server, async |client| {
        client.call("breaks", json!({"text": "x"})).await.unwrap();
        client.get_prompt("asks", NOTHING).await.unwrap_err();
        client.read_resource("app://breaks").await.unwrap_err();
        client.resources().await.unwrap_err();
        let scopes: Vec<_> = taken(&reports).iter().map(|report| report.scope().clone()).collect();
        let [ErrorScope::Tool { name, arguments, .. }, requests @ ..] = &scopes[..] else {
            panic!("{scopes:?}")
        };
        assert_eq!((&**name, arguments.clone()), ("breaks", Some(RawJson::from(json!({"text": "x"})))));
        let requests: Vec<_> = requests
            .iter()
            .map(|scope| match scope {
                ErrorScope::Request { method, name, .. } => (&**method, name.as_deref()),
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(
            requests,
            [
                ("prompts/get", Some("asks")),
                ("resources/read", Some("app://breaks")),
                ("resources/list", Some("resources"))
            ]
        );
    })
    .await;
}

#[tokio::test]
async fn after_the_report_a_tool_says_in_general_words_that_it_failed_and_the_rest_is_an_error() {
    let (server, reports) = reported(failing());
    each_wire(&server, async |client| {
        let result = client.call("breaks", json!({"text": "x"})).await.unwrap();
        let reference = taken(&reports)[0].reference().to_owned();
        assert!(result.is_error());
        let expected = format!(
            "the tool `breaks` failed; the server's operator can find the cause under reference {reference}"
        );
        assert_eq!(result.first_text(), Some(&*expected));
        let error = client.read_resource("app://breaks").await.unwrap_err();
        assert_eq!(error.code(), Some(Code::INTERNAL_ERROR));
        assert!(error.rpc().unwrap().message.contains(taken(&reports)[0].reference()));
    })
    .await;
}

#[tokio::test]
async fn without_a_hook_there_is_the_log() {
    let names = Arc::default();
    let _guard =
        tracing::subscriber::set_default(tracing_subscriber::registry().with(Names(Arc::clone(&names))));
    each_wire(&failing().build().unwrap(), async |client| {
        taken(&names);
        assert!(client.call("breaks", json!({"text": "x"})).await.unwrap().is_error());
        assert_eq!(taken(&names).into_iter().filter(|name| *name == "toolway.call.exception").count(), 1);
    })
    .await;
}

#[tokio::test]
async fn a_request_that_is_over_is_told_with_all_that_is_known_of_it() {
    let (server, ended) = counted(failing());
    each_wire(&server, async |client| {
        taken(&ended);
        client.call("works", json!({})).await.unwrap();
        client.get_prompt("asks", NOTHING).await.unwrap_err();
        client.read_resource("app://notes/7").await.unwrap();
        client.complete_prompt("asks", "language", "", NOTHING).await.unwrap_err();
        client.tools().await.unwrap();
        let stats = taken(&ended);
        let seen: Vec<_> = stats
            .iter()
            .map(|stats| {
                (
                    &*stats.method,
                    stats.tool.as_deref(),
                    stats.prompt.as_deref(),
                    stats.uri.as_deref(),
                    stats.error,
                )
            })
            .collect();
        let failed = Some("internal_error");
        assert_eq!(
            seen,
            [
                ("tools/call", Some("works"), None, None, None),
                ("prompts/get", None, Some("asks"), None, failed),
                ("resources/read", None, None, Some("app://notes/{id}"), None),
                ("completion/complete", None, Some("asks"), None, failed),
                ("tools/list", None, None, None, None),
            ]
        );
        assert!(stats.iter().all(|stats| stats.rounds == 1 && stats.duration > Duration::ZERO), "{stats:?}");
    })
    .await;
}

#[tokio::test]
async fn names_that_a_peer_makes_up_are_not_told() {
    let (server, ended) = counted(failing());
    each_wire(&server, async |client| {
        taken(&ended);
        client.call("made-up", json!({})).await.unwrap_err();
        client.get_prompt("made-up", NOTHING).await.unwrap_err();
        client.read_resource("made://up").await.unwrap_err();
        client.complete_prompt("made-up", "x", "", NOTHING).await.unwrap_err();
        client.request("made/up", json!({})).await.unwrap_err();
        let stats = taken(&ended);
        assert_eq!(stats.len(), 5);
        assert!(!format!("{stats:?}").contains("made"), "{stats:?}");
        assert_eq!(stats[4].method, "unknown");
    })
    .await;
}

#[tokio::test]
async fn the_error_of_a_request_is_a_stable_code() {
    let (server, ended) = counted(failing());
    each_wire(&server, async |client| {
        taken(&ended);
        client.call("made-up", json!({})).await.unwrap_err();
        client.get_prompt("made-up", NOTHING).await.unwrap_err();
        client.read_resource("made://up").await.unwrap_err();
        client.request("made/up", json!({})).await.unwrap_err();
        client.get_prompt("asks", [("lang", "x")]).await.unwrap_err();
        client
            .request("prompts/get", json!({"name": "asks", "arguments": {"language": 7}}))
            .await
            .unwrap_err();
        client.call("breaks", json!({"txt": "x"})).await.unwrap();
        client.call("says_so", json!({})).await.unwrap();
        client.call("panics", json!({})).await.unwrap();
        client.read_resource("app://breaks").await.unwrap_err();
        let errors: Vec<_> = taken(&ended).into_iter().map(|stats| stats.error.unwrap()).collect();
        assert_eq!(
            errors,
            [
                "tool_not_found",
                "prompt_not_found",
                "resource_not_found",
                "method_not_found",
                "invalid_params",
                "invalid_params",
                "tool_error",
                "tool_error",
                "internal_error",
                "internal_error",
            ]
        );
    })
    .await;
}

#[tokio::test]
async fn hooks_get_what_the_server_and_the_call_have() {
    struct Tenant(&'static str);
    let seen = Arc::new(Mutex::new(Vec::new()));
    let note = |what: &'static str| {
        let seen = seen.clone();
        move |state: &str, tenant: &str, caller: &Principal| {
            seen.lock().unwrap().push(format!("{what}: {state} {tenant} {caller}"));
        }
    };
    let (error, end) = (note("error"), note("end"));
    let server = failing()
        .state("state")
        .on_connect(|_: ConnectRequest| async { Admit::as_principal("ann").with(Tenant("acme")) })
        .tool(ToolEntry::from_fn(
            "whoami",
            |state: State<&'static str>, tenant: Extension<Tenant>, who: Principal| async move {
                format!("{} {} {who}", *state, tenant.0)
            },
        ))
        .on_error(
            move |_: ErrorReport,
                  state: State<&'static str>,
                  tenant: Extension<Tenant>,
                  who: Principal,
                  _: Headers| {
                error(*state, tenant.0, &who);
                async {}
            },
        )
        .on_request_end(
            move |_: RequestStats, state: State<&'static str>, tenant: Extension<Tenant>, who: Principal| {
                end(*state, tenant.0, &who);
                async {}
            },
        )
        .build()
        .unwrap();
    each_wire(&server, async |client| {
        assert_eq!(client.call("whoami", json!({})).await.unwrap().first_text(), Some("state acme ann"));
        taken(&seen);
        client.call("panics", json!({})).await.unwrap();
        assert_eq!(taken(&seen), ["error: state acme ann", "end: state acme ann"]);
    })
    .await;
    // A missing parameter of a hook is reported when the server is built.
    let error =
        Server::new("app", "1.0.0").on_error(|_: ErrorReport, _: State<u8>| async {}).build().unwrap_err();
    assert!(error.to_string().contains("the handler of `on_error`"), "{error}");
}
