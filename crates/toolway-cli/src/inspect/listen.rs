//! How are connections of browsers served?

use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper_util::rt::TokioTimer;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use toolway::server::http::{HttpAnswer, serve_connection};

use super::inspector::Inspector;
use super::routes;
use super::socket::TimedSocket;
use super::spawn::spawn;

/// How many connections are served at a time.
const MAX_CONNECTIONS: usize = 256;

/// How long a client may take to send the head of a request.
const HEAD_TIMEOUT: Duration = Duration::from_secs(10);

/// Serves all connections until the future is dropped.
pub(super) async fn serve(listener: TcpListener, inspector: Arc<Inspector>) {
    let places = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    loop {
        let Ok(place) = places.clone().acquire_owned().await else { return };
        let Ok((socket, _)) = listener.accept().await else {
            // A connection that was given up while it waited, or no file descriptor is free: others may be later.
            tokio::time::sleep(Duration::from_millis(20)).await;
            continue;
        };
        let inspector = inspector.clone();
        spawn(Box::pin(async move {
            let answer = |request| -> HttpAnswer<'_> {
                let inspector = &inspector;
                Box::pin(async move { Ok(routes::answer(inspector, request).await) })
            };
            let mut builder = http1::Builder::new();
            builder.timer(TokioTimer::new()).header_read_timeout(HEAD_TIMEOUT);
            let socket = Box::new(TimedSocket::new(socket));
            // A client that breaks off is not an error of this program.
            let _ = serve_connection(&builder, socket, &answer, None).await;
            drop(place);
        }));
    }
}
