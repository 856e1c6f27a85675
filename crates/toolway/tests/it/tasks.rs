//! Does a stateless HTTP call run in the task of its connection, and does closing the connection cancel it?

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Handle;
use tokio::sync::Notify;
use toolway::ProtocolVersion;
use toolway::prelude::*;

/// Tells how many tasks are alive while it runs.
#[tool]
async fn alive() -> usize {
    // Yielding once ensures that the call does not complete at its first poll.
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
    // Work in another task learns of the end through the context.
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

/// One exchange on an open connection, by hand: a client library has its own tasks, which would be counted too.
async fn exchange(socket: &mut TcpStream, method: &str, params: &str) -> Value {
    let meta = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;
    let body = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{{{params}{meta}}}}}"#);
    let request = format!(
        "POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n\
         mcp-protocol-version: 2026-07-28\r\nmcp-method: {method}\r\nmcp-name: alive\r\n\
         content-length: {}\r\n\r\n{body}",
        body.len()
    );
    socket.write_all(request.as_bytes()).await.unwrap();
    let mut response = Vec::new();
    loop {
        let count = socket.read_buf(&mut response).await.unwrap();
        assert!(count > 0, "the connection ended: {}", String::from_utf8_lossy(&response));
        let text = String::from_utf8_lossy(&response);
        if let Some((_, body)) = text.split_once("\r\n\r\n")
            && let Ok(message) = serde_json::from_str(body)
        {
            return message;
        }
    }
}

#[tokio::test]
async fn a_stateless_call_spawns_no_task() {
    let server = Server::new("tasks", "1.0.0").tools(tools![alive]).build().unwrap();
    let url = serve(&server).await;
    let address = url.strip_prefix("http://").unwrap().strip_suffix("/mcp").unwrap();
    let mut socket = TcpStream::connect(address).await.unwrap();
    // After one exchange all tasks of a connection exist: the listener and the connection.
    exchange(&mut socket, "tools/list", "").await;
    let before = Handle::current().metrics().num_alive_tasks();
    assert_eq!(before, 2);
    let during = exchange(&mut socket, "tools/call", r#""name":"alive","#).await;
    assert_eq!(during["result"]["content"][0]["text"], before.to_string(), "{during}");
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
