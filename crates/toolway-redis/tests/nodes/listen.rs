//! How does a client without a session learn of changes?
//!
//! It opens `subscriptions/listen` at any node. The stream is bound to this node: when it ends, the client opens another,
//! and does not learn what changed in between. A change after the acknowledgement is told, whichever node it is made at.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use serde_json::{Value, json};
use tokio::task::JoinHandle;

use crate::client::{Client, Habit, PATIENCE, PAUSE, envelope};
use crate::cluster::Node;
use crate::conversation::{POLL, SHORT_PATIENCE};
use crate::history::Fact;
use crate::http::Reply;

/// A client that listens until this is dropped.
pub(crate) struct Listening {
    news: Arc<News>,
    task: JoinHandle<()>,
}

/// The stream of a client.
#[derive(Debug, Default)]
struct News {
    updates: AtomicU64,
    /// How often a stream was acknowledged and how often one ended: an odd number while one is open.
    changes: AtomicU64,
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Listening {
    pub(crate) fn start(client: &Arc<Client>) -> Self {
        let news = Arc::new(News::default());
        Self { task: tokio::spawn(listen(client.clone(), news.clone())), news }
    }

    /// Changes the resource that the client listens to, and waits until the client is told.
    pub(crate) async fn update(&self, client: &Client) {
        let deaths = client.cluster.nodes.iter().map(Node::deaths).collect::<Vec<_>>();
        let start = Instant::now();
        let stream = loop {
            let changes = self.news.changes.load(Ordering::Acquire);
            if changes % 2 == 1 {
                break changes;
            }
            if start.elapsed() > PATIENCE {
                let (session, call) = (name_of(client), "the acknowledgement".to_owned());
                return client.write(Fact::Untold { session, call, node: String::new() });
            }
            tokio::time::sleep(POLL).await;
        };
        let doubts = client.cluster.doubts.load(Ordering::Acquire);
        let before = self.news.updates.load(Ordering::Acquire);
        let call = client.call("touch", json!({}), Habit::Reads);
        client.make(&call).await;
        let node = call.last_node.lock().unwrap().clone();
        let number = client.cluster.nodes.iter().position(|known| known.name == node).unwrap();
        let start = Instant::now();
        while self.news.updates.load(Ordering::Acquire) == before {
            // An update of a node that dies may be lost with it, and a client that opens another stream must read again.
            let has_died = client.cluster.nodes[number].deaths() > deaths[number];
            if has_died || self.news.changes.load(Ordering::Acquire) != stream {
                return;
            }
            if start.elapsed() > SHORT_PATIENCE && client.cluster.is_doubtful_since(doubts) {
                return;
            }
            if start.elapsed() > PATIENCE {
                let (session, call) = (name_of(client), call.key.clone());
                return client.write(Fact::Untold { session, call, node });
            }
            tokio::time::sleep(POLL).await;
        }
    }
}

/// Opens a stream at any node, and another one when it has ended.
async fn listen(client: Arc<Client>, news: Arc<News>) {
    for number in 0.. {
        let wanted = json!({"resourceSubscriptions": [format!("news://{}", client.principal)]});
        let params = json!({"notifications": wanted, "_meta": envelope()});
        let id = format!("listen-{number}");
        let message = json!({"jsonrpc": "2.0", "id": id, "method": "subscriptions/listen", "params": params});
        let since = client.cluster.history.now();
        let (node, connection) = client.cluster.connect(&client.random).await;
        if let Ok(reply) = client.request("POST", Some(message)).send(connection).await {
            client.check_advice(node, &reply);
            if reply.status == 200 {
                let (stream, node) = (name_of(&client), node.name.clone());
                let attached = stream.clone();
                client.write(Fact::Attached { stream: attached, node, is_conversation: false, since });
                if !read(&client, &news, reply).await {
                    client.write(Fact::Detached { stream });
                }
            }
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// Reads a stream. Returns whether the client has closed it.
async fn read(client: &Client, news: &News, mut reply: Reply) -> bool {
    let mut is_open = false;
    let mut is_closed = false;
    while !is_closed && let Ok(Some(event)) = reply.next_event().await {
        let message: Value = serde_json::from_str(&event.data).unwrap_or_default();
        if message["method"] == "notifications/subscriptions/acknowledged" {
            is_open = true;
            news.changes.fetch_add(1, Ordering::AcqRel);
        }
        if message["method"] == "notifications/resources/updated" {
            news.updates.fetch_add(1, Ordering::AcqRel);
            is_closed = client.one_in(6);
        }
        let (principal, session) = (client.principal.to_owned(), name_of(client));
        client.write(Fact::News { principal, session, id: event.id, message });
    }
    if is_open {
        news.changes.fetch_add(1, Ordering::AcqRel);
    }
    is_closed
}

/// The name of the streams of a client.
fn name_of(client: &Client) -> String {
    format!("{}+{} listens", client.principal, client.name)
}
