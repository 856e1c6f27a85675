//! Which handlers may ask?

use std::sync::Mutex;

use serde_json::json;
use tokio::sync::mpsc;
use toolway::prelude::*;
use toolway::server::ask::AskErrorKind;
use toolway::server::{Admit, CompletionRequest, PromptError, ReadRequest, ResourceError};
use toolway::testing::each_wire_as;
use toolway::types::Resource;
use toolway::{Code, Era};

use super::{Door, Name, accept, again, filling_in, greet, has_forms, request};

#[prompt]
async fn letter(ctx: Ctx) -> Result<String, PromptError> {
    let Name { name } = ctx.ask("Who are you?").await?;
    Ok(format!("Write a letter to {name}."))
}

#[resource("people://me")]
async fn me(ctx: Ctx) -> Result<String, ResourceError> {
    let Name { name } = ctx.ask("Who are you?").await?;
    Ok(format!("I am {name}"))
}

#[resource(uri = "people://{id}/friend")]
async fn friend(id: u32, ctx: Ctx) -> Result<String, ResourceError> {
    let Name { name } = ctx.ask("Who is it?").await?;
    Ok(format!("{id} is a friend of {name}"))
}

/// Reads a resource that asks.
#[tool]
async fn introduce(ctx: Ctx) -> Result<String, ToolError> {
    let me = ctx.read_resource("people://me").await?;
    Ok(format!("{}!", me.text().unwrap_or_default()))
}

fn server() -> Server {
    Server::new("app", "1.0.0")
        .tools(tools![introduce, greet])
        .prompts(prompts![letter])
        .resources(resources![me, friend])
        .read_resource(|reading: ReadRequest, ctx: Ctx| async move {
            if reading.uri != "other://one" {
                return Ok(None);
            }
            let name: Name = ctx.ask("Which one?").await?;
            Ok::<_, ResourceError>(Some(name.name))
        })
        .build()
        .unwrap()
}

#[tokio::test]
async fn prompts_and_all_kinds_of_resources_may_ask() {
    each_wire_as(filling_in(json!({"name": "Ada"})), &server(), async |client| {
        let prompt = client.get_prompt("letter", [("", ""); 0]).await;
        let mut texts = Vec::new();
        for uri in ["people://me", "people://7/friend", "other://one"] {
            texts.push(client.read_resource(uri).await.map(|read| read.text().map(str::to_owned)));
        }
        let told = client.call("introduce", json!({})).await.unwrap();
        if has_forms(&client) {
            let prompt = serde_json::to_string(&format!("{:?}", prompt.unwrap())).unwrap();
            assert!(prompt.contains("Write a letter to Ada."), "{prompt}");
            let texts: Vec<_> = texts.into_iter().map(|text| text.unwrap().unwrap()).collect();
            assert_eq!(texts, ["I am Ada", "7 is a friend of Ada", "Ada"]);
            assert_eq!(told.first_text(), Some("I am Ada!"));
        } else {
            // These methods have no tool result that a model could read.
            for error in texts.into_iter().map(Result::err).chain([prompt.err()]) {
                let error = error.expect("it cannot be asked");
                assert_eq!(error.code(), Some(Code::INVALID_REQUEST));
                assert!(error.to_string().contains("the client cannot be asked"), "{error}");
            }
            assert!(told.is_error() && told.first_text().unwrap().contains("the client cannot be asked"));
        }
    })
    .await;
}

#[tokio::test]
async fn who_lacks_what_a_prompt_or_a_resource_needs_hears_of_it() {
    each_wire_as(Client::builder(), &server(), async |client| {
        let errors = [
            client.get_prompt("letter", [("", ""); 0]).await.unwrap_err(),
            client.read_resource("people://me").await.unwrap_err(),
            client.read_resource("other://one").await.unwrap_err(),
        ];
        let code = match client.protocol_version().era() {
            Era::Handshake => Code::INVALID_REQUEST,
            Era::Stateless => Code(-32021),
        };
        for error in errors {
            assert_eq!(error.code(), Some(code), "{error}");
        }
    })
    .await;
}

