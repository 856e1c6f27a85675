//! Which clients are notified if a resource or the list of resources changes?

use std::sync::atomic::{AtomicUsize, Ordering};

use toolway::ProtocolVersion;
use toolway::client::Notification;
use toolway::prelude::*;
use toolway::server::ResourceEntry;
use toolway::testing::{each_session, each_wire};

use super::pages::{Shelf, library};
use super::uris::{readme, study};
use crate::listening::{TOLD, listen};

/// Another client of the same server, in the same revision.
async fn another(server: &Server, version: ProtocolVersion) -> Client {
    let (near, far) = tokio::io::duplex(1 << 16);
    let server = server.clone();
    // It ends when the client disconnects.
    tokio::spawn(async move {
        let (reader, writer) = tokio::io::split(far);
        server.serve_io(reader, writer).await
    });
    let (reader, writer) = tokio::io::split(near);
    Client::builder().protocol(version).connect_io(reader, writer).await.unwrap()
}

#[tokio::test]
async fn only_subscribers_hear_that_a_resource_was_updated() {
    let server = library().resources(resources![study]).build().unwrap();
    each_wire(&server, async |client| {
        let Some(mut mine) = listen(&client, &["shelf://a", "myapp:///studies/7", "shelf://fence"]).await
        else {
            // A server that cannot notify does not accept subscriptions.
            let error = client.subscribe("shelf://a").await.unwrap_err();
            assert_eq!(error.rpc().unwrap().code.0, -32601);
            return;
        };
        let other = another(&server, client.protocol_version()).await;
        let mut others = listen(&other, &["shelf://b", "shelf://fence"]).await.unwrap();
        // Each gets its own updates, and those that both subscribed to; the fence comes last.
        for uri in ["shelf://a", "shelf://b", "shelf://nobody", "shelf://fence"] {
            server.resource_updated(uri);
        }
        assert_eq!([mine.updated().await, mine.updated().await], ["shelf://a", "shelf://fence"]);
        assert_eq!([others.updated().await, others.updated().await], ["shelf://b", "shelf://fence"]);
        // A URI is compared exactly, also one of a template.
        for uri in ["shelf://a/", "shelf://A", "myapp:///studies/8", "myapp:///studies/7", "shelf://fence"] {
            server.resource_updated(uri);
        }
        assert_eq!([mine.updated().await, mine.updated().await], ["myapp:///studies/7", "shelf://fence"]);
        assert_eq!(others.updated().await, "shelf://fence");
    })
    .await;

    // In a session clients can subscribe and unsubscribe.
    each_session(&server, async |client| {
        let other = another(&server, client.protocol_version()).await;
        let mut mine = listen(&client, &["shelf://a", "shelf://fence"]).await.unwrap();
        let mut others = listen(&other, &["shelf://fence"]).await.unwrap();
        // A double subscription gets one notification.
        client.subscribe("shelf://a").await.unwrap();
        server.resource_updated("shelf://a");
        server.resource_updated("shelf://fence");
        assert_eq!([mine.updated().await, mine.updated().await], ["shelf://a", "shelf://fence"]);
        assert_eq!(others.updated().await, "shelf://fence");
        // After unsubscribing a client gets no more notifications, and the others still do.
        client.unsubscribe("shelf://a").await.unwrap();
        client.unsubscribe("shelf://never").await.unwrap();
        other.subscribe("shelf://a").await.unwrap();
        server.resource_updated("shelf://a");
        server.resource_updated("shelf://fence");
        assert_eq!(mine.updated().await, "shelf://fence");
        assert_eq!([others.updated().await, others.updated().await], ["shelf://a", "shelf://fence"]);
    })
    .await;
}

#[tokio::test]
async fn that_listed_resources_changed_is_told_by_hand() {
    let server = library().build().unwrap();
    let told = AtomicUsize::new(0);
    each_wire(&server, async |client| {
        let Some(mut listening) = listen(&client, &["shelf://fence"]).await else { return };
        told.fetch_add(1, Ordering::SeqCst);
        let books = |books: &[&'static str]| {
            books.clone_into(&mut server.state::<Shelf>().unwrap().0.lock().unwrap());
        };
        // The server cannot know the changes of a list that a handler computes.
        books(&["x"]);
        server.resource_updated("shelf://fence");
        assert_eq!(listening.updated().await, "shelf://fence");
        server.resources_changed();
        assert!(matches!(listening.heard().await, Notification::ResourcesChanged(_)));
        assert_eq!(client.resources().await.unwrap()[0].name, "x");
        server.resource_updated("shelf://fence");
        assert_eq!(listening.updated().await, "shelf://fence", "once");

        // It knows the changes of registered resources.
        server.add_resource(ResourceEntry::of::<readme>()).unwrap();
        assert!(matches!(listening.heard().await, Notification::ResourcesChanged(_)));
        let names: Vec<_> = client.resources().await.unwrap().into_iter().map(|one| one.name).collect();
        assert_eq!(names, ["readme", "x"]);
        assert!(server.add_resource(ResourceEntry::of::<readme>()).is_err());
        assert!(!server.remove_resource("myapp:///nowhere"));
        server.resource_updated("shelf://fence");
        assert_eq!(listening.updated().await, "shelf://fence", "nothing has changed");
        assert!(server.remove_resource("myapp:///readme"));
        assert!(matches!(listening.heard().await, Notification::ResourcesChanged(_)));
        books(&["a", "b", "c", "d", "e"]);
    })
    .await;
    assert!(told.into_inner() >= TOLD);
}

#[tokio::test]
async fn subscriptions_have_a_number_and_their_uris_a_length() {
    let server = library().build().unwrap();
    let client = another(&server, ProtocolVersion::LATEST_HANDSHAKE).await;
    let refusal = async |uri: &str| client.subscribe(uri).await.unwrap_err().rpc().unwrap().code.0;
    assert_eq!(refusal(&"x".repeat(8193)).await, -32602);
    for number in 0..1000 {
        client.subscribe(format!("shelf://{number}")).await.unwrap();
    }
    assert_eq!(refusal("shelf://more").await, -32600);
    client.subscribe("shelf://7").await.expect("it is subscribed to already");
    client.unsubscribe("shelf://7").await.unwrap();
    client.subscribe("shelf://more").await.expect("there is room again");
}
