//! How are requests answered on a port of this machine?

use std::convert::Infallible;
use std::sync::Arc;

use ::http::{Request, Response};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use crate::client::HttpBody;
use crate::ground::future::BoxFuture;

/// Answers a request.
pub(super) type Answer = dyn Fn(Request<Incoming>) -> BoxFuture<'static, Response<HttpBody>> + Send + Sync;

/// Answers the requests of all connections, until the future is dropped.
pub(super) async fn answer_all(listener: TcpListener, answer: Arc<Answer>) {
    let mut connections = JoinSet::new();
    while let Ok((socket, _)) = listener.accept().await {
        while connections.try_join_next().is_some() {}
        let answer = answer.clone();
        connections.spawn(async move {
            let service = service_fn(move |request| {
                let reply = answer(request);
                async { Ok::<_, Infallible>(reply.await) }
            });
            // A client that goes away ends its connection with an error.
            let _ = http1::Builder::new().serve_connection(TokioIo::new(socket), service).await;
        });
    }
}
