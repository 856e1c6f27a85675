//! How does a client receive changes, in either era?

use std::time::Duration;

use serde_json::json;
use tokio::task::AbortHandle;
use toolway::Era;
use toolway::client::Notification;
use toolway::client::NotificationReader;
use toolway::prelude::*;

/// The number of wires on which a server can send change notifications: all but HTTP in the handshake era without
/// sessions.
pub(super) const TOLD: usize = 8;

/// A client that receives changes of every list and of some resources, until this is dropped.
pub(super) struct Listening {
    news: NotificationReader,
    /// The request that opens the stream in the stateless era.
    stream: Option<AbortHandle>,
}

/// Subscribes a client; `None` if the server has not declared notifications.
pub(super) async fn listen(client: &Client, uris: &[&str]) -> Option<Listening> {
    let capabilities = client.server_capabilities();
    let lists = [&capabilities.tools, &capabilities.prompts, &capabilities.resources];
    if !lists.into_iter().flatten().any(|settings| settings.get("listChanged") == Some(&json!(true))) {
        return None;
    }
    let mut listening = Listening { news: client.notifications(), stream: None };
    if client.protocol_version().era() == Era::Handshake {
        for uri in uris {
            client.subscribe(*uri).await.unwrap();
        }
        return Some(listening);
    }
    let wanted = json!({
        "toolsListChanged": true, "promptsListChanged": true, "resourcesListChanged": true,
        "resourceSubscriptions": uris,
    });
    let client = client.clone();
    let stream = tokio::spawn(async move {
        client.request("subscriptions/listen", json!({"notifications": wanted})).await.map(drop)
    });
    listening.stream = Some(stream.abort_handle());
    let first = listening.heard().await;
    assert!(matches!(first, Notification::SubscriptionAcknowledged(_)), "{first:?}");
    Some(listening)
}

impl Listening {
    /// Waits for the next notification. A test that waits in vain fails instead of hanging.
    pub(super) async fn heard(&mut self) -> Notification {
        tokio::time::timeout(Duration::from_secs(10), self.news.next())
            .await
            .expect("news")
            .expect("a server")
    }

    /// Returns the URI of the next update. For changes at the same time, lists are announced first, and resources in
    /// the order of their updates: an unexpected update would arrive before a later one.
    pub(super) async fn updated(&mut self) -> String {
        match self.heard().await {
            Notification::ResourceUpdated(updated) => updated.uri,
            other => panic!("{other:?}"),
        }
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        if let Some(stream) = &self.stream {
            stream.abort();
        }
    }
}
