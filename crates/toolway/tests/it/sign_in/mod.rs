//! Does a client sign in by itself, and does it tell its secrets only to those that they are for?

mod issuer;
mod processes;
mod test_issuer;
mod ways;
mod world;

use serde_json::{Value, json};
use toolway::Chain;
use toolway::ProtocolVersion;
use toolway::client::OAuth;
use toolway::prelude::*;

use world::{World, sum, user};

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
    let world = World::new().with(|state| state.refresh_refusal = Some("invalid_grant"));
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
