//! How are the keys of an issuer fetched?

use std::sync::{Arc, Mutex};

use axum::Router;
use axum::http::Uri;
use serde_json::{Value, json};
use tokio::sync::Semaphore;
use toolway::auth::Auth;
use toolway::testing::{Issuer, IssuerFault};

use super::world::{RESOURCE, World, bearer, notes, send, stateless};

fn key_fetches(world: &World) -> usize {
    world.issuer.requests().iter().filter(|request| *request == "GET /jwks").count()
}

#[tokio::test]
async fn tokens_with_unknown_keys_cause_one_fetch() {
    let world = World::new().await;
    let fine = world.token(json!({}));
    assert_eq!(world.call("search", &fine).await.status, 200);
    assert_eq!(key_fetches(&world), 1);
    // Unknown keys are looked for every 30 seconds, and all these tokens have to be shown within them, on a busy machine too.
    for number in 0..1_000 {
        let claims = json!({"sub": "mallory", "aud": RESOURCE});
        let token = world.issuer.sign_with_header(json!({"kid": format!("unknown-{number}")}), claims);
        let reply = world.call("search", &token).await;
        // The token may be one of a key that is newer than the set, so its caller may try again.
        let expected = if number == 0 { 401 } else { 503 };
        assert_eq!(reply.status, expected, "{number}: {reply:?}");
        if number % 100 == 0 {
            // Other callers do not notice, whether their token is known or new.
            assert_eq!(world.call("search", &fine).await.status, 200);
            assert_eq!(world.call("search", &world.token(json!({}))).await.status, 200);
        }
    }
    assert_eq!(key_fetches(&world), 2);
    // A token that is older than the set has no key.
    let claims = json!({"sub": "mallory", "aud": RESOURCE, "iat": 1});
    let old = world.issuer.sign_with_header(json!({"kid": "old"}), claims);
    assert_eq!(world.call("search", &old).await.status, 401);
}

#[tokio::test]
async fn a_new_key_is_found_while_calls_run() {
    let world = World::new().await;
    assert_eq!(world.call("search", &world.token(json!({}))).await.status, 200);
    let old = world.token(json!({}));
    world.issuer.rotate_keys();
    let calls = (0..64).map(|number| {
        let token = if number % 2 == 0 { world.token(json!({})) } else { old.clone() };
        let service = world.service.clone();
        tokio::spawn(async move {
            let call = stateless("tools/call", json!({"name": "search", "arguments": {}}), &bearer(&token));
            send(&service, call).await.status
        })
    });
    for call in calls.collect::<Vec<_>>() {
        assert_eq!(call.await.unwrap(), 200);
    }
    assert_eq!(key_fetches(&world), 2);
}

#[tokio::test]
async fn fixed_keys_are_not_fetched() {
    let issuer = Issuer::start().await.unwrap();
    let auth = Auth::resource(RESOURCE).issuer("https://id.example").keys(&issuer.key_set());
    let service = notes().auth(auth).build().unwrap().http();
    let token = issuer.sign(json!({"iss": "https://id.example", "sub": "ann", "aud": RESOURCE}));
    let call =
        |token: &str| stateless("tools/call", json!({"name": "search", "arguments": {}}), &bearer(token));
    assert_eq!(send(&service, call(&token)).await.status, 200);
    issuer.rotate_keys();
    let token = issuer.sign(json!({"iss": "https://id.example", "sub": "ann", "aud": RESOURCE}));
    assert_eq!(send(&service, call(&token)).await.status, 401);
    assert_eq!(issuer.requests().len(), 0);
}

#[tokio::test]
async fn a_key_that_does_not_exist_is_not_looked_for_again() {
    let world = World::new().await;
    for expected in [401, 401, 503] {
        let kid = if expected == 401 { "unknown" } else { "another" };
        let claims = json!({"sub": "mallory", "aud": RESOURCE});
        let token = world.issuer.sign_with_header(json!({"kid": kid}), claims);
        assert_eq!(world.call("search", &token).await.status, expected, "{kid}");
    }
    assert_eq!(key_fetches(&world), 2);
}

