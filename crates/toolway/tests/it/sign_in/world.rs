//! An MCP server, an authorization server, an identity provider and a user.

use std::collections::HashSet;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::Full;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::Barrier;
use toolway::client::{Http, HttpBody, HttpClient, OAuth};
use toolway::prelude::*;
use toolway::server::http::HttpService;
use toolway::{BoxFuture, ProtocolVersion};
use toolway_protocol::oauth::form;
use tower::Service;

#[tool]
pub(super) fn add(a: f64, b: f64) -> f64 {
    a + b
}

/// An MCP server and an authorization server, which a client reaches without a network.
#[derive(Clone)]
pub(super) struct World {
    mcp: HttpService,
    pub(super) state: Arc<Mutex<State>>,
}

#[derive(Default)]
pub(super) struct State {
    /// What was sent: the method, the URL and the body.
    pub(super) sent: Vec<(String, String, String)>,
    pub(super) valid: HashSet<String>,
    pub(super) tokens: u32,
    /// Members of the documents that differ.
    pub(super) resource: Value,
    pub(super) server: Value,
    /// Members of the reply to a client that registers.
    pub(super) registration: Value,
    /// Replies of the token endpoint without a refresh token.
    pub(super) is_without_refresh: bool,
    /// The error with which a refresh token is refused.
    pub(super) refresh_refusal: Option<&'static str>,
    pub(super) expires_in: Option<u64>,
    pub(super) needed_scope: Option<&'static str>,
    /// The challenges of the server. If one of them is for tokens with a key, it takes only those.
    pub(super) challenges: Vec<&'static str>,
    /// The nonce that proofs must have.
    pub(super) nonce: Option<&'static str>,
    /// Requests to the MCP server that are refused for their nonce wait here for one another.
    pub(super) meeting: Option<Arc<Barrier>>,
    /// The proofs of keys: who has got them, and their claims.
    pub(super) proofs: Vec<(&'static str, Value)>,
    /// How often a device is told to wait, and in which words.
    pub(super) pending: Vec<&'static str>,
}

/// The id `registered` with the secret `hidden-secret`.
const REGISTERED: &str = "Basic cmVnaXN0ZXJlZDpoaWRkZW4tc2VjcmV0";
const MCP: &str = "https://mcp.example/mcp?key=hidden-key";

impl World {
    pub(super) fn new() -> Self {
        let mcp = Server::new("calculator", "1.0.0").tools(tools![add]).build().unwrap().http();
        let mcp = mcp.hosts(["mcp.example"]);
        Self { mcp, state: Arc::default() }
    }

    pub(super) fn with(self, change: impl FnOnce(&mut State)) -> Self {
        change(&mut self.state.lock().unwrap());
        self
    }

    pub(super) fn http(&self, oauth: OAuth) -> Http {
        Http::new(MCP).with_client(self.clone()).oauth(oauth)
    }

    pub(super) async fn connect(&self, oauth: OAuth) -> toolway::Result<Client> {
        Client::builder().protocol(ProtocolVersion::LATEST).retries(0).connect_http(self.http(oauth)).await
    }

    /// Returns the requests to a path.
    pub(super) fn sent_to(&self, path: &str) -> Vec<(String, String, String)> {
        let state = self.state.lock().unwrap();
        state.sent.iter().filter(|(_, url, _)| url.contains(path)).cloned().collect()
    }

    pub(super) fn forms_sent_to(&self, path: &str) -> Vec<Vec<(String, String)>> {
        self.sent_to(path).into_iter().map(|(_, _, body)| form::decode(&body).unwrap()).collect()
    }

