//! Can a hidden element be read under another name, or without passing the layers around it?

use std::sync::{Arc, Mutex};

use toolway::client::Change;
use toolway::prelude::*;
use toolway::server::layer::{CallKind, Next, layer_fn};
use toolway::server::{Admit, ReadRequest, ResourceEntry, ResourceError};
use toolway::testing::{connect, each_wire};
use toolway::types::{Resource, ResourceTemplate};
use toolway::{Hub, RpcError};

/// A server of notes, most of which are not listed: it also reads URIs that its template does not match.
fn notes() -> Server {
    let family = ResourceTemplate::new("notes://{id}", "note");
    Server::new("notes", "1.0.0")
        .resource(ResourceEntry::define(family, || async { "a note" }))
        .read_resource(|reading: ReadRequest| async move {
            reading.uri.starts_with("notes://").then_some("a deep note")
        })
        .build()
        .unwrap()
}

async fn hub() -> Hub {
    let hub = Hub::new();
    hub.connect("notes", &notes()).await.unwrap();
    hub
}

/// Returns the URIs that a caller with this admission can read.
async fn readable(gateway: toolway::server::ServerBuilder, admit: Admit) -> Vec<&'static str> {
    let gateway = gateway.on_connect(move || std::future::ready(admit.clone())).build().unwrap();
    let found = Mutex::new(None);
    each_wire(&gateway, async |caller| {
        let mut now = Vec::new();
        for uri in ["notes://17", "notes://a/b", "hub://notes/notes://17", "hub://notes/notes://a/b"] {
            if caller.read_resource(uri).await.is_ok() {
                now.push(uri);
            }
        }
        let before = found.lock().unwrap().replace(now.clone());
        assert!(before.is_none_or(|before| before == now), "every wire lets the same pass");
    })
    .await;
    found.into_inner().unwrap().unwrap()
}

const NOTHING: [&str; 0] = [];

#[tokio::test]
async fn a_hidden_family_is_not_read_under_the_long_name_of_its_server() {
    let gateway = async || Server::new("gateway", "1.0.0").mount(hub().await);
    let all = ["notes://17", "notes://a/b", "hub://notes/notes://17", "hub://notes/notes://a/b"];
    assert_eq!(readable(gateway().await, Admit::as_principal("ann")).await, all);
    let guest = || Admit::as_principal("guest");
    assert_eq!(readable(gateway().await, guest().only_templates(NOTHING)).await, NOTHING);
    assert_eq!(
        readable(gateway().await, guest().only_resources(NOTHING)).await,
        ["notes://17", "hub://notes/notes://17"],
        "the family is not hidden"
    );
    let one = guest().only_templates(NOTHING).only_resources(["notes://17"]);
    assert_eq!(readable(gateway().await, one).await, ["notes://17", "hub://notes/notes://17"]);
    let deep = guest().only_templates(NOTHING).only_resources(["notes://a/b"]);
    assert_eq!(readable(gateway().await, deep).await, ["notes://a/b", "hub://notes/notes://a/b"]);
}

#[tokio::test]
async fn what_nobody_lists_is_hidden_with_the_families_it_may_be_of() {
    let gateway = async || Server::new("gateway", "1.0.0").mount(Client::connect(&notes()).await.unwrap());
    assert_eq!(readable(gateway().await, Admit::anyone()).await, ["notes://17", "notes://a/b"]);
    assert_eq!(readable(gateway().await, Admit::anyone().only_templates(NOTHING)).await, NOTHING);
    let deep = Admit::anyone().only_templates(["note"]).only_resources(["notes://a/b"]);
    assert_eq!(readable(gateway().await, deep).await, ["notes://17", "notes://a/b"]);
}

#[tokio::test]
async fn what_a_server_reads_itself_is_not_hidden_because_others_are_mounted() {
    let gateway = Server::new("gateway", "1.0.0")
        .read_resource(|reading: ReadRequest| async move { (reading.uri == "notes://a/b").then_some("ours") })
        .mount(Client::connect(&notes()).await.unwrap());
    let readable = readable(gateway, Admit::anyone().only_templates(NOTHING)).await;
    assert_eq!(readable, ["notes://a/b"]);
}

#[tokio::test]
async fn nobody_hears_of_what_it_may_not_read() {
    let server = notes();
    let hub = Hub::new();
    hub.connect("notes", &server).await.unwrap();
    let gateway = Server::new("gateway", "1.0.0")
        .mount(&hub)
        .on_connect(async || Admit::anyone().only_templates(NOTHING).only_resources(["notes://seen"]))
        .build()
        .unwrap();
    each_wire(&gateway, async |caller| {
        let hidden = ["notes://17", "notes://a/b", "hub://notes/notes://17", "hub://notes/notes://a/b"];
        let mut changes = caller.watch(hidden.into_iter().chain(["notes://seen"])).await.unwrap();
        for uri in ["notes://17", "notes://a/b", "notes://seen"] {
            server.resource_updated(uri);
        }
        loop {
            match changes.next().await.unwrap() {
                Change::Resource(uri) => break assert_eq!(uri, "notes://seen"),
                other => assert_eq!(other, Change::Resources),
            }
        }
    })
    .await;
}

#[tokio::test]
async fn layers_of_a_merged_server_stand_around_what_its_mounts_read() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let layer = {
        let seen = seen.clone();
        layer_fn(move |call: toolway::server::layer::Call, next: Next| {
            let uri = call.uri().unwrap_or_default().to_owned();
            seen.lock().unwrap().push(uri.clone());
            async move {
                if uri.contains("17") || uri.contains("a/b") {
                    return Err(RpcError::invalid_request("not for you").into());
                }
                next.run(call).await
            }
        })
    };
    let inner = Server::new("inner", "1.0.0").layer_for(CallKind::Resource, layer).mount(hub().await);
    let gateway = Server::new("gateway", "1.0.0").merge(inner).build().unwrap();
    let caller = connect(&gateway).await;
    for uri in ["notes://17", "notes://a/b", "hub://notes/notes://17", "hub://notes/notes://a/b"] {
        let error = caller.read_resource(uri).await.unwrap_err();
        assert_eq!(error.rpc().unwrap().message, "not for you", "{uri}");
    }
    assert_eq!(caller.read_resource("hub://notes/notes://c/d").await.unwrap().text(), Some("a deep note"));
    assert_eq!(
        *seen.lock().unwrap(),
        ["notes://17", "notes://a/b", "notes://17", "notes://a/b", "notes://c/d"],
        "whoever decides by a name knows all of them by one"
    );
}

#[tokio::test]
async fn an_element_without_a_handler_does_not_hide_the_layers_around_a_mount() {
    let steps = Arc::new(Mutex::new(Vec::new()));
    let says = |name: &'static str| {
        let steps = steps.clone();
        layer_fn(move |call: toolway::server::layer::Call, next: Next| {
            steps.lock().unwrap().push(name);
            async move { next.run(call).await }
        })
    };
    let inner = Server::new("inner", "1.0.0").layer_for(CallKind::Resource, says("mount")).mount(hub().await);
    let own = ResourceEntry::without_handler(Resource::new("notes://a/b", "own")).layer(says("own"));
    let nothing =
        async |_: ReadRequest| -> Result<&'static str, ResourceError> { Err(ResourceError::not_found()) };
    let gateway = Server::new("gateway", "1.0.0").resource(own).read_resource(nothing).merge(inner);
    let caller = connect(&gateway.build().unwrap()).await;
    assert_eq!(caller.read_resource("notes://a/b").await.unwrap().text(), Some("a deep note"));
    assert_eq!(*steps.lock().unwrap(), ["own", "mount"]);
}
