//! An authorization server and an MCP server on a port of this machine. Tokens expire, and a refresh token that is used twice ends
//! its login.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use http::StatusCode;
use serde_json::{Value, json};
use toolway::prelude::*;
use toolway_protocol::oauth::form;

use super::world::add;

/// Both servers.
#[derive(Clone)]
pub(super) struct Issuer(Arc<Shared>);

struct Shared {
    origin: String,
    life: Duration,
    state: Mutex<Known>,
}

/// What has happened so far.
#[derive(Default)]
pub(super) struct Known {
    pub(super) logins: usize,
    pub(super) refreshes: usize,
    /// Refresh tokens that were used twice.
    pub(super) reused: usize,
    /// Tokens that were renewed although more than half of their life was left.
    pub(super) early: usize,
    /// What happens at the next renewal.
    pub(super) fault: Option<Fault>,
    /// The logins by their number: the refresh token, and when the last access token was made. `None` if it has ended.
    families: HashMap<usize, Option<(String, Instant)>>,
    /// The access tokens, and when they were made.
    access: HashMap<String, Instant>,
    made: usize,
}

/// A mishap during a renewal.
pub(super) enum Fault {
    /// The client is gone before the server has looked at its request.
    Before(Box<dyn FnOnce() + Send>),
    /// The client is gone, or the reply is lost, after the token was renewed.
    After(Box<dyn FnOnce() + Send>),
}

impl Issuer {
    pub(super) async fn start(life: Duration) -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let origin = format!("http://{}", listener.local_addr().unwrap());
        let issuer = Self(Arc::new(Shared { origin, life, state: Mutex::default() }));
        let mcp = Server::new("calculator", "1.0.0").tools(tools![add]).build().unwrap().http();
        let app = Router::new()
            .route_service("/mcp", mcp)
            .layer(middleware::from_fn_with_state(issuer.clone(), check_token))
            .route("/.well-known/oauth-protected-resource/mcp", get(resource))
            .route("/.well-known/oauth-authorization-server", get(metadata))
            .route("/register", post(async || (StatusCode::CREATED, json!({"client_id": "c"}).to_string())))
            .route("/authorize", get(authorize))
            .route("/token", post(token))
            .with_state(issuer.clone());
        tokio::spawn(axum::serve(listener, app).into_future());
        issuer
    }

    pub(super) fn url(&self) -> String {
        format!("{}/mcp", self.0.origin)
    }

    pub(super) fn look<T>(&self, look: impl FnOnce(&mut Known) -> T) -> T {
        look(&mut self.0.state.lock().unwrap())
    }

    fn grant(&self, known: &mut Known, family: usize) -> Response {
        known.made += 1;
        let (access, refresh) =
            (format!("access-{family}-{}", known.made), format!("refresh-{family}-{}", known.made));
        let now = Instant::now();
        known.access.insert(access.clone(), now);
        known.families.insert(family, Some((refresh.clone(), now)));
        let expires_in = self.0.life.as_secs();
        json!({"access_token": access, "refresh_token": refresh, "token_type": "Bearer", "expires_in": expires_in})
            .to_string()
            .into_response()
    }

    fn refresh(&self, token: &str) -> Response {
        let mut known = self.0.state.lock().unwrap();
        known.refreshes += 1;
        let fault = match known.fault.take() {
            Some(Fault::Before(act)) => {
                act();
                return StatusCode::BAD_GATEWAY.into_response();
            }
            fault => fault,
        };
        let family: usize = token.split('-').nth(1).unwrap().parse().unwrap();
        let reply = match known.families.get(&family).cloned().flatten() {
            Some((current, made)) if current == token => {
                known.early += usize::from(made.elapsed() < self.0.life / 2);
                self.grant(&mut known, family)
            }
            _ => {
                known.reused += 1;
                known.families.insert(family, None);
                (StatusCode::BAD_REQUEST, json!({"error": "invalid_grant"}).to_string()).into_response()
            }
        };
        match fault {
            Some(Fault::After(act)) => {
                act();
                StatusCode::BAD_GATEWAY.into_response()
            }
            _ => reply,
        }
    }
}

async fn check_token(State(issuer): State<Issuer>, request: Request, next: Next) -> Response {
    let token = request.headers().get("authorization").and_then(|value| value.to_str().ok());
    let token = token.and_then(|token| token.strip_prefix("Bearer ")).unwrap_or_default();
    let made = issuer.look(|known| known.access.get(token).copied());
    if made.is_some_and(|made| made.elapsed() < issuer.0.life) {
        return next.run(request).await;
    }
    Response::builder().status(401).header("www-authenticate", "Bearer").body(Body::empty()).unwrap()
}

async fn resource(State(issuer): State<Issuer>) -> String {
    json!({"resource": issuer.url(), "authorization_servers": [issuer.0.origin]}).to_string()
}

async fn metadata(State(issuer): State<Issuer>) -> String {
    let origin = &issuer.0.origin;
    let endpoint = |name: &str| Value::from(format!("{origin}/{name}"));
    json!({
        "issuer": origin,
        "authorization_endpoint": endpoint("authorize"),
        "token_endpoint": endpoint("token"),
        "registration_endpoint": endpoint("register"),
        "code_challenge_methods_supported": ["S256"],
    })
    .to_string()
}

async fn authorize(State(issuer): State<Issuer>, request: Request) -> Response {
    let query = form::decode(request.uri().query().unwrap()).unwrap();
    let value = |name: &str| query.iter().find(|(known, _)| known == name).unwrap().1.clone();
    let family = issuer.look(|known| {
        known.logins += 1;
        known.logins
    });
    let target = format!("{}?code={family}&state={}", value("redirect_uri"), value("state"));
    Response::builder().status(302).header("location", target).body(Body::empty()).unwrap()
}

async fn token(State(issuer): State<Issuer>, body: Bytes) -> Response {
    let form = form::decode(std::str::from_utf8(&body).unwrap()).unwrap();
    let value = |name: &str| form.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone());
    match value("refresh_token") {
        Some(token) => issuer.refresh(&token),
        None => issuer.look(|known| issuer.grant(known, value("code").unwrap().parse().unwrap())),
    }
}
