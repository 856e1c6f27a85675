//! Which token does a client have for a server, and when does it get another one?
//!
//! There is one attempt at a time. It is a task of its own: a caller that gives up does not end it, because the old token may
//! be worthless already, and the new one must be kept.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;
use toolway_protocol::oauth::{Challenge, Found, Scopes};

use crate::client::oauth::fetch::Fetcher;
use crate::client::oauth::flow::{Flow, GrantError};
use crate::client::oauth::records::Tokens;
use crate::client::oauth::settings::{Grant, OAuth};
use crate::client::oauth::vault::VaultKey;
use crate::ground::error::{Error, ErrorKind, Result};
use crate::ground::mutex::Mutex;

/// The tokens of a client for one server.
pub(super) struct Login {
    oauth: OAuth,
    fetcher: Fetcher,
    /// The URL of the server, without its query.
    server: String,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    tokens: Option<Arc<Tokens>>,
    /// `true` if the vault was looked at.
    has_looked: bool,
    attempt: Option<watch::Receiver<Option<Outcome>>>,
    /// Scopes that the server wanted and the client did not get, and when this was.
    refused: Vec<(Scopes, Instant)>,
}

/// The outcome of an attempt.
type Outcome = Result<Arc<Tokens>, Arc<Error>>;

/// The reason for an attempt.
struct Reason {
    /// The token that is not good enough.
    used: Option<Arc<Tokens>>,
    challenge: Option<Challenge>,
    needs_more_scopes: bool,
}

impl Login {
    pub(super) fn new(oauth: OAuth, fetcher: Fetcher, server: String) -> Arc<Self> {
        Arc::new(Self { oauth, fetcher, server, state: Mutex::default() })
    }

    /// Returns the token for a request, which may have to be renewed first. Without one, the request says what is needed.
    pub(super) async fn current(self: &Arc<Self>) -> Result<Option<Arc<Tokens>>> {
        let known = {
            let state = self.state.lock();
            (state.tokens.is_some() || state.has_looked).then(|| state.tokens.clone())
        };
        let tokens = match known {
            Some(tokens) => tokens,
            None => self.look().await?,
        };
        match tokens {
            Some(tokens) if !tokens.is_fresh() && (tokens.refresh.is_some() || !self.needs_user()) => {
                let reason = Reason { used: Some(tokens), challenge: None, needs_more_scopes: false };
                self.attempt(reason).await.map(Some)
            }
            tokens => Ok(tokens),
        }
    }

    /// Returns another token than the one that the server refused.
    pub(super) async fn renew(
        self: &Arc<Self>,
        used: Option<Arc<Tokens>>,
        challenge: Option<Challenge>,
    ) -> Result<Arc<Tokens>> {
        let current = self.state.lock().tokens.clone();
        if let Some(current) = current
            && used.as_ref().is_none_or(|used| used.access != current.access)
        {
            return Ok(current);
        }
        self.attempt(Reason { used, challenge, needs_more_scopes: false }).await
    }

    /// Returns a token with more scopes, or `None` if the client cannot get it.
    pub(super) async fn step_up(
        self: &Arc<Self>,
        used: Arc<Tokens>,
        challenge: Challenge,
    ) -> Result<Option<Arc<Tokens>>> {
        let wanted = challenge.scopes().unwrap_or_default();
        let has_all = used.requested.contains_all(&wanted) && used.granted.contains_all(&wanted);
        if wanted.is_empty() || has_all || self.was_refused(&wanted) {
            return Ok(None);
        }
        self.attempt(Reason { used: Some(used), challenge: Some(challenge), needs_more_scopes: true })
            .await
            .map(Some)
    }

    fn was_refused(&self, wanted: &Scopes) -> bool {
        let mut state = self.state.lock();
        state.refused.retain(|(_, at)| at.elapsed() < REFUSED_FOR);
        state.refused.iter().any(|(scopes, _)| scopes == wanted)
    }

    /// Notes that the client did not get scopes.
    pub(super) fn note_refused(&self, wanted: Scopes) {
        let mut state = self.state.lock();
        state.refused.truncate(MAX_REFUSED - 1);
        state.refused.insert(0, (wanted, Instant::now()));
    }

    fn needs_user(&self) -> bool {
        matches!(self.oauth.grant, Grant::Browser { .. })
    }

    fn key(&self) -> VaultKey {
        VaultKey::new("tokens", &[&self.oauth.profile, &self.server])
    }

    /// Looks into the vault.
    async fn look(&self) -> Result<Option<Arc<Tokens>>> {
        let stored = self.oauth.vault.get(&self.key()).await?;
        let tokens = stored.and_then(|stored| Tokens::from_bytes(&stored)).map(Arc::new);
        let mut state = self.state.lock();
        state.has_looked = true;
        if state.tokens.is_none() {
            state.tokens = tokens;
        }
        Ok(state.tokens.clone())
    }

