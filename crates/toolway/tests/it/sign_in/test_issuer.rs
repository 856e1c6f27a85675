//! Does the authorization server for tests do what it says, and do clients notice when it misbehaves?

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use serde_json::json;
use tokio::sync::Notify;
use toolway::client::{Http, MemoryVault, OAuth, StoreVault, Vault, VaultGuard, VaultKey};
use toolway::prelude::*;
use toolway::store::MemoryStore;
use toolway::testing::{Issuer, IssuerFault};
use toolway::{BoxFuture, Chain, ErrorKind};

use super::world::{add, sum};

async fn start() -> (Issuer, String) {
    let issuer = Issuer::start().await.unwrap();
    let server = Server::new("calculator", "1.0.0").tools(tools![add]).build().unwrap();
    let url = issuer.protect(&server).await.unwrap();
    (issuer, url)
}

async fn connect(url: &str, oauth: OAuth) -> toolway::Result<Client> {
    Client::builder().retries(0).oauth(oauth).connect(url).await
}

#[tokio::test]
async fn a_user_signs_in_and_the_token_is_renewed() {
    let (issuer, url) = start().await;
    let error = Client::connect_http(&*url).await.expect_err("no caller gets in uninvited");
    assert!(error.needs_sign_in(), "{error}");
    let challenge = error.challenge().unwrap();
    assert!(challenge.starts_with("Bearer resource_metadata=\"http://127.0.0.1:"), "{challenge}");
    let client = connect(&url, issuer.user()).await.unwrap();
    assert_eq!(sum(&client).await, "3");
    issuer.expire_tokens();
    assert_eq!(sum(&client).await, "3");
    let tokens = |request: &&String| request.contains("/token");
    let requests = issuer.requests();
    let requests: Vec<_> = requests.iter().filter(tokens).collect();
    assert_eq!(requests, ["POST /token authorization_code", "POST /token refresh_token"]);
}

#[tokio::test]
async fn a_client_with_a_secret_gets_in_and_one_with_another_secret_does_not() {
    let (issuer, url) = start().await;
    issuer.add_client("reports", "s3cret");
    let oauth = |secret| OAuth::client_credentials("reports", secret).for_issuer(issuer.url());
    assert_eq!(sum(&connect(&url, oauth("s3cret")).await.unwrap()).await, "3");
    let error = connect(&url, oauth("wrong")).await.unwrap_err();
    assert!(Chain(&error).to_string().contains("invalid_client"), "{}", Chain(&error));
}

#[tokio::test]
async fn what_is_wrong_with_an_issuer_is_noticed() {
    for (fault, part) in [
        (IssuerFault::WrongName, "calls itself"),
        (IssuerFault::NoPkce, "PKCE"),
        (IssuerFault::NoRegistration, "OAuth::client_id"),
        (IssuerFault::WrongIssuer, "another authorization server"),
        (IssuerFault::Declined, "declined"),
        (IssuerFault::Unavailable, "503"),
        (IssuerFault::WrongAudience, "refuses the token that"),
    ] {
        let (issuer, url) = start().await;
        issuer.misbehave([fault]);
        let error = connect(&url, issuer.user()).await.unwrap_err();
        let text = Chain(&error).to_string();
        assert!(text.contains(part), "{fault:?}: {text}");
        assert!(error.needs_sign_in(), "{fault:?}: {text}");
        assert!(
            error.challenge().is_some_and(|challenge| challenge.contains("resource_metadata=")),
            "{text}"
        );
        issuer.misbehave([]);
        assert_eq!(sum(&connect(&url, issuer.user()).await.unwrap()).await, "3", "{fault:?}");
    }
}

#[tokio::test]
async fn a_login_that_ends_or_a_client_that_is_forgotten_leads_to_a_login() {
    let (issuer, url) = start().await;
    let client = connect(&url, issuer.user()).await.unwrap();
    for break_it in [
        Box::new(|issuer: &Issuer| issuer.misbehave([IssuerFault::RefusedRefresh])) as Box<dyn Fn(&Issuer)>,
        Box::new(Issuer::forget_clients),
    ] {
        let logins = || issuer.requests().iter().filter(|request| request.contains("/authorize")).count();
        let before = logins();
        break_it(&issuer);
        issuer.expire_tokens();
        assert_eq!(sum(&client).await, "3");
        assert_eq!(logins(), before + 1);
        issuer.misbehave([]);
    }
}

#[tokio::test]
async fn tokens_of_a_test_are_checked_like_others() {
    let (issuer, url) = start().await;
    let call = async |token: String| {
        let server = Http::new(&url).bearer(token);
        Client::connect_http(server).await.map(|_| ())
    };
    call(issuer.sign(json!({"sub": "ada", "aud": [&url, "https://other.example"]}))).await.unwrap();
    for claims in [
        json!({"aud": "https://other.example/mcp"}),
        json!({"aud": &url, "exp": 1}),
        json!({"aud": &url, "exp": null}),
        json!({"aud": &url, "iss": "https://other.example"}),
        json!({}),
    ] {
        let error = call(issuer.sign(claims.clone())).await.unwrap_err();
        assert_ne!(error.kind(), ErrorKind::Timeout, "{claims}: {error}");
    }
    let (other, _) = start().await;
    let forged = other.sign(json!({"iss": issuer.url(), "aud": &url}));
    assert!(call(forged).await.is_err(), "the key of another issuer");
    assert_eq!(issuer.key_set()["keys"][0]["kty"], "EC");
    assert!(issuer.sign_with_header(json!({"kid": "other"}), json!({})).starts_with("ey"));
}

