//! What if a verifier depends on a server that fails? No caller gets in, and each is asked to try again.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use axum::Router;
use axum::http::StatusCode;
use serde_json::{Value, json};
use tokio::sync::Semaphore;
use toolway::auth::{Auth, Introspection, Rejected, Verified};
use toolway::server::http::HttpService;
use toolway::testing::Issuer;

use super::log::Log;
use super::world::{RESOURCE, bearer, notes, send, stateless};

/// The replies of a server, by the end of the path.
type Replies = Arc<Mutex<Vec<(&'static str, StatusCode, String)>>>;

/// The number of requests that a server got.
type Count = Arc<AtomicUsize>;

/// Starts a server that gives these replies.
async fn start(replies: &Replies) -> String {
    start_counting(replies, &Count::default()).await
}

/// Starts a server that gives these replies, and counts the requests.
async fn start_counting(replies: &Replies, count: &Count) -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let (replies, count) = (replies.clone(), count.clone());
    let app: Router = Router::new().fallback(move |uri: axum::http::Uri| {
        count.fetch_add(1, Ordering::AcqRel);
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
    let begun = tokio::time::Instant::now();
    let service = notes().auth(Auth::resource(RESOURCE).issuer(&*url)).build().unwrap().http();
    let token = issuer.sign(json!({"iss": url, "sub": "ann", "aud": RESOURCE, "exp": 9_999_999_999_u64}));
    assert_eq!(call(&service, &token).await, 503);
    assert!(begun.elapsed() < Duration::from_secs(60), "{:?}", begun.elapsed());
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
        (json!({"active": true, "sub": "ann", "aud": RESOURCE, "token_use": "access_token"}), 200),
        (json!({"active": true, "sub": "ann", "aud": RESOURCE, "token_use": "refresh_token"}), 401),
        (json!({"active": true, "sub": "ann", "aud": RESOURCE, "typ": "Refresh"}), 401),
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
        let begun = tokio::time::Instant::now();
        assert_eq!(call(&service, failing).await, 503, "{failing}");
        assert!(begun.elapsed() < Duration::from_secs(60), "{failing}: {:?}", begun.elapsed());
    }
    let refused = stateless("tools/list", json!({}), &bearer("other"));
    let reply = send(&service, refused).await;
    assert_eq!(reply.status, 401);
    assert_eq!(
        reply.challenges(),
        ["Bearer error=\"invalid_token\", error_description=\"line%0D%0ASet-Cookie: a=b%22 quoted\""]
    );
}

#[tokio::test]
async fn a_reply_that_is_not_a_success_is_not_read() {
    let issuer = Issuer::start().await.unwrap();
    for (status, expected) in [(200, 200), (401, 503), (404, 503), (429, 503), (500, 503), (503, 503)] {
        let status = StatusCode::from_u16(status).unwrap();
        let replies = Replies::default();
        let url = start(&replies).await;
        let metadata = json!({
            "issuer": url, "jwks_uri": format!("{url}/keys"), "introspection_endpoint": format!("{url}/introspect"),
        });
        *replies.lock().unwrap() = vec![
            ("oauth-authorization-server", StatusCode::OK, metadata.to_string()),
            ("/keys", status, issuer.key_set().to_string()),
            ("/introspect", status, json!({"active": true, "sub": "ann", "aud": RESOURCE}).to_string()),
        ];
        let service = notes().auth(Auth::resource(RESOURCE).issuer(&*url)).build().unwrap().http();
        let token = issuer.sign(json!({"iss": url, "sub": "ann", "aud": RESOURCE}));
        assert_eq!(call(&service, &token).await, expected, "keys: {status}");
        let verifier = Introspection::new(&url, "notes", "s3cret").audience(RESOURCE);
        let service = notes().auth(Auth::resource(RESOURCE).verifier(verifier)).build().unwrap().http();
        assert_eq!(call(&service, "opaque").await, expected, "introspection: {status}");
    }
    // Not every success is an answer about a token.
    let replies = Replies::default();
    let url = start(&replies).await;
    let active = json!({"active": true, "sub": "ann", "aud": RESOURCE}).to_string();
    *replies.lock().unwrap() = vec![("/introspect", StatusCode::ACCEPTED, active)];
    let verifier = Introspection::new(&url, "notes", "s3cret").endpoint(format!("{url}/introspect"));
    let verifier = verifier.audience(RESOURCE);
    let service = notes().auth(Auth::resource(RESOURCE).verifier(verifier)).build().unwrap().http();
    assert_eq!(call(&service, "opaque").await, 503);
}

#[tokio::test]
async fn a_key_set_has_a_size() {
    let issuer = Issuer::start().await.unwrap();
    for (length, expected) in [(200 << 10, 200), (300 << 10, 503)] {
        let replies = Replies::default();
        let url = start(&replies).await;
        let mut keys = issuer.key_set();
        keys["padding"] = "x".repeat(length).into();
        *replies.lock().unwrap() = vec![
            (
                "oauth-authorization-server",
                StatusCode::OK,
                json!({"issuer": url, "jwks_uri": format!("{url}/keys")}).to_string(),
            ),
            ("/keys", StatusCode::OK, keys.to_string()),
        ];
        let service = notes().auth(Auth::resource(RESOURCE).issuer(&*url)).build().unwrap().http();
        let token = issuer.sign(json!({"iss": url, "sub": "ann", "aud": RESOURCE}));
        assert_eq!(call(&service, &token).await, expected, "{length}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_issuer_that_fails_is_not_asked_for_every_token() {
    let issuer = Issuer::start().await.unwrap();
    let (replies, count) = (Replies::default(), Count::default());
    let url = start_counting(&replies, &count).await;
    let service = notes().auth(Auth::resource(RESOURCE).issuer(&*url)).build().unwrap().http();
    let token = || issuer.sign(json!({"iss": url, "sub": "ann", "aud": RESOURCE, "exp": 9_999_999_999_u64}));
    // There is no metadata at any of the places where it may be.
    for _ in 0..20 {
        assert_eq!(call(&service, &token()).await, 503);
    }
    let asked = count.swap(0, Ordering::AcqRel);
    assert!((1..=3).contains(&asked), "{asked}");
    *replies.lock().unwrap() = vec![
        (
            "oauth-authorization-server",
            StatusCode::OK,
            json!({"issuer": url, "jwks_uri": format!("{url}/keys")}).to_string(),
        ),
        ("/keys", StatusCode::OK, issuer.key_set().to_string()),
    ];
    tokio::time::advance(Duration::from_secs(6)).await;
    assert_eq!(call(&service, &token()).await, 200);
    assert_eq!(count.swap(0, Ordering::AcqRel), 2);
    // The keys must be renewed, which fails.
    replies.lock().unwrap().clear();
    tokio::time::advance(Duration::from_secs(3600)).await;
    for _ in 0..20 {
        assert_eq!(call(&service, &token()).await, 200);
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let asked = count.swap(0, Ordering::AcqRel);
    assert!((1..=3).contains(&asked), "{asked}");
}

#[tokio::test(start_paused = true)]
async fn a_key_that_its_issuer_has_removed_is_soon_refused() {
    let (issuer, other) = (Issuer::start().await.unwrap(), Issuer::start().await.unwrap());
    let replies = Replies::default();
    let url = start(&replies).await;
    let set = |keys: Value| {
        let metadata = json!({"issuer": url, "jwks_uri": format!("{url}/keys")}).to_string();
        *replies.lock().unwrap() = vec![
            ("oauth-authorization-server", StatusCode::OK, metadata),
            ("/keys", StatusCode::OK, keys.to_string()),
        ];
    };
    set(issuer.key_set());
    let service = notes().auth(Auth::resource(RESOURCE).issuer(&*url)).build().unwrap().http();
    let token = issuer.sign(json!({"iss": url, "sub": "ann", "aud": RESOURCE, "exp": 9_999_999_999_u64}));
    assert_eq!(call(&service, &token).await, 200);
    set(other.key_set());
    // The keys are renewed after four fifths of an hour, and what was decided before is kept for five minutes.
    tokio::time::advance(Duration::from_secs(49 * 60)).await;
    assert_eq!(call(&service, &token).await, 200);
    tokio::time::sleep(Duration::from_secs(5 * 60 + 1)).await;
    assert_eq!(call(&service, &token).await, 401);
}

#[tokio::test(start_paused = true)]
async fn few_tokens_are_asked_about_at_the_same_time() {
    let (replies, count) = (Replies::default(), Count::default());
    *replies.lock().unwrap() = vec![("/introspect", StatusCode::OK, "hang".to_owned())];
    let url = start_counting(&replies, &count).await;
    let verifier = Introspection::new(&url, "notes", "s3cret").endpoint(format!("{url}/introspect"));
    let auth = Auth::resource(RESOURCE).verifier(verifier.audience(RESOURCE));
    let service = notes().auth(auth).build().unwrap().http();
    let calls: Vec<_> = (0..100)
        .map(|number| {
            let service = service.clone();
            tokio::spawn(async move { call(&service, &format!("opaque-{number}")).await })
        })
        .collect();
    for call in calls {
        assert_eq!(call.await.unwrap(), 503);
    }
    assert_eq!(count.load(Ordering::Acquire), 64);
}

/// A verifier that waits until it is told to decide, and the number of tokens that it was asked about.
fn waiting_verifier() -> (HttpService, Arc<Semaphore>, Count) {
    let (gate, asked) = (Arc::new(Semaphore::new(0)), Count::default());
    let (wait, count) = (gate.clone(), asked.clone());
    let verifier = move |token: String| {
        count.fetch_add(1, Ordering::AcqRel);
        let wait = wait.clone();
        async move {
            if token != "quick" {
                wait.acquire().await.unwrap().forget();
            }
            Ok::<_, Rejected>(Verified::new("ann"))
        }
    };
    (notes().auth(Auth::resource(RESOURCE).verifier(verifier)).build().unwrap().http(), gate, asked)
}

#[tokio::test(start_paused = true)]
async fn a_token_is_verified_once_for_all_requests_that_have_it() {
    let (service, gate, asked) = waiting_verifier();
    let mut calls: Vec<_> = (0..20)
        .map(|_| {
            let service = service.clone();
            tokio::spawn(async move { call(&service, "slow").await })
        })
        .collect();
    tokio::time::sleep(Duration::from_millis(1)).await;
    assert_eq!(asked.load(Ordering::Acquire), 1);
    // If the first one leaves, another one asks.
    calls.remove(0).abort();
    tokio::time::sleep(Duration::from_millis(1)).await;
    assert_eq!(asked.load(Ordering::Acquire), 2);
    gate.add_permits(1);
    for call in calls {
        assert_eq!(call.await.unwrap(), 200);
    }
    assert_eq!(asked.load(Ordering::Acquire), 2);
}

#[tokio::test(start_paused = true)]
async fn an_address_that_sends_many_tokens_does_not_keep_others_from_being_verified() {
    let (service, _gate, asked) = waiting_verifier();
    let call_from = |address: &str, token: String| {
        let mut call = stateless("tools/call", json!({"name": "search", "arguments": {}}), &bearer(&token));
        let remote = (address.parse::<std::net::IpAddr>().unwrap(), 1234).into();
        call.extensions_mut().insert(toolway::server::http::RemoteAddr(remote));
        let service = service.clone();
        async move { send(&service, call).await.status.as_u16() }
    };
    // One customer has all addresses of such a network.
    let flood: Vec<_> = (0..100)
        .map(|number| tokio::spawn(call_from(&format!("2001:db8::{number}"), format!("slow-{number}"))))
        .collect();
    tokio::time::sleep(Duration::from_millis(1)).await;
    assert_eq!(asked.load(Ordering::Acquire), 16);
    assert_eq!(call_from("2001:db8:1::1", "quick".to_owned()).await, 200);
    assert_eq!(
        call_from("2001:db8::1", "quick".to_owned()).await,
        200,
        "a known caller is not verified again"
    );
    for call in flood {
        assert_eq!(call.await.unwrap(), 503);
    }
    // None of those that waited in vain was verified.
    assert_eq!(asked.load(Ordering::Acquire), 17);
}

#[tokio::test(start_paused = true)]
async fn what_a_verifier_says_is_kept_for_a_while_and_not_longer_than_its_token_is_valid() {
    let asked = Count::default();
    let count = asked.clone();
    let verifier = move |token: String| {
        count.fetch_add(1, Ordering::AcqRel);
        async move {
            match token.as_str() {
                "endless" => Ok(Verified::new("ann")),
                "expired" => Ok(Verified::new("ann").with_expiry(SystemTime::UNIX_EPOCH)),
                "short" => Ok(Verified::new("ann").with_expiry(SystemTime::now() + Duration::from_secs(10))),
                _ => Err(Rejected::invalid("no")),
            }
        }
    };
    let service = notes().auth(Auth::resource(RESOURCE).verifier(verifier)).build().unwrap().http();
    assert_eq!(call(&service, "expired").await, 401);
    for (token, status, kept_for) in [("endless", 200, 30), ("short", 200, 10), ("refused", 401, 5)] {
        asked.store(0, Ordering::Release);
        assert_eq!(call(&service, token).await, status, "{token}");
        // The clock of the verdicts moves, and that of the tokens does not.
        tokio::time::advance(Duration::from_secs(kept_for - 2)).await;
        assert_eq!(call(&service, token).await, status, "{token}");
        assert_eq!(asked.load(Ordering::Acquire), 1, "{token}");
        tokio::time::advance(Duration::from_secs(3)).await;
        assert_eq!(call(&service, token).await, status, "{token}");
        assert_eq!(asked.load(Ordering::Acquire), 2, "{token}");
    }
}

#[tokio::test]
async fn an_issuer_leads_to_no_address_inside_the_network() {
    let issuer = Issuer::start().await.unwrap();
    for inside in ["10.0.0.1", "192.168.0.1", "169.254.169.254", "[fc00::1]", "2130706433"] {
        let replies = Replies::default();
        let url = start(&replies).await;
        let place = format!("https://{inside}/x");
        let metadata = json!({"issuer": url, "jwks_uri": place, "introspection_endpoint": place}).to_string();
        *replies.lock().unwrap() = vec![("oauth-authorization-server", StatusCode::OK, metadata)];
        let verifier = Introspection::new(&url, "notes", "s3cret").audience(RESOURCE);
        let token = issuer.sign(json!({"iss": url, "sub": "ann", "aud": RESOURCE}));
        for auth in [Auth::resource(RESOURCE).issuer(&*url), Auth::resource(RESOURCE).verifier(verifier)] {
            let log = Log::default();
            let _guard = log.install();
            let service = notes().auth(auth).build().unwrap().http();
            assert_eq!(call(&service, &token).await, 503);
            // Only the log distinguishes it from an address that does not answer.
            assert!(!log.with("is an address inside the network").is_empty(), "{inside}");
        }
    }
}
