//! How often does a client sign in, and where does it send its secrets later?

use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::json;
use toolway::client::OAuth;
use toolway::{Chain, Client, Error, ErrorKind};

use super::pair::{Page, Pair, RESOURCE, Site, field, refusal, sum};
use super::scenario::{check_text, check_visits};

/// Signs in to an honest pair.
async fn signed_in(pair: &Pair) -> Client {
    let client = pair.connect(pair.user()).await.unwrap();
    assert_eq!(sum(&client).await.unwrap(), "3");
    client
}

/// Checks that a call failed, and that nothing was told to those whom it does not concern.
fn check(name: &str, pair: &Pair, error: &Error, kind: ErrorKind, says: &str) {
    let text = Chain(error).to_string();
    assert!(text.contains(says), "{name}: {text}");
    assert_eq!(error.kind(), kind, "{name}: {text}");
    check_text(name, error);
    check_visits(name, pair);
}

fn grants(pair: &Pair, site: Site) -> Vec<String> {
    pair.visits_to(site, "/token").iter().map(|visit| visit.field("grant_type").unwrap()).collect()
}

/// Returns the scopes that the user was asked for, login by login.
fn asked_scopes(pair: &Pair) -> Vec<String> {
    let opened = pair.state().opened.clone();
    opened.iter().map(|url| field(url.split_once('?').unwrap().1, "scope").unwrap_or_default()).collect()
}

#[tokio::test]
async fn a_server_that_refuses_every_token_does_not_cause_endless_logins() {
    for (name, challenge, refresh) in [
        ("no reason", "Bearer", json!(null)),
        ("a refresh token", "Bearer", json!("canary-refresh")),
        ("an invalid token", "Bearer error=\"invalid_token\", error_description=\"x\"", json!(null)),
        ("more scopes", "Bearer error=\"insufficient_scope\", scope=\"a b\"", json!(null)),
        ("another scheme", "Basic realm=\"x\"", json!(null)),
    ] {
        // A client that tries several revisions is not led to more logins.
        for revisions in ["one revision", "all revisions"] {
            let name = &format!("{name}, {revisions}");
            let pair = Pair::on_loopback().await;
            pair.state().token = json!({"refresh_token": refresh});
            pair.state().gate = Some(Box::new(move |_| Some(refusal(401, &[challenge]))));
            let outcome = match revisions {
                "one revision" => pair.connect(pair.user()).await,
                _ => Client::connect_http(pair.http(pair.user())).await,
            };
            pair.close().await;
            check(name, &pair, &outcome.unwrap_err(), ErrorKind::PeerRefused, "refuses the token that");
            let logins = if refresh.is_null() { 2 } else { 1 };
            assert_eq!(pair.state().opened.len(), logins, "{name}");
            assert_eq!(pair.visits_to(Site::Id, "/token").len(), 2, "{name}");
        }
    }
}

/// On a slow machine, a token with a short life can expire before the server reads it.
#[tokio::test]
async fn a_new_token_that_expires_under_way_is_renewed_a_few_times() {
    for (name, refused) in [("a few", 4), ("all", usize::MAX)] {
        let pair = Pair::on_loopback().await;
        pair.state().token = json!({"refresh_token": "canary-refresh", "expires_in": 0});
        let seen = AtomicUsize::new(0);
        pair.state().gate = Some(Box::new(move |token| {
            let is_accepted = token.is_some() && seen.fetch_add(1, Ordering::Relaxed) >= refused;
            (!is_accepted).then(|| refusal(401, &["Bearer"]))
        }));
        let outcome = pair.connect(pair.user()).await;
        pair.close().await;
        if refused == usize::MAX {
            check(name, &pair, &outcome.unwrap_err(), ErrorKind::PeerRefused, "refuses the token that");
            assert_eq!(pair.visits_to(Site::Id, "/token").len(), 6, "{name}");
        } else {
            outcome.unwrap();
        }
        assert_eq!(pair.state().opened.len(), 1, "the user signs in once");
    }
}

#[tokio::test]
async fn a_server_that_always_wants_more_scopes_gets_three_logins_at_most() {
    let counter = AtomicUsize::new(0);
    let next = move || format!("scope=\"s{}\"", counter.fetch_add(1, Ordering::Relaxed));
    let same = || "scope=\"s0\"".to_owned();
    type Scope = Box<dyn Fn() -> String + Send>;
    let scopes: [(&str, Scope, usize); 4] = [
        ("the same scope", Box::new(same), 2),
        ("another scope each time", Box::new(next), 3),
        ("no scope", Box::new(String::new), 1),
        ("a scope that is not one", Box::new(|| "scope=\"\\\"\\\\\"".to_owned()), 1),
    ];
    for (name, scope, logins) in scopes {
        let pair = Pair::on_loopback().await;
        pair.state().gate = Some(Box::new(move |token| {
            let challenge = match token {
                Some(_) => format!("Bearer error=\"insufficient_scope\", {}", scope()),
                None => "Bearer".to_owned(),
            };
            Some(refusal(if token.is_some() { 403 } else { 401 }, &[challenge]))
        }));
        let error = pair.connect(pair.user()).await.unwrap_err();
        pair.close().await;
        check(name, &pair, &error, ErrorKind::PeerRefused, "403");
        assert_eq!(pair.state().opened.len(), logins, "{name}");
    }
}

