//! Does a client sign in by itself, and does it tell its secrets only to those that they are for?

use std::collections::HashSet;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::Full;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use toolway::client::{Http, HttpBody, HttpClient, OAuth};
use toolway::prelude::*;
use toolway::server::http::HttpService;
use toolway::{BoxFuture, Chain, ProtocolVersion};
use toolway_protocol::oauth::form;
use tower::Service;

#[tool]
fn add(a: f64, b: f64) -> f64 {
    a + b
}

/// An MCP server and an authorization server, which a client reaches without a network.
#[derive(Clone)]
struct World {
    mcp: HttpService,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    /// What was sent: the method, the URL and the body.
    sent: Vec<(String, String, String)>,
    valid: HashSet<String>,
    tokens: u32,
    /// Members of the documents that differ.
    resource: Value,
    server: Value,
    /// Replies of the token endpoint without a refresh token.
    is_without_refresh: bool,
    refuses_refresh: bool,
    expires_in: Option<u64>,
    needed_scope: Option<&'static str>,
}

const MCP: &str = "https://mcp.example/mcp?key=hidden-key";

impl World {
    fn new() -> Self {
        let mcp = Server::new("calculator", "1.0.0").tools(tools![add]).build().unwrap().http();
        let mcp = mcp.hosts(["mcp.example"]);
        Self { mcp, state: Arc::default() }
    }

    fn with(self, change: impl FnOnce(&mut State)) -> Self {
        change(&mut self.state.lock().unwrap());
        self
    }

    fn http(&self, oauth: OAuth) -> Http {
        Http::new(MCP).with_client(self.clone()).oauth(oauth)
    }

    async fn connect(&self, oauth: OAuth) -> toolway::Result<Client> {
        Client::builder().protocol(ProtocolVersion::LATEST).retries(0).connect_http(self.http(oauth)).await
    }

    /// Returns the requests to a path.
    fn sent_to(&self, path: &str) -> Vec<(String, String, String)> {
        let state = self.state.lock().unwrap();
        state.sent.iter().filter(|(_, url, _)| url.contains(path)).cloned().collect()
    }

    fn forms_sent_to(&self, path: &str) -> Vec<Vec<(String, String)>> {
        self.sent_to(path).into_iter().map(|(_, _, body)| form::decode(&body).unwrap()).collect()
    }

    /// Makes all tokens invalid.
    fn expire(&self) {
        self.state.lock().unwrap().valid.clear();
    }

    fn reply(&self, request: &Request<Bytes>) -> Option<Response<Value>> {
        let mut state = self.state.lock().unwrap();
        let body = String::from_utf8(request.body().to_vec()).unwrap();
        state.sent.push((request.method().to_string(), request.uri().to_string(), body.clone()));
        let path = request.uri().path();
        let host = request.uri().host().unwrap();
        let answer = |status: u16, value| Some(Response::builder().status(status).body(value).unwrap());
        match (host, path) {
            ("mcp.example", "/mcp") => {
                let token = request.headers().get("authorization").and_then(|value| value.to_str().ok());
                let token = token.and_then(|token| token.strip_prefix("Bearer "));
                match token {
                    Some(token) if state.valid.contains(token) => {
                        let needed = state.needed_scope.filter(|scope| !token.contains(scope))?;
                        let challenge = format!("Bearer error=\"insufficient_scope\", scope=\"{needed}\"");
                        Some(refuse(StatusCode::FORBIDDEN, &challenge))
                    }
                    _ => Some(refuse(StatusCode::UNAUTHORIZED, "Bearer realm=\"x\"")),
                }
            }
            ("mcp.example", "/.well-known/oauth-protected-resource/mcp") => {
                let mut document = json!({"resource": "https://mcp.example/mcp", "authorization_servers": ["https://id.example"]});
                merge(&mut document, &state.resource);
                answer(200, document)
            }
            ("id.example", "/.well-known/oauth-authorization-server") => {
                let mut document = json!({
                    "issuer": "https://id.example",
                    "authorization_endpoint": "https://id.example/authorize",
                    "token_endpoint": "https://id.example/token",
                    "registration_endpoint": "https://id.example/register",
                    "code_challenge_methods_supported": ["S256"],
                });
                merge(&mut document, &state.server);
                answer(200, document)
            }
            ("id.example", "/register") => answer(201, json!({"client_id": "registered"})),
            ("id.example", "/token") => {
                let form = form::decode(&body).unwrap();
                let value =
                    |name: &str| form.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone());
                if value("grant_type").as_deref() == Some("refresh_token") && state.refuses_refresh {
                    return answer(400, json!({"error": "invalid_grant"}));
                }
                state.tokens += 1;
                // The code shows the scopes that the user has agreed to.
                let token = format!("token-{}-{}", state.tokens, value("code").unwrap_or_default());
                state.valid = HashSet::from([token.clone()]);
                let mut reply =
                    json!({"access_token": token, "token_type": "Bearer", "expires_in": state.expires_in});
                if !state.is_without_refresh {
                    reply["refresh_token"] = format!("refresh-{}", state.tokens).into();
                }
                answer(200, reply)
            }
            _ => answer(404, json!({})),
        }
    }
}

