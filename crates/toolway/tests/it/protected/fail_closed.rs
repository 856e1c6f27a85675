//! What if a verifier depends on a server that fails? No caller gets in, and each is asked to try again.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::http::StatusCode;
use serde_json::{Value, json};
use toolway::auth::{Auth, Introspection, Rejected, Verified};
use toolway::server::http::HttpService;
use toolway::testing::Issuer;

use super::world::{RESOURCE, bearer, notes, send, stateless};

/// The replies of a server, by the end of the path.
type Replies = Arc<Mutex<Vec<(&'static str, StatusCode, String)>>>;

/// Starts a server that gives these replies.
async fn start(replies: &Replies) -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let replies = replies.clone();
    let app: Router = Router::new().fallback(move |uri: axum::http::Uri| {
        let found = replies.lock().unwrap().iter().find(|(end, ..)| uri.path().ends_with(end)).cloned();
        async move {
            match found {
                Some((_, status, body)) if body == "hang" => {
                    tokio::time::sleep(Duration::from_secs(3600)).await;
                    (status, String::new())
                }
                Some((_, status, body)) => (status, body),
                None => (StatusCode::NOT_FOUND, String::new()),
            }
        }
    });
    tokio::spawn(async move { axum::serve(listener, app).await });
    url
}

/// Returns the status of a call, and checks that a caller who cannot be verified may try again.
async fn call(service: &HttpService, token: &str) -> u16 {
    let call = stateless("tools/call", json!({"name": "search", "arguments": {}}), &bearer(token));
    let reply = send(service, call).await;
    if reply.status == 503 {
        assert_eq!(reply.challenges().len(), 0, "its client must not sign in again");
        assert_eq!(reply.headers["retry-after"], "1");
        assert!(!reply.body.contains("127.0.0.1"), "{reply:?}");
    }
    reply.status.as_u16()
}

const BROKEN: [(u16, &str); 8] = [
    (429, "{}"),
    (500, "{}"),
    (502, "<html>"),
    (200, "<html>"),
    (200, "[]"),
    (200, "{\"keys\": 7, \"active\": \"true\"}"),
    (200, "{\"keys\": [], \"keys\": [], \"active\": true, \"active\": true}"),
    (204, ""),
];

