//! Which callers are admitted, what do they see, and what can a server leave out?

use std::sync::atomic::{AtomicUsize, Ordering};

use http::{Method, StatusCode};
use serde_json::{Value, json};
use toolway::prelude::*;
use toolway::server::{
    Admit, CompletionRequest, ConnectRequest, Extension, Extensions, Principal, Refuse, ServerBuilder,
};
use toolway::testing::{each_session, each_wire};
use toolway::types::LogLevel;
use toolway::{Code, Error, ProtocolVersion};

use crate::http::post;
use crate::listening::{TOLD, listen};
use crate::pipe::Talk;
use crate::raw_http::{Raw, initialize, whole};

const NOTHING: [(&str, &str); 0] = [];

struct Plan(&'static str);

#[tool]
fn count() -> u32 {
    3
}

#[tool]
fn wipe() {}

/// Say the plan of the caller, and log it.
#[tool]
async fn plan(plan: Extension<Plan>, ctx: Ctx) -> String {
    ctx.log().error(plan.0, json!({})).await;
    plan.0.to_owned()
}

#[resource("notes://index")]
fn index() -> &'static str {
    "all"
}

#[resource("notes://secret")]
fn secret() -> &'static str {
    "hidden"
}

#[resource("notes://mine")]
fn mine(plan: Extension<Plan>, caller: Principal) -> String {
    format!("{caller} {}", plan.0)
}

#[resource("notes://{id}")]
fn note(#[arg(complete = plans)] id: String) -> String {
    format!("note {id}")
}

#[resource("files://{+path}")]
fn file(path: String) -> String {
    format!("file {path}")
}

#[prompt]
fn greet(#[arg(complete = plans)] name: String, plan: Extension<Plan>) -> String {
    format!("greet {name} of {}", plan.0)
}

#[prompt]
fn scold(#[arg(complete = ["you"])] name: String) -> String {
    format!("scold {name}")
}

async fn plans(typed: CompletionRequest, plan: Extension<Plan>) -> Vec<String> {
    typed.filter([plan.0])
}

fn server() -> ServerBuilder {
    Server::new("app", "1.0.0")
        .tools(tools![count, wipe, plan])
        .resources(resources![index, secret, mine, note, file])
        .prompts(prompts![greet, scold])
}

fn small() -> Admit {
    Admit::as_principal("ann").with(Plan("small"))
}

fn message(error: &Error) -> &str {
    &error.rpc().unwrap().message
}

#[tokio::test]
async fn only_allowed_prompts_are_listed() {
    let names = async |client: &Client| {
        let prompts = client.prompts().await.unwrap();
        prompts.into_iter().map(|prompt| prompt.name).collect::<Vec<_>>()
    };
    let one = server().on_connect(async || small().only_prompts(["greet", "not there"])).build().unwrap();
    each_wire(&one, async |client| assert_eq!(names(&client).await, ["greet"])).await;
    let none = server().on_connect(async || small().only_prompts([""; 0])).build().unwrap();
    each_wire(&none, async |client| {
        assert_eq!(names(&client).await, [""; 0]);
        // Other kinds are unchanged, and the capabilities are the same.
        assert_eq!(client.tools().await.unwrap().len(), 3);
        assert!(client.server_capabilities().prompts.is_some());
    })
    .await;
    let all = server().on_connect(async || small()).build().unwrap();
    each_wire(&all, async |client| assert_eq!(names(&client).await, ["greet", "scold"])).await;
}

#[tokio::test]
async fn a_prompt_that_is_not_allowed_is_refused_as_one_that_is_not_there() {
    let server = server().on_connect(async || small().only_prompts(["greet"])).build().unwrap();
    each_wire(&server, async |client| {
        client.get_prompt("greet", [("name", "bob")]).await.unwrap();
        let hidden = client.get_prompt("scold", [("name", "bob")]).await.unwrap_err();
        assert_eq!(
            (hidden.code(), message(&hidden)),
            (Some(Code::INVALID_PARAMS), "no such prompt: `scold`")
        );
        // The name of a hidden element is not suggested, but the name of a visible one is.
        let near = client.get_prompt("scolt", NOTHING).await.unwrap_err();
        assert_eq!(message(&near), "no such prompt: `scolt`");
        let near = client.get_prompt("gree", NOTHING).await.unwrap_err();
        assert_eq!(message(&near), "no such prompt: `gree`, did you mean `greet`?");
        assert_eq!(client.complete_prompt("greet", "name", "", NOTHING).await.unwrap().values, ["small"]);
        let hidden = client.complete_prompt("scold", "name", "", NOTHING).await.unwrap_err();
        assert_eq!(message(&hidden), "no such prompt: `scold`");
    })
    .await;
}

