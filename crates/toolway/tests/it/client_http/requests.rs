//! What does a client send over HTTP, and with which HTTP client?

use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http::Response;
use http::{Method, Request};
use http_body_util::Full;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use toolway::client::{Http, HttpBody, HttpClient};
use toolway::prelude::*;
use toolway::server::Headers;
use toolway::server::http::HttpService;
use toolway::{BoxFuture, ProtocolVersion};
use tower::Service;

/// Says what came in a header.
#[tool]
fn header(name: String, headers: Headers) -> Option<String> {
    headers.text(&name).map(str::to_owned)
}

fn server() -> Server {
    Server::new("house", "1.0.0").tools(tools![header]).build().unwrap()
}

/// Sends requests to a service in this process, and records each.
#[derive(Clone)]
struct Recording {
    service: HttpService,
    sent: Arc<Mutex<Vec<Request<Bytes>>>>,
}

impl Recording {
    fn new() -> Self {
        Self { service: server().http(), sent: Arc::default() }
    }

    fn take(&self) -> Vec<Request<Bytes>> {
        std::mem::take(&mut self.sent.lock().unwrap())
    }
}

impl HttpClient for Recording {
    fn send(&self, request: Request<Bytes>) -> BoxFuture<'_, toolway::Result<Response<HttpBody>>> {
        self.sent.lock().unwrap().push(request.clone());
        let mut service = self.service.clone();
        Box::pin(async move {
            let Ok(response) = service.call(request.map(Full::new)).await;
            Ok(response.map(HttpBody::new))
        })
    }
}

const ERAS: [ProtocolVersion; 2] = [ProtocolVersion::LATEST, ProtocolVersion::LATEST_HANDSHAKE];

async fn connect(version: ProtocolVersion, server: Http) -> Client {
    Client::builder().protocol(version).connect_http(server).await.unwrap()
}

async fn heard(client: &Client, name: &str) -> String {
    let said = client.call("header", json!({"name": name})).await.unwrap();
    said.first_text().unwrap_or_default().to_owned()
}

#[tokio::test]
async fn a_client_takes_a_url_and_headers() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let serving = tokio::spawn(async move { server().http().serve(listener).await });
    for version in ERAS {
        let client = connect(version, Http::new(&url).bearer("t0ken").header("X-Tenant", "blue")).await;
        assert_eq!(heard(&client, "authorization").await, "Bearer t0ken");
        assert_eq!(heard(&client, "x-tenant").await, "blue");
        client.close().await.unwrap();
    }
    serving.abort();
}

#[tokio::test]
async fn json_is_posted_with_a_client_of_the_applications_own() {
    for version in ERAS {
        let recording = Recording::new();
        let server = Http::new("http://localhost/mcp").header("x-key", "1").with_client(recording.clone());
        let client = connect(version, server).await;
        assert_eq!(heard(&client, "x-key").await, "1");
        let posts: Vec<_> =
            recording.take().into_iter().filter(|request| request.method() == Method::POST).collect();
        assert!(posts.len() >= 2, "{posts:?}");
        for post in posts {
            assert_eq!(post.headers()["content-type"], "application/json");
            assert_eq!(post.headers()["accept"], "application/json, text/event-stream");
            assert_eq!(post.headers()["x-key"], "1");
            let message: Value = serde_json::from_slice(post.body()).unwrap();
            assert_eq!(message["jsonrpc"], "2.0");
        }
    }
}

#[tokio::test]
async fn closing_says_something_only_where_there_is_something_to_end() {
    for version in ERAS {
        let recording = Recording::new();
        let client = connect(version, Http::new("http://localhost/mcp").with_client(recording.clone())).await;
        client.ping().await.unwrap();
        recording.take();
        client.close().await.unwrap();
        let farewell: Vec<_> = recording
            .take()
            .into_iter()
            .map(|request| request.method().clone())
            .filter(|method| method != Method::GET)
            .collect();
        let expected = if version == ProtocolVersion::LATEST { vec![] } else { vec![Method::DELETE] };
        assert_eq!(farewell, expected, "{version}");
    }
}

#[tokio::test]
async fn headers_go_with_every_request() {
    for version in ERAS {
        let recording = Recording::new();
        let server = Http::new("http://localhost/mcp").bearer("t0ken").header("x-key", "1");
        let client = connect(version, server.with_client(recording.clone())).await;
        client.ping().await.unwrap();
        client.tools().await.unwrap();
        if version == ProtocolVersion::LATEST_HANDSHAKE {
            // The client opens the stream by itself, soon.
            while !recording.sent.lock().unwrap().iter().any(|request| request.method() == Method::GET) {
                tokio::task::yield_now().await;
            }
        }
        client.close().await.unwrap();
        let sent = recording.take();
        for method in [Method::POST, Method::GET, Method::DELETE] {
            let is_there = sent.iter().any(|request| request.method() == method);
            assert_eq!(is_there, version == ProtocolVersion::LATEST_HANDSHAKE || method == Method::POST);
        }
        for request in sent {
            assert_eq!(request.headers()["authorization"], "Bearer t0ken", "{request:?}");
            assert_eq!(request.headers()["x-key"], "1", "{request:?}");
        }
    }
}

/// `cargo xtask check` checks that each feature builds alone; the manifest lists its dependencies.
#[test]
fn a_client_without_http_brings_no_http() {
    let manifest = include_str!("../../../Cargo.toml");
    let feature = |name: &str| -> String {
        let from = manifest.split_once(&format!("\n{name} = [")).unwrap().1;
        from.split_once(']').unwrap().0.to_owned()
    };
    for part in ["hyper", "http", "rustls"] {
        assert!(!feature("client").contains(part), "client: {}", feature("client"));
        assert!(!feature("default").contains(part), "default: {}", feature("default"));
    }
    assert!(feature("http").contains("dep:hyper-util") && !feature("http").contains("rustls"));
    assert!(feature("tls").contains("\"http\"") && feature("tls").contains("dep:rustls"));
    let dependencies = manifest.split_once("\n[dependencies]\n").unwrap().1.split_once("\n[").unwrap().0;
    for line in dependencies
        .lines()
        .filter(|line| line.starts_with("hyper") || line.starts_with("http") || line.starts_with("rustls"))
    {
        assert!(line.contains("optional = true"), "{line}");
    }
}
