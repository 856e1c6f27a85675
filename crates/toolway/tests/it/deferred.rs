//! Answers from another task: a handler awaits a channel, and the task at the other end answers, fails, or drops the
//! channel.

use std::sync::Arc;

use serde_json::{Value, json};
use tokio::sync::{Notify, mpsc, oneshot};
use toolway::client::Notification;
use toolway::prelude::*;
use toolway::server::{ResourceEntry, ServerBuilder, ToolEntry};
use toolway::testing::each_wire;
use toolway::types::Resource;
use toolway::{Code, ProtocolVersion};

use crate::pipe::Talk;

type Answer = oneshot::Sender<Result<String, ToolError>>;

/// A task that answers when a test says so.
#[derive(Clone)]
struct Desk(mpsc::UnboundedSender<(String, Answer, Option<Ctx>)>);

impl Desk {
    async fn take(&self, what: &str, ctx: Option<Ctx>) -> Result<String, ToolError> {
        let (answer, answered) = oneshot::channel();
        self.0.send((what.to_owned(), answer, ctx)).unwrap_or_else(|_| panic!("the desk is open"));
        answered.await?
    }
}

type Waiting = mpsc::UnboundedReceiver<(String, Answer, Option<Ctx>)>;

fn desk() -> (Desk, Waiting) {
    let (sender, waiting) = mpsc::unbounded_channel();
    (Desk(sender), waiting)
}

/// Waits for the desk.
#[tool]
async fn plain(what: &str, desk: State<Desk>) -> Result<String, ToolError> {
    desk.take(what, None).await
}

/// Waits for the desk, which speaks to the caller meanwhile.
#[tool]
async fn waiting(what: String, desk: State<Desk>, ctx: Ctx) -> Result<String, ToolError> {
    tokio::task::yield_now().await;
    if what.is_empty() {
        return Err(ToolError::new("say something"));
    }
    desk.take(&what, Some(ctx)).await
}

/// A prompt.
#[prompt]
async fn write(what: String, desk: State<Desk>) -> Result<String, ToolError> {
    desk.take(&what, None).await
}

/// A resource.
#[resource("desk://{what}")]
async fn drawer(what: String, desk: State<Desk>) -> Result<String, ToolError> {
    desk.take(&what, None).await
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Asked {
    what: String,
}

fn server(desk: &Desk) -> ServerBuilder {
    let closure = |asked: Asked, desk: State<Desk>| async move { desk.take(&asked.what, None).await };
    let motd = || Resource::new("closure://motd", "motd");
    Server::new("desk", "1.0.0")
        .state(desk.clone())
        .tools(tools![plain, waiting])
        .tool(ToolEntry::from_fn("closure", closure))
        .prompts(prompts![write])
        .resources(resources![drawer])
        .resource(ResourceEntry::define(
            motd(),
            |desk: State<Desk>| async move { desk.take("motd", None).await },
        ))
        .method("desk/ask", closure)
}

#[tokio::test]
async fn an_answer_may_come_later_from_another_task() {
    let (desk, mut waiting) = desk();
    tokio::spawn(async move {
        while let Some((what, answer, ctx)) = waiting.recv().await {
            assert!(!answer.is_closed());
            if let Some(ctx) = ctx {
                assert!(!ctx.is_cancelled());
                ctx.progress(1, 2, "at the desk").await;
                ctx.log().error("hard work", json!({})).await;
            }
            match what.as_str() {
                "fail" => answer.send(Err(ToolError::new("closed today"))).unwrap(),
                "secret" => answer.send(Err(std::io::Error::other("the safe is open").into())).unwrap(),
                "nothing" => drop(answer),
                what => answer.send(Ok(format!("{what} is done"))).unwrap(),
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
                assert!(!text.contains("safe") && !text.contains("channel"), "{tool}: {text}");
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
        // The stateless era adds its own members to a value that is an object; a string stays unchanged.
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
        while let Some((_, answer, ctx)) = waiting.recv().await {
            let ctx = ctx.unwrap();
            ctx.progress(1, 2, "").await;
            ctx.progress(2, 2, "").await;
            answer.send(Ok("done".to_owned())).unwrap();
            ctx.cancelled().await;
            ctx.progress(3, 2, "").await;
            told.notify_one();
        }
    });
    each_wire(&server(&desk).build().unwrap(), async |client| {
        let mut news = client.notifications();
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
async fn a_call_that_is_cancelled_does_not_wait_for_its_answer() {
    let (desk, mut waiting) = desk();
    let mut talk = Talk::start(&server(&desk).build().unwrap());
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "plain", "arguments": {"what": "it"}}});
    for end in ["cancel", "hang up"] {
        talk.send_json(call.clone()).await;
        let (_, mut answer, _) = waiting.recv().await.unwrap();
        assert!(!answer.is_closed());
        if end == "cancel" {
            let cancel =
                json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}});
            talk.send_json(cancel).await;
            answer.closed().await;
            assert!(answer.send(Ok("too late".to_owned())).is_err());
        } else {
            talk.abort();
            answer.closed().await;
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
    let call = tokio::spawn(async move { client.call("plain", json!({"what": "it"})).await });
    let (_, mut answer, _) = waiting.recv().await.unwrap();
    call.abort();
    answer.closed().await;
    serving.abort();
}
