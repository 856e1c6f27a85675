//! Mistakes that the client once made.

use serde_json::json;
use toolway::client::{Client, OAuth};
use toolway::{Chain, ErrorKind::PeerMisbehaved, ErrorKind::PeerRefused, ProtocolVersion};

use super::pair::{Page, Pair, RESOURCE, Site, refusal, sum};
use super::scenario::{Scenario, Step, check_text};

#[tokio::test]
async fn a_token_is_read_only_in_a_reply_that_is_a_success() {
    for status in [302, 307, 400, 401, 404] {
        let page = Page::json(status, json!({"access_token": "canary-token", "token_type": "Bearer"}));
        let scenario = Scenario::new("a token in a reply that is not a success").await;
        scenario.page(Site::Id, "/token", page).fails(PeerMisbehaved, "", Step::Token).await;
    }
}

#[tokio::test]
async fn a_call_leads_to_three_logins_at_most_whatever_the_server_refuses() {
    // The first request has no token. Then the server refuses tokens, their scopes, or first one and then the other.
    for statuses in [[401, 401, 403, 403, 403], [401, 403, 403, 401, 401], [401, 403, 401, 403, 403]] {
        let pair = Pair::on_loopback().await;
        pair.state().token = json!({"refresh_token": null});
        let mut number = 0;
        pair.state().gate = Some(Box::new(move |_| {
            let status = statuses.get(number).copied().unwrap_or(401);
            number += 1;
            let more = format!("Bearer error=\"insufficient_scope\", scope=\"s{number}\"");
            Some(if status == 401 { refusal(401, &["Bearer"]) } else { refusal(403, &[more]) })
        }));
        pair.connect(pair.user()).await.unwrap_err();
        pair.close().await;
        assert_eq!(pair.state().opened.len(), 3, "{statuses:?}");
    }
}

#[tokio::test]
async fn a_refresh_token_that_was_refused_is_not_sent_with_the_next_call() {
    let pair = Pair::on_loopback().await;
    let client = pair.connect(pair.user()).await.unwrap();
    pair.state().valid.clear();
    let refused = Page::json(400, json!({"error": "invalid_grant"}));
    pair.state().pages.insert((Site::Id, "/token".to_owned()), refused);
    for _ in 0..2 {
        sum(&client).await.unwrap_err();
        pair.close().await;
    }
    let tokens = pair.visits_to(Site::Id, "/token");
    let sent = tokens.iter().filter(|visit| visit.field("refresh_token").is_some()).count();
    assert_eq!(sent, 1);
}

#[tokio::test]
async fn a_document_that_only_a_challenge_names_is_found_for_renewals_and_the_end_of_a_login() {
    let pair = Pair::on_loopback().await;
    let document = json!({"resource": "{mcp}/mcp", "authorization_servers": ["{id}"]});
    {
        let mut state = pair.state();
        state.pages.insert((Site::Mcp, RESOURCE.to_owned()), Page::html(404));
        state.pages.insert((Site::Mcp, "/custom".to_owned()), Page::json(200, document));
        state.challenges = vec!["Bearer resource_metadata=\"{mcp}/custom\"".to_owned()];
        state.server = json!({"revocation_endpoint": "{id}/revoke"});
        state.pages.insert((Site::Id, "/revoke".to_owned()), Page::json(200, json!({})));
        // A token that ends at once is renewed before the server refuses it.
        state.token = json!({"expires_in": 0});
    }
    let oauth = pair.user();
    let client = pair.connect(oauth.clone()).await.unwrap();
    pair.state().token = json!({});
    assert_eq!(sum(&client).await.unwrap(), "3");
    // If a challenge does not name the document, it is where it was before.
    pair.state().challenges = vec!["Bearer".to_owned()];
    pair.state().valid.clear();
    assert_eq!(sum(&client).await.unwrap(), "3");
    pair.close().await;
    assert_eq!(pair.state().opened.len(), 1, "one login");
    let ended = pair.http(oauth).sign_out().await.unwrap();
    assert!(ended.was_signed_in && ended.is_revoked);
}