#[tokio::test]
async fn only_allowed_templates_are_listed_and_read() {
    let names = async |client: &Client| {
        let templates = client.resource_templates().await.unwrap();
        templates.into_iter().map(|template| template.name).collect::<Vec<_>>()
    };
    // By its template, and by its name.
    for allowed in ["notes://{id}", "note"] {
        let server =
            server().on_connect(move || async move { small().only_templates([allowed]) }).build().unwrap();
        each_wire(&server, async |client| {
            assert_eq!(names(&client).await, ["note"]);
            assert_eq!(client.read_resource("notes://7").await.unwrap().text(), Some("note 7"));
            let hidden = client.read_resource("files://a").await.unwrap_err();
            let never = client.read_resource("nothing://a").await.unwrap_err();
            assert_eq!((hidden.code(), message(&hidden)), (never.code(), message(&never)));
            let completed = client.complete_resource("notes://{id}", "id", "", NOTHING).await.unwrap();
            assert_eq!(completed.values, ["small"]);
            let hidden = client.complete_resource("files://{+path}", "path", "", NOTHING).await.unwrap_err();
            assert_eq!(message(&hidden), "no such resource or template: `files://{+path}`");
            // Resources are another kind.
            assert_eq!(client.resources().await.unwrap().len(), 3);
        })
        .await;
    }
    let none = server().on_connect(async || small().only_templates([""; 0])).build().unwrap();
    each_wire(&none, async |client| assert_eq!(names(&client).await, [""; 0])).await;
}

#[tokio::test]
async fn only_allowed_tools_are_listed() {
    let names = async |client: &Client| {
        let tools = client.tools().await.unwrap();
        tools.into_iter().map(|tool| tool.name).collect::<Vec<_>>()
    };
    let two = server().on_connect(async || small().only_tools(["plan", "count"])).build().unwrap();
    each_wire(&two, async |client| assert_eq!(names(&client).await, ["count", "plan"])).await;
    let none = server().on_connect(async || small().only_tools([""; 0])).build().unwrap();
    each_wire(&none, async |client| {
        assert_eq!(names(&client).await, [""; 0]);
        assert!(client.server_capabilities().tools.is_some());
    })
    .await;
    // An element that was hidden once stays hidden.
    let twice = async || small().only_tools(["plan", "count"]).only_tools(["wipe", "count"]);
    let one = server().on_connect(twice).build().unwrap();
    each_wire(&one, async |client| assert_eq!(names(&client).await, ["count"])).await;
}

#[tokio::test]
async fn a_tool_that_is_not_allowed_is_refused_as_one_that_is_not_there() {
    let server = server().on_connect(async || small().only_tools(["count"])).build().unwrap();
    each_wire(&server, async |client| {
        assert_eq!(client.call("count", json!({})).await.unwrap().first_text(), Some("3"));
        for (name, said) in [
            ("wipe", "no such tool: `wipe`"),
            ("wipes", "no such tool: `wipes`"),
            ("coun", "no such tool: `coun`, did you mean `count`?"),
        ] {
            let error = client.call(name, json!({})).await.unwrap_err();
            assert_eq!((error.code(), message(&error)), (Some(Code::INVALID_PARAMS), said));
        }
    })
    .await;
}

