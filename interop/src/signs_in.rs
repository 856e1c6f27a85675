//! Does our client sign in to our protected server, with a real identity provider?
//!
//! The checks have the same names as those of `interop/signs_in.mjs` and `interop/signs_in.py`.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::json;
use toolway::Client;
use toolway::client::Http;

use crate::auth::{Protected, as_user};
use crate::browser;
use crate::check::{Checked, Report, Unmet, holds, in_time, same, says};
use crate::era::Era;
use crate::talk::patient;

/// Checks that the client is refused without a token, and with one that is for another server.
pub(crate) async fn play_refusal(server: &Protected, era: Era, report: &mut Report) {
    let none = async { refused(connect(server, era, None).await, "authentication is required") };
    report.check("refused", "without a token it is not let in", none).await;
    let other = async {
        let issuer = server.issuer.as_deref().ok_or("no issuer was named")?;
        connect(server, era, Some(browser::token(issuer, &server.url).await?)).await?;
        let token = browser::token(issuer, &format!("{issuer}/other")).await?;
        refused(connect(server, era, Some(token)).await, "the token is for another server")
    };
    report.check("refused", "a fixed token lets it in, but not one for another server", other).await;
}

/// Signs in as a user, renews the token, and gets one with more scopes.
pub(crate) async fn play(server: &Protected, era: Era, report: &mut Report) {
    let signed_in = in_time(User::sign_in(server, era)).await;
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

/// Connects, with a fixed token or without one, and lists the tools.
async fn connect(server: &Protected, era: Era, token: Option<String>) -> Checked {
    let http = Http::new(&server.url);
    let http = match token {
        Some(token) => http.bearer(token),
        None => http,
    };
    let client = era.dress(patient().retries(0)).connect_http(http).await?;
    client.tools().await?;
    Ok(client.close().await?)
}

/// Checks that a connection has failed, and with this reason.
fn refused(connected: Checked, reason: &str) -> Checked {
    match connected {
        Err(why) => says(&why.to_string(), reason),
        Ok(()) => Err("it is let in".into()),
    }
}

/// A client whose user has signed in.
struct User {
    client: Client,
    logins: Arc<AtomicUsize>,
}

/// The reply of the tool `whoami`.
struct Caller {
    name: String,
    token: String,
    revision: String,
    scopes: Vec<String>,
}

impl User {
    async fn sign_in(server: &Protected, era: Era) -> Checked<Self> {
        let logins = Arc::new(AtomicUsize::new(0));
        let http = Http::new(&server.url).oauth(as_user(logins.clone()));
        let user = Self { client: era.dress(patient()).connect_http(http).await?, logins };
        same(&user.client.protocol_version(), &era.version())?;
        let tools = user.client.tools().await?;
        let mut names: Vec<&str> = tools.iter().map(|tool| tool.name.as_str()).collect();
        names.sort_unstable();
        same(&names, &["put", "search", "whoami"])?;
        let caller = user.whoami().await?;
        same(caller.name.as_str(), browser::USER)?;
        same(caller.revision.as_str(), era.revision())?;
        same(&caller.scopes, &["notes:read"])?;
        let found = user.client.call("search", json!({"text": "tea"})).await?.text()?;
        same(found.as_str(), "nothing about tea")?;
        user.has_signed_in(1)?;
        Ok(user)
    }

    /// Waits until the token must have been renewed, and calls a tool.
    async fn renews(&self, age: Duration, logins: usize, scopes: &[&str]) -> Checked {
        let before = self.whoami().await?;
        tokio::time::sleep(age).await;
        let after = self.whoami().await?;
        holds(after.token != before.token, "it is still the first token")?;
        same(&after.name, &before.name)?;
        same(&after.scopes, scopes)?;
        self.has_signed_in(logins)
    }

    /// Calls a tool that needs a scope more.
    async fn steps_up(&self) -> Checked {
        let saved = self.client.call("put", json!({"text": "tea"})).await?.text()?;
        same(saved.as_str(), "ann saved tea")?;
        same(&self.whoami().await?.scopes, &["notes:read", "notes:write"])?;
        self.has_signed_in(2)
    }

    async fn whoami(&self) -> Checked<Caller> {
        let text = self.client.call("whoami", json!({})).await?.text()?;
        let mut words = text.split(' ').map(str::to_owned);
        let mut next = || words.next().ok_or("the tool did not return a name, a token and a revision");
        let (name, token, revision) = (next()?, next()?, next()?);
        let mut scopes: Vec<String> = words.collect();
        scopes.sort_unstable();
        Ok(Caller { name, token, revision, scopes })
    }

    fn has_signed_in(&self, times: usize) -> Checked {
        let logins = self.logins.load(Ordering::Relaxed);
        holds(logins == times, format!("the user has signed in {logins} times instead of {times}"))
    }
}