/// Two servers with one authorization server share the registration of the client.
#[tokio::test]
async fn the_end_of_one_login_does_not_take_the_client_of_another_one() {
    let (first, second) = (Pair::on_loopback().await, Pair::on_loopback().await);
    let registered = |id: &str| {
        let method = "client_secret_basic";
        let secret = "canary-secret";
        let client = json!({"client_id": id, "client_secret": secret, "token_endpoint_auth_method": method});
        Page::json(201, client)
    };
    let register = |id| first.state().pages.insert((Site::Id, "/register".to_owned()), registered(id));
    second.state().resource = json!({"authorization_servers": [first.origin(Site::Id)]});
    second.state().gate = Some(Box::new(|token| token.is_none().then(|| refusal(401, &["Bearer"]))));
    let oauth = first.user();
    register("one");
    let client = first.connect(oauth.clone()).await.unwrap();
    second.connect(oauth.clone()).await.unwrap();
    first.close().await;
    assert!(second.http(oauth.clone()).sign_out().await.unwrap().was_signed_in);
    first.state().valid.clear();
    let call = sum(&client).await;
    assert_eq!(call.unwrap_or_else(|error| panic!("{}", Chain(&error))), "3");
    let token = first.visits_to(Site::Id, "/token").pop().unwrap();
    assert_eq!(token.field("grant_type").as_deref(), Some("refresh_token"));
    let authorization = token.header("authorization").unwrap_or_default();
    assert!(authorization.starts_with("Basic "), "{authorization}");
    // The next login registers anew, and its registration survives the end of the one before it.
    register("two");
    second.connect(oauth.clone()).await.unwrap();
    assert!(first.http(oauth.clone()).sign_out().await.unwrap().was_signed_in);
    first.connect(oauth).await.unwrap();
    first.close().await;
    assert_eq!(first.visits_to(Site::Id, "/register").len(), 2);
}

#[tokio::test]
async fn a_page_without_encryption_is_not_opened_for_a_public_server() {
    for page in ["http://93.184.216.35/authorize", "http://10.0.0.1/authorize", "https://169.254.169.254/x"] {
        let scenario = Scenario::in_public(page).server(json!({"authorization_endpoint": page}));
        scenario.fails(PeerRefused, "no usable `authorization_endpoint`", Step::Server).await;
    }
}

#[tokio::test]
async fn a_final_slash_of_the_server_does_not_unbind_a_secret() {
    let pair = Pair::on_loopback().await;
    pair.state().resource = json!({"authorization_servers": ["{id}/"]});
    pair.state().server = json!({"issuer": "{id}/"});
    let oauth = OAuth::client_credentials("first", "canary-secret").for_issuer(pair.origin(Site::Id));
    let client = pair.connect(oauth).await.unwrap_or_else(|error| panic!("{}", Chain(&error)));
    assert_eq!(sum(&client).await.unwrap(), "3");
}

#[tokio::test]
async fn an_authorization_server_that_cannot_be_reached_is_reported_with_the_cause() {
    let pair = Pair::in_public();
    pair.state().resource = json!({"authorization_servers": ["https://93.184.216.99"]});
    let error = pair.connect(pair.user()).await.unwrap_err();
    let text = Chain(&error).to_string();
    for part in ["https://93.184.216.99 does not answer", "cannot be reached", "there is no such server"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    check_text("no such server", &error);
}

#[tokio::test]
async fn a_login_that_fails_is_not_a_lost_reply() {
    let pair = Pair::on_loopback().await;
    let builder = Client::builder().protocol(ProtocolVersion::LATEST);
    let client = builder.connect_http(pair.http(pair.user())).await.unwrap();
    pair.state().valid.clear();
    let refused = Page::json(400, json!({"error": "invalid_grant"}));
    pair.state().pages.insert((Site::Id, "/token".to_owned()), refused);
    let before = pair.visits_to(Site::Mcp, "/mcp").len();
    // The request is safe to repeat, so it would be repeated if its reply were lost: with a login for each attempt.
    let error = client.tools().await.unwrap_err();
    pair.close().await;
    assert!(error.needs_sign_in() && !error.is_reply_lost(), "{error:?}");
    assert!(!Chain(&error).to_string().contains("no reply"), "{}", Chain(&error));
    assert_eq!(pair.state().opened.len(), 2, "one login to connect, and one that failed");
    assert_eq!(pair.visits_to(Site::Mcp, "/mcp").len(), before + 1);
}
