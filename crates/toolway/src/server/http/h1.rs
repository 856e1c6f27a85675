//! How is HTTP/1.1 spoken on a socket?

use std::convert::Infallible;
use std::net::SocketAddr;

use hyper::rt::{Read, Write};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpStream;

use super::HttpService;

/// Answers everything that comes on one connection.
pub(super) async fn converse(
    service: &HttpService,
    socket: TcpStream,
    remote: SocketAddr,
) -> hyper::Result<()> {
    speak(service, TokioIo::new(socket), remote).await
}

/// The same for anything that bytes come from.
pub(super) async fn speak(
    service: &HttpService,
    io: impl Read + Write + Unpin,
    remote: SocketAddr,
) -> hyper::Result<()> {
    let limits = &service.settings.limits;
    let answer =
        service_fn(|request| async move { Ok::<_, Infallible>(service.route(request, remote).await) });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.head_timeout)
        .max_headers(limits.headers)
        .max_buf_size(limits.head)
        .serve_connection(io, answer);
    tokio::pin!(connection);
    tokio::select! {
        outcome = connection.as_mut() => outcome,
        () = service.settings.state().closing.cancelled() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    }
}