/// These results must never be cached, although other results of the method may be.
#[tokio::test]
async fn questions_of_a_resource_are_asked_by_its_method_and_carry_no_hints() {
    for door in Door::both(&server()) {
        let read = request("resources/read", json!({"uri": "people://me"}));
        let first = door.say(&read).await;
        assert_eq!(first["result"]["resultType"], "input_required", "{first}");
        assert!(first["result"].get("ttlMs").is_none(), "{first}");
        let answers = json!({"Name": accept(json!({"name": "Ada"}))});
        let second = door.say(&again(&read, &first["result"]["requestState"], answers)).await;
        assert_eq!(second["result"]["contents"][0]["text"], "I am Ada");
        assert!(second["result"].get("ttlMs").is_some());
    }
}

struct Told(mpsc::UnboundedSender<AskErrorKind>);
struct Admitted(Mutex<Vec<AskErrorKind>>);

async fn kind(ctx: &Ctx) -> AskErrorKind {
    ctx.ask::<Name>("Who?").await.err().expect("nobody may be asked here").kind()
}

async fn suggest(_: CompletionRequest, ctx: Ctx) -> Vec<String> {
    vec![format!("{:?}", kind(&ctx).await)]
}

#[prompt]
fn plain(#[arg(complete = suggest)] name: String) -> String {
    name
}

/// Asks when its call is over.
#[tool]
async fn leave(ctx: Ctx, told: State<Told>) -> &'static str {
    let sender = told.0.clone();
    tokio::spawn(async move {
        ctx.cancelled().await;
        sender.send(kind(&ctx).await).unwrap();
    });
    "gone"
}

#[tokio::test]
async fn everywhere_else_it_is_an_error_of_its_own_kind() {
    let (sender, told) = mpsc::unbounded_channel();
    let told = tokio::sync::Mutex::new(told);
    let server = Server::new("app", "1.0.0")
        .state(Told(sender))
        .state(Admitted(Mutex::default()))
        .tools(tools![leave])
        .prompts(prompts![plain])
        .list_resources(|ctx: Ctx| async move {
            vec![Resource::new("kind://here", format!("{:?}", kind(&ctx).await))]
        })
        .read_resource(|_: ReadRequest| async { None::<String> })
        .method("acme/ask", |ctx: Ctx| async move { json!({"kind": format!("{:?}", kind(&ctx).await)}) })
        .notification("acme/told", |ctx: Ctx, told: State<Told>| async move {
            told.0.send(kind(&ctx).await).unwrap();
        })
        .on_connect(|ctx: Ctx, admitted: State<Admitted>| async move {
            let kind = kind(&ctx).await;
            admitted.0.lock().unwrap().push(kind);
            Admit::anyone()
        })
        .build()
        .unwrap();
    each_wire_as(filling_in(json!({"name": "Ada"})), &server, async |client| {
        let completed = client.complete_prompt("plain", "name", "", [("", ""); 0]).await.unwrap();
        assert_eq!(completed.values, ["NotAllowed"]);
        assert_eq!(client.resources().await.unwrap()[0].name, "NotAllowed");
        let reply: serde_json::Value = client.request("acme/ask", json!({})).await.unwrap().decode().unwrap();
        assert_eq!(reply["kind"], "NotAllowed");
        client.notify("acme/told", json!({})).await.unwrap();
        assert_eq!(told.lock().await.recv().await, Some(AskErrorKind::NotAllowed));
        assert_eq!(client.call("leave", json!({})).await.unwrap().first_text(), Some("gone"));
        assert_eq!(told.lock().await.recv().await, Some(AskErrorKind::Ended));
        let admitted = server.state::<Admitted>().unwrap();
        let kinds = std::mem::take(&mut *admitted.0.lock().unwrap());
        assert!(!kinds.is_empty() && kinds.iter().all(|kind| *kind == AskErrorKind::NotAllowed));
    })
    .await;
}
