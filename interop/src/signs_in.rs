//! Does our client sign in to our protected server, with a real identity provider?
//!
//! The checks have the same names as those of `interop/signs_in.mjs` and `interop/signs_in.py`.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use toolway::Client;
use toolway::client::{Dpop, Http, OAuth};

use crate::auth::{Protected, as_user};
use crate::browser;
use crate::check::{Checked, Report, Unmet, holds, in_time, same, says};
use crate::era::Era;
use crate::talk::patient;

/// Checks that the client is refused without a token, and with one that is for another server.
pub(crate) async fn play_refusal(server: &Protected, era: Era, report: &mut Report) {
    let connect = async |token| connect(&server.url, era, token).await;
    let none = async { refused(connect(None).await, "authentication is required") };
    report.check("refused", "without a token it is not let in", none).await;
    let other = async {
        let issuer = server.issuer.as_deref().ok_or("no issuer was named")?;
        connect(Some(browser::token(issuer, &server.url).await?)).await?;
        let token = browser::token(issuer, &format!("{issuer}/other")).await?;
        refused(connect(Some(token)).await, "the token is for another server")
    };
    report.check("refused", "a fixed token lets it in, but not one for another server", other).await;
}

/// Signs in as a user, renews the token, and gets one with more scopes.
pub(crate) async fn play(server: &Protected, era: Era, report: &mut Report) {
    let signed_in = in_time(User::sign_in(&server.url, era, &["notes:read"])).await;
    let outcome = signed_in.as_ref().map(drop).map_err(Clone::clone);
    report.tell("signs in", "a user signs in, sees the tools and calls them", outcome);
    let user = || signed_in.as_ref().map_err(|_| Unmet::from("there was no login"));
    let renewed = async { user()?.renews(server.life, 1, &["notes:read"]).await };
    report.check("refreshes", "an expired token is renewed without the user", renewed).await;
    let more = async { user()?.steps_up().await };
    report.check("steps up", "a call that needs more scopes gets a token with them", more).await;
    let renewed = async { user()?.renews(server.life, 2, &["notes:read", "notes:write"]).await };
    report.check("steps up", "the new token is renewed without the user, with its scopes", renewed).await;
}

/// Signs in as a client that is known by the document about it, with a token that is bound to a key. The identity provider
/// wants its nonce in each proof.
pub(crate) async fn play_bound(server: &Protected, era: Era, report: &mut Report) {
    let oauth = |oauth: OAuth| oauth.client_metadata_url(DOCUMENT).dpop(Dpop::Always);
    let signed_in = in_time(User::sign_in_with(&server.url, era, &["notes:read"], oauth)).await;
    let outcome = signed_in.as_ref().map(drop).map_err(Clone::clone);
    report.tell("signs in", "a user signs in, sees the tools and calls them", outcome);
    let user = || signed_in.as_ref().map_err(|_| Unmet::from("there was no login"));
    let is_bound = async { user()?.is_bound().await };
    report
        .check("signs in", "the token is for the client of the document, and bound to a key", is_bound)
        .await;
    let renewed = async {
        user()?.renews(server.life, 1, &["notes:read"]).await?;
        user()?.is_bound().await
    };
    report.check("refreshes", "an expired token is renewed without the user, and bound again", renewed).await;
    let more = async {
        user()?.steps_up().await?;
        user()?.is_bound().await
    };
    report.check("steps up", "a call that needs more scopes gets a token with them, bound again", more).await;
}

/// Connects, with a fixed token or without one, and lists the tools.
pub(crate) async fn connect(url: &str, era: Era, token: Option<String>) -> Checked {
    let http = Http::new(url);
    let http = match token {
        Some(token) => http.bearer(token),
        None => http,
    };
    let client = era.dress(patient().retries(0)).connect_http(http).await?;
    client.tools().await?;
    Ok(client.close().await?)
}

/// Checks that a connection has failed, and with this reason.
pub(crate) fn refused(connected: Checked, reason: &str) -> Checked {
    match connected {
        Err(why) => says(&why.to_string(), reason),
        Ok(()) => Err("it is let in".into()),
    }
}