/// The authorization server grants less than it was asked for, again and again.
#[tokio::test]
async fn scopes_that_are_never_granted_are_not_asked_for_again_and_again() {
    let pair = Pair::on_loopback().await;
    let client = signed_in(&pair).await;
    pair.state().token = json!({"scope": "other"});
    pair.state().gate =
        Some(Box::new(|_| Some(refusal(403, &["Bearer error=\"insufficient_scope\", scope=\"a\""]))));
    for attempt in 0..4 {
        let error = sum(&client).await.unwrap_err();
        pair.close().await;
        check("never granted", &pair, &error, ErrorKind::PeerRefused, "403");
        let logins = pair.state().opened.len();
        assert!(logins <= 3, "{logins} logins after call {attempt}");
    }
    assert!(asked_scopes(&pair)[1..].iter().all(|scopes| scopes.contains('a')));
}

/// The user declines, and each call would ask again.
#[tokio::test]
async fn scopes_that_the_user_has_declined_are_not_asked_for_with_the_next_call() {
    let pair = Pair::on_loopback().await;
    let client = signed_in(&pair).await;
    pair.state().callbacks = vec!["error=access_denied&state={state}"];
    let counter = AtomicUsize::new(0);
    pair.state().gate = Some(Box::new(move |_| {
        let is_even = counter.fetch_add(1, Ordering::Relaxed).is_multiple_of(2);
        let scope = if is_even { "a b" } else { "b a" };
        Some(refusal(403, &[format!("Bearer error=\"insufficient_scope\", scope=\"{scope}\"")]))
    }));
    for attempt in 0..4 {
        let error = sum(&client).await.unwrap_err();
        pair.close().await;
        let says = if attempt == 0 { "the login was declined" } else { "403" };
        check("declined", &pair, &error, ErrorKind::PeerRefused, says);
        assert_eq!(pair.state().opened.len(), 2, "call {attempt}");
    }
}

#[tokio::test]
async fn a_refusal_that_is_not_about_scopes_leads_to_no_login() {
    for (name, challenges) in [
        ("no challenge", &[][..]),
        ("another error", &["Bearer error=\"other\", scope=\"a\""]),
        ("another scheme", &["Basic error=\"insufficient_scope\", scope=\"a\""]),
        ("a part of the word", &["Bearer error=\"insufficient_scopes\", scope=\"a\""]),
    ] {
        let pair = Pair::on_loopback().await;
        let client = signed_in(&pair).await;
        pair.state().gate = Some(Box::new(move |_| Some(refusal(403, challenges))));
        let error = sum(&client).await.unwrap_err();
        check(name, &pair, &error, ErrorKind::PeerRefused, "403");
        assert_eq!((pair.visits_to(Site::Id, "/token").len(), pair.state().opened.len()), (1, 1), "{name}");
    }
}

#[tokio::test]
async fn a_refresh_token_that_is_refused_is_not_sent_again() {
    let pair = Pair::on_loopback().await;
    let client = signed_in(&pair).await;
    pair.state().valid.clear();
    let refused = Page::json(400, json!({"error": "invalid_grant", "error_description": "canary"}));
    pair.state().pages.insert((Site::Id, "/token".to_owned()), refused);
    let error = sum(&client).await.unwrap_err();
    pair.close().await;
    check("refused", &pair, &error, ErrorKind::PeerRefused, "gives no token: invalid_grant");
    let tokens = pair.visits_to(Site::Id, "/token");
    let sent = tokens.iter().filter(|visit| visit.field("refresh_token").is_some()).count();
    assert_eq!(sent, 1, "{:?}", grants(&pair, Site::Id));
}

