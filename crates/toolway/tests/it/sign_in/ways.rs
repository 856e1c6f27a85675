//! Which ways to a token are there, and which settings apply to them?

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::{Barrier, Notify};
use toolway::client::{AccessToken, Dpop, Idp, MemoryVault, OAuth, TokenRequest, TokenSource};
use toolway::prelude::*;
use toolway::{BoxFuture, Chain, ProtocolVersion};

use super::world::{World, sum, user, user_who_notes};

const BINDS: &str = "DPoP algs=\"ES256\"";

#[tokio::test]
async fn a_token_is_bound_to_a_key_if_the_server_asks_for_it() {
    let world = World::new().with(|state| {
        state.challenges = vec![BINDS];
        state.server = json!({"dpop_signing_alg_values_supported": ["ES256"]});
        state.nonce = Some("n1");
    });
    let client = world.connect(user("")).await.unwrap();
    assert_eq!(sum(&client).await, "3");
    world.state.lock().unwrap().nonce = Some("n2");
    assert_eq!(sum(&client).await, "3", "another nonce costs another request, and no login");
    assert_eq!(world.forms_sent_to("/token").len(), 2, "the first was refused for its nonce");
    let proofs = world.state.lock().unwrap().proofs.clone();
    assert!(proofs.iter().all(|(by, claims)| (*by == "server") == claims.get("ath").is_some()));
    // A token that is renewed keeps its key.
    world.expire();
    assert_eq!(sum(&client).await, "3");
    assert_eq!(world.sent_to("/authorize").len() + world.sent_to("/register").len(), 1, "no second login");
}

#[tokio::test]
async fn a_nonce_that_another_request_has_noted_is_used() {
    let world = World::new().with(|state| {
        state.challenges = vec![BINDS];
        state.server = json!({"dpop_signing_alg_values_supported": ["ES256"]});
        state.nonce = Some("n1");
    });
    let client = world.connect(user("")).await.unwrap();
    let before = world.sent_to("/token").len();
    {
        let mut state = world.state.lock().unwrap();
        (state.nonce, state.meeting) = (Some("n2"), Some(Arc::new(Barrier::new(2))));
    }
    // Both are sent with the old nonce, and refused before one of them has noted the new one.
    let (one, other) = tokio::join!(sum(&client), sum(&client));
    assert_eq!((one.as_str(), other.as_str()), ("3", "3"));
    assert_eq!(world.sent_to("/token").len(), before, "no token is renewed for a nonce");
}

#[tokio::test]
async fn a_token_without_a_key_is_refused_where_keys_are_needed() {
    let only_es384 = json!({"dpop_signing_alg_values_supported": ["ES384"]});
    let world = World::new().with(|state| {
        state.challenges = vec![BINDS];
        state.server = only_es384.clone();
    });
    let error = world.connect(user("")).await.unwrap_err();
    assert!(Chain(&error).to_string().contains("binds tokens to keys"), "{}", Chain(&error));
    // The server takes both, and the authorization server cannot bind.
    let world = World::new().with(|state| {
        state.server = only_es384;
        state.challenges = vec!["Bearer realm=\"x\""];
    });
    assert_eq!(sum(&world.connect(user("")).await.unwrap()).await, "3");
    let error = world.connect(user("").dpop(Dpop::Always)).await.unwrap_err();
    assert!(Chain(&error).to_string().contains("binds tokens to keys"), "{}", Chain(&error));
}

/// A subscription begins again in the background, so only calls ask the user.
#[tokio::test]
async fn a_subscription_opens_no_browser() {
    let world = World::new();
    let pages: Arc<Mutex<Vec<String>>> = Arc::default();
    let client = world.connect(user_who_notes(pages.clone(), "")).await.unwrap();
    world.expire();
    world.state.lock().unwrap().refresh_refusal = Some("invalid_grant");
    let none: [&str; 0] = [];
    let error = client.watch(none).await.unwrap_err();
    assert!(error.needs_sign_in(), "{}", Chain(&error));
    assert_eq!(pages.lock().unwrap().len(), 1, "the page of the first login");
    assert_eq!(sum(&client).await, "3");
    assert_eq!(pages.lock().unwrap().len(), 2, "a call asks the user");
    client.watch(none).await.unwrap();
}

