//! Does our client sign in to servers on other SDKs, with a real identity provider?
//!
//! The tool `whoami` of these servers returns the name of the caller and the name of the token, so that a check sees
//! who has signed in and when the token is another one.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::json;
use tokio::task::JoinSet;
use toolway::client::{FileVault, Http, OAuth};
use toolway::{Client, Error, ErrorKind};

use crate::browser;
use crate::check::{Checked, Report, Unmet, holds, in_time, not_here, same, says};
use crate::era::Era;
use crate::talk::patient;

/// A protected server.
#[derive(Clone, Debug)]
pub(crate) struct Protected {
    /// The URL of its MCP endpoint.
    pub(crate) url: String,
    /// The life of an access token.
    pub(crate) life: Duration,
    /// The authorization server at which programs sign in; `None` if only users can.
    pub(crate) issuer: Option<String>,
}

/// Checks that the server is protected at all.
pub(crate) async fn play_refusal(server: &Protected, era: Era, report: &mut Report) {
    report.check("refusal", "a client that does not sign in is not let in", server.refuses(era)).await;
}

/// Signs in, as a user with a browser or with another device, and as a program.
pub(crate) async fn play(server: &Protected, era: Era, report: &mut Report) {
    let vault = VaultFolder::new(era);
    let logins = Arc::new(AtomicUsize::new(0));
    let user = || as_user(logins.clone()).vault(FileVault::new(&vault.0));
    let one_login = || same(&logins.load(Ordering::Relaxed), &1);
    let first = in_time(server.sign_in(era, user(), browser::USER)).await;
    report.tell("browser", "a user signs in and calls a tool", outcome(&first));
    let second = in_time(server.sign_in(era, user(), browser::USER)).await;
    let outcome_of_second = outcome(&second).and_then(|()| one_login());
    report.tell("browser", "another client with the same vault needs no login", outcome_of_second);
    let renewed = async {
        server.renews([first, second]).await?;
        one_login()
    };
    report.check("browser", "both renew the token without the user", renewed).await;

    let device = in_time(server.sign_in_on_device(era)).await;
    report.tell("device", "a user signs in on another device and calls a tool", outcome(&device));
    report.check("device", "the token is renewed without the user", server.renews([device])).await;

    let program = in_time(server.sign_in_as_program(era)).await;
    report.tell("service", "a program signs in and calls a tool", outcome(&program));
    let renewed = server.renews([program]);
    report.check("service", "another token follows when it expires", renewed).await;
}

/// A folder for the tokens of one era, deleted at the end.
struct VaultFolder(PathBuf);

impl VaultFolder {
    fn new(era: Era) -> Self {
        let name = format!("interop-vault-{}-{era}", std::process::id()).replace(' ', "-");
        Self(std::env::temp_dir().join(name))
    }
}

impl Drop for VaultFolder {
    fn drop(&mut self) {
        // It does not exist if there was no login.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A client that has signed in, and the name of its first token.
struct SignedIn {
    client: Client,
    caller: Caller,
}

/// The reply of the tool.
#[derive(Clone)]
struct Caller {
    name: String,
    token: String,
}

impl Protected {
    /// Connects without signing in, which must fail.
    async fn refuses(&self, era: Era) -> Checked {
        let connected = era.dress(patient().retries(0)).connect_http(Http::new(&self.url)).await;
        match connected {
            Err(error) => says(&Unmet::from(error).to_string(), "requires authorization"),
            Ok(_) => Err("it is let in".into()),
        }
    }

    /// Connects, lists the tools and calls one.
    async fn sign_in(&self, era: Era, oauth: OAuth, name: &str) -> Checked<SignedIn> {
        let client = era.dress(patient()).connect_http(Http::new(&self.url).oauth(oauth)).await?;
        same(&client.protocol_version(), &era.version())?;
        let tools = client.tools().await?;
        holds(tools.iter().any(|tool| tool.name == "whoami"), "there is no whoami")?;
        let caller = Caller::ask(&client).await?;
        same(caller.name.as_str(), name)?;
        Ok(SignedIn { client, caller })
    }

    async fn sign_in_on_device(&self, era: Era) -> Checked<SignedIn> {
        if self.issuer.is_none() {
            return not_here("this server signs in users with a browser only");
        }
        let oauth = OAuth::device(async |code| {
            let page = code.page_with_code.unwrap_or(code.page);
            // If the user fails, the client learns it from the identity provider.
            tokio::spawn(async move {
                if let Err(why) = browser::confirm(&page).await {
                    eprintln!("the user cannot sign in: {why}");
                }
            });
        });
        self.sign_in(era, oauth, browser::USER).await
    }

    async fn sign_in_as_program(&self, era: Era) -> Checked<SignedIn> {
        let Some(issuer) = &self.issuer else { return not_here("this server signs in users only") };
        let oauth = OAuth::client_credentials(PROGRAM, SECRET).for_issuer(issuer);
        self.sign_in(era, oauth, PROGRAM).await
    }

    /// Waits until the tokens have expired, and calls the tool several times at once with each client. The identity
    /// provider withdraws all tokens if a refresh token is used twice, so all calls have to wait for one renewal.
    async fn renews(&self, clients: impl IntoIterator<Item = Checked<SignedIn>>) -> Checked {
        let clients = clients.into_iter().map(|signed_in| {
            signed_in.map_err(|unmet| match unmet {
                Unmet::NotHere(why) => Unmet::NotHere(why),
                Unmet::Failed(_) => Unmet::Failed("there was no login".to_owned()),
            })
        });
        let clients = clients.collect::<Checked<Vec<SignedIn>>>()?;
        // Expiry has a resolution of one second.
        tokio::time::sleep(self.life + Duration::from_secs(1)).await;
        let mut calls = JoinSet::new();
        for SignedIn { client, caller } in clients.iter().cycle().take(clients.len() * CALLS) {
            let (client, before) = (client.clone(), caller.clone());
            calls.spawn(async move {
                let after = Caller::ask(&client).await?;
                same(&after.name, &before.name)?;
                holds(after.token != before.token, "it is still the first token")
            });
        }
        calls.join_all().await.into_iter().collect::<Checked>()?;
        for SignedIn { client, .. } in clients {
            client.close().await?;
        }
        Ok(())
    }
}

impl Caller {
    async fn ask(client: &Client) -> Checked<Self> {
        let text = client.call("whoami", json!({})).await?.text()?;
        let (name, token) = text.split_once(' ').ok_or("the tool did not return a name and a token")?;
        Ok(Self { name: name.to_owned(), token: token.to_owned() })
    }
}

/// A user who signs in at once. Counts the logins.
pub(crate) fn as_user(logins: Arc<AtomicUsize>) -> OAuth {
    OAuth::browser().open_with(move |page| {
        logins.fetch_add(1, Ordering::Relaxed);
        async move {
            let failed =
                |why: Unmet| Error::new(ErrorKind::Application, format!("the user cannot sign in: {why}"));
            let back = browser::sign_in(&page).await.map_err(failed)?;
            // The client replies to the browser only after this function has returned.
            tokio::spawn(async move { browser::visit(&back).await });
            Ok(())
        }
    })
}

fn outcome<T>(checked: &Checked<T>) -> Checked {
    checked.as_ref().map(drop).map_err(Clone::clone)
}

/// The program that `interop/idp.mjs` knows.
const PROGRAM: &str = "svc";
const SECRET: &str = "svc-secret";
/// The calls that each client makes at once after a token has expired.
const CALLS: usize = 16;