/// The same for resources, which have no row of their own.
#[tokio::test]
async fn only_allowed_resources_are_listed_and_read() {
    for allowed in ["notes://index", "index"] {
        let server =
            server().on_connect(move || async move { small().only_resources([allowed]) }).build().unwrap();
        each_wire(&server, async |client| {
            let uris: Vec<_> = client.resources().await.unwrap().into_iter().map(|one| one.uri).collect();
            assert_eq!(uris, ["notes://index"]);
            assert_eq!(client.read_resource("notes://index").await.unwrap().text(), Some("all"));
            // An allowed template matches this URI too, but does not answer it.
            let hidden = client.read_resource("notes://secret").await.unwrap_err();
            let never = client.read_resource("nothing://secret").await.unwrap_err();
            assert_eq!((hidden.code(), message(&hidden)), (never.code(), message(&never)));
            // Templates are another kind.
            assert_eq!(client.read_resource("notes://7").await.unwrap().text(), Some("note 7"));
            assert_eq!(client.resource_templates().await.unwrap().len(), 2);
        })
        .await;
    }
}

#[tokio::test]
async fn nobody_hears_of_what_it_may_not_see() {
    let heard = AtomicUsize::new(0);
    let server = server()
        .on_connect(async || small().only_resources(["index"]).only_templates(["note"]))
        .build()
        .unwrap();
    each_wire(&server, async |client| {
        let wanted = ["notes://secret", "notes://index", "files://a", "notes://7", "nothing://a"];
        let Some(mut listening) = listen(&client, &wanted).await else { return };
        for uri in
            ["notes://secret", "files://a", "notes://7", "notes://secret", "nothing://a", "notes://index"]
        {
            server.resource_updated(uri);
        }
        assert_eq!(listening.updated().await, "notes://7");
        assert_eq!(listening.updated().await, "notes://index");
        heard.fetch_add(1, Ordering::Relaxed);
    })
    .await;
    assert!(heard.into_inner() >= TOLD);
}

#[tokio::test]
async fn subscriptions_can_be_left_out() {
    let has = |client: &Client| {
        client.server_capabilities().resources.as_ref().is_some_and(|said| said.contains_key("subscribe"))
    };
    let with = server().on_connect(async || small()).build().unwrap();
    each_session(&with, async |client| {
        assert!(has(&client));
        client.subscribe("notes://index").await.unwrap();
        client.unsubscribe("notes://index").await.unwrap();
    })
    .await;
    let without = server().on_connect(async || small()).without_subscriptions().build().unwrap();
    each_wire(&without, async |client| assert!(!has(&client))).await;
    each_session(&without, async |client| {
        for error in [client.subscribe("notes://index").await, client.unsubscribe("notes://index").await] {
            assert_eq!(error.unwrap_err().code(), Some(Code::METHOD_NOT_FOUND));
        }
        // The rest is unchanged.
        assert_eq!(client.read_resource("notes://index").await.unwrap().text(), Some("all"));
    })
    .await;
}

/// A server that cannot notify does not declare subscriptions.
#[tokio::test]
async fn where_nobody_can_be_told_nothing_can_be_subscribed_to() {
    let subscribe = json!({
        "jsonrpc": "2.0", "id": 1, "method": "resources/subscribe", "params": {"uri": "notes://index"},
    });
    let server = server().build().unwrap();
    let service = server.http().sessionless();
    let by_hand = async |message: &Value| -> Value {
        let answer = server.handle_json(message.to_string(), Extensions::new()).await.unwrap();
        serde_json::from_str(&answer).unwrap()
    };
    let by_http = async |message: &Value| whole(service.handle(post(message)).await).await.1;
    let opening = initialize("2025-11-25");
    for opened in [by_hand(&opening).await, by_http(&opening).await] {
        assert_eq!(opened["result"]["capabilities"]["resources"], json!({}), "{opened}");
    }
    for refused in [by_hand(&subscribe).await, by_http(&subscribe).await] {
        assert_eq!(refused["error"]["code"], -32601, "{refused}");
    }
}

