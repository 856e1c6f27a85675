//! Is a token that is bound to a key worthless without the key?

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http::HeaderMap;
use serde_json::{Value, json};
use toolway::auth::{Auth, Verified};
use toolway::prelude::*;
use toolway::server::http::HttpService;
use toolway::store::{
    MemoryStore, Outcome, Result as StoreResult, Secret, Step, Store, StoreError, StoreFailure, Subscription,
};
use toolway::testing::Issuer;
use toolway::{BoxFuture, ProtocolVersion};
use tower::Service;

use super::world::{METADATA, RESOURCE, Reply, notes, send, stateless};

fn service(change: impl FnOnce(Auth) -> Auth) -> HttpService {
    let bound = Verified::new("ann").with_key("the thumbprint of a key");
    let auth = Auth::resource(RESOURCE)
        .issuer("https://id.example")
        .tokens([("bound", bound), ("free", Verified::new("bob"))]);
    notes().auth(change(auth)).build().unwrap().http()
}

async fn call(service: &HttpService, authorization: &str) -> Reply {
    let headers = [("authorization", authorization.to_owned())];
    send(service, stateless("tools/call", json!({"name": "search", "arguments": {}}), &headers)).await
}

#[tokio::test]
async fn a_bound_token_without_its_proof_is_refused() {
    let service = service(|auth| auth);
    for (authorization, text) in [
        ("Bearer bound", "the token is bound to a key: send it with the scheme DPoP and a proof"),
        ("DPoP free", "the token is not bound to a key"),
    ] {
        let reply = call(&service, authorization).await;
        assert_eq!((reply.status.as_u16(), reply.json()["error"]["message"].as_str()), (401, Some(text)));
        assert!(reply.challenges()[0].starts_with("Bearer error=\"invalid_token\""), "{reply:?}");
    }
    let reply = call(&service, "DPoP bound").await;
    assert_eq!(reply.status, 401);
    let challenge = &reply.challenges()[0];
    assert!(challenge.starts_with("DPoP error=\"invalid_dpop_proof\""), "{challenge}");
    assert!(challenge.contains("algs=\"RS256 ") && challenge.contains(METADATA), "{challenge}");
    assert!(reply.headers.contains_key("dpop-nonce"));
    assert_eq!(call(&service, "Bearer free").await.status, 200);
}

#[tokio::test]
async fn clients_are_told_about_proofs() {
    let reply = call(&service(Auth::offer_dpop), "Bearer x").await;
    let schemes: Vec<_> =
        reply.challenges().iter().map(|line| line.split(' ').next().unwrap().to_owned()).collect();
    assert_eq!(schemes, ["Bearer", "DPoP"]);
    let required = service(Auth::require_dpop);
    let reply = call(&required, "Bearer x").await;
    assert!(reply.challenges().len() == 1 && reply.challenges()[0].starts_with("DPoP "), "{reply:?}");
    let reply = call(&required, "Bearer free").await;
    assert_eq!(reply.json()["error"]["message"], "the token must be bound to a key");
    let document = http_body_util::BodyExt::collect(document(&required).await).await.unwrap().to_bytes();
    let document: Value = serde_json::from_slice(&document).unwrap();
    assert_eq!(document["dpop_bound_access_tokens_required"], true);
    assert!(document["dpop_signing_alg_values_supported"].as_array().unwrap().contains(&json!("ES256")));
}

#[test]
fn servers_that_want_proofs_declare_it() {
    let extensions = |change: fn(Auth) -> Auth| {
        let auth = change(Auth::resource(RESOURCE).issuer("https://id.example"));
        let capabilities = notes().auth(auth).build().unwrap().capabilities();
        capabilities.extensions.unwrap_or_default().into_keys().collect::<Vec<_>>()
    };
    assert!(extensions(|auth| auth).is_empty());
    assert_eq!(extensions(Auth::offer_dpop), ["io.modelcontextprotocol/auth/dpop"]);
    assert_eq!(extensions(Auth::require_dpop), ["io.modelcontextprotocol/auth/dpop"]);
}

async fn document(service: &HttpService) -> toolway::server::http::ResponseBody {
    let mut service = service.well_known();
    service.call(http::Request::new(())).await.unwrap().into_body()
}

