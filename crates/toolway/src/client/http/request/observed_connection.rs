//! How does a request learn that its connection has ended, if hyper does not report it?
//!
//! Hyper passes a request through a queue to the task of the connection. If the task ends at the very moment when the
//! request is queued, the request is neither taken nor returned, and would wait forever. (A tokio channel drops its
//! content when the receiver is dropped, except for a value that is being written at that moment.) So the code in this
//! file watches the connection itself.
//!
//! Hyper does report the end of the connection for every request that the task has taken. So a request without such a
//! report was not taken, and the server has received nothing of the request.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use ::http::Extensions;
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::client::legacy::connect::{CaptureConnection, Connected, Connection};
use tokio::sync::watch;
use tokio::time::sleep;

/// A connection that reports its end to [`connection_ended`].
pub(crate) struct ObservedConnection<I> {
    inner: I,
    /// Never sends a value. It is dropped with the connection, which [`Liveness`] observes.
    liveness: watch::Sender<()>,
}

/// A receiver that observes whether a connection still exists.
#[derive(Clone)]
struct Liveness(watch::Receiver<()>);

impl<I> ObservedConnection<I> {
    pub(crate) fn new(inner: I) -> Self {
        Self { inner, liveness: watch::Sender::new(()) }
    }
}

/// Waits until the connection of a request has ended and no other connection has replaced it within `patience`.
pub(crate) async fn connection_ended(mut of_request: CaptureConnection, patience: Duration) {
    drop(of_request.wait_for_connection_metadata().await);
    while let Some(mut life) = liveness(&of_request) {
        // The sender never sends a value, so this waits until the sender is dropped with the connection.
        while life.0.changed().await.is_ok() {}
        sleep(patience).await;
        if self::liveness(&of_request).is_some_and(|now| now.0.same_channel(&life.0)) {
            return;
        }
    }
    std::future::pending::<()>().await;
}

/// Returns the observer of the request's current connection.
fn liveness(of_request: &CaptureConnection) -> Option<Liveness> {
    let mut extras = Extensions::new();
    of_request.connection_metadata().as_ref()?.get_extras(&mut extras);
    extras.remove()
}

impl<I: Connection> Connection for ObservedConnection<I> {
    fn connected(&self) -> Connected {
        self.inner.connected().extra(Liveness(self.liveness.subscribe()))
    }
}

impl<I: Read + Unpin> Read for ObservedConnection<I> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_read(cx, buffer)
    }
}

impl<I: Write + Unpin> Write for ObservedConnection<I> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.inner).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(cx)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.inner).poll_write_vectored(cx, pieces)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use ::http::{Request, Uri};
    use bytes::Bytes;
    use http_body_util::Full;
    use hyper_util::client::legacy::Client;
    use hyper_util::client::legacy::connect::capture_connection;
    use hyper_util::rt::{TokioExecutor, TokioIo};
    use tokio::io::{AsyncReadExt, DuplexStream, duplex};
    use tower_service::Service;

    use super::*;

    struct Pipe(TokioIo<DuplexStream>);

    impl Connection for Pipe {
        fn connected(&self) -> Connected {
            Connected::new()
        }
    }

    impl Read for Pipe {
        fn poll_read(
            mut self: Pin<&mut Self>,
            cx: &mut Context<'_>,
            buffer: ReadBufCursor<'_>,
        ) -> Poll<io::Result<()>> {
            Pin::new(&mut self.0).poll_read(cx, buffer)
        }
    }

    impl Write for Pipe {
        fn poll_write(
            mut self: Pin<&mut Self>,
            cx: &mut Context<'_>,
            bytes: &[u8],
        ) -> Poll<io::Result<usize>> {
            Pin::new(&mut self.0).poll_write(cx, bytes)
        }

        fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
            Pin::new(&mut self.0).poll_flush(cx)
        }

        fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
            Pin::new(&mut self.0).poll_shutdown(cx)
        }
    }

    /// A connector that opens in-memory pipes, and keeps their far ends for the test.
    #[derive(Clone, Default)]
    struct Pipes(Arc<Mutex<Vec<DuplexStream>>>);

    impl Service<Uri> for Pipes {
        type Response = ObservedConnection<Pipe>;
        type Error = io::Error;
        type Future = std::future::Ready<io::Result<Self::Response>>;

        fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }

        fn call(&mut self, _: Uri) -> Self::Future {
            let (near, far) = duplex(1 << 10);
            self.0.lock().expect("unpoisoned").push(far);
            std::future::ready(Ok(ObservedConnection::new(Pipe(TokioIo::new(near)))))
        }
    }

    /// The test cannot produce a stuck request on purpose. Instead, it does not poll the request, which therefore does
    /// not notice the end of its connection.
    #[tokio::test(start_paused = true)]
    async fn the_end_of_a_connection_is_noticed_after_a_while_and_not_before() {
        let pipes = Pipes::default();
        let client = Client::builder(TokioExecutor::new()).build::<_, Full<Bytes>>(pipes.clone());
        let mut request = Request::new(Full::default());
        *request.uri_mut() = Uri::from_static("http://localhost/");
        let captured = capture_connection(&mut request);
        let mut sending = std::pin::pin!(client.request(request));
        let mut gone = std::pin::pin!(connection_ended(captured, Duration::from_secs(9)));
        let mut far = tokio::select! {
            _ = &mut sending => panic!("the request got a reply"),
            () = &mut gone => panic!("the connection ended"),
            far = async {
                loop {
                    let far = pipes.0.lock().expect("unpoisoned").pop();
                    if let Some(far) = far {
                        break far;
                    }
                    tokio::task::yield_now().await;
                }
            } => far,
        };
        let heard = tokio::select! {
            _ = &mut sending => panic!("the request got a reply"),
            () = &mut gone => panic!("the connection ended"),
            heard = far.read_u8() => heard,
        };
        assert_eq!(heard.expect("a request"), b'G');
        let long = tokio::time::timeout(Duration::from_secs(3600), &mut gone).await;
        assert!(long.is_err(), "a connection may be silent for a long time");
        drop(far);
        let began = tokio::time::Instant::now();
        gone.await;
        assert_eq!(began.elapsed().as_secs(), 9);
    }
}
