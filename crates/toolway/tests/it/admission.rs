//! Which callers are admitted on pipes and in process? The form of an HTTP answer is tested elsewhere.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::Notify;
use toolway::prelude::*;
use toolway::server::{
    Admit, ConnectRequest, Extension, Extensions, Headers, Principal, ReadRequest, Refuse, ResourceEntry,
    ServerBuilder, ToolEntry,
};
use toolway::testing::{connect, each_session};
use toolway::types::Resource;
use toolway::{Code, ErrorKind};

use super::pipe::Talk;

struct Plan(&'static str);

/// Say who calls.
#[tool]
fn whoami(caller: Principal) -> String {
    caller.to_string()
}

/// Say who calls.
#[tool]
fn perhaps(ctx: &Ctx) -> String {
    ctx.principal().map_or("nobody", Principal::as_str).to_owned()
}

/// Say the plan, in both ways.
#[tool]
fn plan(plan: Extension<Plan>, ctx: &Ctx) -> String {
    format!("{} {}", plan.0, ctx.get::<Plan>().unwrap().0)
}

/// A note of the caller.
#[resource("notes://mine")]
fn mine(caller: Principal) -> String {
    format!("of {caller}")
}

/// A prompt for the caller.
#[prompt]
fn greet(caller: Principal) -> String {
    format!("greet {caller}")
}

fn server() -> ServerBuilder {
    Server::new("app", "1.0.0")
        .tools(tools![whoami, perhaps, plan])
        .resources(resources![mine])
        .prompts(prompts![greet])
        .method("acme/whoami", async |caller: Principal| caller.to_string())
}

fn call(id: u32, tool: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": tool}})
}

fn text(answer: &Value) -> &str {
    answer["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{answer}"))
}

/// Returns everything that a server writes to a peer that sends these lines and keeps its end open, and how serving
/// ends.
async fn turned_away(server: &Server, lines: &[&str]) -> (Vec<Value>, toolway::Error) {
    let (near, far) = tokio::io::duplex(1 << 16);
    let server = server.clone();
    let task = tokio::spawn(async move {
        let (reader, writer) = tokio::io::split(far);
        server.serve_io(reader, writer).await
    });
    let (mut reader, mut writer) = tokio::io::split(near);
    writer.write_all(lines.join("\n").as_bytes()).await.unwrap();
    writer.write_all(b"\n").await.unwrap();
    let mut written = String::new();
    let read = tokio::time::timeout(Duration::from_secs(5), reader.read_to_string(&mut written)).await;
    read.expect("the server ends the conversation").unwrap();
    let answers = written.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    (answers, task.await.unwrap().unwrap_err())
}

#[tokio::test]
async fn the_principal_and_the_values_reach_every_kind_of_handler() {
    let server =
        server().on_connect(async || Admit::as_principal("ann").with(Plan("small"))).build().unwrap();
    each_session(&server, async |client| {
        for (tool, said) in [("whoami", "ann"), ("perhaps", "ann"), ("plan", "small small")] {
            let result = client.call(tool, json!({})).await.unwrap();
            assert_eq!(result.first_text(), Some(said), "{tool}");
        }
        assert_eq!(client.read_resource("notes://mine").await.unwrap().text(), Some("of ann"));
        let prompt = client.get_prompt("greet", [("", ""); 0]).await.unwrap();
        assert!(format!("{prompt:?}").contains("greet ann"), "{prompt:?}");
    })
    .await;
    let custom = json!({"jsonrpc": "2.0", "id": 1, "method": "acme/whoami"});
    let mut talk = Talk::start(&server);
    talk.send_json(custom).await;
    assert_eq!(talk.receive().await["result"], "ann");
}

#[tokio::test]
async fn a_principal_is_no_argument() {
    let server = server().on_connect(async || Admit::as_principal("ann")).build().unwrap();
    let schema = server.tool("whoami").unwrap().definition().input_schema.clone();
    assert!(!schema.as_str().contains("caller"), "{}", schema.as_str());
    let forged = connect(&server).await.call("whoami", json!({"caller": "root"})).await.unwrap();
    assert!(forged.is_error());
    assert!(forged.first_text().unwrap().contains("`caller`"), "{forged:?}");
}