/// A vault whose disk is full now and then.
#[derive(Default)]
struct Disk {
    vault: MemoryVault,
    is_full: AtomicBool,
}

impl Vault for Disk {
    fn get<'v>(&'v self, key: &'v VaultKey) -> BoxFuture<'v, toolway::Result<Option<Bytes>>> {
        self.vault.get(key)
    }

    fn swap<'v>(
        &'v self,
        key: &'v VaultKey,
        expected: Option<Bytes>,
        value: Option<Bytes>,
    ) -> BoxFuture<'v, toolway::Result<bool>> {
        if self.is_full.load(Ordering::Relaxed) {
            return Box::pin(async { Err(std::io::Error::other("the disk is full").into()) });
        }
        self.vault.swap(key, expected, value)
    }

    fn lock<'v>(&'v self, key: &'v VaultKey) -> BoxFuture<'v, toolway::Result<VaultGuard>> {
        self.vault.lock(key)
    }
}

#[tokio::test]
async fn a_token_that_could_not_be_kept_is_not_replaced_by_the_dead_one_before_it() {
    let (issuer, url) = start().await;
    let disk = Arc::new(Disk::default());
    let client = connect(&url, issuer.user().vault(disk.clone())).await.unwrap();
    disk.is_full.store(true, Ordering::Relaxed);
    for _ in 0..3 {
        issuer.expire_tokens();
        assert_eq!(sum(&client).await, "3");
    }
    disk.is_full.store(false, Ordering::Relaxed);
    issuer.expire_tokens();
    assert_eq!(sum(&client).await, "3");
    // A new process finds the newest one.
    let other = connect(&url, issuer.user().vault(disk)).await.unwrap();
    issuer.expire_tokens();
    assert_eq!(sum(&other).await, "3");
    let count = |part: &str| issuer.requests().iter().filter(|request| request.contains(part)).count();
    assert_eq!((count("/authorize"), count("refresh_token")), (1, 5));
}

#[tokio::test]
async fn a_program_does_not_act_as_the_user_who_signed_in_to_the_same_server() {
    let (issuer, url) = start().await;
    issuer.add_client("reports", "s3cret");
    issuer.add_client("front", "0ther");
    let vault = Arc::new(MemoryVault::new());
    let count = |part: &str| issuer.requests().iter().filter(|request| request.contains(part)).count();
    let program = || OAuth::client_credentials("reports", "s3cret").for_issuer(issuer.url());
    let front = || issuer.user().client_id("front").client_secret("0ther").for_issuer(issuer.url());
    for _ in 0..2 {
        for oauth in [issuer.user(), program()] {
            assert_eq!(sum(&connect(&url, oauth.vault(vault.clone())).await.unwrap()).await, "3");
        }
    }
    assert_eq!((count("/authorize"), count("client_credentials")), (1, 1), "each has one token");
    // Another client of the user does not take the token, either.
    assert_eq!(sum(&connect(&url, front().vault(vault.clone())).await.unwrap()).await, "3");
    assert_eq!(count("/authorize"), 2);
    assert_eq!(sum(&connect(&url, front().vault(vault.clone())).await.unwrap()).await, "3");
    assert_eq!(count("/authorize"), 2);
    // Signing out ends no other client's login.
    issuer.add_client("back", "third");
    let back = issuer.user().client_id("back").client_secret("third").for_issuer(issuer.url());
    assert!(!Http::new(&*url).oauth(back.vault(vault.clone())).sign_out().await.unwrap().was_signed_in);
    assert!(Http::new(&*url).oauth(front().vault(vault)).sign_in_status().await.unwrap().is_some());
}

#[tokio::test]
async fn a_login_that_ends_after_the_user_has_signed_out_is_not_used() {
    let (_issuer, url) = start().await;
    let (asked, answer) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let oauth = OAuth::browser().open_with({
        let (asked, answer) = (asked.clone(), answer.clone());
        move |_| {
            let (asked, answer) = (asked.clone(), answer.clone());
            async move {
                asked.notify_one();
                answer.notified().await;
                Err(std::io::Error::other("the user has gone").into())
            }
        }
    });
    let server = Http::new(&*url).oauth(oauth);
    let connecting = tokio::spawn(Client::connect_http(server.clone()).into_future());
    asked.notified().await;
    assert!(!server.sign_out().await.unwrap().was_signed_in, "signing out waits for no user");
    answer.notify_one();
    assert!(connecting.await.unwrap().is_err());
    assert!(server.sign_in_status().await.unwrap().is_none());
}

#[tokio::test]
async fn machines_that_share_a_store_sign_in_once() {
    let (issuer, url) = start().await;
    let store = Arc::new(MemoryStore::new());
    let vault = || StoreVault::new(store.clone(), [7; 32]);
    let mut calls = tokio::task::JoinSet::new();
    let first = connect(&url, issuer.user().vault(vault())).await.unwrap();
    assert_eq!(sum(&first).await, "3");
    for _ in 0..8 {
        let (url, oauth) = (url.clone(), issuer.user().vault(vault()));
        calls.spawn(async move { sum(&connect(&url, oauth).await.unwrap()).await });
    }
    assert!(calls.join_all().await.iter().all(|sum| sum == "3"));
    let count = |part: &str| issuer.requests().iter().filter(|request| request.contains(part)).count();
    assert_eq!((count("/authorize"), count("refresh_token")), (1, 0));
    // Another key cannot read it, and says so.
    let error = connect(&url, issuer.user().vault(StoreVault::new(store, [8; 32]))).await.unwrap_err();
    assert!(Chain(&error).to_string().contains("cannot be decrypted"), "{}", Chain(&error));
}