/// A client whose user has signed in.
pub(crate) struct User {
    pub(crate) client: Client,
    /// The server, with the login of the user.
    pub(crate) http: Http,
    logins: Arc<AtomicUsize>,
}

/// The reply of the tool `whoami`.
pub(crate) struct Caller {
    pub(crate) name: String,
    pub(crate) token: String,
    revision: String,
    pub(crate) scopes: Vec<String>,
}

impl User {
    /// Signs in, and checks that the token has these scopes.
    pub(crate) async fn sign_in(url: &str, era: Era, scopes: &[&str]) -> Checked<Self> {
        Self::sign_in_with(url, era, scopes, |oauth| oauth).await
    }

    /// Signs in with other settings.
    async fn sign_in_with(
        url: &str,
        era: Era,
        scopes: &[&str],
        change: impl FnOnce(OAuth) -> OAuth,
    ) -> Checked<Self> {
        let logins = Arc::new(AtomicUsize::new(0));
        let http = Http::new(url).oauth(change(as_user(logins.clone())));
        let user = Self { client: era.dress(patient()).connect_http(http.clone()).await?, http, logins };
        same(&user.client.protocol_version(), &era.version())?;
        let tools = user.client.tools().await?;
        let mut names: Vec<&str> = tools.iter().map(|tool| tool.name.as_str()).collect();
        names.sort_unstable();
        same(&names, &["put", "search", "whoami"])?;
        let caller = Caller::ask(&user.client).await?;
        same(caller.name.as_str(), browser::USER)?;
        same(caller.revision.as_str(), era.revision())?;
        same(&caller.scopes, scopes)?;
        let found = user.client.call("search", json!({"text": "tea"})).await?.text()?;
        same(found.as_str(), "nothing about tea")?;
        user.has_signed_in(1)?;
        Ok(user)
    }

    /// Waits until the token must have been renewed, and calls a tool.
    async fn renews(&self, age: Duration, logins: usize, scopes: &[&str]) -> Checked {
        let before = Caller::ask(&self.client).await?;
        tokio::time::sleep(age).await;
        let after = Caller::ask(&self.client).await?;
        holds(after.token != before.token, "it is still the first token")?;
        same(&after.name, &before.name)?;
        same(&after.scopes, scopes)?;
        self.has_signed_in(logins)
    }

    /// Calls a tool that needs a scope more, for which the user has to sign in once more.
    pub(crate) async fn steps_up(&self) -> Checked {
        let logins = self.logins();
        self.saves().await?;
        same(&Caller::ask(&self.client).await?.scopes, &["notes:read", "notes:write"])?;
        self.has_signed_in(logins + 1)
    }

    /// Checks the claims of a token that is bound to a key.
    async fn is_bound(&self) -> Checked {
        let claims = self.client.read_resource("notes://claims").await?;
        let claims: Value = serde_json::from_str(claims.text().ok_or("there are no claims")?)?;
        same(&claims["client_id"].as_str(), &Some(DOCUMENT))?;
        holds(claims["cnf"]["jkt"].is_string(), "it is not bound to a key")
    }

    /// Calls the tool that needs the scope `notes:write`.
    pub(crate) async fn saves(&self) -> Checked {
        let saved = self.client.call("put", json!({"text": "tea"})).await?.text()?;
        same(saved.as_str(), "ann saved tea")
    }

    pub(crate) fn logins(&self) -> usize {
        self.logins.load(Ordering::Relaxed)
    }

    pub(crate) fn has_signed_in(&self, times: usize) -> Checked {
        let logins = self.logins();
        holds(logins == times, format!("the user has signed in {logins} times instead of {times}"))
    }
}

impl Caller {
    pub(crate) async fn ask(client: &Client) -> Checked<Self> {
        let text = client.call("whoami", json!({})).await?.text()?;
        let mut words = text.split_whitespace().map(str::to_owned);
        let mut next = || words.next().ok_or("the tool did not return a name, a token and a revision");
        let (name, token, revision) = (next()?, next()?, next()?);
        let mut scopes: Vec<String> = words.collect();
        scopes.sort_unstable();
        Ok(Self { name, token, revision, scopes })
    }
}

/// The document about a client that `interop/idp.mjs` knows.
const DOCUMENT: &str = "https://client.example/app.json";