#[tokio::test]
async fn keys_that_cannot_be_fetched_admit_no_caller() {
    let issuer = Issuer::start().await.unwrap();
    for broken in ["metadata", "keys"] {
        for (status, body) in BROKEN {
            let replies = Replies::default();
            let url = start(&replies).await;
            let metadata = json!({"issuer": url, "jwks_uri": format!("{url}/keys")}).to_string();
            let bad = (StatusCode::from_u16(status).unwrap(), body.to_owned());
            let fine = (StatusCode::OK, metadata);
            let (first, second) = if broken == "metadata" {
                (bad, (StatusCode::OK, issuer.key_set().to_string()))
            } else {
                (fine, bad)
            };
            *replies.lock().unwrap() =
                vec![("oauth-authorization-server", first.0, first.1), ("/keys", second.0, second.1)];
            let service = notes().auth(Auth::resource(RESOURCE).issuer(&*url)).build().unwrap().http();
            let token = issuer.sign(json!({"iss": url, "sub": "ann", "aud": RESOURCE}));
            assert_eq!(call(&service, &token).await, 503, "{broken}: {status} {body}");
            // A moment later it is not asked again.
            assert_eq!(call(&service, &token).await, 503, "{broken}: {status} {body}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn an_issuer_that_hangs_admits_no_caller_and_one_that_recovers_does() {
    let issuer = Issuer::start().await.unwrap();
    let replies = Replies::default();
    let url = start(&replies).await;
    let metadata = json!({"issuer": url, "jwks_uri": format!("{url}/keys")}).to_string();
    let set = |status: u16, keys: String| {
        *replies.lock().unwrap() = vec![
            ("oauth-authorization-server", StatusCode::OK, metadata.clone()),
            ("/keys", StatusCode::from_u16(status).unwrap(), keys),
        ];
    };
    set(200, "hang".to_owned());
    let service = notes().auth(Auth::resource(RESOURCE).issuer(&*url)).build().unwrap().http();
    let token = issuer.sign(json!({"iss": url, "sub": "ann", "aud": RESOURCE, "exp": 9_999_999_999_u64}));
    assert_eq!(call(&service, &token).await, 503);
    set(200, issuer.key_set().to_string());
    tokio::time::advance(Duration::from_secs(6)).await;
    assert_eq!(call(&service, &token).await, 200);
    // The keys stay in use while they cannot be renewed, but not for ever.
    set(500, String::new());
    tokio::time::advance(Duration::from_secs(20 * 3600)).await;
    assert_eq!(call(&service, &token).await, 200);
    tokio::time::advance(Duration::from_secs(5 * 3600)).await;
    assert_eq!(call(&service, &token).await, 503);
}

#[tokio::test]
async fn introspection_that_fails_admits_no_caller() {
    for broken in ["metadata", "answer"] {
        for (status, body) in BROKEN {
            let replies = Replies::default();
            let url = start(&replies).await;
            let metadata =
                json!({"issuer": url, "introspection_endpoint": format!("{url}/introspect")}).to_string();
            let active = json!({"active": true, "sub": "ann", "aud": RESOURCE}).to_string();
            let bad = (StatusCode::from_u16(status).unwrap(), body.to_owned());
            let (first, second) = if broken == "metadata" {
                (bad, (StatusCode::OK, active))
            } else {
                ((StatusCode::OK, metadata), bad)
            };
            *replies.lock().unwrap() =
                vec![("oauth-authorization-server", first.0, first.1), ("/introspect", second.0, second.1)];
            let verifier = Introspection::new(&url, "notes", "s3cret").audience(RESOURCE);
            let service = notes().auth(Auth::resource(RESOURCE).verifier(verifier)).build().unwrap().http();
            assert_eq!(call(&service, "opaque").await, 503, "{broken}: {status} {body}");
        }
    }
}

#[tokio::test]
async fn introspection_admits_only_active_tokens_for_this_server() {
    let replies = Replies::default();
    let url = start(&replies).await;
    let answer = |body: Value| {
        *replies.lock().unwrap() = vec![("/introspect", StatusCode::OK, body.to_string())];
    };
    let service = || {
        let verifier = Introspection::new(&url, "notes", "s3cret")
            .endpoint(format!("{url}/introspect"))
            .audience(RESOURCE);
        notes().auth(Auth::resource(RESOURCE).verifier(verifier)).build().unwrap().http()
    };
    for (body, status) in [
        (json!({"active": true, "sub": "ann", "aud": RESOURCE}), 200),
        (json!({"active": true, "client_id": "job", "aud": [RESOURCE]}), 200),
        (json!({"active": false}), 401),
        (json!({"active": false, "sub": "ann", "aud": RESOURCE}), 401),
        (json!({"active": true, "sub": "ann"}), 401),
        (json!({"active": true, "sub": "ann", "aud": "https://mail.example"}), 401),
        (json!({"active": true, "sub": "ann", "aud": RESOURCE, "iss": "https://evil.example"}), 401),
        (json!({"active": true, "sub": "ann", "aud": RESOURCE, "exp": 1}), 401),
        (json!({"active": true, "sub": "ann", "aud": RESOURCE, "exp": "soon"}), 401),
        (json!({"active": true, "aud": RESOURCE}), 401),
        (json!({"active": 1, "sub": "ann", "aud": RESOURCE}), 503),
        (json!({"sub": "ann", "aud": RESOURCE}), 503),
    ] {
        answer(body.clone());
        assert_eq!(call(&service(), "opaque").await, status, "{body}");
    }
    // The server is asked as the client that it knows, and only once in a while.
    let issuer = Issuer::start().await.unwrap();
    issuer.add_client("notes", "s3cret");
    let verifier = Introspection::new(issuer.url(), "notes", "s3cret").audience(RESOURCE);
    let service = notes().auth(Auth::resource(RESOURCE).verifier(verifier)).build().unwrap().http();
    let token = issuer.sign(json!({"sub": "ann", "aud": RESOURCE}));
    for _ in 0..3 {
        assert_eq!(call(&service, &token).await, 200);
        assert_eq!(call(&service, "forged").await, 401);
    }
    let asked = issuer.requests().iter().filter(|request| *request == "POST /introspect").count();
    assert_eq!(asked, 2);
    let wrong = Introspection::new(issuer.url(), "notes", "wrong").audience(RESOURCE);
    let service = notes().auth(Auth::resource(RESOURCE).verifier(wrong)).build().unwrap().http();
    assert_eq!(call(&service, &token).await, 503);
}

#[tokio::test(start_paused = true)]
async fn a_verifier_of_the_application_that_fails_admits_no_caller() {
    let verifier = async |token: String| -> Result<Verified, Rejected> {
        match token.as_str() {
            "fine" => Ok(Verified::new("ann")),
            "panic" => panic!("the verifier panics"),
            "hang" => std::future::pending().await,
            "down" => Err(Rejected::unavailable("the database at 127.0.0.1 does not answer")),
            _ => Err(Rejected::invalid("line\r\nSet-Cookie: a=b\" quoted")),
        }
    };
    let service = notes().auth(Auth::resource(RESOURCE).verifier(verifier)).build().unwrap().http();
    assert_eq!(call(&service, "fine").await, 200);
    for failing in ["panic", "hang", "down"] {
        assert_eq!(call(&service, failing).await, 503, "{failing}");
    }
    let refused = stateless("tools/list", json!({}), &bearer("other"));
    let reply = send(&service, refused).await;
    assert_eq!(reply.status, 401);
    assert_eq!(
        reply.challenges(),
        ["Bearer error=\"invalid_token\", error_description=\"line%0D%0ASet-Cookie: a=b%22 quoted\""]
    );
}
