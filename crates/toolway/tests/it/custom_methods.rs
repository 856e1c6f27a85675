//! Which methods and notifications of its own can an application serve?

use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::mpsc;
use toolway::prelude::*;
use toolway::testing::each_wire;
use toolway::{Code, ErrorKind};

use crate::pipe::Talk;

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Addends {
    a: i64,
    b: i64,
}

#[tokio::test]
async fn a_method_of_ones_own_takes_params_and_gives_back_any_json() {
    let server = Server::new("methods", "1.0.0")
        .method("add", |sum: Addends| async move { sum.a + sum.b })
        .method("acme/describe", |sum: Addends, ctx: Ctx| async move {
            Json(json!({"sum": sum.a + sum.b, "for": ctx.peer().version.as_str()}))
        })
        .method("acme/nothing", async || ())
        .build()
        .unwrap();
    each_wire(&server, async |client| {
        let ask = async |method: &str, params| client.request(method, params).await;
        let sum: Value = ask("add", json!({"a": 3, "b": 5})).await.unwrap().decode().unwrap();
        assert_eq!(sum, json!(8));
        let described: Value = ask("acme/describe", json!({"a": 3, "b": 5})).await.unwrap().decode().unwrap();
        assert_eq!(
            (&described["sum"], &described["for"]),
            (&json!(8), &json!(client.protocol_version().as_str()))
        );
        assert!(ask("acme/nothing", json!({})).await.unwrap().is_object());
        let wrong = ask("add", json!({"a": 3})).await.unwrap_err();
        assert_eq!(wrong.code(), Some(Code::INVALID_PARAMS));
        let unknown = ask("subtract", json!({"a": 3, "b": 5})).await.unwrap_err();
        assert_eq!(unknown.code(), Some(Code::METHOD_NOT_FOUND));
    })
    .await;
}

#[tokio::test]
async fn a_notification_of_ones_own_is_heard_and_not_answered() {
    #[derive(serde::Deserialize, schemars::JsonSchema)]
    struct Seen {
        page: u32,
    }
    type Pages = mpsc::UnboundedSender<u32>;
    async fn seen(seen: Seen, pages: State<Pages>) {
        pages.send(seen.page).unwrap();
    }
    let (pages, heard) = mpsc::unbounded_channel();
    let heard = tokio::sync::Mutex::new(heard);
    let server = Server::new("methods", "1.0.0")
        .state::<Pages>(pages)
        .notification("acme/seen", seen)
        .notification("acme/trouble", async || panic!("heard and not answered"))
        .build()
        .unwrap();
    each_wire(&server, async |client| {
        client.notify("acme/trouble", json!({})).await.unwrap();
        client.notify("acme/unheard", json!({})).await.unwrap();
        client.notify("acme/seen", json!({"page": 7})).await.unwrap();
        let page = tokio::time::timeout(Duration::from_secs(10), heard.lock().await.recv()).await.unwrap();
        assert_eq!(page, Some(7));
        client.ping().await.unwrap();
    })
    .await;
    // On the wire: the next message is the answer to the later request.
    let mut talk = Talk::start(&server);
    talk.send_json(json!({"jsonrpc": "2.0", "method": "acme/seen", "params": {"page": 1}})).await;
    talk.send_json(json!({"jsonrpc": "2.0", "id": 1, "method": "ping"})).await;
    assert_eq!(talk.receive().await["id"], 1);
    assert_eq!(talk.end().await, Vec::<Value>::new());
}

#[tokio::test]
async fn a_name_of_the_protocol_cannot_be_taken() {
    for (name, reason) in [
        ("tools/call", "`tools/call` is a method of the protocol"),
        ("ping", "`ping` is a method of the protocol"),
        ("initialize", "`initialize` is a method of the protocol"),
        ("server/discover", "`server/discover` is a method of the protocol"),
        ("subscriptions/listen", "`subscriptions/listen` is a method of the protocol"),
        ("rpc.echo", "a method cannot have the name \"rpc.echo\""),
        ("", "a method cannot have the name \"\""),
    ] {
        let error = Server::new("methods", "1.0.0").method(name, async || 1).build().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Misuse);
        assert!(error.to_string().contains(reason), "{error}");
    }
    for name in ["notifications/initialized", "notifications/cancelled", "notifications/tools/list_changed"] {
        let error = Server::new("methods", "1.0.0").notification(name, async || ()).build().unwrap_err();
        assert!(error.to_string().contains("is a method of the protocol"), "{error}");
    }
    let twice = Server::new("methods", "1.0.0").method("add", async || 1).method("add", async || 2).build();
    assert!(twice.unwrap_err().to_string().contains("two methods have the name `add`"));
}
