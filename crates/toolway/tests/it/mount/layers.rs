//! Which layers apply to the calls of a gateway, and which server owns a name?

use std::sync::{Arc, Mutex};

use serde_json::json;
use toolway::Code;
use toolway::prelude::*;
use toolway::server::layer::layer_fn;
use toolway::server::{Admit, RequestStats};
use toolway::testing::{connect, each_wire};

/// Say who this is.
#[tool]
fn whoami(name: State<String>) -> String {
    name.to_string()
}

/// Fail.
#[tool]
fn fail() -> Result<String, ToolError> {
    Err(ToolError::new("no luck"))
}

/// Greet.
#[prompt]
fn greet(name: State<String>) -> String {
    format!("Greet {}.", *name)
}

/// Who it is.
#[resource("name://it")]
fn it(name: State<String>) -> String {
    name.to_string()
}

fn server(name: &str) -> Server {
    Server::new(name, "1.0.0")
        .state(name.to_owned())
        .tools(tools![whoami, fail])
        .prompts(prompts![greet])
        .resources(resources![it])
        .build()
        .unwrap()
}

async fn client(name: &str) -> Client {
    Client::connect(&server(name)).await.unwrap()
}

async fn said(caller: &Client, tool: &str) -> String {
    caller.call(tool, json!({})).await.unwrap().text().unwrap()
}

fn names(tools: &toolway::client::Tools) -> Vec<&str> {
    tools.iter().map(|tool| tool.name.as_str()).collect()
}

#[tokio::test]
async fn several_servers_are_told_apart_by_what_stands_before_their_names() {
    let gateway = Server::new("gateway", "1.0.0")
        .state("gateway".to_owned())
        .tools(tools![whoami])
        .mount_as("one", client("first").await)
        .mount_as("two", client("second").await)
        .build()
        .unwrap();
    each_wire(&gateway, async |caller| {
        let tools = caller.tools().await.unwrap();
        assert_eq!(names(&tools), ["whoami", "one__whoami", "one__fail", "two__whoami", "two__fail"]);
        assert_eq!(said(&caller, "whoami").await, "gateway");
        assert_eq!(said(&caller, "one__whoami").await, "first");
        assert_eq!(said(&caller, "two__whoami").await, "second");
        let prompt = caller.get_prompt("two__greet", ()).await.unwrap();
        assert_eq!(prompt.messages[0].content.as_text(), Some("Greet second."));
        // A URI belongs to one server, the first that has it.
        assert_eq!(caller.resources().await.unwrap().len(), 1);
        assert_eq!(caller.read_resource("name://it").await.unwrap().text(), Some("first"));
    })
    .await;
}

#[tokio::test]
async fn what_a_server_has_itself_is_not_taken_over() {
    let gateway = Server::new("gateway", "1.0.0")
        .state("gateway".to_owned())
        .tools(tools![whoami])
        .mount(client("first").await)
        .mount(client("second").await)
        .build()
        .unwrap();
    let caller = connect(&gateway).await;
    assert_eq!(names(&caller.tools().await.unwrap()), ["whoami", "fail"]);
    assert_eq!(said(&caller, "whoami").await, "gateway");
    assert_eq!(
        caller.get_prompt("greet", ()).await.unwrap().messages[0].content.as_text(),
        Some("Greet first.")
    );
}

#[tokio::test]
async fn a_name_that_cannot_stand_before_others_is_a_mistake() {
    for name in ["", "a b", "a/b"] {
        let error = Server::new("gateway", "1.0.0").mount_as(name, client("x").await).build().unwrap_err();
        assert!(error.to_string().contains("mount_as"), "{error}");
    }
}

