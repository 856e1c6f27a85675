//! Answers that come after the handler has returned: from other tasks, as failures, too late, or not at all.

use std::sync::Arc;

use serde_json::{Value, json};
use tokio::sync::{Notify, mpsc};
use toolway::prelude::*;
use toolway::server::{Deferred, Responder, ServerBuilder};
use toolway::testing::{connect, each_wire};
use toolway::types::Resource;
use toolway::{Code, Notification};

use crate::pipe::Talk;

/// Somebody who answers when a test says so.
#[derive(Clone)]
struct Desk(mpsc::UnboundedSender<(String, Responder<String>, Option<Ctx>)>);

impl Desk {
    fn take(&self, what: &str, ctx: Option<Ctx>) -> Deferred<String> {
        let (responder, deferred) = Deferred::new();
        self.0.send((what.to_owned(), responder, ctx)).unwrap_or_else(|_| panic!("the desk is open"));
        deferred
    }
}

type Waiting = mpsc::UnboundedReceiver<(String, Responder<String>, Option<Ctx>)>;

fn desk() -> (Desk, Waiting) {
    let (sender, waiting) = mpsc::unbounded_channel();
    (Desk(sender), waiting)
}

/// A function that is not async.
#[tool]
fn plain(what: &str, desk: State<Desk>) -> Deferred<String> {
    desk.take(what, None)
}

/// An async one, that may fail before.
#[tool]
async fn waiting(what: String, desk: State<Desk>, ctx: Ctx) -> Result<Deferred<String>, ToolError> {
    tokio::task::yield_now().await;
    if what.is_empty() {
        return Err(ToolError::new("say something"));
    }
    Ok(desk.take(&what, Some(ctx)))
}

/// A prompt.
#[prompt]
fn write(what: &str, desk: State<Desk>) -> Deferred<String> {
    desk.take(what, None)
}