    /// Joins the attempt that is under way, or begins one.
    async fn attempt(self: &Arc<Self>, reason: Reason) -> Result<Arc<Tokens>> {
        let mut attempt = {
            let mut state = self.state.lock();
            match &state.attempt {
                Some(attempt) => attempt.clone(),
                None => {
                    let (tell, attempt) = watch::channel(None);
                    let login = self.clone();
                    tokio::spawn(async move {
                        let outcome = login.work(reason).await;
                        let mut state = login.state.lock();
                        state.attempt = None;
                        if let Ok(tokens) = &outcome {
                            state.tokens = Some(tokens.clone());
                        }
                        drop(state);
                        tell.send_replace(Some(outcome.map_err(Arc::new)));
                    });
                    state.attempt = Some(attempt.clone());
                    attempt
                }
            }
        };
        let outcome = attempt.wait_for(Option::is_some).await.ok().and_then(|outcome| outcome.clone());
        match outcome {
            Some(Ok(tokens)) => Ok(tokens),
            Some(Err(error)) => {
                Err(Error::new(error.kind(), "the server asks to sign in, and this failed").caused_by(error))
            }
            None => {
                self.state.lock().attempt = None;
                Err(Error::new(ErrorKind::Application, "the login was ended"))
            }
        }
    }

    async fn work(&self, reason: Reason) -> Result<Arc<Tokens>> {
        let Reason { used, challenge, needs_more_scopes } = reason;
        let (vault, key) = (&self.oauth.vault, self.key());
        let lock = tokio::time::timeout(MAX_LOCK_WAIT, vault.lock(&key)).await;
        let guard = lock.map_err(|_| {
            Error::new(ErrorKind::Timeout, "another process holds the tokens of this server")
        })??;
        let stored_bytes = vault.get(&key).await?;
        let stored = stored_bytes.as_ref().and_then(|stored| Tokens::from_bytes(stored));
        let is_used = |tokens: &Tokens| used.as_ref().is_some_and(|used| used.access == tokens.access);
        if let Some(other) = stored.clone().filter(|stored| stored.is_fresh() && !is_used(stored))
            && !needs_more_scopes
        {
            return Ok(Arc::new(other));
        }
        let flow = Flow { oauth: &self.oauth, fetcher: &self.fetcher, server: &self.server };
        let found = flow.discover(challenge.as_ref()).await?;
        let old = stored.or_else(|| used.as_deref().cloned()).filter(|old| is_of(old, &found, &flow));
        if let Some(old) = old.as_ref().filter(|old| old.refresh.is_some() && !needs_more_scopes) {
            match flow.refresh(&found, old).await {
                Ok(new) => return self.keep(&key, stored_bytes, new).await,
                // The token is worthless. Another process may have a better one, which stays.
                Err(GrantError::Refused(_)) => drop(vault.swap(&key, stored_bytes.clone(), None).await?),
                Err(GrantError::Failed(error)) => return Err(error),
            }
        }
        if self.needs_user() {
            // A login takes minutes.
            drop(guard);
        }
        let asked = old.as_ref().map(|old| old.requested.union(&old.granted)).unwrap_or_default();
        let scopes = match &challenge {
            Some(challenge) if needs_more_scopes => asked.union(&challenge.scopes().unwrap_or_default()),
            challenge => asked.union(&flow.first_scopes(&found, challenge.as_ref())),
        };
        let new = flow.authorize(&found, &scopes).await?;
        let before = vault.get(&key).await?;
        self.keep(&key, before, new).await
    }

    /// Keeps a token before it is used: the one before it may be dead.
    async fn keep(&self, key: &VaultKey, before: Option<bytes::Bytes>, new: Tokens) -> Result<Arc<Tokens>> {
        if let Err(error) = self.oauth.vault.swap(key, before, Some(new.to_bytes())).await {
            tracing::error!(%error, "a new token could not be kept: it is lost when this program ends");
        }
        Ok(Arc::new(new))
    }
}

/// Returns whether tokens were made by the authorization server that was found, for the server that it speaks of.
fn is_of(tokens: &Tokens, found: &Found, flow: &Flow<'_>) -> bool {
    tokens.owner.issuer == found.server.issuer && tokens.owner.resource == flow.resource(found)
}

/// How long scopes that a client did not get are not asked for again.
const REFUSED_FOR: Duration = Duration::from_secs(5 * 60);
const MAX_REFUSED: usize = 16;
/// How long to wait for another process that renews the same token.
const MAX_LOCK_WAIT: Duration = Duration::from_secs(30);
