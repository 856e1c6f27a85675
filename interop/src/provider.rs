//! Does a second identity provider work, with our client and our protected server?
//!
//! The provider is `interop/idp_canaille.py`, whose first lines say how it differs from the other one. The server, which
//! `notes.rs` is, verifies its tokens by their signature or by asking the provider.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use tokio::time::sleep;
use toolway::client::{Http, OAuth};

use crate::auth::as_user;
use crate::browser::{self, Program};
use crate::check::{Checked, Report, Unmet, holds, in_time, not_here, same, says};
use crate::era::Era;
use crate::notes::Trust;
use crate::signs_in::{Caller, User, connect, refused};
use crate::talk::patient;

/// A protected server, and the provider at which its callers sign in.
#[derive(Clone, Debug)]
pub(crate) struct Provided {
    /// The URL of its MCP endpoint.
    pub(crate) url: String,
    pub(crate) issuer: String,
    pub(crate) trust: Trust,
}

/// Checks that the server is protected, and tells clients about the provider.
pub(crate) async fn play_refusal(server: &Provided, era: Era, report: &mut Report) {
    report.check("refused", "without a token it gets 401 and a challenge", server.challenges(era)).await;
}

/// Runs all other checks.
pub(crate) async fn play(server: &Provided, era: Era, report: &mut Report) {
    let revoked = in_time(server.use_and_revoke(era)).await;
    let (fixed, stranger) = (server.tells_tokens_apart(era), server.refuses_stranger(era));
    report.check("refused", "a fixed token lets it in, but not one for another server", fixed).await;
    report.check("refused", "a token that a client got for itself only does not let it in", stranger).await;

    let program = server.sign_in_as_program(era);
    report.check("service", "a program signs in and calls a tool", program).await;
    let device = server.sign_in_on_device(era);
    report.check("device", "a user signs in on another device and calls a tool", device).await;

    let signed_in = in_time(User::sign_in(&server.url, era, server.first_scopes())).await;
    let outcome = signed_in.as_ref().map(drop).map_err(Clone::clone);
    report.tell("signs in", "a user signs in, sees the tools and calls them", outcome);
    let user = || signed_in.as_ref().map_err(|_| Unmet::from("there was no login"));
    let renewed = async { renews(user()?, server.first_scopes()).await };
    report.check("refreshes", "a token is renewed before it expires, without the user", renewed).await;
    let again = async { signs_in_again(user()?).await };
    report.check("refreshes", "after the refresh token has expired, the user signs in again", again).await;
    let more = async { server.gets_more_scopes(user()?).await };
    report.check("steps up", "a call that needs more scopes gets a token with them", more).await;
    if server.trust == Trust::Groups {
        let saved = async { user()?.saves().await };
        report.check("own", "the groups of the user count as scopes", saved).await;
    }
    let ended = async { signs_out(user()?).await };
    report.check("signs out", "the provider takes the tokens back", ended).await;

    let unused = server.refuses_revoked(era);
    report.check("revoked", "a token that was revoked before its first use is refused", unused).await;
    let refused_later = async { server.refuses_soon(revoked?, era).await };
    report.check("revoked", "one that is revoked later is refused half a minute later", refused_later).await;
}

/// A token that the server has accepted before it was revoked.
struct Revoked {
    token: String,
    /// The time before its first use.
    since: Instant,
}

impl Provided {
    /// Connects without a token.
    async fn challenges(&self, era: Era) -> Checked {
        let connected = era.dress(patient().retries(0)).connect_http(Http::new(&self.url)).await;
        let Err(error) = connected else { return Err("it is let in".into()) };
        same(&error.http_status(), &Some(401))?;
        let challenge = error.challenge().unwrap_or_default();
        let origin = self.url.strip_suffix("/mcp").ok_or("the URL does not end with /mcp")?;
        let document = format!("{origin}/.well-known/oauth-protected-resource/mcp");
        says(challenge, &format!("Bearer resource_metadata=\"{document}\""))?;
        let scope = "scope=\"notes:read\"";
        same(&challenge.contains(scope), &(self.trust == Trust::Introspection))
    }

    /// Connects with a token for this server, and with one for another.
    async fn tells_tokens_apart(&self, era: Era) -> Checked {
        let user = [
            ("grant_type", "password"),
            ("username", browser::USER),
            ("password", "x"),
            // Without the first, a signed token does not name the user.
            ("scope", "openid notes:read"),
        ];
        let token = async |program| browser::token_of(&self.endpoint("token"), program, &user).await;
        connect(&self.url, era, Some(token(PROGRAM).await?)).await?;
        let reason = match self.trust {
            // The provider does not say more about the tokens of others.
            Trust::Introspection => "the token is not active",
            Trust::Resource | Trust::Groups => "the token is for another server",
        };
        refused(connect(&self.url, era, Some(token(OTHER_PROGRAM).await?)).await, reason)
    }

    /// Signs in with a client that has registered itself, but not for this server.
    async fn refuses_stranger(&self, era: Era) -> Checked {
        let logins = Arc::new(AtomicUsize::new(0));
        let http = Http::new(&self.url).oauth(as_user(logins.clone()).client_name("stranger"));
        let connected = era.dress(patient().retries(0)).connect_http(http).await;
        let Err(error) = connected else { return Err("it is let in".into()) };
        says(&Unmet::from(error).to_string(), "refuses the token")?;
        // A token that is refused at once does not lead to more logins.
        same(&logins.load(Ordering::Relaxed), &1)
    }