#[tokio::test]
async fn the_hook_runs_once_for_each_pipe_and_takes_what_handlers_take() {
    async fn count(
        connecting: ConnectRequest,
        headers: Headers,
        pipes: State<AtomicU32>,
    ) -> Result<Admit, Refuse> {
        assert!(connecting.is_pipe() && connecting.headers().is_empty() && headers.map().is_none());
        assert_eq!((connecting.bearer(), connecting.query(), connecting.session_id()), (None, None, None));
        assert_eq!(connecting.remote(), None);
        let pipe = pipes.fetch_add(1, Ordering::Relaxed);
        Ok(Admit::as_principal(format!("pipe {pipe}")))
    }
    let server = server().state(AtomicU32::new(0)).on_connect(count).build().unwrap();
    for pipe in 0..2 {
        let mut talk = Talk::start(&server);
        for id in 0..3 {
            talk.send_json(call(id, "whoami")).await;
            assert_eq!(text(&talk.receive().await), format!("pipe {pipe}"));
        }
        assert_eq!(talk.end().await, [] as [Value; 0]);
    }
}

#[tokio::test]
async fn nothing_is_answered_before_the_hook_has_spoken() {
    struct Gate {
        asked: Notify,
        open: Notify,
    }
    async fn wait(gate: State<Arc<Gate>>) -> Admit {
        gate.asked.notify_one();
        gate.open.notified().await;
        Admit::as_principal("ann")
    }
    let gate = Arc::new(Gate { asked: Notify::new(), open: Notify::new() });
    let server = server().state(gate.clone()).on_connect(wait).build().unwrap();
    let mut talk = Talk::start(&server);
    talk.send_json(call(1, "whoami")).await;
    gate.asked.notified().await;
    // A call that was let through earlier would have no principal.
    gate.open.notify_one();
    assert_eq!(text(&talk.receive().await), "ann");
}

#[tokio::test]
async fn a_refused_peer_reads_why_and_the_conversation_ends() {
    for (refuse, said) in [
        (Refuse::forbidden("please upgrade your plan"), "please upgrade your plan"),
        (Refuse::unauthorized("https://app.example/metadata"), "authentication is required"),
    ] {
        let again = refuse.clone();
        let server =
            server().on_connect(move || std::future::ready(Err::<Admit, _>(again.clone()))).build().unwrap();
        let lines = [
            r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
            r#"{"jsonrpc":"2.0","id":9,"result":{}}"#,
            r#"{"jsonrpc":"2.0","id":7,"method":"ping"}"#,
        ];
        let (answers, error) = turned_away(&server, &lines).await;
        let refusal = json!({"code": -32600, "message": said});
        assert_eq!(answers, [json!({"jsonrpc": "2.0", "id": 7, "error": refusal})]);
        assert_eq!(error.kind(), ErrorKind::NotAdmitted);
        assert_eq!(error.to_string(), format!("the connection was refused: {said}"));
    }
}

/// A refused peer only sees the refusal, not what is wrong with its messages.
#[tokio::test]
async fn a_refused_peer_that_sends_nonsense_reads_the_refusal() {
    let server = server()
        .max_message(1000)
        .on_connect(async || Err::<Admit, _>(Refuse::forbidden("no")))
        .build()
        .unwrap();
    for line in ["{", "[]", "\"x\"", &"x".repeat(2000)] {
        let (answers, error) = turned_away(&server, &[line]).await;
        assert_eq!(answers.len(), 1, "{answers:?}");
        assert_eq!(answers[0]["error"]["message"], "no", "{line}");
        assert_eq!(error.kind(), ErrorKind::NotAdmitted);
    }
}

