//! A stateless HTTP call runs in the task of its connection, and closing the connection cancels it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::json;
use tokio::net::TcpListener;
use tokio::runtime::Handle;
use tokio::sync::Notify;
use toolway::prelude::*;

/// Tells how many tasks are alive while it runs.
#[tool]
async fn alive() -> usize {
    // Giving way once makes sure that this is no call that happens to be done at the first poll.
    tokio::task::yield_now().await;
    Handle::current().metrics().num_alive_tasks()
}

#[derive(Default)]
struct Watch {
    entered: Notify,
    dropped: Arc<Notify>,
    told: AtomicUsize,
}

/// Never ends by itself.
#[tool]
async fn forever(watch: State<Watch>, ctx: Ctx) {
    struct Tell(Arc<Notify>);
    impl Drop for Tell {
        fn drop(&mut self) {
            self.0.notify_one();
        }
    }
    let _tell = Tell(watch.dropped.clone());
    let elsewhere = watch.clone();
    // Work that was handed to another task learns of the end through the context.
    tokio::spawn(async move {
        ctx.cancelled().await;
        elsewhere.told.fetch_add(1, Ordering::SeqCst);
        elsewhere.entered.notify_one();
    });
    watch.entered.notify_one();
    std::future::pending::<()>().await;
}

async fn serve(server: &Server) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    tokio::spawn(server.http().serve(listener));
    url
}

#[tokio::test]
async fn a_stateless_call_spawns_no_task() {
    let server = Server::new("tasks", "1.0.0").tools(tools![alive]).build().unwrap();
    let url = serve(&server).await;
    let client = Client::builder().protocol(ProtocolVersion::LATEST).connect_http(&url).await.unwrap();
    // The connection is open and will be used again; what is alive now is the listener and both its ends.
    let before = Handle::current().metrics().num_alive_tasks();
    let during = client.call("alive", json!({})).await.unwrap();
    assert_eq!(during.first_text().unwrap(), before.to_string());
}

#[tokio::test]
async fn closing_the_connection_drops_the_call() {
    let server =
        Server::new("tasks", "1.0.0").state(Watch::default()).tools(tools![forever]).build().unwrap();
    let watch = server.state::<Watch>().unwrap();
    let url = serve(&server).await;
    let client = Client::builder().protocol(ProtocolVersion::LATEST).connect_http(&url).await.unwrap();
    let call = tokio::spawn(async move { client.call("forever", json!({})).await });
    watch.entered.notified().await;
    call.abort();
    watch.dropped.notified().await;
    watch.entered.notified().await;
    assert_eq!(watch.told.load(Ordering::SeqCst), 1);
}