#[tokio::test]
async fn the_log_can_be_left_out() {
    let with = server().on_connect(async || small()).build().unwrap();
    each_wire(&with, async |client| {
        assert!(client.server_capabilities().logging.is_some());
        client.set_log_level(LogLevel::Debug).await.unwrap();
        let mut news = client.notifications();
        client.call("plan", json!({})).await.unwrap();
        assert!(news.try_next().is_some());
    })
    .await;
    let without = server().on_connect(async || small()).without_logging().build().unwrap();
    each_wire(&without, async |client| {
        assert!(client.server_capabilities().logging.is_none());
        let mut news = client.notifications();
        assert_eq!(client.call("plan", json!({})).await.unwrap().first_text(), Some("small"));
        assert!(news.try_next().is_none());
    })
    .await;
    each_session(&without, async |client| {
        let error = client.set_log_level(LogLevel::Debug).await.unwrap_err();
        assert_eq!(error.code(), Some(Code::METHOD_NOT_FOUND));
    })
    .await;
}

#[tokio::test]
async fn the_hook_sees_headers_and_query_and_admits() {
    async fn check(connecting: ConnectRequest) -> Admit {
        let told = connecting.headers().get("x-user").and_then(|user| user.to_str().ok());
        let plan = connecting.query_value("plan").map_or("none", |_| "asked");
        let user = told.unwrap_or(if connecting.is_pipe() { "pipe" } else { "nobody" });
        Admit::as_principal(user).with(Plan(plan))
    }
    let server = server().on_connect(check).build().unwrap();
    each_wire(&server, async |client| {
        assert_eq!(client.call("plan", json!({})).await.unwrap().first_text(), Some("none"));
    })
    .await;
    let service = server.http().sessionless();
    let read =
        json!({"jsonrpc": "2.0", "id": 1, "method": "resources/read", "params": {"uri": "notes://mine"}});
    let mut request = post(&read);
    request.headers_mut().insert("x-user", "ann".parse().unwrap());
    *request.uri_mut() = "/mcp?plan=large".parse().unwrap();
    let (_, answer) = whole(service.handle(request).await).await;
    assert_eq!(answer["result"]["contents"][0]["text"], "ann asked");
}

