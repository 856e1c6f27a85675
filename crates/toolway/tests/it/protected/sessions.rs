//! Are sessions, streams and states of a caller out of reach for others?

use std::sync::Arc;

use http::Method;
use serde_json::json;
use toolway::auth::Auth;
use toolway::store::MemoryStore;
use toolway::testing::Issuer;

use super::world::{RESOURCE, World, bearer, notes, send};
use crate::raw_http::Raw;

#[tokio::test]
async fn a_session_belongs_to_its_principal_not_to_who_knows_its_id() {
    let world = World::new().await;
    let (ann, eve) = (world.token(json!({"sub": "ann"})), world.token(json!({"sub": "eve"})));
    // A token of ann that is renewed is still ann's.
    let again = world.token(json!({"sub": "ann", "scope": "more"}));
    let raw = Raw::open_with(&world.service, "2025-11-25", bearer(&ann)).await;
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "search", "arguments": {}}});
    for (token, status) in [(&ann, 200), (&eve, 404), (&again, 200)] {
        let raw = Raw { headers: bearer(token), ..raw.clone() };
        assert_eq!(send(&world.service, raw.request(Method::POST, &call.to_string())).await.status, status);
    }
    let stolen = Raw { headers: bearer(&eve), ..raw.clone() };
    assert_eq!(stolen.get(None).await.status(), 404);
    assert_eq!(stolen.delete().await.status(), 404);
    // Without a token, or with one that is not valid, the id is worth nothing either.
    let nameless = Raw { headers: Vec::new(), ..raw.clone() };
    assert_eq!(nameless.get(None).await.status(), 401);
    assert_eq!(raw.delete().await.status(), 202);
}

#[tokio::test]
async fn a_user_of_another_issuer_with_the_same_name_is_another_principal() {
    let (one, other) = (Issuer::start().await.unwrap(), Issuer::start().await.unwrap());
    let auth = Auth::resource(RESOURCE).issuer(one.url()).issuer(other.url());
    let service = notes().auth(auth).build().unwrap().http();
    let token = |issuer: &Issuer| bearer(&issuer.sign(json!({"sub": "ann", "aud": RESOURCE})));
    let raw = Raw::open_with(&service, "2025-11-25", token(&one)).await;
    let stolen = Raw { headers: token(&other), ..raw.clone() };
    assert_eq!(stolen.get(None).await.status(), 404);
    assert_eq!(stolen.delete().await.status(), 404);
    assert_eq!(raw.delete().await.status(), 202);
}

#[tokio::test]
async fn a_session_belongs_to_its_principal_on_every_node() {
    let (issuer, store) = (Issuer::start().await.unwrap(), Arc::new(MemoryStore::new()));
    let node = || {
        let auth = Auth::resource(RESOURCE).issuer(issuer.url());
        notes().store(store.clone()).auth(auth).build().unwrap().http()
    };
    let (one, other) = (node(), node());
    let token = |name: &str| bearer(&issuer.sign(json!({"sub": name, "aud": RESOURCE})));
    let raw = Raw::open_with(&one, "2025-11-25", token("ann")).await;
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "search", "arguments": {}}});
    for (name, status) in [("eve", 404), ("ann", 200)] {
        let raw = Raw { service: other.clone(), headers: token(name), ..raw.clone() };
        assert_eq!(raw.post(&call).await.status(), status, "{name}");
    }
}
