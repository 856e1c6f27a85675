//! A protected server, its issuer, and requests that show everything of their replies.

use bytes::Bytes;
use http::{HeaderMap, Method, Request, StatusCode};
use http_body_util::{BodyExt, Full};
use serde_json::{Value, json};
use toolway::auth::{Auth, Claims};
use toolway::prelude::*;
use toolway::server::http::HttpService;
use toolway::server::{Principal, ServerBuilder};
use toolway::testing::Issuer;

pub(crate) const RESOURCE: &str = "https://notes.example/mcp";
pub(crate) const METADATA: &str = "https://notes.example/.well-known/oauth-protected-resource/mcp";

/// Search the notes.
#[tool]
pub(crate) fn search() -> &'static str {
    "found"
}

/// Save a note.
#[tool(scopes("notes:write"))]
pub(crate) fn put(caller: Principal) -> String {
    format!("saved by {caller}")
}

/// Delete all notes.
#[tool(scopes("notes:write", "notes:admin"))]
pub(crate) fn wipe() -> &'static str {
    "wiped"
}

#[derive(serde::Deserialize)]
pub(crate) struct User {
    sub: String,
    email: Option<String>,
}

/// Say who calls.
#[tool]
pub(crate) fn whoami(user: Claims<User>) -> String {
    format!("{} {}", user.sub, user.email.as_deref().unwrap_or("?"))
}

/// The diary.
#[resource("notes://diary", scopes("notes:private"))]
pub(crate) fn diary() -> &'static str {
    "dear diary"
}

/// A note.
#[resource("notes://note/{id}", scopes("notes:write"))]
pub(crate) fn note(id: String) -> String {
    id
}

/// A welcome.
#[resource("notes://welcome")]
pub(crate) fn welcome() -> &'static str {
    "welcome"
}

/// Summarize the notes.
#[prompt(scopes("notes:private"))]
pub(crate) fn summarize(#[arg(complete = ["work"])] topic: String) -> String {
    topic
}

/// Greet.
#[prompt]
pub(crate) fn greet() -> &'static str {
    "hello"
}

pub(crate) fn notes() -> ServerBuilder {
    Server::new("notes", "1.0.0")
        .tools(tools![search, put, wipe, whoami])
        .resources(resources![diary, note, welcome])
        .prompts(prompts![summarize, greet])
}

/// A server whose tokens an issuer makes.
pub(crate) struct World {
    pub(crate) issuer: Issuer,
    pub(crate) service: HttpService,
}

impl World {
    pub(crate) async fn new() -> Self {
        Self::with(|auth| auth).await
    }

    pub(crate) async fn with(change: impl FnOnce(Auth) -> Auth) -> Self {
        let issuer = Issuer::start().await.unwrap();
        let auth = change(Auth::resource(RESOURCE).issuer(issuer.url()));
        let service = notes().auth(auth).build().unwrap().http().legacy_sse();
        Self { issuer, service }
    }

    /// Signs a token for this server, with some claims changed.
    pub(crate) fn token(&self, claims: Value) -> String {
        self.issuer.sign(with(json!({"sub": "ann", "aud": RESOURCE}), claims))
    }

    pub(crate) fn scoped(&self, scope: &str) -> String {
        self.token(json!({"scope": scope}))
    }

    /// Calls a tool without arguments.
    pub(crate) async fn call(&self, tool: &str, token: &str) -> Reply {
        let params = json!({"name": tool, "arguments": {}});
        send(&self.service, stateless("tools/call", params, &bearer(token))).await
    }
}

pub(crate) fn with(mut whole: Value, changes: Value) -> Value {
    let Value::Object(changes) = changes else { panic!("not an object") };
    for (name, value) in changes {
        whole[name] = value;
    }
    whole
}

pub(crate) fn bearer(token: &str) -> Vec<(&'static str, String)> {
    vec![("authorization", format!("Bearer {token}"))]
}

/// A reply, read whole.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: String,
}

impl Reply {
    pub(crate) fn challenges(&self) -> Vec<String> {
        self.headers
            .get_all("www-authenticate")
            .iter()
            .map(|line| line.to_str().unwrap().to_owned())
            .collect()
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|_| panic!("not JSON: {self:?}"))
    }

    pub(crate) fn text(&self) -> String {
        let json = self.json();
        json["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{self:?}")).to_owned()
    }
}

/// A request of 2026-07-28.
pub(crate) fn stateless(
    method: &str,
    params: Value,
    headers: &[(&'static str, String)],
) -> Request<Full<Bytes>> {
    let name = ["name", "uri"].iter().find_map(|key| params[*key].as_str().map(str::to_owned));
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let body =
        json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": with(params, json!({"_meta": meta}))});
    let mut all = vec![("mcp-protocol-version", "2026-07-28".to_owned()), ("mcp-method", method.to_owned())];
    all.extend(name.map(|name| ("mcp-name", name)));
    all.extend_from_slice(headers);
    request(Method::POST, "/mcp", &body.to_string(), &all)
}

pub(crate) fn request(
    method: Method,
    path: &str,
    body: &str,
    headers: &[(&'static str, String)],
) -> Request<Full<Bytes>> {
    let mut request = Request::new(Full::new(Bytes::from(body.to_owned())));
    *request.method_mut() = method;
    *request.uri_mut() = path.parse().unwrap();
    let map = request.headers_mut();
    for (name, value) in [
        ("host", "localhost"),
        ("content-type", "application/json"),
        ("accept", "application/json, text/event-stream"),
    ] {
        map.insert(name, value.parse().unwrap());
    }
    for (name, value) in headers {
        map.append(*name, value.parse().unwrap());
    }
    request
}

pub(crate) async fn send(service: &HttpService, request: Request<Full<Bytes>>) -> Reply {
    let (head, body) = service.handle(request).await.into_parts();
    let body = body.collect().await.unwrap().to_bytes();
    Reply { status: head.status, headers: head.headers, body: String::from_utf8(body.into()).unwrap() }
}