/// Every HTTP method is refused in the same way; a pipe has no status, and gets the text.
async fn refusals(refuse: Refuse) -> (StatusCode, Option<String>, Value) {
    let again = refuse.clone();
    let server =
        server().on_connect(move || std::future::ready(Err::<Admit, _>(again.clone()))).build().unwrap();
    let raw = Raw { service: server.http(), session: String::new(), version: "", headers: Vec::new() };
    let mut all = Vec::new();
    for method in [Method::POST, Method::GET, Method::DELETE] {
        let response =
            raw.service.handle(raw.request(method, r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#)).await;
        let header =
            response.headers().get("www-authenticate").map(|value| value.to_str().unwrap().to_owned());
        let (status, body) = whole(response).await;
        all.push((status, header, body["error"].clone()));
    }
    assert!(all.iter().all(|one| *one == all[0]), "{all:?}");
    let mut talk = Talk::start(&server);
    talk.send_json(json!({"jsonrpc": "2.0", "id": 1, "method": "ping"})).await;
    assert_eq!(talk.receive().await["error"], all[0].2);
    all.remove(0)
}

#[tokio::test]
async fn unauthorized_is_a_401_with_a_challenge() {
    let said = json!({"code": -32600, "message": "authentication is required"});
    for (refuse, header) in [
        (
            Refuse::unauthorized("https://app.example/.well-known/oauth-protected-resource/mcp"),
            r#"Bearer resource_metadata="https://app.example/.well-known/oauth-protected-resource/mcp""#,
        ),
        (Refuse::challenge("Bearer"), "Bearer"),
        (
            Refuse::challenge("Bearer")
                .with_error("invalid_token", "it has expired")
                .with_scope("notes:read"),
            r#"Bearer error="invalid_token", error_description="it has expired", scope="notes:read""#,
        ),
        (Refuse::challenge(r#"Basic realm="app""#), r#"Basic realm="app""#),
    ] {
        let expected = (StatusCode::UNAUTHORIZED, Some(header.to_owned()), said.clone());
        assert_eq!(refusals(refuse).await, expected);
    }
}

#[tokio::test]
async fn forbidden_is_a_403_with_a_message() {
    let said = json!({"code": -32600, "message": "please upgrade your plan"});
    let refused = refusals(Refuse::forbidden("please upgrade your plan")).await;
    assert_eq!(refused, (StatusCode::FORBIDDEN, None, said));
}

#[tokio::test]
async fn what_the_hook_attaches_reaches_handlers_and_completions() {
    let server = server().on_connect(async || small()).build().unwrap();
    each_wire(&server, async |client| {
        assert_eq!(client.call("plan", json!({})).await.unwrap().first_text(), Some("small"));
        assert_eq!(client.read_resource("notes://mine").await.unwrap().text(), Some("ann small"));
        let prompt = client.get_prompt("greet", [("name", "bob")]).await.unwrap();
        assert_eq!(prompt.messages[0].content.as_text(), Some("greet bob of small"));
        assert_eq!(client.complete_prompt("greet", "name", "s", NOTHING).await.unwrap().values, ["small"]);
        let completed = client.complete_resource("notes://{id}", "id", "s", NOTHING).await.unwrap();
        assert_eq!(completed.values, ["small"]);
    })
    .await;
}

#[tokio::test]
async fn a_plan_decides_what_is_seen_by_name() {
    /// The names that a plan includes, as an application would store them.
    fn plan_of(name: &str) -> Admit {
        match name {
            "large" => Admit::as_principal("bob").with(Plan("large")),
            _ => small().only_tools(["count".to_owned()]).only_templates(vec!["note"]),
        }
    }
    for (name, tools, templates) in [("small", 1, 1), ("large", 3, 2)] {
        let server = server().on_connect(move || async move { plan_of(name) }).build().unwrap();
        each_wire(&server, async |client| {
            assert_eq!(client.tools().await.unwrap().len(), tools, "{name}");
            assert_eq!(client.resource_templates().await.unwrap().len(), templates, "{name}");
            assert_eq!(client.call("wipe", json!({})).await.is_ok(), name == "large");
            assert_eq!(client.read_resource("files://a").await.is_ok(), name == "large");
        })
        .await;
    }
}

#[tokio::test]
async fn the_revision_of_the_handshake_can_be_pinned() {
    async fn answers(server: &Server, asked: &str) -> Vec<Value> {
        let opening = initialize(asked);
        let by_hand = server.handle_json(opening.to_string(), Extensions::new()).await.unwrap();
        let mut talk = Talk::start(server);
        talk.send_json(opening.clone()).await;
        let by_pipe = talk.receive().await;
        let by_session = whole(server.http().handle(post(&opening)).await).await.1;
        let alone = whole(server.http().sessionless().handle(post(&opening)).await).await.1;
        let all = [serde_json::from_str(&by_hand).unwrap(), by_pipe, by_session, alone];
        all.map(|answer| answer["result"]["protocolVersion"].clone()).to_vec()
    }
    let asked = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28", "soon"];
    for pinned in &asked[..4] {
        let server = server().protocol(*pinned).build().unwrap();
        for asked in asked {
            assert_eq!(answers(&server, asked).await, [*pinned; 4], "{asked}");
        }
    }
    // `protocol(None)` removes the pin.
    let server = || server().protocol(ProtocolVersion::V2025_03_26);
    let unpinned = server().protocol(None).build().unwrap();
    assert_eq!(answers(&unpinned, "2025-06-18").await, ["2025-06-18"; 4]);
    assert_eq!(answers(&unpinned, "soon").await, ["2025-11-25"; 4]);
    // A client that requests another revision, or none, gets the pinned one.
    let mut talk = Talk::start(&server().build().unwrap());
    talk.send_json(json!([{"jsonrpc": "2.0", "id": 1, "method": "ping"}])).await;
    assert_eq!(talk.receive().await, json!([{"jsonrpc": "2.0", "id": 1, "result": {}}]), "batches are of it");
    // Mistakes are reported when the server is built.
    let mistake = |pin: &str| server().protocol(pin.to_owned()).build().unwrap_err().to_string();
    assert!(mistake("soon").contains(r#"`protocol`: unknown protocol version "soon", known are 2024-11-05"#));
    let stateless = mistake("2026-07-28");
    assert!(
        stateless.contains(
            "2026-07-28 has no handshake: to serve only 2026-07-28, call `.eras([Era::Stateless])`"
        )
    );
}