#[tokio::test]
async fn a_user_signs_in_on_another_device() {
    let world = World::new().with(|state| {
        state.server = json!({"device_authorization_endpoint": "https://id.example/device"});
        state.pending = vec!["authorization_pending"];
    });
    let shown: Arc<Mutex<Vec<String>>> = Arc::default();
    let tell = shown.clone();
    let oauth = OAuth::device(move |code| {
        tell.lock().unwrap().push(code.to_string());
        async {}
    });
    let client = world.connect(oauth.clone()).await.unwrap();
    assert_eq!(sum(&client).await, "3");
    let texts = shown.lock().unwrap().clone();
    assert_eq!(texts, ["To sign in, open https://id.example/enter and enter the code WDJB-MJHT"]);
    assert_eq!(world.forms_sent_to("/token").len(), 2, "it asked again");
    let world = World::new().with(|state| {
        state.server = json!({"device_authorization_endpoint": "https://id.example/device"});
        state.pending = vec!["access_denied"];
    });
    let oauth = oauth.vault(MemoryVault::new());
    let error = Chain(&world.connect(oauth).await.unwrap_err()).to_string();
    assert!(error.contains("declined") && !error.contains("hidden-device-code"), "{error}");
}

#[tokio::test]
async fn a_client_that_was_registered_for_browsers_registers_for_devices() {
    let device = json!({"device_authorization_endpoint": "https://id.example/device"});
    let world = World::new().with(|state| state.server = device);
    let vault = Arc::new(MemoryVault::new());
    assert_eq!(sum(&world.connect(user("").vault(vault.clone())).await.unwrap()).await, "3");
    world.expire();
    world.state.lock().unwrap().refresh_refusal = Some("invalid_grant");
    let oauth = OAuth::device(async |_| {}).vault(vault);
    assert_eq!(sum(&world.connect(oauth).await.unwrap()).await, "3");
    let grants: Vec<_> = world.sent_to("/register").into_iter().map(|(_, _, body)| body).collect();
    assert_eq!(grants.len(), 2);
    assert!(!grants[0].contains("device_code") && grants[1].contains("device_code"), "{grants:?}");
}

#[tokio::test]
async fn the_identity_provider_of_a_company_vouches_for_the_user() {
    let idp = || Idp::new("https://sso.example", "app-at-sso", "hidden-at-sso");
    let oauth = || {
        OAuth::enterprise(idp(), async || Ok("identity-token\n".to_owned()))
            .client_id("app-at-id")
            .client_secret("hidden-at-id")
            .for_issuer("https://id.example")
    };
    let world = World::new();
    let client = world.connect(oauth()).await.unwrap();
    assert_eq!(sum(&client).await, "3");
    let exchange = &world.forms_sent_to("sso.example/token")[0];
    for (name, value) in [
        ("requested_token_type", "urn:ietf:params:oauth:token-type:id-jag"),
        ("subject_token", "identity-token"),
        ("audience", "https://id.example"),
        ("resource", "https://mcp.example/mcp"),
    ] {
        assert!(exchange.contains(&(name.to_owned(), value.to_owned())), "{name}: {exchange:?}");
    }
    let grant = &world.forms_sent_to("id.example/token")[0];
    assert!(grant.contains(&("assertion".to_owned(), "grant-for-id".to_owned())), "{grant:?}");
    assert_eq!(world.sent_to("/authorize").len(), 0, "no page was opened");
    let profiles = json!({"authorization_grant_profiles_supported": ["other"]});
    let world = World::new().with(|state| state.server = profiles);
    let error = Chain(&world.connect(oauth()).await.unwrap_err()).to_string();
    assert!(error.contains("takes no grants of identity providers"), "{error}");
    assert_eq!(world.sent_to("sso.example").len(), 0);
}

#[tokio::test]
async fn a_client_that_was_forgotten_registers_again() {
    let world = World::new();
    let client = world.connect(user("")).await.unwrap();
    world.state.lock().unwrap().refresh_refusal = Some("invalid_client");
    world.expire();
    assert_eq!(sum(&client).await, "3");
    assert_eq!(world.sent_to("/register").len(), 2);
}

