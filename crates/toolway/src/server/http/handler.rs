//! How does a proxy answer requests in place of a server? It gets the requests that the endpoint has accepted.

use std::sync::Arc;

use ::http::{Method as HttpMethod, Request, Response};
use bytes::Bytes;
use http_body::Body;

use super::endpoint::body::ResponseBody;
use super::endpoint::reply::{UNREAD, unavailable};
use super::endpoint::request::{BoxError, Endpoint};
use crate::ground::future::BoxFuture;
use crate::server::call::scope::Arrival;
use crate::server::failure::errors::busy;

/// Answers the requests at the endpoint of an [`HttpService`](super::HttpService) in place of a
/// [`Server`](crate::Server): for proxies, which pass messages on as they are.
///
/// A request arrives here when the service has accepted it: its `Host` and `Origin` are allowed, and its connection, head
/// and body are within the limits. The body of a POST is `application/json`. All else is the handler's: the methods, the
/// sessions and the messages.
///
/// ```
/// use bytes::Bytes;
/// use http::{Request, Response};
/// use toolway::BoxFuture;
/// use toolway::server::http::{HttpHandler, HttpService, ResponseBody};
///
/// /// Sends every message back.
/// struct Echo;
///
/// impl HttpHandler for Echo {
///     fn answer(&self, request: Request<Bytes>) -> BoxFuture<'_, Response<ResponseBody>> {
///         Box::pin(async { Response::new(ResponseBody::whole(request.into_body())) })
///     }
/// }
///
/// let service = HttpService::answered_by(Echo);
/// ```
pub trait HttpHandler: Send + Sync + 'static {
    /// Answers a request. The future is dropped when the client closes its connection.
    fn answer(&self, request: Request<Bytes>) -> BoxFuture<'_, Response<ResponseBody>>;
}

/// Answers a request that was admitted.
pub(super) async fn answer<B>(
    endpoint: &Endpoint,
    handler: &dyn HttpHandler,
    method: HttpMethod,
    arrival: Box<Arrival>,
    body: B,
) -> Response<ResponseBody>
where
    B: Body + Send,
    B::Data: Send,
    B::Error: Into<BoxError>,
{
    let body = if method == HttpMethod::POST {
        match endpoint.read_body(&arrival, body).await {
            Ok(body) => body,
            Err(refusal) => return refusal,
        }
    } else {
        Bytes::new()
    };
    let mut request = Request::new(body);
    *request.method_mut() = method;
    if let Some(headers) = arrival.headers.clone() {
        *request.headers_mut() = Arc::unwrap_or_clone(headers);
    }
    let mut response = handler.answer(request).await;
    if let Some(account) = &arrival.account
        && response.body_mut().charge(account).is_err()
    {
        response = unavailable(None, &busy(UNREAD));
    }
    response
}