    async fn sign_in_as_program(&self, era: Era) -> Checked {
        if self.trust != Trust::Introspection {
            return not_here("the provider does not sign the tokens of programs");
        }
        let oauth = OAuth::client_credentials(PROGRAM.id, PROGRAM.secret).for_issuer(&self.issuer);
        let client = era.dress(patient()).connect_http(Http::new(&self.url).oauth(oauth)).await?;
        let caller = Caller::ask(&client).await?;
        same(caller.name.as_str(), PROGRAM.id)?;
        same(&caller.scopes, &["notes:read"])?;
        Ok(client.close().await?)
    }

    async fn sign_in_on_device(&self, era: Era) -> Checked {
        let oauth = OAuth::device(async |_| {});
        let connected = era.dress(patient().retries(0)).connect_http(Http::new(&self.url).oauth(oauth)).await;
        match connected.map_err(Unmet::from) {
            Err(why) if why.to_string().contains("has no usable `device_authorization_endpoint`") => {
                not_here("the provider has no codes for other devices")
            }
            // The provider can do it by now, so it has to be tested.
            _ => Err("the provider does not lack codes for other devices".into()),
        }
    }

    async fn gets_more_scopes(&self, user: &User) -> Checked {
        if self.trust != Trust::Introspection {
            return not_here("the signed tokens of the provider have no scopes");
        }
        // Tokens of one second can be equal, and then the scopes are those of the first.
        sleep(Duration::from_millis(1100)).await;
        user.steps_up().await
    }

    async fn refuses_revoked(&self, era: Era) -> Checked {
        let token = self.program_token().await?;
        self.revoke(&token).await?;
        refused(connect(&self.url, era, Some(token)).await, "the token is not active")
    }

    /// Connects with a token, and then revokes it.
    async fn use_and_revoke(&self, era: Era) -> Checked<Revoked> {
        let token = self.program_token().await?;
        let since = Instant::now();
        connect(&self.url, era, Some(token.clone())).await?;
        self.revoke(&token).await?;
        Ok(Revoked { token, since })
    }

    /// Checks that a token is refused when the server asks the provider again.
    async fn refuses_soon(&self, Revoked { token, since }: Revoked, era: Era) -> Checked {
        loop {
            let age = since.elapsed();
            match connect(&self.url, era, Some(token.clone())).await {
                Ok(()) => holds(age < MOST_TRUST, format!("it is let in after {} s", age.as_secs()))?,
                connected => return refused(connected, "the token is not active"),
            }
            sleep(Duration::from_millis(500)).await;
        }
    }

    /// Returns a token for this server that no other check gets.
    async fn program_token(&self) -> Checked<String> {
        if self.trust != Trust::Introspection {
            return not_here("a server that does not ask the provider accepts a token until it expires");
        }
        let form = [("grant_type", "client_credentials"), ("scope", "notes:read")];
        browser::token_of(&self.endpoint("token"), PROGRAM, &form).await
    }

    async fn revoke(&self, token: &str) -> Checked {
        browser::post(&self.endpoint("revoke"), PROGRAM, &[("token", token)]).await.map(drop)
    }

    fn endpoint(&self, name: &str) -> String {
        format!("{}/oauth/{name}", self.issuer)
    }

    /// Returns the scopes of a token that a client gets without asking for more.
    fn first_scopes(&self) -> &'static [&'static str] {
        match self.trust {
            Trust::Introspection | Trust::Resource => &["notes:read"],
            Trust::Groups => &[],
        }
    }
}

/// Calls a tool until the client has renewed its token. The refresh token expires together with the access token, and the
/// client renews it in the last tenth of its life. This can be too late on a busy machine, so there are several tries.
async fn renews(user: &User, scopes: &[&str]) -> Checked {
    for _ in 0..MOST_TRIES {
        let logins = user.logins();
        let before = Caller::ask(&user.client).await?;
        let after = loop {
            sleep(Duration::from_millis(100)).await;
            let caller = Caller::ask(&user.client).await?;
            if caller.token != before.token {
                break caller;
            }
        };
        same(&after.name, &before.name)?;
        same(&after.scopes, scopes)?;
        if user.logins() == logins {
            return Ok(());
        }
    }
    Err(format!("it was too late {MOST_TRIES} times").into())
}

/// Waits until the tokens have expired, and calls a tool. The stream of a session may end with its token, and the client opens
/// it again with a new one; then these tokens have to expire, too.
async fn signs_in_again(user: &User) -> Checked {
    let logins = user.logins();
    for _ in 0..MOST_TRIES {
        sleep(RENEWED_LIFE + Duration::from_secs(1)).await;
        same(Caller::ask(&user.client).await?.name.as_str(), browser::USER)?;
        if user.logins() != logins {
            return user.has_signed_in(logins + 1);
        }
    }
    Err(format!("the tokens were renewed {MOST_TRIES} times").into())
}

async fn signs_out(user: &User) -> Checked {
    user.client.clone().close().await?;
    let ended = user.http.sign_out().await?;
    holds(ended.was_signed_in, "there was no token")?;
    holds(ended.is_revoked, "the tokens can still be used")
}

/// The programs that `interop/idp_canaille.py` knows. The tokens of the second are for another server.
const PROGRAM: Program = Program { id: "ci", secret: "ci-secret" };
const OTHER_PROGRAM: Program = Program { id: "other", secret: "other-secret" };
/// The life of a token that replaces another one there.
const RENEWED_LIFE: Duration = Duration::from_secs(3);
/// The server asks about a token again after 30 seconds; a busy machine needs more time.
const MOST_TRUST: Duration = Duration::from_secs(40);
const MOST_TRIES: usize = 3;