    /// Makes all tokens invalid.
    pub(super) fn expire(&self) {
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
                let needs_key = state.challenges.iter().any(|challenge| challenge.starts_with("DPoP"));
                let scheme = if needs_key { "DPoP " } else { "Bearer " };
                let token = token.and_then(|token| token.strip_prefix(scheme));
                match token {
                    Some(token) if state.valid.contains(token) => {
                        if needs_key && !state.accepts_proof("server", request) {
                            return Some(refuse_for_nonce(&state, "DPoP error=\"use_dpop_nonce\""));
                        }
                        let needed = state.needed_scope.filter(|scope| !token.contains(scope))?;
                        let challenge = format!("Bearer error=\"insufficient_scope\", scope=\"{needed}\"");
                        Some(refuse(StatusCode::FORBIDDEN, &challenge))
                    }
                    _ if state.challenges.is_empty() => {
                        Some(refuse(StatusCode::UNAUTHORIZED, "Bearer realm=\"x\""))
                    }
                    _ => {
                        let mut reply = Response::builder().status(StatusCode::UNAUTHORIZED);
                        for challenge in &state.challenges {
                            reply = reply.header("www-authenticate", *challenge);
                        }
                        Some(reply.body(json!({})).unwrap())
                    }
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
            ("sso.example", "/.well-known/oauth-authorization-server") => answer(
                200,
                json!({"issuer": "https://sso.example", "token_endpoint": "https://sso.example/token"}),
            ),
            ("sso.example", "/token") => answer(
                200,
                json!({
                    "access_token": "grant-for-id",
                    "token_type": "N_A",
                    "issued_token_type": "urn:ietf:params:oauth:token-type:id-jag",
                }),
            ),
            ("id.example", "/revoke")
                if state.server["revocation_endpoint_auth_methods_supported"]
                    == json!(["client_secret_basic"])
                    && request.headers().get("authorization").is_none_or(|value| value != REGISTERED) =>
            {
                answer(401, json!({"error": "invalid_client"}))
            }
            // As many servers, this one cannot take back an access token.
            ("id.example", "/revoke") if body.contains("=access_token") => {
                answer(400, json!({"error": "unsupported_token_type"}))
            }
            ("id.example", "/revoke") => answer(200, json!({})),
            ("id.example", "/device") => answer(
                200,
                json!({
                    "device_code": "hidden-device-code",
                    "user_code": "WDJB-MJHT",
                    "verification_uri": "https://id.example/enter",
                    "interval": 1,
                }),
            ),
            ("id.example", "/register") => {
                let mut reply = json!({"client_id": "registered"});
                merge(&mut reply, &state.registration);
                answer(201, reply)
            }
            ("id.example", "/token") => {
                let form = form::decode(&body).unwrap();
                let value =
                    |name: &str| form.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone());
                if value("grant_type").as_deref() == Some("refresh_token")
                    && let Some(error) = state.refresh_refusal
                {
                    return answer(400, json!({"error": error}));
                }
                if value("device_code").is_some()
                    && let Some(code) = state.pending.pop()
                {
                    return answer(400, json!({"error": code}));
                }
                let has_proof = request.headers().contains_key("dpop");
                if has_proof && !state.accepts_proof("issuer", request) {
                    let reply = Response::builder().status(400).header("dpop-nonce", state.nonce.unwrap());
                    return Some(reply.body(json!({"error": "use_dpop_nonce"})).unwrap());
                }
                state.tokens += 1;
                // The code shows the scopes that the user has agreed to.
                let token = format!("token-{}-{}", state.tokens, value("code").unwrap_or_default());
                state.valid = HashSet::from([token.clone()]);
                let mut reply = json!({"access_token": token, "token_type": if has_proof { "DPoP" } else { "Bearer" }, "expires_in": state.expires_in});
                if !state.is_without_refresh {
                    reply["refresh_token"] = format!("refresh-{}", state.tokens).into();
                }
                answer(200, reply)
            }
            _ => answer(404, json!({})),
        }
    }
}

impl State {
    /// Reads the proof of a key. Returns whether it has the nonce that is needed.
    fn accepts_proof(&mut self, by: &'static str, request: &Request<Bytes>) -> bool {
        let proof = request.headers()["dpop"].to_str().unwrap();
        let claims = proof.split('.').nth(1).unwrap();
        let claims = base64_simd::URL_SAFE_NO_PAD.decode_to_vec(claims).unwrap();
        let claims: Value = serde_json::from_slice(&claims).unwrap();
        let is_known = |(_, known): &(&str, Value)| known["jti"] == claims["jti"];
        assert!(!self.proofs.iter().any(is_known), "a proof is used once");
        assert_eq!(claims["htm"], request.method().as_str());
        assert_eq!(claims["htu"], request.uri().to_string().split('?').next().unwrap());
        let accepts = self.nonce.is_none_or(|nonce| claims["nonce"] == nonce);
        self.proofs.push((by, claims));
        accepts
    }
}

fn refuse_for_nonce(state: &State, challenge: &str) -> Response<Value> {
    let mut reply = refuse(StatusCode::UNAUTHORIZED, challenge);
    reply.headers_mut().insert("dpop-nonce", state.nonce.unwrap().parse().unwrap());
    reply
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
        let is_for_nonce = reply.as_ref().is_some_and(|reply| {
            reply.status() == StatusCode::UNAUTHORIZED && reply.headers().contains_key("dpop-nonce")
        });
        let meeting = self.state.lock().unwrap().meeting.clone().filter(|_| is_for_nonce);
        let mut mcp = self.mcp.clone();
        Box::pin(async move {
            if let Some(meeting) = meeting {
                meeting.wait().await;
            }
            if let Some(reply) = reply {
                return Ok(reply.map(|value| HttpBody::new(Full::new(Bytes::from(value.to_string())))));
            }
            let Ok(response) = mcp.call(request.map(Full::new)).await;
            Ok(response.map(HttpBody::new))
        })
    }
}

/// A user who signs in at once. The browser comes back with `more` in its query.
pub(super) fn user(more: &'static str) -> OAuth {
    user_who_notes(Arc::default(), more)
}

/// The same, with a list of the pages that were opened.
pub(super) fn user_who_notes(pages: Arc<Mutex<Vec<String>>>, more: &'static str) -> OAuth {
    OAuth::browser().open_with(move |url| {
        pages.lock().unwrap().push(url.clone());
        sign_in(url, more)
    })
}

async fn sign_in(url: String, more: &'static str) -> toolway::Result<()> {
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
        let request = format!("GET /{path}?code={code}&state={state}{more} HTTP/1.1\r\nHost: {host}\r\n\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut page = String::new();
        stream.read_to_string(&mut page).await.unwrap();
        assert!(page.starts_with("HTTP/1.1 200") && !page.contains("c0de"), "{page}");
    });
    Ok(())
}

pub(super) async fn sum(client: &Client) -> String {
    client.call("add", json!({"a": 1, "b": 2})).await.unwrap().first_text().unwrap().to_owned()
}
