//! CORS: can a web page of another origin be a client, with the middleware of the guide?

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use serde_json::{Value, json};
use toolway::prelude::*;
use toolway::server::http::HttpService;
use toolway::server::{Admit, Refuse};
use tower::ServiceExt;

use crate::http::{ping, post, with_sessions};
use crate::raw_http::initialize;

/// The guide, which contains the same code as this file from `ORIGINS` to `is_allowed`.
const GUIDE: &str = include_str!("../../../../docs/guide/cors.md");

/// The origins of the web pages that may call the server.
const ORIGINS: [&str; 2] = ["https://app.example", "http://localhost:5173"];

async fn cors(request: Request, next: Next) -> Response {
    let asked = request.headers().clone();
    let is_preflight =
        request.method() == Method::OPTIONS && asked.contains_key(header::ACCESS_CONTROL_REQUEST_METHOD);
    // A preflight has no token, so it must not reach `on_connect`.
    let mut response =
        if is_preflight { StatusCode::NO_CONTENT.into_response() } else { next.run(request).await };
    let headers = response.headers_mut();
    headers.append(header::VARY, HeaderValue::from_static("Origin"));
    let origin = asked.get(header::ORIGIN).filter(|origin| ORIGINS.iter().any(|page| origin == page));
    if let Some(origin) = origin {
        headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
        let exposed = HeaderValue::from_static("Mcp-Session-Id, WWW-Authenticate, Retry-After");
        headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, exposed);
        if is_preflight {
            let methods = HeaderValue::from_static("GET, POST, DELETE");
            headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, methods);
            headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, allowed_headers(&asked));
            headers.insert(header::ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("7200"));
        }
    }
    response
}

/// Returns those of the requested headers that an MCP client needs.
fn allowed_headers(asked: &HeaderMap) -> HeaderValue {
    let names = asked.get(header::ACCESS_CONTROL_REQUEST_HEADERS).and_then(|names| names.to_str().ok());
    let names = names.unwrap_or_default().split(',').map(str::trim);
    let allowed: Vec<_> = names.filter(|name| is_allowed(&name.to_ascii_lowercase())).collect();
    HeaderValue::from_str(&allowed.join(", ")).unwrap_or(HeaderValue::from_static(""))
}

fn is_allowed(name: &str) -> bool {
    ["authorization", "content-type", "last-event-id"].contains(&name) || name.starts_with("mcp-")
}

/// A web application with the service at `/mcp`.
fn app(mcp: HttpService) -> Router {
    Router::new().route_service("/mcp", mcp.origins(ORIGINS)).layer(from_fn(cors))
}

/// The request that a browser sends before a POST, without a token.
fn preflight(origin: &str, headers: &str) -> Request<Full<Bytes>> {
    axum::http::Request::options("/mcp")
        .header("host", "localhost:8000")
        .header("origin", origin)
        .header("access-control-request-method", "POST")
        .header("access-control-request-headers", headers)
        .body(Full::default())
        .unwrap()
}