/// A wrong secret is a mistake of the application, which can be corrected: the login is still good.
#[tokio::test]
async fn a_client_of_the_application_that_is_refused_keeps_its_login() {
    let world = World::new();
    let pages: Arc<Mutex<Vec<String>>> = Arc::default();
    let oauth = user_who_notes(pages.clone(), "").client_id("front").client_secret("hidden-secret");
    let client = world.connect(oauth.for_issuer("https://id.example")).await.unwrap();
    world.state.lock().unwrap().refresh_refusal = Some("invalid_client");
    world.expire();
    let error = client.call("add", json!({"a": 1, "b": 2})).await.unwrap_err();
    assert!(Chain(&error).to_string().contains("gives no token: invalid_client"), "{}", Chain(&error));
    world.state.lock().unwrap().refresh_refusal = None;
    assert_eq!(sum(&client).await, "3");
    assert_eq!(pages.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn a_login_that_another_process_has_ended_is_not_renewed() {
    let world = World::new();
    let pages: Arc<Mutex<Vec<String>>> = Arc::default();
    let vault = Arc::new(MemoryVault::new());
    let client = world.connect(user_who_notes(pages.clone(), "").vault(vault.clone())).await.unwrap();
    assert!(world.http(user("").vault(vault)).sign_out().await.unwrap().was_signed_in);
    world.expire();
    assert_eq!(sum(&client).await, "3");
    let grants: Vec<_> = world.forms_sent_to("/token").into_iter().map(|form| form[0].1.clone()).collect();
    assert_eq!(grants, ["authorization_code", "authorization_code"]);
    assert_eq!(pages.lock().unwrap().len(), 2, "the user signs in again");
}

#[tokio::test]
async fn a_token_without_a_key_is_not_renewed_where_keys_are_needed() {
    let world =
        World::new().with(|state| state.server = json!({"dpop_signing_alg_values_supported": ["ES256"]}));
    let client = world.connect(user("")).await.unwrap();
    world.state.lock().unwrap().challenges = vec![BINDS];
    assert_eq!(sum(&client).await, "3");
    let grants: Vec<_> = world.forms_sent_to("/token").into_iter().map(|form| form[0].1.clone()).collect();
    assert_eq!(grants, ["authorization_code", "authorization_code"]);
}

#[tokio::test]
async fn a_login_that_replaces_a_token_with_a_key_has_one_without_being_asked() {
    let world = World::new().with(|state| {
        state.challenges = vec![BINDS];
        state.server = json!({"dpop_signing_alg_values_supported": ["ES256"]});
        state.expires_in = Some(0);
    });
    let pages: Arc<Mutex<Vec<String>>> = Arc::default();
    let client = world.connect(user_who_notes(pages.clone(), "")).await.unwrap();
    {
        let mut state = world.state.lock().unwrap();
        (state.expires_in, state.refresh_refusal) = (None, Some("invalid_grant"));
    }
    // The token has expired, so it is replaced before the server says what it needs.
    assert_eq!(sum(&client).await, "3");
    assert_eq!(pages.lock().unwrap().len(), 2);
}

#[tokio::test]
async fn a_token_that_lives_on_is_asked_for_with_consent() {
    let world = World::new().with(|state| state.server = json!({"scopes_supported": ["offline_access"]}));
    let pages: Arc<Mutex<Vec<String>>> = Arc::default();
    world.connect(user_who_notes(pages.clone(), "")).await.unwrap();
    let pages = pages.lock().unwrap();
    assert!(pages[0].contains("scope=offline_access") && pages[0].contains("prompt=consent"), "{pages:?}");
}

#[tokio::test]
async fn a_platform_says_what_a_program_is() {
    let world = World::new();
    let oauth = OAuth::workload(async |target| Ok(format!("{}\n", platform_token(json!(target.issuer)))));
    assert_eq!(sum(&world.connect(oauth).await.unwrap()).await, "3");
    let form = &world.forms_sent_to("/token")[0];
    for (name, value) in [
        ("grant_type", "urn:ietf:params:oauth:grant-type:jwt-bearer"),
        ("assertion", &platform_token(json!("https://id.example"))),
        ("resource", "https://mcp.example/mcp"),
    ] {
        assert!(form.contains(&(name.to_owned(), value.to_owned())), "{name}: {form:?}");
    }
    assert_eq!(world.sent_to("/register").len(), 0, "it needs no other name");
}

/// A token of the platform with this `aud`.
fn platform_token(audience: Value) -> String {
    let encode = |value: Value| base64_simd::URL_SAFE_NO_PAD.encode_to_string(value.to_string());
    format!("{}.{}.c2lnbmF0dXJl", encode(json!({"alg": "ES256"})), encode(json!({"aud": audience})))
}

/// The MCP server names the authorization server, and a hostile one could use the token of the platform elsewhere.
#[tokio::test]
async fn a_token_of_the_platform_goes_only_to_the_authorization_server_that_it_is_for() {
    let other = json!({"token_endpoint": "https://other.example/token"});
    for (audience, server, is_sent) in [
        (json!("https://id.example"), json!({}), true),
        (json!("https://id.example/token"), json!({}), true),
        (json!(["https://id.example", "https://id.example/token"]), json!({}), true),
        (json!("https://other.example"), json!({}), false),
        (json!(["https://id.example", "https://other.example"]), json!({}), false),
        (json!("https://other.example/token"), other, false),
        (json!([]), json!({}), false),
        (json!(null), json!({}), false),
    ] {
        let world = World::new().with(|state| state.server = server.clone());
        let token = platform_token(audience.clone());
        let oauth = OAuth::workload(move |_| std::future::ready(Ok(token.clone())));
        let outcome = world.connect(oauth.clone().vault(MemoryVault::new())).await;
        assert_eq!((outcome.is_ok(), world.sent_to("/token").len()), (is_sent, is_sent.into()), "{audience}");
        if let Err(error) = outcome {
            let text = Chain(&error).to_string();
            assert!(text.contains("https://id.example,") && text.contains("`OAuth::for_issuer`"), "{text}");
        }
        // An application that names the authorization server has decided.
        let world = World::new();
        world.connect(oauth.for_issuer("https://id.example")).await.unwrap();
        assert_eq!(world.sent_to("/token").len(), 1, "{audience}");
    }
    let opaque = || OAuth::workload(async |_| Ok("opaque".to_owned()));
    let world = World::new();
    world.connect(opaque()).await.unwrap_err();
    world.connect(opaque().for_issuer("https://other.example")).await.unwrap_err();
    assert_eq!(world.sent_to("/token").len(), 0);
    world.connect(opaque().for_any_issuer()).await.unwrap();
}

/// An extension is declared only if the application has chosen it.
#[tokio::test]
async fn extensions_of_signing_in_are_declared_if_they_are_chosen() {
    let id = "io.modelcontextprotocol";
    let (credentials, wif) = (format!("{id}/oauth-client-credentials"), format!("{id}/auth/wif"));
    let (enterprise, dpop) = (format!("{id}/enterprise-managed-authorization"), format!("{id}/auth/dpop"));
    let workload = || OAuth::workload(async |target| Ok(platform_token(json!(target.issuer))));
    let secret = || OAuth::client_credentials("reports", "hidden-secret").for_issuer("https://id.example");
    let idp = Idp::new("https://sso.example", "app-at-sso", "hidden-at-sso");
    let company = OAuth::enterprise(idp, async || Ok("identity-token".to_owned()));
    for (oauth, declared) in [
        (user(""), vec![]),
        (user("").dpop(Dpop::Never), vec![]),
        (user("").dpop(Dpop::Always), vec![&dpop]),
        (OAuth::tokens(OwnToken).dpop(Dpop::Always), vec![]),
        (secret(), vec![&credentials]),
        (secret().dpop(Dpop::Always), vec![&dpop, &credentials]),
        (workload(), vec![&wif]),
        (company.client_id("app-at-id").for_issuer("https://id.example"), vec![&enterprise]),
    ] {
        for version in [ProtocolVersion::LATEST, ProtocolVersion::V2025_11_25] {
            let world = World::new().with(|state| {
                state.server = json!({"dpop_signing_alg_values_supported": ["ES256"]});
                state.valid = ["own".to_owned()].into();
                if declared.contains(&&dpop) {
                    state.challenges = vec![BINDS];
                }
            });
            let http = world.http(oauth.clone().vault(MemoryVault::new()));
            let client = Client::builder().protocol(version).connect_http(http).await;
            let client = client.unwrap_or_else(|error| panic!("{oauth:?}: {}", Chain(&error)));
            assert_eq!(sum(&client).await, "3");
            let place = match version {
                ProtocolVersion::LATEST => "/params/_meta/io.modelcontextprotocol~1clientCapabilities",
                _ => "/params/capabilities",
            };
            let sent = world.sent_to("mcp.example/mcp").into_iter();
            let sent = sent.filter_map(|(_, _, body)| serde_json::from_str::<Value>(&body).ok());
            let all: Vec<_> = sent.filter_map(|message| message.pointer(place).cloned()).collect();
            assert!(!all.is_empty(), "{version}");
            let expected: BTreeMap<_, _> = declared.iter().map(|name| (*name, json!({}))).collect();
            let expected = (!expected.is_empty()).then_some(expected);
            for capabilities in all {
                assert_eq!(capabilities["extensions"], json!(expected), "{oauth:?} in {version}");
            }
        }
    }
}

struct OwnToken;

impl TokenSource for OwnToken {
    fn token(&self, _: TokenRequest) -> BoxFuture<'_, toolway::Result<AccessToken>> {
        Box::pin(std::future::ready(Ok(AccessToken::new("own"))))
    }
}

/// Gives the token that the server takes, from the second time on.
struct Broker(AtomicUsize);

impl TokenSource for Broker {
    fn token(&self, request: TokenRequest) -> BoxFuture<'_, toolway::Result<AccessToken>> {
        assert_eq!(request.server, "https://mcp.example/mcp");
        let count = self.0.fetch_add(1, Ordering::SeqCst);
        assert_eq!(request.was_refused, count > 0);
        Box::pin(async move { Ok(AccessToken::new(format!("own-{count}"))) })
    }
}

