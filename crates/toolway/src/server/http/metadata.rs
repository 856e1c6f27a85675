//! Where do clients learn how to sign in? In a document at a well-known URL (RFC 9728).

use std::convert::Infallible;
use std::fmt;
use std::future::{Ready, ready};
use std::task::{Context, Poll};

use ::http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN, CACHE_CONTROL,
    CONTENT_TYPE, HeaderValue,
};
use ::http::{Method, Request, Response, StatusCode};

use super::endpoint::body::ResponseBody;
use super::endpoint::reply::not_allowed;
use super::service::HttpService;
use crate::server::Server;

/// The document that tells clients where to sign in: see [`HttpService::well_known`].
#[derive(Clone)]
pub struct WellKnownService(Server);

impl HttpService {
    /// Returns the document that tells clients where to sign in, as a tower service, for a web application that mounts this
    /// service. [`serve`](Self::serve) and [`serve_http`](crate::Server::serve_http) have it at its
    /// [paths](WellKnownService::paths) already. It is public, for web pages too.
    ///
    /// ```
    /// use axum::Router;
    /// use toolway::auth::Auth;
    /// use toolway::prelude::*;
    ///
    /// let auth = Auth::resource("https://notes.example/mcp").issuer("https://id.example");
    /// let mcp = Server::new("notes", "1.0.0").auth(auth).http()?.hosts(["notes.example"]);
    /// let mut app: Router = Router::new();
    /// for path in mcp.well_known().paths() {
    ///     app = app.route_service(path, mcp.well_known());
    /// }
    /// let app = app.nest_service("/mcp", mcp);
    /// # Ok::<(), toolway::Error>(())
    /// ```
    pub fn well_known(&self) -> WellKnownService {
        WellKnownService(self.endpoint().server.clone())
    }

    /// Answers a request for the document, if the path is one of its paths.
    pub(super) fn metadata_reply(&self, method: &Method, path: &str) -> Option<Response<ResponseBody>> {
        let service = self.well_known();
        service.paths().any(|known| known == path).then(|| service.answer(method))
    }
}

impl WellKnownService {
    /// Returns the paths at which clients look for the document: that of this server, such as
    /// `/.well-known/oauth-protected-resource/mcp`, and that of the whole host. A server without
    /// [`Auth`](crate::auth::Auth) has none.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        let protection = self.0.inner.protection.as_ref();
        let paths = protection.into_iter().flat_map(|protection| &protection.document.paths);
        let mut last = None;
        // A server at the root of its host has one path.
        paths.map(String::as_str).filter(move |path| last.replace(*path) != Some(*path))
    }

    fn answer(&self, method: &Method) -> Response<ResponseBody> {
        let Some(protection) = &self.0.inner.protection else {
            let mut response = Response::new(ResponseBody::empty());
            *response.status_mut() = StatusCode::NOT_FOUND;
            return response;
        };
        let mut response = match *method {
            Method::GET | Method::HEAD => {
                Response::new(ResponseBody::whole(protection.document.json.clone()))
            }
            Method::OPTIONS => {
                let mut response = Response::new(ResponseBody::empty());
                *response.status_mut() = StatusCode::NO_CONTENT;
                response
            }
            _ => return not_allowed("GET, HEAD, OPTIONS"),
        };
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("public, max-age=300"));
        headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
        headers.insert(ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static("GET, HEAD, OPTIONS"));
        headers.insert(ACCESS_CONTROL_ALLOW_HEADERS, HeaderValue::from_static("mcp-protocol-version"));
        response
    }
}

impl<B: Send + 'static> tower_service::Service<Request<B>> for WellKnownService {
    type Response = Response<ResponseBody>;
    type Error = Infallible;
    type Future = Ready<Result<Self::Response, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        ready(Ok(self.answer(request.method())))
    }
}

impl fmt::Debug for WellKnownService {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WellKnownService").finish_non_exhaustive()
    }
}