/// A resource.
#[resource("desk://{what}")]
fn drawer(what: &str, desk: State<Desk>) -> Deferred<String> {
    desk.take(what, None)
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Asked {
    what: String,
}

fn server(desk: &Desk) -> ServerBuilder {
    let closure = |asked: Asked, desk: State<Desk>| async move { desk.take(&asked.what, None) };
    let motd = || Resource::new("closure://motd", "motd");
    Server::new("desk", "1.0.0")
        .state(desk.clone())
        .tools(tools![plain, waiting])
        .tool(ToolEntry::from_fn("closure", closure))
        .prompts(prompts![write])
        .resources(resources![drawer])
        .resource(ResourceEntry::define(motd(), |desk: State<Desk>| async move { desk.take("motd", None) }))
        .method("desk/ask", closure)
}

#[tokio::test]
async fn row_163_an_answer_may_come_later_from_another_task() {
    let (desk, mut waiting) = desk();
    tokio::spawn(async move {
        while let Some((what, responder, ctx)) = waiting.recv().await {
            assert!(responder.is_wanted());
            if let Some(ctx) = ctx {
                assert!(!ctx.is_cancelled());
                ctx.progress(1, 2, "at the desk").await;
                ctx.log().error("hard work", json!({})).await;
            }
            match what.as_str() {
                "fail" => assert!(responder.fail(ToolError::new("closed today"))),
                "secret" => assert!(responder.fail(std::io::Error::other("the safe is open"))),
                "nothing" => drop(responder),
                what => assert_eq!(responder.respond(format!("{what} is done")), Ok(())),
            }
        }
    });
    each_wire(&server(&desk).build().unwrap(), async |client| {
        let call = async |tool: &str, what: &str| client.call(tool, json!({"what": what})).await.unwrap();
        for tool in ["plain", "waiting", "closure"] {
            assert_eq!(call(tool, "it").await.first_text(), Some("it is done"), "{tool}");
            let failed = call(tool, "fail").await;
            assert_eq!((failed.is_error(), failed.first_text()), (true, Some("closed today")), "{tool}");
            for hidden in ["secret", "nothing"] {
                let failed = call(tool, hidden).await;
                let text = failed.first_text().unwrap();
                assert!(failed.is_error() && text.contains("reference"), "{tool}: {text}");
                assert!(!text.contains("safe") && !text.contains("gave up"), "{tool}: {text}");
            }
        }
        assert_eq!(call("waiting", "").await.first_text(), Some("say something"));

        let prompt = client.get_prompt("write", [("what", "it")]).await.unwrap();
        assert_eq!(prompt.messages[0].content.as_text(), Some("it is done"));
        let read = client.read_resource("desk://it").await.unwrap();
        assert_eq!(read.text(), Some("it is done"));
        assert_eq!(client.read_resource("closure://motd").await.unwrap().text(), Some("motd is done"));
        let reply = client.request("desk/ask", json!({"what": "it"})).await.unwrap();
        let reply: Value = reply.decode().unwrap();
        // The stateless era puts facts of its own around a value that is an object; a text stays what it is.
        assert_eq!(reply, json!("it is done"));
        for failure in [
            client.get_prompt("write", [("what", "fail")]).await.map(drop),
            client.read_resource("desk://fail").await.map(drop),
            client.request("desk/ask", json!({"what": "fail"})).await.map(drop),
        ] {
            let error = failure.unwrap_err();
            assert_eq!(error.code(), Some(Code::INTERNAL_ERROR));
            assert_eq!(error.rpc().unwrap().message, "closed today");
        }
        for failure in [
            client.get_prompt("write", [("what", "nothing")]).await.map(drop),
            client.read_resource("desk://nothing").await.map(drop),
            client.request("desk/ask", json!({"what": "nothing"})).await.map(drop),
        ] {
            assert!(failure.unwrap_err().rpc().unwrap().message.contains("reference"));
        }
    })
    .await;
}

#[tokio::test]
async fn a_call_speaks_until_its_answer_is_there_and_not_after_it() {
    let (desk, mut waiting) = desk();
    let told = Arc::new(Notify::new());
    let heard = told.clone();
    tokio::spawn(async move {
        while let Some((_, responder, ctx)) = waiting.recv().await {
            let ctx = ctx.unwrap();
            ctx.progress(1, 2, "").await;
            ctx.progress(2, 2, "").await;
            responder.respond("done".to_owned()).unwrap();
            ctx.cancelled().await;
            ctx.progress(3, 2, "").await;
            told.notify_one();
        }
    });
    each_wire(&server(&desk).build().unwrap(), async |client| {
        let mut news = client.news();
        let result = client.call("waiting", json!({"what": "it"})).await.unwrap();
        assert_eq!(result.first_text(), Some("done"));
        heard.notified().await;
        for step in [1.0, 2.0] {
            let Some(Notification::Progress(progress)) = news.next().await else { panic!("progress") };
            assert_eq!(progress.progress.as_f64(), Some(step));
        }
        assert!(news.try_next().is_none());
    })
    .await;
}

#[tokio::test]
async fn the_schema_is_that_of_the_answer() {
    #[derive(serde::Serialize, schemars::JsonSchema)]
    struct Sum {
        sum: i64,
    }
    /// Add, later.
    #[tool]
    fn add(a: i64, b: i64) -> Deferred<Json<Sum>> {
        let (responder, deferred) = Deferred::new();
        std::thread::spawn(move || responder.respond(Json(Sum { sum: a + b })));
        deferred
    }
    /// Say what the schema does not allow.
    #[tool]
    fn lie() -> Deferred<Deferred<String>> {
        let (outer, deferred) = Deferred::new();
        let (inner, later) = Deferred::new();
        outer.respond(later).unwrap();
        inner.respond("no object".to_owned()).unwrap();
        deferred
    }
    let schema = ToolEntry::of::<add>().definition().output_schema.clone().unwrap();
    assert_eq!(schema.decode::<Value>().unwrap()["properties"]["sum"]["type"], "integer");
    let liar = ToolEntry::of::<lie>().edit(|tool| tool.output_schema = Some(schema.clone()));
    let server = Server::new("sums", "1.0.0").tools(tools![add, lie as "twice"]).tool(liar).build().unwrap();
    let client = connect(&server).await;
    let sum = client.call("add", json!({"a": 2, "b": 3})).await.unwrap();
    assert_eq!(sum.structured().unwrap().decode::<Value>().unwrap(), json!({"sum": 5}));
    assert_eq!(client.call("twice", json!({})).await.unwrap().first_text(), Some("no object"));
    assert!(client.call("lie", json!({})).await.unwrap().is_error());
}

#[tokio::test]
async fn nobody_waits_for_the_answer_of_a_call_that_is_cancelled() {
    let (desk, mut waiting) = desk();
    let mut talk = Talk::start(&server(&desk).build().unwrap());
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "plain", "arguments": {"what": "it"}}});
    for end in ["cancel", "hang up"] {
        talk.send_json(call.clone()).await;
        let (_, mut responder, _) = waiting.recv().await.unwrap();
        assert!(responder.is_wanted());
        if end == "cancel" {
            let cancel =
                json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}});
            talk.send_json(cancel).await;
            responder.cancelled().await;
            assert!(!responder.is_wanted());
            assert_eq!(responder.respond("too late".to_owned()), Err("too late".to_owned()));
        } else {
            talk.abort();
            responder.cancelled().await;
            assert!(!responder.fail("too late"));
            break;
        }
    }
}

#[tokio::test]
async fn a_client_that_goes_away_takes_its_call_along() {
    let (desk, mut waiting) = desk();
    let server = server(&desk).build().unwrap();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let serving = tokio::spawn(server.http().serve(listener));
    let client = Client::builder().protocol(ProtocolVersion::LATEST).connect_http(&url).await.unwrap();
    let gone = Arc::new(Notify::new());
    let call = tokio::spawn(async move { client.call("plain", json!({"what": "it"})).await });
    let (_, mut responder, _) = waiting.recv().await.unwrap();
    call.abort();
    let told = gone.clone();
    tokio::spawn(async move {
        responder.cancelled().await;
        told.notify_one();
    });
    gone.notified().await;
    serving.abort();
}