#[tokio::test]
async fn a_proof_that_one_node_has_seen_is_refused_by_all() {
    let issuer = Issuer::start().await.unwrap();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let store = Arc::new(MemoryStore::new());
    let node = || {
        let auth = Auth::resource(&url).issuer(issuer.url()).require_dpop();
        notes().store(store.clone()).auth(auth).build().unwrap().http()
    };
    let (one, other) = (node(), node());
    // A proxy in front of a node sees the headers of the requests that pass.
    let seen = Arc::new(Mutex::new(HeaderMap::new()));
    let passing = seen.clone();
    let mut app: axum::Router = axum::Router::new();
    for path in one.well_known().paths() {
        app = app.route_service(path, one.well_known());
    }
    let app = app.nest_service("/mcp", one.clone()).layer(axum::middleware::map_request(
        move |request: axum::extract::Request| {
            if request.headers().contains_key("dpop") {
                passing.lock().unwrap().clone_from(request.headers());
            }
            async move { request }
        },
    ));
    tokio::spawn(async move { axum::serve(listener, app).await });
    let builder = Client::builder().protocol(ProtocolVersion::LATEST).oauth(issuer.user());
    let client = builder.connect(&*url).await.unwrap();
    assert_eq!(client.call("search", json!({})).await.unwrap().first_text(), Some("found"));
    let header = |name: &'static str| (name, seen.lock().unwrap()[name].to_str().unwrap().to_owned());
    let stolen = [header("authorization"), header("dpop")];
    let call = |headers| stateless("tools/call", json!({"name": "search", "arguments": {}}), headers);
    for node in [&one, &other] {
        let reply = send(node, call(&stolen)).await;
        assert_eq!(reply.status, 401, "{reply:?}");
        assert_eq!(reply.json()["error"]["message"], "the proof was used before");
        // A thief who has the token, but not the key, cannot make another proof.
        assert_eq!(send(node, call(&stolen[..1])).await.status, 401);
    }
    // The caller itself can go on.
    assert_eq!(client.call("search", json!({})).await.unwrap().first_text(), Some("found"));
}

/// A store that does not answer about proofs while it is away.
struct Unsteady {
    memory: MemoryStore,
    is_away: Arc<AtomicBool>,
}

impl Store for Unsteady {
    fn run<'s>(&'s self, group: &'s str, step: &'s Step) -> BoxFuture<'s, StoreResult<Outcome>> {
        if group.starts_with("dpop/") && self.is_away.load(Ordering::Acquire) {
            return Box::pin(async { Err(StoreError::new(StoreFailure::NotDone, "the store is away")) });
        }
        self.memory.run(group, step)
    }

    fn publish<'s>(&'s self, channel: &'s str, message: Bytes) -> BoxFuture<'s, StoreResult<()>> {
        self.memory.publish(channel, message)
    }

    fn subscribe<'s>(&'s self, channel: &'s str) -> BoxFuture<'s, StoreResult<Box<dyn Subscription>>> {
        self.memory.subscribe(channel)
    }

    fn secret(&self) -> Secret {
        self.memory.secret()
    }
}

#[tokio::test]
async fn a_proof_that_cannot_be_checked_admits_no_caller() {
    let issuer = Issuer::start().await.unwrap();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let is_away = Arc::new(AtomicBool::new(false));
    let store = Unsteady { memory: MemoryStore::new(), is_away: is_away.clone() };
    let auth = Auth::resource(&url).issuer(issuer.url()).require_dpop();
    tokio::spawn(notes().store(Arc::new(store)).auth(auth).build().unwrap().http().serve(listener));
    let builder = Client::builder().protocol(ProtocolVersion::LATEST).retries(0).oauth(issuer.user());
    let client = builder.connect(&*url).await.unwrap();
    for is_absent in [false, true, false] {
        is_away.store(is_absent, Ordering::Release);
        let outcome = client.call("search", json!({})).await;
        match outcome {
            Ok(result) => assert!(!is_absent && result.first_text() == Some("found"), "{result:?}"),
            Err(error) => assert!(is_absent && !error.needs_sign_in(), "{error}"),
        }
    }
}