fn refuse(status: StatusCode, challenge: &str) -> Response<Value> {
    Response::builder().status(status).header("www-authenticate", challenge).body(json!({})).unwrap()
}

fn merge(document: &mut Value, changes: &Value) {
    for (name, value) in changes.as_object().into_iter().flatten() {
        document[name] = value.clone();
    }
}

impl HttpClient for World {
    fn send(&self, request: Request<Bytes>) -> BoxFuture<'_, toolway::Result<Response<HttpBody>>> {
        let reply = self.reply(&request);
        let mut mcp = self.mcp.clone();
        Box::pin(async move {
            if let Some(reply) = reply {
                return Ok(reply.map(|value| HttpBody::new(Full::new(Bytes::from(value.to_string())))));
            }
            let Ok(response) = mcp.call(request.map(Full::new)).await;
            Ok(response.map(HttpBody::new))
        })
    }
}

/// A user who signs in at once. The browser comes back with `more` in its query.
fn user(more: &'static str) -> OAuth {
    OAuth::browser().open_with(move |url| async move {
        let query = form::decode(url.split_once('?').unwrap().1).unwrap();
        let value = |name: &str| query.iter().find(|(known, _)| known == name).unwrap().1.clone();
        let (redirect, state) = (value("redirect_uri"), value("state"));
        let scope = query.iter().find(|(name, _)| name == "scope").map(|(_, value)| value.replace(' ', "-"));
        let code = form::encode_text(&format!("c0de-{}", scope.unwrap_or_default()));
        assert_eq!(
            (value("code_challenge_method"), value("resource")),
            ("S256".to_owned(), "https://mcp.example/mcp".to_owned())
        );
        tokio::spawn(async move {
            let (host, path) = redirect.strip_prefix("http://").unwrap().split_once('/').unwrap();
            let mut stream = tokio::net::TcpStream::connect(host).await.unwrap();
            let request =
                format!("GET /{path}?code={code}&state={state}{more} HTTP/1.1\r\nHost: {host}\r\n\r\n");
            stream.write_all(request.as_bytes()).await.unwrap();
            let mut page = String::new();
            stream.read_to_string(&mut page).await.unwrap();
            assert!(page.starts_with("HTTP/1.1 200") && !page.contains("c0de"), "{page}");
        });
        Ok(())
    })
}

async fn sum(client: &Client) -> String {
    client.call("add", json!({"a": 1, "b": 2})).await.unwrap().first_text().unwrap().to_owned()
}

#[tokio::test]
async fn a_client_signs_in_when_the_server_asks_for_it() {
    let world = World::new();
    let client = world.connect(user("")).await.unwrap();
    assert_eq!(sum(&client).await, "3");
    let tokens = world.forms_sent_to("/token");
    assert_eq!(tokens.len(), 1, "one login is enough");
    let names: Vec<_> = tokens[0].iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["grant_type", "code", "redirect_uri", "code_verifier", "resource", "client_id"]);
    let registered: Value = serde_json::from_str(&world.sent_to("/register")[0].2).unwrap();
    assert_eq!(registered["application_type"], "native");
    for (_, url, body) in world.sent_to("id.example") {
        assert!(!url.contains("hidden-key") && !body.contains("hidden-key"), "{url} {body}");
    }
}

#[tokio::test]
async fn a_token_is_renewed_without_the_user() {
    let world = World::new();
    let client = world.connect(user("")).await.unwrap();
    world.expire();
    assert_eq!(sum(&client).await, "3");
    let tokens = world.forms_sent_to("/token");
    let second = &tokens[1];
    assert_eq!(tokens.len(), 2);
    assert!(second.contains(&("grant_type".to_owned(), "refresh_token".to_owned())), "{second:?}");
    assert!(second.contains(&("refresh_token".to_owned(), "refresh-1".to_owned())), "{second:?}");
    // A token that expires soon is renewed before it is refused.
    let world = World::new().with(|state| state.expires_in = Some(0));
    let client = world.connect(user("")).await.unwrap();
    assert_eq!(sum(&client).await, "3");
    let refused = world.sent_to("mcp.example/mcp").len();
    assert!(world.forms_sent_to("/token").len() >= 2, "{refused} requests");
}