#[tokio::test]
async fn an_application_may_have_its_own_tokens() {
    let world = World::new();
    world.state.lock().unwrap().valid.insert("own-1".to_owned());
    let client = world.connect(OAuth::tokens(Broker(AtomicUsize::new(0)))).await.unwrap();
    assert_eq!(sum(&client).await, "3");
    assert_eq!(world.sent_to("id.example").len(), 0);
}

#[tokio::test]
async fn a_builder_signs_in_to_any_server() {
    let world = World::new();
    let target = toolway::client::Http::new("https://mcp.example/mcp").with_client(world.clone());
    let builder = Client::builder().protocol(ProtocolVersion::LATEST).oauth(user(""));
    assert_eq!(sum(&builder.connect(target).await.unwrap()).await, "3");
    let mistake = Client::builder().oauth(OAuth::client_credentials("id", "hidden-secret"));
    let error = mistake.connect("http://127.0.0.1:1/mcp").await.unwrap_err();
    assert!(error.to_string().contains("for_issuer"), "{error}");
}

#[tokio::test]
async fn a_login_can_be_looked_at_and_ended() {
    let world = World::new().with(|state| {
        state.expires_in = Some(3600);
        state.server = json!({"revocation_endpoint": "https://id.example/revoke"});
    });
    let vault = Arc::new(MemoryVault::new());
    let oauth = user("").vault(vault.clone());
    let server = world.http(oauth.clone());
    assert_eq!(server.sign_in_status().await.unwrap(), None);
    assert!(!server.sign_out().await.unwrap().was_signed_in);
    let client = world.connect(oauth.clone()).await.unwrap();
    let status = server.sign_in_status().await.unwrap().unwrap();
    assert_eq!((status.issuer.as_str(), status.client_id.as_str()), ("https://id.example", "registered"));
    assert!(status.can_renew && !status.is_bound && status.expires_in > Some(Duration::from_secs(3000)));
    assert!(!format!("{status:?}").contains("token-1"));
    let ended = server.sign_out().await.unwrap();
    assert!(ended.was_signed_in && ended.is_revoked);
    let kinds: Vec<_> = world.forms_sent_to("/revoke").into_iter().map(|form| form[1].1.clone()).collect();
    assert_eq!(kinds, ["refresh_token", "access_token"]);
    assert_eq!(server.sign_in_status().await.unwrap(), None);
    // The registration is forgotten, too.
    drop(client);
    assert_eq!(sum(&world.connect(oauth).await.unwrap()).await, "3");
    assert_eq!(world.sent_to("/register").len(), 2);
}