#[tokio::test]
async fn a_server_with_mounts_can_be_merged_and_nested() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let layer = {
        let seen = seen.clone();
        layer_fn(move |call, next| {
            seen.lock().unwrap().push(call.tool().map(str::to_owned));
            async move { next.run(call).await }
        })
    };
    let inner = Server::new("inner", "1.0.0").layer_for(toolway::server::layer::CallKind::Tool, layer);
    let inner = inner.mount_as("one", client("first").await);
    let merged = Server::new("also", "1.0.0").mount(client("second").await);
    let gateway = Server::new("gateway", "1.0.0").nest("deep", inner).merge(merged).build().unwrap();
    let caller = connect(&gateway).await;
    let tools = caller.tools().await.unwrap();
    assert_eq!(names(&tools), ["deep_one__whoami", "deep_one__fail", "whoami", "fail"]);
    assert_eq!(said(&caller, "deep_one__whoami").await, "first");
    assert_eq!(said(&caller, "whoami").await, "second");
    assert_eq!(
        *seen.lock().unwrap(),
        [Some("deep_one__whoami".to_owned())],
        "layers stay around what they were around"
    );
}

#[tokio::test]
async fn callers_see_what_they_may_of_mounted_elements_too() {
    let gateway = Server::new("gateway", "1.0.0")
        .mount_as("one", client("first").await)
        .on_connect(async || {
            let nothing: [&str; 0] = [];
            Admit::as_principal("ann")
                .only_tools(["one__whoami"])
                .only_resources(nothing)
                .only_prompts(nothing)
        })
        .build()
        .unwrap();
    each_wire(&gateway, async |caller| {
        assert_eq!(names(&caller.tools().await.unwrap()), ["one__whoami"]);
        assert_eq!(said(&caller, "one__whoami").await, "first");
        let error = caller.call("one__fail", json!({})).await.unwrap_err();
        assert_eq!(error.code(), Some(Code::INVALID_PARAMS));
        assert!(caller.resources().await.unwrap().is_empty() && caller.prompts().await.unwrap().is_empty());
        assert!(caller.read_resource("name://it").await.is_err());
        assert!(caller.read_resource("name://other").await.is_err(), "nor what nobody lists");
        assert!(caller.get_prompt("one__greet", ()).await.is_err());
    })
    .await;
}

#[tokio::test]
async fn layers_and_statistics_see_mounted_elements_as_any() {
    type Seen = Mutex<Vec<(Option<String>, Option<&'static str>)>>;
    async fn note(stats: RequestStats, seen: State<Seen>) {
        if stats.method == "tools/call" {
            seen.lock().unwrap().push((stats.tool.clone(), stats.error));
        }
    }
    let gateway = Server::new("gateway", "1.0.0")
        .state(Seen::default())
        .mount(client("first").await)
        .layer(layer_fn(|call, next| async move {
            if call.tool() == Some("whoami") && call.arguments().is_some_and(|sent| sent.as_str() != "{}") {
                return Err(toolway::RpcError::invalid_request("not like this").into());
            }
            next.run(call).await
        }))
        .on_request_end(note)
        .build()
        .unwrap();
    each_wire(&gateway, async |caller| {
        let seen = gateway.state::<Seen>().unwrap();
        seen.lock().unwrap().clear();
        assert_eq!(said(&caller, "whoami").await, "first");
        let refused = caller.call("whoami", json!({"a": 1})).await.unwrap_err();
        assert_eq!(refused.code(), Some(Code::INVALID_REQUEST));
        assert!(caller.call("fail", json!({})).await.unwrap().is_error());
        let seen = std::mem::take(&mut *seen.lock().unwrap());
        let expected = [("whoami", None), ("whoami", Some("invalid_request")), ("fail", Some("tool_error"))];
        assert_eq!(seen, expected.map(|(tool, error)| (Some(tool.to_owned()), error)));
    })
    .await;
}

#[tokio::test]
async fn one_gateway_behind_another_is_as_none() {
    let first = Server::new("near", "1.0.0").mount_as("far", client("first").await).build().unwrap();
    let second = Server::new("nearer", "1.0.0")
        .mount_as("near", Client::connect(&first).await.unwrap())
        .build()
        .unwrap();
    each_wire(&second, async |caller| {
        assert_eq!(names(&caller.tools().await.unwrap()), ["near__far__whoami", "near__far__fail"]);
        assert_eq!(said(&caller, "near__far__whoami").await, "first");
        let failed = caller.call("near__far__fail", json!({})).await.unwrap();
        assert_eq!(failed.first_text(), Some("no luck"));
    })
    .await;
}