#[tokio::test]
async fn many_calls_renew_a_token_once() {
    let world = World::new();
    let client = world.connect(user("")).await.unwrap();
    world.expire();
    let mut calls = tokio::task::JoinSet::new();
    for _ in 0..64 {
        let client = client.clone();
        calls.spawn(async move { sum(&client).await });
    }
    assert!(calls.join_all().await.iter().all(|sum| sum == "3"));
    assert_eq!(world.forms_sent_to("/token").len(), 2);
}

#[tokio::test]
async fn a_refresh_token_that_is_refused_leads_to_a_login() {
    let world = World::new().with(|state| state.refuses_refresh = true);
    let client = world.connect(user("")).await.unwrap();
    world.expire();
    assert_eq!(sum(&client).await, "3");
    let grants: Vec<_> = world.forms_sent_to("/token").into_iter().map(|form| form[0].1.clone()).collect();
    assert_eq!(grants, ["authorization_code", "refresh_token", "authorization_code"]);
    assert_eq!(world.sent_to("/register").len(), 1, "it is still registered");
}

#[tokio::test]
async fn a_call_that_needs_more_scopes_asks_for_them_once() {
    let world = World::new().with(|state| state.resource = json!({"scopes_supported": ["notes:read"]}));
    let client = world.connect(user("")).await.unwrap();
    world.state.lock().unwrap().needed_scope = Some("notes:write");
    assert_eq!(sum(&client).await, "3");
    let codes: Vec<_> = world.forms_sent_to("/token").iter().map(|form| form[1].1.clone()).collect();
    assert_eq!(codes, ["c0de-notes:read", "c0de-notes:read-notes:write"], "it keeps what it had");
    assert_eq!(sum(&client).await, "3");
    assert_eq!(world.forms_sent_to("/token").len(), 2);
}

#[tokio::test]
async fn a_login_is_stopped_when_something_is_wrong_and_nothing_is_told() {
    for (change, more, part) in [
        (json!({"resource": {"resource": "https://evil.example/mcp"}}), "", "speaks of another server"),
        (json!({"server": {"issuer": "https://evil.example"}}), "", "calls itself"),
        (json!({"server": {"code_challenge_methods_supported": null}}), "", "PKCE"),
        (json!({"server": {"authorization_endpoint": "file:///etc/passwd"}}), "", "authorization_endpoint"),
        (json!({"server": {"registration_endpoint": null}}), "", "OAuth::client_id"),
        (json!({}), "&iss=https%3A%2F%2Fevil.example", "another authorization server"),
        (json!({"server": {"authorization_response_iss_parameter_supported": true}}), "", "has not"),
    ] {
        let world = World::new().with(|state| {
            state.resource = change["resource"].clone();
            state.server = change["server"].clone();
        });
        let error = world.connect(user(more)).await.unwrap_err();
        let text = Chain(&error).to_string();
        assert!(text.contains(part), "{change}: {text}");
        assert!(!text.contains("hidden-key") && !text.contains("c0de"), "{text}");
        assert_eq!(world.sent_to("/token").len(), 0, "{change}");
        assert_eq!(world.sent_to("evil.example").len(), 0, "{change}");
    }
}

#[tokio::test]
async fn a_secret_goes_only_to_the_authorization_server_that_it_is_for() {
    let oauth = || OAuth::client_credentials("reports", "hidden-secret");
    let world = World::new();
    let error = world.connect(oauth()).await.unwrap_err();
    assert!(error.to_string().contains("for_issuer"), "{error}");
    let error = world.connect(oauth().for_issuer("https://other.example")).await.unwrap_err();
    assert!(Chain(&error).to_string().contains("nothing was sent"), "{}", Chain(&error));
    assert_eq!(world.sent_to("/token").len(), 0);
    let client = world.connect(oauth().for_issuer("https://id.example")).await.unwrap();
    assert_eq!(sum(&client).await, "3");
    let (_, _, body) = &world.sent_to("/token")[0];
    assert_eq!(body, "grant_type=client_credentials&resource=https%3A%2F%2Fmcp.example%2Fmcp");
}

#[tokio::test]
async fn a_header_of_the_application_counts() {
    let world = World::new();
    world.state.lock().unwrap().valid.insert("own".to_owned());
    let http = world.http(user("")).bearer("own");
    let client = Client::builder().protocol(ProtocolVersion::LATEST).connect_http(http).await.unwrap();
    assert_eq!(sum(&client).await, "3");
    assert_eq!(world.sent_to("id.example").len(), 0);
}