/// Only a refusal makes a refresh token worthless. Everything else may be an outage.
#[tokio::test]
async fn a_refresh_without_a_verdict_keeps_the_token_and_opens_no_browser() {
    for (name, page, kind) in [
        ("an error of the server", Page::html(500), ErrorKind::Transport),
        ("too many requests", Page::html(429), ErrorKind::Transport),
        ("a page", Page::html(200), ErrorKind::PeerMisbehaved),
        (
            "an unknown type",
            Page::json(200, json!({"access_token": "canary", "token_type": "x"})),
            ErrorKind::PeerMisbehaved,
        ),
        (
            "a token with a line end",
            Page::json(200, json!({"access_token": "canary\r\n", "token_type": "Bearer"})),
            ErrorKind::PeerMisbehaved,
        ),
        ("too long", Page::html(200).padded((64 << 10) + 1), ErrorKind::PeerMisbehaved),
        ("encoded", Page::html(200).with("content-encoding", "gzip"), ErrorKind::PeerMisbehaved),
        ("a redirect", Page::redirect(307, "{other}/token"), ErrorKind::PeerMisbehaved),
        (
            "an error that passes",
            Page::json(400, json!({"error": "temporarily_unavailable"})),
            ErrorKind::PeerRefused,
        ),
        ("no code", Page::json(400, json!({"error": {"message": "canary"}})), ErrorKind::PeerRefused),
        ("a firewall", Page::json(403, json!({"error": "invalid_grant"})), ErrorKind::PeerRefused),
        ("a wrong way", Page::json(404, json!({"error": "invalid_client"})), ErrorKind::PeerRefused),
    ] {
        let pair = Pair::on_loopback().await;
        let client = signed_in(&pair).await;
        pair.state().valid.clear();
        pair.state().pages.insert((Site::Id, "/token".to_owned()), page);
        let error = sum(&client).await.unwrap_err();
        check(name, &pair, &error, kind, "");
        pair.state().pages.clear();
        assert_eq!(sum(&client).await.unwrap(), "3", "{name}");
        // A server that fails is asked once more: the reply may only be lost.
        let count = if kind == ErrorKind::Transport { 3 } else { 2 };
        let grants = grants(&pair, Site::Id);
        assert_eq!(grants[0], "authorization_code", "{name}");
        assert_eq!(grants[1..], vec!["refresh_token"; count], "{name}");
        assert_eq!(pair.state().opened.len(), 1, "{name}");
        assert!(pair.state().visits.iter().all(|visit| visit.site != Site::Other), "{name}");
    }
}

#[tokio::test]
async fn a_token_that_never_lives_is_renewed_once_for_each_request() {
    let pair = Pair::on_loopback().await;
    pair.state().token = json!({"expires_in": 0});
    let client = pair.connect(pair.user()).await.unwrap();
    let before = pair.visits_to(Site::Id, "/token").len();
    assert_eq!(sum(&client).await.unwrap(), "3");
    assert_eq!(pair.visits_to(Site::Id, "/token").len(), before + 1);
    assert_eq!(pair.state().opened.len(), 1);
    check_visits("a token that never lives", &pair);
}

/// The MCP server moves to another authorization server, or says so.
#[tokio::test]
async fn another_authorization_server_does_not_get_the_refresh_token() {
    let pair = Pair::on_loopback().await;
    let secret = json!({"client_id": "first", "client_secret": "canary-secret"});
    pair.state().pages.insert((Site::Id, "/register".to_owned()), Page::json(201, secret));
    let client = signed_in(&pair).await;
    pair.state().valid.clear();
    pair.state().resource = json!({"authorization_servers": ["{other}"]});
    assert_eq!(sum(&client).await.unwrap(), "3");
    pair.close().await;
    check_visits("migration", &pair);
    assert_eq!(
        (grants(&pair, Site::Id).len(), grants(&pair, Site::Other)),
        (1, vec!["authorization_code".to_owned()])
    );
    let token = &pair.visits_to(Site::Other, "/token")[0];
    assert_eq!(token.field("client_id").as_deref(), Some("registered"), "not the id at the first server");
    assert_eq!(token.header("authorization"), None);
    assert!(
        !token.body.contains("canary-refresh") && !token.body.contains("canary-secret"),
        "{}",
        token.body
    );
}

#[tokio::test]
async fn a_document_that_changes_after_the_login_ends_the_next_one() {
    for (name, resource, kind, says) in [
        (
            "another server",
            json!({"resource": "{other}/mcp"}),
            ErrorKind::PeerRefused,
            "speaks of another server",
        ),
        (
            "no authorization server",
            json!({"authorization_servers": []}),
            ErrorKind::PeerRefused,
            "names no authorization server",
        ),
        (
            "the network",
            json!({"authorization_servers": ["https://10.0.0.1"]}),
            ErrorKind::PeerMisbehaved,
            "inside the network",
        ),
    ] {
        let pair = Pair::on_loopback().await;
        let client = signed_in(&pair).await;
        pair.state().valid.clear();
        pair.state().resource = resource;
        let error = sum(&client).await.unwrap_err();
        check(name, &pair, &error, kind, says);
        assert_eq!(grants(&pair, Site::Id), ["authorization_code"], "{name}");
        assert_eq!(pair.state().opened.len(), 1, "{name}");
    }
}

