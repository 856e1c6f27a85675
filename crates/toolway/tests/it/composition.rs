//! Can a server be composed of other servers, and of handlers that are not elements?

use serde_json::json;
use toolway::prelude::*;
use toolway::server::{ReadRequest, ToolEntry};
use toolway::testing::each_wire;
use toolway::types::Resource;

#[tokio::test]
async fn handlers_of_a_merged_server_keep_its_values() {
    struct Name(&'static str);
    let inner = Server::new("inner", "1.0.0")
        .state(Name("inner"))
        .read_resource(|reading: ReadRequest, name: State<Name>| async move {
            (reading.uri == "name://it").then_some(name.0)
        })
        .list_resources(|name: State<Name>| async move { vec![Resource::new("name://it", name.0)] })
        .method("acme/name", |name: State<Name>| async move { name.0 });
    let server = Server::new("outer", "1.0.0").state(Name("outer")).merge(inner).build().unwrap();
    each_wire(&server, async |client| {
        assert_eq!(client.read_resource("name://it").await.unwrap().text(), Some("inner"));
        assert_eq!(client.resources().await.unwrap()[0].name, "inner");
        assert_eq!(client.request("acme/name", json!({})).await.unwrap().as_str(), "\"inner\"");
    })
    .await;
}

#[test]
fn handlers_without_their_values_are_told_of_when_the_server_is_built() {
    struct Lost;
    let server = Server::new("lost", "1.0.0")
        .read_resource(|_: State<Lost>| async { None::<String> })
        .list_resources(|_: State<Lost>| async { Vec::<Resource>::new() })
        .method("acme/lost", |_: State<Lost>| async {})
        .notification("acme/news", |_: State<Lost>| async {});
    let error = server.build().unwrap_err().to_string();
    for what in ["`read_resource`", "`list_resources`", "method `acme/lost`", "notification `acme/news`"] {
        assert!(error.lines().any(|line| line.contains(what) && line.contains("State<")), "{what}: {error}");
    }
}

#[tokio::test]
async fn a_request_by_hand_carries_the_headers_of_its_method() {
    let server =
        Server::new("hand", "1.0.0").tool(ToolEntry::from_fn("hello", || async { "hello" })).build().unwrap();
    each_wire(&server, async |client| {
        let result = client.request("tools/call", json!({"name": "hello"})).await.unwrap();
        assert!(result.as_str().contains("hello"), "{}", result.as_str());
    })
    .await;
}
