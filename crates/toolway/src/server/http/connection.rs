//! How is a connection of HTTP/1.1 served, whatever its socket and its service are?
//!
//! hyper's connection is forty kilobytes of machine code for each type of socket and of service. Programs that serve a page of
//! their own beside a server, such as the inspector of the command `toolway`, share the code with it.

use std::convert::Infallible;

use ::http::{Request, Response};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::Service;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::sync::CancellationToken;

use super::endpoint::body::ResponseBody;
use crate::ground::future::BoxFuture;

/// A socket, or anything that is read and written like one.
pub trait Socket: AsyncRead + AsyncWrite + Send + Unpin {}

impl<S: AsyncRead + AsyncWrite + Send + Unpin> Socket for S {}

/// The answer to a request.
pub type HttpAnswer<'s> = BoxFuture<'s, Result<Response<ResponseBody>, Infallible>>;

/// Answers the requests of a connection.
pub type AnswerRequest<'s> = dyn Fn(Request<Incoming>) -> HttpAnswer<'s> + Send + Sync + 's;

struct AnyService<'s>(&'s AnswerRequest<'s>);

impl<'s> Service<Request<Incoming>> for AnyService<'s> {
    type Response = Response<ResponseBody>;
    type Error = Infallible;
    type Future = HttpAnswer<'s>;

    fn call(&self, request: Request<Incoming>) -> HttpAnswer<'s> {
        (self.0)(request)
    }
}

/// Serves every request of one connection, until the connection ends. Running requests may finish after `shutdown`.
pub fn serve_connection<'s>(
    builder: &'s http1::Builder,
    socket: Box<dyn Socket + 's>,
    answer: &'s AnswerRequest<'s>,
    shutdown: Option<&'s CancellationToken>,
) -> BoxFuture<'s, hyper::Result<()>> {
    Box::pin(async move {
        // Made here, because a future keeps the memory of what it captures beside that of its pinned copy.
        let connection = builder.serve_connection(TokioIo::new(socket), AnyService(answer));
        tokio::pin!(connection);
        if let Some(shutdown) = shutdown {
            tokio::select! {
                outcome = connection.as_mut() => return outcome,
                () = shutdown.cancelled() => connection.as_mut().graceful_shutdown(),
            }
        }
        connection.await
    })
}