#[tokio::test]
async fn a_refused_peer_that_asks_nothing_gets_nothing() {
    let server = server().on_connect(async || Err::<Admit, _>(Refuse::forbidden("no"))).build().unwrap();
    let mut written = Vec::new();
    let error =
        server.serve_io(&b"{\"jsonrpc\":\"2.0\",\"method\":\"x\"}\n"[..], &mut written).await.unwrap_err();
    assert_eq!((error.kind(), written.len()), (ErrorKind::NotAdmitted, 0));
    // A last line without a line end is still a line.
    let error =
        server.serve_io(&br#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#[..], &mut written).await.unwrap_err();
    assert_eq!((error.kind(), written.last()), (ErrorKind::NotAdmitted, Some(&b'\n')));
}

/// The server waits some time for a peer to read, but not forever.
#[tokio::test(start_paused = true)]
async fn a_refused_peer_that_does_not_read_is_left() {
    let server = server().on_connect(async || Err::<Admit, _>(Refuse::forbidden("no"))).build().unwrap();
    let (_near, full) = tokio::io::duplex(1);
    let error = server
        .serve_io(&b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n"[..], full)
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotAdmitted);
}

#[tokio::test]
async fn a_panic_in_the_hook_refuses_and_says_nothing_of_itself() {
    async fn later() -> Admit {
        tokio::task::yield_now().await;
        panic!("the password is swordfish")
    }
    fn at_once() -> std::future::Ready<Admit> {
        panic!("the password is swordfish")
    }
    for server in [server().on_connect(later), server().on_connect(at_once)] {
        let server = server.build().unwrap();
        let (answers, error) = turned_away(&server, &[r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#]).await;
        let refusal = json!({"code": -32603, "message": "the connection could not be checked"});
        assert_eq!(answers, [json!({"jsonrpc": "2.0", "id": 1, "error": refusal})]);
        assert_eq!(error.to_string(), "the connection was refused: the connection could not be checked");
    }
}

/// A parameter that nothing provides is the server's own error.
#[tokio::test]
async fn a_hook_that_cannot_be_run_refuses() {
    let server = server().on_connect(async |_: Extension<Plan>| Admit::anyone()).build().unwrap();
    let (answers, _) = turned_away(&server, &[r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#]).await;
    assert_eq!(answers[0]["error"]["message"], "the connection could not be checked");
}

#[tokio::test]
async fn without_a_hook_everybody_is_nobody() {
    let needs = "this is only for authenticated callers";
    for server in [server(), server().on_connect(async || Admit::anyone())] {
        let client = connect(&server.build().unwrap()).await;
        assert_eq!(client.call("perhaps", json!({})).await.unwrap().first_text(), Some("nobody"));
        let refused = client.call("whoami", json!({})).await.unwrap();
        assert!(refused.is_error());
        assert_eq!(refused.first_text(), Some(needs));
        let error = client.read_resource("notes://mine").await.unwrap_err();
        assert_eq!(error.rpc().unwrap().message, needs);
        let error = client.get_prompt("greet", [("", ""); 0]).await.unwrap_err();
        assert_eq!(error.rpc().unwrap().message, needs);
    }
}

#[tokio::test]
async fn a_handler_without_a_macro_needs_a_principal_too() {
    let server = Server::new("app", "1.0.0")
        .tool(ToolEntry::from_fn("whoami", async |caller: Principal| caller.to_string()))
        .resource(ResourceEntry::without_handler(Resource::new("notes://mine", "mine")))
        .read_resource(async |_: ReadRequest, caller: Principal| caller.to_string())
        .method("acme/whoami", async |caller: Principal| caller.to_string())
        .build()
        .unwrap();
    let needs = "this is only for authenticated callers";
    let client = connect(&server).await;
    assert_eq!(client.call("whoami", json!({})).await.unwrap().first_text(), Some(needs));
    assert_eq!(client.read_resource("notes://mine").await.unwrap_err().rpc().unwrap().message, needs);
    let mut talk = Talk::start(&server);
    talk.send_json(json!({"jsonrpc": "2.0", "id": 1, "method": "acme/whoami"})).await;
    let error = &talk.receive().await["error"];
    assert_eq!(
        (error["code"].as_i64(), error["message"].as_str()),
        (Some(Code::INVALID_PARAMS.0), Some(needs))
    );
}

#[tokio::test]
async fn who_calls_handle_json_has_admitted_already() {
    let server = server().on_connect(async || Err::<Admit, _>(Refuse::forbidden("no"))).build().unwrap();
    for (extensions, said) in
        [(Extensions::new().with(Principal::new("ann")), "ann"), (Extensions::new(), "nobody")]
    {
        let answer = server.handle_json(call(1, "perhaps").to_string(), extensions).await.unwrap();
        assert_eq!(text(&serde_json::from_str(&answer).unwrap()), said);
    }
}

fn mistake(server: ServerBuilder) -> String {
    let error = server.build().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Misuse);
    error.to_string()
}

#[test]
fn mistakes_of_a_hook_are_found_when_the_server_is_built() {
    let lacking = mistake(server().on_connect(async |_: State<Plan>| Admit::anyone()));
    assert!(lacking.contains("the handler of `on_connect`: it takes `State<"), "{lacking}");
    let argument = mistake(server().on_connect(async |_: String| Admit::anyone()));
    assert!(argument.contains("the handler of `on_connect` takes an argument"), "{argument}");
    let twice = mistake(server().on_connect(async || Admit::anyone()).on_connect(async || Admit::anyone()));
    assert!(twice.contains("`on_connect` is called twice"), "{twice}");
}

#[test]
fn a_hook_does_not_get_lost_when_servers_are_merged() {
    let guarded = || server().on_connect(async || Admit::anyone());
    let outer = || Server::new("outer", "1.0.0");
    for open in [outer().merge(guarded()), outer().nest("inner", outer().merge(guarded()))] {
        let told = mistake(open);
        assert!(told.contains("the merged server \"app\" has `on_connect`, which is not merged"), "{told}");
    }
    outer().merge(guarded()).on_connect(async || Admit::anyone()).build().unwrap();
    outer().on_connect(async || Admit::anyone()).nest("inner", guarded()).build().unwrap();
}
