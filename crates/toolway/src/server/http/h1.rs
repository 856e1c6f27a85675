//! How does the server speak HTTP/1.1 on a socket?

use hyper::server::conn::http1;
use hyper_util::rt::TokioTimer;

use crate::server::http::connection::{self, HttpAnswer, Socket};
use crate::server::http::endpoint::request::SocketPeer;
use crate::server::http::service::HttpService;

/// Serves every request of one connection, until the connection ends or the server shuts down.
pub(super) async fn serve_connection(
    service: &HttpService,
    socket: impl Socket,
    peer: SocketPeer,
) -> hyper::Result<()> {
    let limits = &service.endpoint().limits;
    let peer = &peer;
    let answer = |request| -> HttpAnswer<'_> { service.route(request, peer) };
    let mut builder = http1::Builder::new();
    builder
        .timer(TokioTimer::new())
        .header_read_timeout(limits.head_timeout)
        .max_header_size(limits.head)
        .max_buf_size(MAX_BUFFER);
    if limits.headers != DEFAULT_HEADERS {
        // With a limit of its own, hyper allocates and copies room for so many headers with each request.
        builder.max_headers(limits.headers);
    }
    let shutdown = service.endpoint().shutdown_token();
    connection::serve_connection(&builder, Box::new(socket), &answer, Some(shutdown)).await
}

/// How many bytes of a body are read, or written to a client that does not read, at a time.
const MAX_BUFFER: usize = 256 << 10;
/// The number of headers that hyper accepts by itself.
const DEFAULT_HEADERS: usize = 100;