#[tokio::test]
async fn a_secret_that_only_revocation_needs_is_sent_there() {
    let world = World::new().with(|state| {
        state.server = json!({
            "revocation_endpoint": "https://id.example/revoke",
            "revocation_endpoint_auth_methods_supported": ["client_secret_basic"],
        });
        // As the provider canaille: the client has asked for none.
        state.registration = json!({"client_secret": "hidden-secret", "token_endpoint_auth_method": "none"});
    });
    let oauth = user("").vault(Arc::new(MemoryVault::new()));
    let server = world.http(oauth.clone());
    let _client = world.connect(oauth).await.unwrap();
    let sent = world.forms_sent_to("/token");
    assert!(sent[0].iter().any(|(name, value)| name == "client_id" && value == "registered"));
    assert!(sent[0].iter().all(|(_, value)| value != "hidden-secret"));
    assert!(server.sign_out().await.unwrap().is_revoked);
}

/// A user who signs in when told.
fn slow_user(is_back: Arc<Notify>) -> OAuth {
    OAuth::device(move |_| {
        let is_back = is_back.clone();
        async move { is_back.notified().await }
    })
}

#[tokio::test]
async fn the_time_of_a_login_is_not_time_of_the_call() {
    let world = World::new()
        .with(|state| state.server = json!({"device_authorization_endpoint": "https://id.example/device"}));
    let is_back = Arc::new(Notify::new());
    let (oauth, limit) = (slow_user(is_back.clone()), Duration::from_secs(2));
    let builder = Client::builder().protocol(ProtocolVersion::LATEST).connect_timeout(limit).timeout(limit);
    let target = world.http(oauth);
    let connecting = tokio::spawn(async move { builder.deadline(limit).connect(target).await });
    tokio::time::sleep(limit * 3 / 2).await;
    assert!(!connecting.is_finished(), "the user takes time");
    is_back.notify_one();
    let client = connecting.await.unwrap().unwrap();
    {
        let mut state = world.state.lock().unwrap();
        (state.refresh_refusal, state.valid) = (Some("invalid_grant"), [].into());
    }
    let call = tokio::spawn(async move { sum(&client).await });
    tokio::time::sleep(limit * 3 / 2).await;
    assert!(!call.is_finished(), "the user takes time");
    is_back.notify_one();
    assert_eq!(call.await.unwrap(), "3");
}

