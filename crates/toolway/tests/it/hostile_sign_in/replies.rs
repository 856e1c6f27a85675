//! Which replies to a registration and to a token request are refused?

use serde_json::{Value, json};
use toolway::ErrorKind::{PeerMisbehaved, PeerRefused, Timeout, Transport};

use super::pair::{Page, Site};
use super::scenario::{Scenario, Step};

#[tokio::test]
async fn a_registration_that_fails_ends_the_login() {
    let closed = "registration at";
    let words = json!({"error": "canary", "error_description": "\u{1b}[31mcanary <html>"});
    for (name, page, kind, says) in [
        ("closed", Page::html(401), PeerRefused, closed),
        ("forbidden", Page::json(403, words.clone()), PeerRefused, closed),
        ("refused", Page::json(400, words), PeerRefused, "refuses to register this client (400)"),
        ("an error of the server", Page::html(500), PeerRefused, "refuses to register this client (500)"),
        ("too many requests", Page::html(429), PeerRefused, "refuses to register this client (429)"),
        (
            "a redirect",
            Page::redirect(307, "{other}/register"),
            PeerRefused,
            "refuses to register this client (307)",
        ),
        ("no id", Page::json(201, json!({"client_secret": "canary"})), PeerRefused, "without an id"),
        ("an empty id", Page::json(201, json!({"client_id": ""})), PeerRefused, "without an id"),
        ("a number as id", Page::json(201, json!({"client_id": 7})), PeerRefused, "without an id"),
        (
            "two ids",
            Page::new(201, r#"{"client_id":"canary","client_id":"b"}"#),
            PeerRefused,
            "without an id",
        ),
        ("a page", Page::html(200), PeerRefused, "without an id"),
        ("nothing", Page::new(201, ""), PeerRefused, "without an id"),
        (
            "too long",
            Page::json(201, json!({"client_id": "a"})).padded((64 << 10) + 1),
            PeerMisbehaved,
            "too long",
        ),
        (
            "encoded",
            Page::json(201, json!({"client_id": "a"})).with("content-encoding", "br"),
            PeerMisbehaved,
            "encoded",
        ),
    ] {
        let scenario = Scenario::new(name).await.page(Site::Id, "/register", page);
        scenario.fails(kind, says, Step::Registration).await;
    }
    let scenario = Scenario::in_public("no answer").page(Site::Id, "/register", Page::never());
    scenario.fails(Timeout, "does not answer", Step::Registration).await;
}

/// The client asked for no secret. One that it gets is a secret all the same.
#[tokio::test]
async fn a_secret_of_a_registration_goes_to_the_token_endpoint_only() {
    for (name, method, is_in_header, is_in_body) in [
        ("no method", json!(null), true, false),
        ("in a header", json!("client_secret_basic"), true, false),
        ("in the form", json!("client_secret_post"), false, true),
        ("none", json!("none"), false, false),
        ("a method that is not known", json!("canary-method"), true, false),
    ] {
        let reply = json!({"client_id": "a\r\nb: c", "client_secret": "canary-secret", "token_endpoint_auth_method": method});
        let scenario = Scenario::new(name).await.page(Site::Id, "/register", Page::json(201, reply));
        let refused = json!({"access_token": null, "error": "invalid_grant", "error_description": "canary"});
        let pair = scenario.token(refused).fails(PeerRefused, "invalid_grant", Step::Token).await;
        let token = &pair.visits_to(Site::Id, "/token")[0];
        assert_eq!(token.header("authorization").is_some(), is_in_header, "{name}");
        assert_eq!(token.field("client_secret").is_some(), is_in_body, "{name}");
        assert_eq!(token.field("client_id").is_some(), !is_in_header, "{name}");
    }
}

fn token(members: Value) -> Page {
    let mut reply =
        json!({"access_token": "canary-token", "token_type": "Bearer", "refresh_token": "canary-refresh"});
    for (name, value) in members.as_object().unwrap() {
        reply[name] = value.clone();
    }
    Page::json(200, reply)
}

#[tokio::test]
async fn a_reply_without_a_usable_token_ends_the_login() {
    let unreadable = "cannot be read";
    let twice = r#"{"access_token":"canary","access_token":"canary","token_type":"Bearer"}"#;
    for (name, page, kind, says) in [
        ("a page", Page::html(200), PeerMisbehaved, unreadable),
        ("a page of an error", Page::html(400), PeerMisbehaved, unreadable),
        ("nothing", Page::new(200, ""), PeerMisbehaved, unreadable),
        ("an array", Page::json(200, json!(["canary-token"])), PeerMisbehaved, unreadable),
        ("no token", token(json!({"access_token": null})), PeerMisbehaved, unreadable),
        ("an empty token", token(json!({"access_token": ""})), PeerMisbehaved, unreadable),
        (
            "a token that is not a text",
            token(json!({"access_token": ["canary"]})),
            PeerMisbehaved,
            unreadable,
        ),
        (
            "a token with a line end",
            token(json!({"access_token": "canary\r\nx-canary: 1"})),
            PeerMisbehaved,
            unreadable,
        ),
        ("a token with a space", token(json!({"access_token": "canary canary"})), PeerMisbehaved, unreadable),
        (
            "a token with an escape",
            token(json!({"access_token": "canary\u{1b}[31m"})),
            PeerMisbehaved,
            unreadable,
        ),
        ("a token with a zero", token(json!({"access_token": "canary\0"})), PeerMisbehaved, unreadable),
        (
            "a token in another script",
            token(json!({"access_token": "canary-\u{e4}"})),
            PeerMisbehaved,
            unreadable,
        ),
        ("two tokens", Page::new(200, twice), PeerMisbehaved, unreadable),
        (
            "two tokens in a form",
            Page::new(200, "access_token=canary&access_token=b&token_type=bearer"),
            PeerMisbehaved,
            unreadable,
        ),
        ("no type", token(json!({"token_type": null})), PeerMisbehaved, unreadable),
        ("a type that is not a text", token(json!({"token_type": 1})), PeerMisbehaved, unreadable),
        ("an unknown type", token(json!({"token_type": "canary"})), PeerMisbehaved, "unknown type"),
        ("a type that is bound to a key", token(json!({"token_type": "DPoP"})), PeerRefused, "does not use"),
        ("a type that is not for servers", token(json!({"token_type": "N_A"})), PeerRefused, "does not use"),
        (
            "an error beside a token",
            token(json!({"error": "invalid_grant", "error_description": "canary"})),
            PeerRefused,
            "gives no token: invalid_grant",
        ),
        (
            "an error with escapes",
            Page::json(400, json!({"error": "\u{1b}[31m<b>bad\r\n"})),
            PeerRefused,
            "gives no token: 31mbbad",
        ),
        (
            "an error without a code",
            Page::json(400, json!({"error": {"canary": 1}})),
            PeerRefused,
            "gives no token: no reason",
        ),
        (
            "an error in a form",
            Page::new(200, "error=bad_code&error_description=canary"),
            PeerRefused,
            "gives no token: bad_code",
        ),
        ("an error of the server", Page::html(500), Transport, "cannot make a token now"),
        (
            "a token and an error of the server",
            Page::new(503, r#"{"access_token":"canary","token_type":"Bearer"}"#),
            Transport,
            "cannot make a token now",
        ),
        ("too many requests", Page::html(429), Transport, "cannot make a token now"),
        ("a redirect", Page::redirect(307, "{other}/token"), PeerMisbehaved, unreadable),
        ("a redirect with another method", Page::redirect(303, "{other}/token"), PeerMisbehaved, unreadable),
        ("too long", token(json!({})).padded((64 << 10) + 1), PeerMisbehaved, "too long"),
        ("encoded", token(json!({})).with("content-encoding", "gzip"), PeerMisbehaved, "encoded"),
    ] {
        let scenario = Scenario::new(name).await.page(Site::Id, "/token", page);
        scenario.fails(kind, says, Step::Token).await;
    }
    let scenario = Scenario::in_public("no answer").page(Site::Id, "/token", Page::never());
    scenario.fails(Timeout, "does not answer", Step::Token).await;
}

/// A client that the authorization server does not know registers again, once.
#[tokio::test]
async fn a_client_that_is_forgotten_registers_once_more_only() {
    for code in ["invalid_client", "unauthorized_client"] {
        let page = Page::json(401, json!({"error": code, "error_description": "canary"}));
        let scenario = Scenario::new(code).await.page(Site::Id, "/token", page);
        let pair = scenario.fails(PeerRefused, code, Step::Token).await;
        assert_eq!((pair.visits_to(Site::Id, "/register").len(), pair.state().opened.len()), (2, 2));
        assert_eq!(pair.visits_to(Site::Id, "/token").len(), 2);
    }
}

#[tokio::test]
async fn a_strange_life_or_scope_does_not_break_a_token() {
    for (name, members) in [
        ("a life below zero", json!({"expires_in": -1})),
        ("the longest life", json!({"expires_in": u64::MAX})),
        ("a life beyond all numbers", json!({"expires_in": 1e300})),
        ("a life as a text", json!({"expires_in": "3600"})),
        ("a life as a strange text", json!({"expires_in": "canary"})),
        ("a life as a long text", json!({"expires_in": "9".repeat(1000)})),
        ("a life with a fraction", json!({"expires_in": 3599.5})),
        ("a life as an object", json!({"expires_in": {"canary": 1}})),
        ("scopes in a list", json!({"scope": ["a", 7, "b c", "canary\r\n"]})),
        ("scopes as a number", json!({"scope": 7})),
        ("scopes with escapes", json!({"scope": "a \u{1b}[31m \r\nx-canary: \""})),
        ("many scopes", json!({"scope": "s ".repeat(10_000)})),
        ("a strange refresh token", json!({"refresh_token": "canary\r\nx: 1"})),
        ("a refresh token that is not a text", json!({"refresh_token": {"canary": 1}})),
        ("a type in capitals", json!({"token_type": "BEARER"})),
        ("strange members", json!({"canary": "\u{1b}[31m", "": null})),
    ] {
        let pair = Scenario::new(name).await.token(members).signs_in().await;
        assert_eq!(pair.visits_to(Site::Id, "/token").len(), 1, "{name}: it is renewed when it is refused");
    }
    // The longest reply that is read.
    let scenario = Scenario::new("a long reply").await;
    let pair = scenario.token(json!({"padding": "x".repeat(65_000)})).signs_in().await;
    assert_eq!(pair.visits_to(Site::Id, "/token").len(), 1);
}
