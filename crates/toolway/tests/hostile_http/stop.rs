//! How does the server shut down while clients are connected? Running calls may finish, idle streams end, and new
//! connections are refused.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, oneshot};
use tokio::task::JoinHandle;
use toolway::prelude::*;
use toolway::server::http::HttpService;

use crate::turn;
use crate::wire::{Wire, ask, call, get, mirrored, open, post, stateless};

#[derive(Default)]
struct Watch {
    entered: Notify,
    open: Notify,
    dropped: Arc<Notify>,
}

/// Waits until it may go.
#[tool]
async fn hold(watch: State<Watch>) -> &'static str {
    struct Tell(Arc<Notify>);
    impl Drop for Tell {
        fn drop(&mut self) {
            self.0.notify_one();
        }
    }
    let _tell = Tell(watch.dropped.clone());
    watch.entered.notify_one();
    watch.open.notified().await;
    "held to the end"
}

#[tokio::test]
async fn what_runs_finishes_what_listens_ends_and_nobody_else_comes_in() {
    let _turn = turn().await;
    let served = start(Duration::from_secs(60)).await;
    let health = ask(served.address, b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n").await;
    assert_eq!((health.status, &health.body[..]), (200, &b"ok\n"[..]));

    let session = open(served.address, "").await;
    let mut stateless_call = served.running(&call("hold")).await;
    let mut session_call = served.running(&post(&session, &hold_in_session())).await;
    let mut listening = Wire::connect(served.address).await;
    listening.send(&listen()).await;
    assert_eq!(listening.head().await.unwrap().status, 200);
    listening.until("notifications/subscriptions/acknowledged").await;
    let mut news = Wire::connect(served.address).await;
    news.send(&get(&session)).await;
    assert_eq!(news.head().await.unwrap().status, 200);
    news.until("id: ").await;
    let mut idle = Wire::connect(served.address).await;
    idle.send(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n").await;
    assert_eq!(idle.answer().await.unwrap().status, 200);

    served.stop.send(()).unwrap();
    let end = listening.until("\"result\"").await;
    assert!(end.contains("\"id\":7") && !end.contains("\"error\""), "{end}");
    assert_eq!(listening.chunk().await, None, "the stream ends properly");
    news.until("retry: ").await;
    assert_eq!(news.chunk().await, None, "the stream ends properly");
    assert!(idle.is_closed().await);
    assert!(TcpStream::connect(served.address).await.is_err(), "nobody listens any more");

    served.watch.open.notify_one();
    served.watch.open.notify_one();
    for wire in [&mut stateless_call, &mut session_call] {
        let answer = wire.answer().await.expect("a call that runs is answered");
        assert!(String::from_utf8_lossy(&answer.body).contains("held to the end"), "{answer:?}");
        assert!(wire.is_closed().await);
    }
    served.task.await.unwrap().unwrap();
}

#[tokio::test]
async fn a_connection_is_closed_after_its_next_reply_once_the_stop_is_announced() {
    let _turn = turn().await;
    let served = start(Duration::from_secs(60)).await;
    let ready = b"GET /ready HTTP/1.1\r\nHost: 10.0.0.7\r\n\r\n";
    let mut idle = Wire::connect(served.address).await;
    idle.send(ready).await;
    let answer = idle.answer().await.unwrap();
    assert_eq!((answer.status, &answer.body[..]), (200, &b"ready\n"[..]));
    let mut running = served.running(&call("hold")).await;

    served.service.announce_stop().await;
    // The connections are still open, and new ones are accepted.
    idle.send(ready).await;
    let answer = idle.answer().await.unwrap();
    assert_eq!((answer.status, &answer.body[..]), (503, &b"stopping\n"[..]));
    assert!(idle.is_closed().await);
    served.watch.open.notify_one();
    assert!(String::from_utf8_lossy(&running.answer().await.unwrap().body).contains("held to the end"));
    assert!(running.is_closed().await);
    let mut late = served.running(&call("hold")).await;
    served.watch.open.notify_one();
    assert_eq!(late.answer().await.unwrap().status, 200, "requests are served as before");
    assert!(late.is_closed().await);
    served.stop.send(()).unwrap();
    served.task.await.unwrap().unwrap();
}

#[tokio::test]
async fn a_call_that_takes_longer_than_the_grace_is_cancelled() {
    let _turn = turn().await;
    for in_session in [false, true] {
        let served = start(Duration::from_millis(100)).await;
        let request =
            if in_session { post(&open(served.address, "").await, &hold_in_session()) } else { call("hold") };
        let running = served.running(&request).await;
        served.stop.send(()).unwrap();
        served.watch.dropped.notified().await;
        served.task.await.unwrap().unwrap();
        let rest = running.rest().await;
        assert!(!rest.contains("held"), "session: {in_session}: {rest}");
    }
}

fn hold_in_session() -> String {
    json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "hold"}}).to_string()
}

fn listen() -> Vec<u8> {
    let wanted = r#""notifications":{"toolsListChanged":true},"#;
    post(&mirrored("subscriptions/listen", ""), &stateless("7", "subscriptions/listen", wanted))
}

/// A server that can be shut down.
struct Stoppable {
    service: HttpService,
    address: std::net::SocketAddr,
    watch: State<Watch>,
    stop: oneshot::Sender<()>,
    task: JoinHandle<toolway::Result<()>>,
}

async fn start(grace: Duration) -> Stoppable {
    let server = Server::new("stop", "1.0.0").state(Watch::default()).tools(tools![hold]).build().unwrap();
    let watch = server.state().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (stop, told) = oneshot::channel();
    let service = server.http().grace(grace);
    let serving = service.clone().serve_until(listener, async { drop(told.await) });
    Stoppable { service, address, watch, stop, task: tokio::spawn(serving) }
}

impl Stoppable {
    /// A connection with a running call.
    async fn running(&self, request: &[u8]) -> Wire {
        let mut wire = Wire::connect(self.address).await;
        wire.send(request).await;
        self.watch.entered.notified().await;
        wire
    }
}
