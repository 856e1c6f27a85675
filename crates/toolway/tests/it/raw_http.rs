//! A client that sees everything: statuses, headers, and the events of a stream one by one.

use bytes::Bytes;
use http::{Method, Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use serde_json::{Value, json};
use toolway::server::http::{HttpService, ResponseBody};
use toolway::transport::sse::{Event, Parser};

/// A session over HTTP that uses the service directly.
#[derive(Clone)]
pub(crate) struct Raw {
    pub(crate) service: HttpService,
    pub(crate) session: String,
    pub(crate) version: &'static str,
    /// Headers of every request.
    pub(crate) headers: Vec<(&'static str, String)>,
}

impl Raw {
    /// Opens a session.
    pub(crate) async fn open(service: &HttpService, version: &'static str) -> Self {
        Self::open_with(service, version, Vec::new()).await
    }

    pub(crate) async fn open_with(
        service: &HttpService,
        version: &'static str,
        headers: Vec<(&'static str, String)>,
    ) -> Self {
        let mut raw = Self { service: service.clone(), session: String::new(), version, headers };
        let response = raw.post(&initialize(version)).await;
        assert_eq!(response.status(), StatusCode::OK);
        raw.session = response.headers()["mcp-session-id"].to_str().unwrap().to_owned();
        let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        assert_eq!(raw.post(&ready).await.status(), StatusCode::ACCEPTED);
        raw
    }

    pub(crate) fn request(&self, method: Method, body: &str) -> Request<Full<Bytes>> {
        let mut request = Request::new(Full::new(Bytes::from(body.to_owned())));
        *request.method_mut() = method;
        *request.uri_mut() = "/mcp".parse().unwrap();
        let headers = request.headers_mut();
        for (name, value) in [
            ("host", "localhost"),
            ("content-type", "application/json"),
            ("accept", "application/json, text/event-stream"),
        ] {
            headers.insert(name, value.parse().unwrap());
        }
        if !self.session.is_empty() {
            headers.insert("mcp-session-id", self.session.parse().unwrap());
            headers.insert("mcp-protocol-version", self.version.parse().unwrap());
        }
        for (name, value) in &self.headers {
            headers.insert(*name, value.parse().unwrap());
        }
        request
    }

    pub(crate) async fn post(&self, body: &Value) -> Response<ResponseBody> {
        self.service.handle(self.request(Method::POST, &body.to_string())).await
    }

    /// Sends a request whose answer is one message.
    pub(crate) async fn ask(&self, method: &str, params: Value) -> Value {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        let response = self.post(&body).await;
        assert_eq!(response.headers()["content-type"], "application/json");
        whole(response).await.1
    }

    /// Calls a tool; the id of the request is also its progress token.
    pub(crate) async fn call(&self, id: i64, tool: &str, arguments: Value) -> Response<ResponseBody> {
        let params = json!({"name": tool, "arguments": arguments, "_meta": {"progressToken": id}});
        self.post(&json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})).await
    }

    pub(crate) async fn get(&self, last: Option<&str>) -> Response<ResponseBody> {
        let mut request = self.request(Method::GET, "");
        if let Some(last) = last {
            request.headers_mut().insert("last-event-id", last.parse().unwrap());
        }
        self.service.handle(request).await
    }

    /// Opens a stream with GET.
    pub(crate) async fn stream(&self, last: Option<&str>) -> Events {
        Events::of(self.get(last).await)
    }

    pub(crate) async fn delete(&self) -> Response<ResponseBody> {
        self.service.handle(self.request(Method::DELETE, "")).await
    }
}

pub(crate) fn initialize(version: &str) -> Value {
    let client = json!({"name": "raw", "version": "1"});
    let params = json!({"protocolVersion": version, "capabilities": {}, "clientInfo": client});
    json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params})
}

/// Returns the whole reply as one message.
pub(crate) async fn whole(response: Response<ResponseBody>) -> (StatusCode, Value) {
    let status = response.status();
    let body = response.into_body().collect().await.unwrap().to_bytes();
    (status, if body.is_empty() { Value::Null } else { serde_json::from_slice(&body).unwrap() })
}

/// The events of a reply.
pub(crate) struct Events {
    body: ResponseBody,
    parser: Parser,
    /// The id of the last event.
    pub(crate) last: Option<String>,
}

impl Events {
    pub(crate) fn of(response: Response<ResponseBody>) -> Self {
        assert_eq!(response.status(), StatusCode::OK);
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        Self { body: response.into_body(), parser: Parser::new(1 << 20), last: None }
    }

    /// Returns the next event; `None` when the stream has ended.
    pub(crate) async fn next(&mut self) -> Option<Event> {
        loop {
            if let Some(event) = self.parser.next_event().unwrap() {
                self.last = event.id.clone().or(self.last.take());
                return Some(event);
            }
            let frame = self.body.frame().await?.unwrap();
            self.parser.push(frame.data_ref().unwrap());
        }
    }

    /// Returns the next message; `None` when the stream has ended.
    pub(crate) async fn message(&mut self) -> Option<Value> {
        loop {
            let event = self.next().await?;
            if !event.data.is_empty() {
                return Some(serde_json::from_slice(&event.data).unwrap());
            }
        }
    }

    /// Returns all messages until the stream ends.
    pub(crate) async fn rest(mut self) -> Vec<Value> {
        let mut all = Vec::new();
        while let Some(message) = self.message().await {
            all.push(message);
        }
        all
    }
}