/// A POST of a web page.
fn page_post(origin: &str, body: &Value, headers: &[(&'static str, &str)]) -> Request<Full<Bytes>> {
    let mut request = post(body);
    for (name, value) in [("origin", origin)].iter().chain(headers) {
        request.headers_mut().insert(*name, value.parse().unwrap());
    }
    request
}

async fn send(app: &Router, request: Request<Full<Bytes>>) -> Response {
    app.clone().oneshot(request).await.unwrap()
}

async fn body(response: Response<Body>) -> Value {
    serde_json::from_slice(&response.into_body().collect().await.unwrap().to_bytes()).unwrap()
}

/// Returns the words of a header that is a list, in lower case.
fn list(response: &Response, name: &str) -> Vec<String> {
    let value = response.headers().get(name).map_or("", |value| value.to_str().unwrap());
    value.split(", ").filter(|word| !word.is_empty()).map(str::to_ascii_lowercase).collect()
}

#[test]
fn the_guide_has_the_code_of_this_test() {
    let here = include_str!("cors.rs");
    let from = here.find("/// The origins of the web pages").unwrap();
    let to = here.find("/// A web application with").unwrap();
    assert!(GUIDE.contains(here[from..to].trim_end()), "change docs/guide/cors.md in the same way");
}

#[tokio::test]
async fn a_preflight_allows_the_headers_of_a_client_by_name() {
    let app = app(with_sessions());
    let needed = [
        "authorization",
        "content-type",
        "last-event-id",
        "mcp-method",
        "mcp-name",
        "mcp-param-region",
        "mcp-protocol-version",
        "mcp-session-id",
    ];
    for origin in ORIGINS {
        let reply = send(&app, preflight(origin, &format!("{},x-other", needed.join(",")))).await;
        assert_eq!(reply.status(), 204, "{origin}");
        assert_eq!(reply.headers()["access-control-allow-origin"], origin);
        assert_eq!(reply.headers()["vary"], "Origin");
        assert_eq!(list(&reply, "access-control-allow-headers"), needed);
        assert_eq!(list(&reply, "access-control-allow-methods"), ["get", "post", "delete"]);
        assert!(!reply.headers().contains_key("access-control-allow-credentials"));
    }
}

#[tokio::test]
async fn a_page_opens_a_session_and_reads_its_id() {
    let app = app(with_sessions());
    let [page, _] = ORIGINS;
    assert_eq!(send(&app, preflight(page, "content-type")).await.status(), 204);
    let opened = send(&app, page_post(page, &initialize("2025-11-25"), &[])).await;
    assert_eq!(opened.status(), 200);
    assert_eq!(opened.headers()["access-control-allow-origin"], page);
    assert!(list(&opened, "access-control-expose-headers").contains(&"mcp-session-id".to_owned()));
    let session = opened.headers()["mcp-session-id"].to_str().unwrap().to_owned();

    let headers = [("mcp-session-id", &*session), ("mcp-protocol-version", "2025-11-25")];
    assert_eq!(send(&app, preflight(page, "mcp-session-id,mcp-protocol-version")).await.status(), 204);
    let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    assert_eq!(send(&app, page_post(page, &ready, &headers)).await.status(), 202);
    let call = json!({
        "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "add", "arguments": {"a": 2, "b": 3}},
    });
    let reply = send(&app, page_post(page, &call, &headers)).await;
    assert_eq!(reply.headers()["access-control-allow-origin"], page);
    assert_eq!(body(reply).await["result"]["content"][0]["text"], "5");
}

#[tokio::test]
async fn a_page_reads_why_it_was_refused() {
    let refusing = Server::new("closed", "1.0.0")
        .on_connect(|| async { Err::<Admit, Refuse>(Refuse::challenge("Bearer")) })
        .http()
        .unwrap();
    let app = app(refusing);
    let [page, _] = ORIGINS;
    // The preflight has no token, and is answered without one.
    assert_eq!(send(&app, preflight(page, "authorization")).await.status(), 204);
    let refused = send(&app, page_post(page, &ping(), &[])).await;
    assert_eq!(refused.status(), 401);
    assert_eq!(refused.headers()["www-authenticate"], "Bearer");
    assert_eq!(refused.headers()["access-control-allow-origin"], page);
    assert!(list(&refused, "access-control-expose-headers").contains(&"www-authenticate".to_owned()));
}

#[tokio::test]
async fn pages_of_other_origins_are_refused_twice() {
    let app = app(with_sessions());
    for origin in ["https://evil.example", "https://app.example:444", "null"] {
        for request in [preflight(origin, "content-type"), page_post(origin, &ping(), &[])] {
            let is_post = request.method() == Method::POST;
            let reply = send(&app, request).await;
            assert!(!reply.headers().contains_key("access-control-allow-origin"), "{origin}");
            assert_eq!(reply.status() == 403, is_post, "{origin}");
        }
    }
}

#[tokio::test]
async fn the_service_alone_answers_no_preflight() {
    let service = with_sessions().origins(ORIGINS);
    let [page, _] = ORIGINS;
    for (origin, status) in [(page, 405), ("https://evil.example", 403)] {
        let reply = service.handle(preflight(origin, "content-type")).await;
        assert_eq!(reply.status(), status, "{origin}");
        assert!(!reply.headers().contains_key("access-control-allow-origin"), "{origin}");
    }
    let refusing = Server::new("closed", "1.0.0")
        .on_connect(|| async { Err::<Admit, Refuse>(Refuse::challenge("Bearer")) })
        .http()
        .unwrap()
        .origins(ORIGINS);
    assert_eq!(refusing.handle(preflight(page, "authorization")).await.status(), 401);
}