#[tokio::test]
async fn the_clients_of_a_hub_sign_in_as_others_do() {
    let world = World::new().with(|state| {
        state.server = json!({"device_authorization_endpoint": "https://id.example/device"});
        state.challenges = vec![BINDS];
    });
    let is_back = Arc::new(Notify::new());
    let limit = Duration::from_secs(1);
    let client = Client::builder().protocol(ProtocolVersion::LATEST).connect_timeout(limit);
    let hub =
        Hub::builder().client(client.oauth(slow_user(is_back.clone()).dpop(Dpop::Always))).build().unwrap();
    let server = toolway::client::Http::new("https://mcp.example/mcp").with_client(world.clone());
    let connecting = tokio::spawn({
        let hub = hub.clone();
        async move { hub.connect("calc", server).await.map(drop) }
    });
    // The time of the user is not time for connecting, and no reason to try again.
    tokio::time::sleep(limit * 3 / 2).await;
    assert!(!connecting.is_finished(), "the user takes time");
    is_back.notify_one();
    connecting.await.unwrap().unwrap();
    assert_eq!(world.sent_to("/device").len(), 1);
    let (_, _, first) = &world.sent_to("mcp.example/mcp")[0];
    assert!(first.contains("io.modelcontextprotocol/auth/dpop"), "{first}");
}