#[tokio::test]
async fn a_secret_that_is_bound_goes_to_no_other_authorization_server() {
    let pair = Pair::on_loopback().await;
    let id = pair.origin(Site::Id);
    type Make = fn(&Pair) -> OAuth;
    let ways: [(&str, Make); 2] = [
        ("a program", |_| OAuth::client_credentials("first", "canary-secret")),
        ("a user", |pair| pair.user().client_id("first").client_secret("canary-secret")),
    ];
    for (name, make) in ways {
        // It is refused at once,
        let pair = Pair::on_loopback().await;
        let id_of_pair = pair.origin(Site::Id);
        pair.state().resource = json!({"authorization_servers": ["{other}"]});
        let error = pair.connect(make(&pair).for_issuer(&id_of_pair)).await.unwrap_err();
        check(name, &pair, &error, ErrorKind::PeerRefused, "nothing was sent");
        // at an issuer that only looks the same,
        for bound in
            [format!("{id_of_pair}/tenant"), id.clone(), id_of_pair.replace("127.0.0.1", "localhost")]
        {
            pair.state().resource = json!({});
            let error = pair.connect(make(&pair).for_issuer(&bound)).await.unwrap_err();
            check(name, &pair, &error, ErrorKind::PeerRefused, "nothing was sent");
        }
        assert_eq!(pair.state().opened.len(), 0, "{name}");
        // and when the server moves.
        let client = pair.connect(make(&pair).for_issuer(&id_of_pair)).await.unwrap();
        pair.state().valid.clear();
        pair.state().resource = json!({"authorization_servers": ["{other}"]});
        let error = sum(&client).await.unwrap_err();
        pair.close().await;
        check(name, &pair, &error, ErrorKind::PeerRefused, "nothing was sent");
        assert_eq!(grants(&pair, Site::Id).len(), 1, "{name}");
        let visits = pair.state().visits.clone();
        let at_other: Vec<_> = visits.iter().filter(|visit| visit.site == Site::Other).collect();
        assert!(
            at_other.iter().all(|visit| visit.path().starts_with("/.well-known/")),
            "{name}: {at_other:#?}"
        );
    }
}

/// A hostile server names the authorization server of another one, to get a token that is good there.
#[tokio::test]
async fn a_token_goes_only_to_the_server_that_it_is_for() {
    let (honest, hostile) = (Pair::on_loopback().await, Pair::on_loopback().await);
    let oauth = honest.user();
    let client = honest.connect(oauth.clone()).await.unwrap();
    hostile.state().resource = json!({"authorization_servers": [honest.origin(Site::Id)]});
    let error = hostile.connect(oauth).await.unwrap_err();
    honest.close().await;
    check_text("two servers", &error);
    check_visits("two servers", &hostile);
    let tokens = honest.visits_to(Site::Id, "/token");
    let resources: Vec<_> = tokens.iter().map(|visit| visit.field("resource").unwrap()).collect();
    assert_eq!(resources[0], honest.fill("{mcp}/mcp"));
    assert!(resources[1..].iter().all(|resource| *resource == hostile.fill("{mcp}/mcp")), "{resources:?}");
    let used = hostile.visits_to(Site::Mcp, "/mcp");
    assert!(used.iter().all(|visit| visit.header("authorization") != Some("Bearer canary-token-1")));
    drop(client);
}

#[tokio::test]
async fn a_redirect_of_the_mcp_server_takes_no_token_along() {
    for status in [301, 302, 303, 307, 308] {
        for to in [
            "{other}/mcp",
            "//{other-authority}/mcp",
            "http://localhost:{mcp-port}/mcp",
            "http://x@{mcp-authority}/mcp",
        ] {
            let name = &format!("{status} to {to}");
            let pair = Pair::on_loopback().await;
            let client = signed_in(&pair).await;
            let before = pair.state().visits.len();
            pair.state().gate = Some(Box::new(move |_| Some(Page::redirect(status, to))));
            let error = sum(&client).await.unwrap_err();
            check_text(name, &error);
            let visits = pair.state().visits.split_off(before);
            assert_eq!(visits.len(), 1, "{name}: {visits:#?}");
        }
    }
}

#[tokio::test]
async fn a_document_behind_a_redirect_is_fetched_without_headers_of_the_application() {
    let pair = Pair::on_loopback().await;
    pair.state().pages.insert((Site::Mcp, RESOURCE.to_owned()), Page::redirect(302, "{other}/prm"));
    let document = json!({"resource": "{mcp}/mcp", "authorization_servers": ["{id}"]});
    pair.state().pages.insert((Site::Other, "/prm".to_owned()), Page::json(200, document));
    signed_in(&pair).await;
    pair.close().await;
    check_visits("a redirect", &pair);
    let visit = &pair.visits_to(Site::Other, "/prm")[0];
    let mut names: Vec<_> = visit.headers.iter().map(|(name, _)| name.as_str()).collect();
    names.sort_unstable();
    assert_eq!(names, ["accept", "host"]);
}