#[tokio::test]
async fn callers_that_come_together_cause_one_fetch() {
    let world = World::new().await;
    let calls = (0..64).map(|_| {
        let (service, token) = (world.service.clone(), bearer(&world.token(json!({}))));
        tokio::spawn(async move {
            let call = stateless("tools/call", json!({"name": "search", "arguments": {}}), &token);
            send(&service, call).await.status
        })
    });
    for call in calls.collect::<Vec<_>>() {
        assert_eq!(call.await.unwrap(), 200);
    }
    assert_eq!(key_fetches(&world), 1);
}

#[tokio::test]
async fn a_token_is_tried_with_its_key_or_with_eight_keys() {
    let issuer = Issuer::start().await.unwrap();
    let status = async |header: Value| {
        let auth = Auth::resource(RESOURCE).issuer("https://id.example").keys(&issuer.key_set());
        let service = notes().auth(auth).build().unwrap().http();
        let claims = json!({"iss": "https://id.example", "sub": "ann", "aud": RESOURCE});
        let token = bearer(&issuer.sign_with_header(header, claims));
        let call = stateless("tools/call", json!({"name": "search", "arguments": {}}), &token);
        send(&service, call).await.status.as_u16()
    };
    for _ in 0..7 {
        issuer.rotate_keys();
    }
    assert_eq!(status(json!({"kid": null})).await, 200, "the eighth of eight keys has signed it");
    assert_eq!(status(json!({"kid": "key-1"})).await, 401, "another key than the named one has signed it");
    issuer.rotate_keys();
    assert_eq!(status(json!({"kid": null})).await, 401);
    assert_eq!(status(json!({"kid": "key-9"})).await, 200);
}

#[tokio::test]
async fn keys_of_an_issuer_with_another_name_are_not_fetched() {
    let world = World::new().await;
    world.issuer.misbehave([IssuerFault::WrongName]);
    assert_eq!(world.call("search", &world.token(json!({}))).await.status, 503);
    assert_eq!(key_fetches(&world), 0);
}

#[tokio::test]
async fn a_caller_that_leaves_does_not_end_the_search_for_a_key() {
    let (issuer, next) = (Issuer::start().await.unwrap(), Issuer::start().await.unwrap());
    let keys = Arc::new(Mutex::new(issuer.key_set()));
    let (asked, may_answer) = (Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(1)));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let state = (keys.clone(), asked.clone(), may_answer.clone(), url.clone());
    let app: Router = Router::new().fallback(move |uri: Uri| {
        let (keys, asked, may_answer, url) = state.clone();
        async move {
            if uri.path() != "/keys" {
                return json!({"issuer": url, "jwks_uri": format!("{url}/keys")}).to_string();
            }
            asked.add_permits(1);
            may_answer.acquire().await.unwrap().forget();
            keys.lock().unwrap().to_string()
        }
    });
    tokio::spawn(async move { axum::serve(listener, app).await });
    let service = notes().auth(Auth::resource(RESOURCE).issuer(&*url)).build().unwrap().http();
    let call = |signer: &Issuer, kid: Value| {
        let claims = json!({"iss": url, "sub": "ann", "aud": RESOURCE});
        let token = signer.sign_with_header(json!({"kid": kid}), claims);
        let request = stateless("tools/call", json!({"name": "search", "arguments": {}}), &bearer(&token));
        let service = service.clone();
        async move { send(&service, request).await.status.as_u16() }
    };
    let kid = issuer.key_set()["keys"][0]["kid"].clone();
    assert_eq!(call(&issuer, kid).await, 200);
    asked.acquire().await.unwrap().forget();
    let mut rotated = next.key_set();
    rotated["keys"][0]["kid"] = json!("next");
    *keys.lock().unwrap() = rotated;
    let leaving = tokio::spawn(call(&next, json!("next")));
    asked.acquire().await.unwrap().forget();
    leaving.abort();
    assert!(leaving.await.is_err());
    may_answer.add_permits(1);
    assert_eq!(call(&next, json!("next")).await, 200);
}
