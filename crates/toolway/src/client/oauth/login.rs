//! Which token does a client have for a server, and when does it get another one?
//!
//! There is one attempt at a time. It is a task of its own: a caller that gives up does not end it, because the old token may
//! be worthless already, and the new one must be kept.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use tokio::sync::watch;
use toolway_protocol::oauth::{Challenge, Found, Scopes};

use crate::client::oauth::clock::UserClock;
use crate::client::oauth::context::{Flow, GrantError, is_passing};
use crate::client::oauth::dpop::Nonces;
use crate::client::oauth::fetch::Fetcher;
use crate::client::oauth::flow::KeyDemand;
use crate::client::oauth::grants::{Grant, TokenRequest, TokenSource};
use crate::client::oauth::records::Tokens;
use crate::client::oauth::settings::OAuth;
use crate::client::oauth::vault::{VaultGuard, VaultKey};
use crate::ground::error::{Chain, Error, ErrorKind, Result};
use crate::ground::mutex::Mutex;

/// The tokens of a client for one server.
pub(super) struct Login {
    oauth: OAuth,
    fetcher: Fetcher,
    /// The URL of the server, without its query.
    server: String,
    /// The nonces for proofs of keys.
    pub(super) nonces: Nonces,
    pub(super) user_clock: UserClock,
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
    /// A token that could not be kept.
    unkept: Option<Unkept>,
    /// Counts how often the user has signed out.
    sign_outs: u64,
}

/// A token that could not be kept, and what the vault has instead: the one before it, which may be dead.
#[derive(Clone)]
struct Unkept {
    tokens: Tokens,
    before: Option<Bytes>,
}

/// The outcome of an attempt: `None` if only a user can help, and no one may be asked.
type Outcome = Result<Option<Arc<Tokens>>, Arc<Error>>;

/// The demand of a server that refuses a request.
#[derive(Debug, Clone)]
pub(super) struct Demand {
    pub(super) challenge: Option<Challenge>,
    pub(super) key: KeyDemand,
}

/// The reason for an attempt.
#[derive(Clone)]
struct Reason {
    /// The token that is not good enough.
    used: Option<Arc<Tokens>>,
    demand: Demand,
    needs_more_scopes: bool,
    /// `false` for requests in the background, which open no browser.
    may_ask_user: bool,
}

impl Login {
    pub(super) fn new(oauth: OAuth, fetcher: Fetcher, server: String) -> Arc<Self> {
        let (nonces, user_clock) = (Nonces::default(), UserClock::default());
        Arc::new(Self { oauth, fetcher, server, nonces, user_clock, state: Mutex::default() })
    }

    /// Returns the token, if it is known and can be used for a while.
    pub(super) fn fresh(&self) -> Option<Arc<Tokens>> {
        self.state.lock().tokens.as_ref().filter(|tokens| tokens.is_fresh()).cloned()
    }

    /// Returns the token, if this process has one.
    pub(super) fn known(&self) -> Option<Arc<Tokens>> {
        self.state.lock().tokens.clone()
    }

    /// Returns the token for a request, which may have to be renewed first. Without one, the request says what is needed.
    pub(super) async fn current(self: &Arc<Self>, may_ask_user: bool) -> Result<Option<Arc<Tokens>>> {
        let known = {
            let state = self.state.lock();
            (state.tokens.is_some() || state.has_looked).then(|| state.tokens.clone())
        };
        let tokens = match known {
            Some(tokens) => tokens,
            None => self.look().await?,
        };
        match tokens {
            // The application has named this server, so it gets a token without asking.
            None if matches!(self.oauth.grant, Grant::Source(_)) => {
                let demand = Demand { challenge: None, key: KeyDemand::None };
                self.attempt(Reason { used: None, demand, needs_more_scopes: false, may_ask_user }).await
            }
            Some(tokens) if !tokens.is_fresh() && (tokens.refresh.is_some() || !self.needs_user()) => {
                let demand = Demand { challenge: None, key: KeyDemand::None };
                let used = Some(tokens.clone());
                let reason = Reason { used, demand, needs_more_scopes: false, may_ask_user };
                match self.attempt(reason).await {
                    Ok(renewed) => Ok(renewed.or(Some(tokens))),
                    // Another attempt follows with the next request.
                    Err(error) if tokens.is_alive() => {
                        tracing::warn!(error = %Chain(&error), "a token could not be renewed, and is used until it expires");
                        Ok(Some(tokens))
                    }
                    Err(error) => Err(error),
                }
            }
            tokens => Ok(tokens),
        }
    }

    /// Returns another token than the one that the server refused; `None` if only a user can help, and no one may be asked.
    pub(super) async fn renew(
        self: &Arc<Self>,
        used: Option<Arc<Tokens>>,
        demand: Demand,
        may_ask_user: bool,
    ) -> Result<Option<Arc<Tokens>>> {
        let current = self.state.lock().tokens.clone();
        if let Some(current) = current
            && used.as_ref().is_none_or(|used| used.access != current.access)
        {
            return Ok(Some(current));
        }
        self.attempt(Reason { used, demand, needs_more_scopes: false, may_ask_user }).await
    }

    /// Returns a token with more scopes, or `None` if the client cannot get it.
    pub(super) async fn step_up(
        self: &Arc<Self>,
        used: Arc<Tokens>,
        challenge: Challenge,
        may_ask_user: bool,
    ) -> Result<Option<Arc<Tokens>>> {
        let wanted = challenge.scopes().unwrap_or_default();
        let has_all = used.requested.contains_all(&wanted) && used.granted.contains_all(&wanted);
        if wanted.is_empty() || has_all || self.was_refused(&wanted) {
            return Ok(None);
        }
        let key = if used.proof_key.is_some() { KeyDemand::Needed } else { KeyDemand::None };
        let demand = Demand { challenge: Some(challenge), key };
        self.attempt(Reason { used: Some(used), demand, needs_more_scopes: true, may_ask_user }).await
    }

    fn was_refused(&self, wanted: &Scopes) -> bool {
        let mut state = self.state.lock();
        state.refused.retain(|(_, at)| at.elapsed() < REFUSED_FOR);
        // Servers name the same scopes in any order.
        let is_same = |scopes: &Scopes| scopes.contains_all(wanted) && wanted.contains_all(scopes);
        state.refused.iter().any(|(scopes, _)| is_same(scopes))
    }

    /// Notes that the client did not get scopes.
    pub(super) fn note_refused(&self, wanted: Scopes) {
        let mut state = self.state.lock();
        state.refused.truncate(MAX_REFUSED - 1);
        state.refused.insert(0, (wanted, Instant::now()));
    }

    fn needs_user(&self) -> bool {
        self.oauth.grant.needs_user()
    }

    fn key(&self) -> VaultKey {
        let (profile, server) = (&*self.oauth.profile, &*self.server);
        match self.oauth.grant.program() {
            // However users sign in, it is their login.
            None => VaultKey::new("tokens", &[profile, server]),
            Some(kind) => {
                let id = self.oauth.identity.id.as_deref().unwrap_or_default();
                VaultKey::new("tokens", &[profile, server, kind, id])
            }
        }
    }

    /// Looks into the vault.
    async fn look(&self) -> Result<Option<Arc<Tokens>>> {
        let tokens = self.stored().await?.map(Arc::new);
        let mut state = self.state.lock();
        state.has_looked = true;
        if state.tokens.is_none() {
            state.tokens = tokens;
        }
        Ok(state.tokens.clone())
    }

    /// Returns the tokens in the vault.
    pub(super) async fn stored(&self) -> Result<Option<Tokens>> {
        if let Grant::Source(_) = self.oauth.grant {
            return Ok(None);
        }
        let stored = self.oauth.vault.get(&self.key()).await?;
        Ok(self.read(stored.as_ref()))
    }

    /// Reads tokens of the vault, if they are those of this client.
    fn read(&self, stored: Option<&Bytes>) -> Option<Tokens> {
        let is_own =
            |tokens: &Tokens| self.oauth.identity.id.as_ref().is_none_or(|id| *id == tokens.owner.client_id);
        stored.and_then(|stored| Tokens::from_bytes(stored)).filter(is_own)
    }

    /// Returns a token that could not be kept, if the vault still has the one before it. Tries to keep it again.
    async fn keep_again(&self, key: &VaultKey, stored: &mut Option<Bytes>) -> Option<Tokens> {
        let unkept = self.state.lock().unkept.clone()?;
        if unkept.before != *stored {
            self.state.lock().unkept = None;
            return None;
        }
        let bytes = unkept.tokens.to_bytes();
        if let Ok(true) = self.oauth.vault.swap(key, unkept.before, Some(bytes.clone())).await {
            *stored = Some(bytes);
            self.state.lock().unkept = None;
        }
        Some(unkept.tokens)
    }

    /// Joins the attempt that is under way, or begins one. If only a user can help, the attempt of a request that may not
    /// ask ends without a token, and a request that may ask begins another one.
    async fn attempt(self: &Arc<Self>, reason: Reason) -> Result<Option<Arc<Tokens>>> {
        loop {
            let (mut attempt, has_begun) = self.join_or_begin(&reason);
            let outcome = attempt.wait_for(Option::is_some).await.ok().and_then(|outcome| outcome.clone());
            return match outcome {
                Some(Ok(None)) if reason.may_ask_user && !has_begun => continue,
                Some(Ok(tokens)) => Ok(tokens),
                Some(Err(error)) => {
                    let challenge = reason.demand.challenge.as_ref().map(Challenge::to_string);
                    Err(Error::new(error.kind(), "the server asks to sign in, and this failed")
                        .with_challenge(challenge.unwrap_or_else(|| "Bearer".to_owned()))
                        .caused_by(error))
                }
                None => {
                    self.state.lock().attempt = None;
                    Err(Error::new(ErrorKind::Application, "the login was ended"))
                }
            };
        }
    }

    /// Returns the attempt that is under way, or one that begins now, and whether it begins now.
    fn join_or_begin(self: &Arc<Self>, reason: &Reason) -> (watch::Receiver<Option<Outcome>>, bool) {
        let mut state = self.state.lock();
        if let Some(attempt) = &state.attempt {
            return (attempt.clone(), false);
        }
        let (tell, attempt) = watch::channel(None);
        let (login, reason, sign_outs) = (self.clone(), reason.clone(), state.sign_outs);
        tokio::spawn(async move {
            let outcome = login.work(reason).await;
            let mut state = login.state.lock();
            state.attempt = None;
            if let Ok(Some(tokens)) = &outcome
                && state.sign_outs == sign_outs
            {
                state.tokens = Some(tokens.clone());
            }
            drop(state);
            tell.send_replace(Some(outcome.map_err(Arc::new)));
        });
        state.attempt = Some(attempt.clone());
        (attempt, true)
    }

    async fn work(&self, reason: Reason) -> Result<Option<Arc<Tokens>>> {
        if let Grant::Source(source) = &self.oauth.grant {
            return self.ask_source(&**source, &reason).await.map(Some);
        }
        let Reason { used, mut demand, needs_more_scopes, may_ask_user } = reason;
        let challenge = demand.challenge.take();
        let challenge = challenge.as_ref();
        let (vault, key) = (&self.oauth.vault, self.key());
        let guard = self.lock(&key).await?;
        let mut stored_bytes = vault.get(&key).await?;
        let stored = match self.keep_again(&key, &mut stored_bytes).await {
            Some(tokens) => Some(tokens),
            None => self.read(stored_bytes.as_ref()),
        };
        let is_used = |tokens: &Tokens| used.as_ref().is_some_and(|used| used.access == tokens.access);
        if let Some(other) = stored.clone().filter(|stored| stored.is_fresh() && !is_used(stored))
            && !needs_more_scopes
        {
            return Ok(Some(Arc::new(other)));
        }
        let flow = self.flow();
        let last = stored.as_ref().or(used.as_deref());
        let document = last.and_then(|last| last.owner.document.clone());
        let found = flow.discover(challenge, document.as_deref()).await?;
        // Without an entry in the vault, another process has signed out, and the token must not be renewed.
        let is_signed_out = stored.is_none() && stored_bytes.is_none();
        if is_signed_out && let Some(used) = &used {
            self.forget_token(used);
        }
        let old = stored.or_else(|| used.as_deref().cloned()).filter(|old| is_of(old, &found, &flow));
        let has_key = old.as_ref().map(|old| old.proof_key.is_some());
        if has_key == Some(true) {
            demand.key = KeyDemand::Needed;
        }
        // A token without a key does not become one with a key.
        let lacks_key = has_key == Some(false) && flow.needs_key(&found, demand.key);
        let can_refresh = !needs_more_scopes && !is_signed_out && !lacks_key;
        if let Some(old) = old.as_ref().filter(|old| old.refresh.is_some() && can_refresh) {
            let mut refreshed = flow.refresh(&found, old).await;
            if matches!(&refreshed, Err(GrantError::Failed(error)) if is_passing(error)) {
                // The reply may be lost. If the token is spent by now, the server says so.
                refreshed = flow.refresh(&found, old).await;
            }
            match refreshed {
                Ok(new) => return self.keep(&key, stored_bytes, new).await.map(Some),
                // The token is worthless. Another process may have a better one, which stays.
                Err(error) if error.ends_login(flow.is_dynamic(&old.owner.client_id)) => {
                    let is_deleted = vault.swap(&key, stored_bytes.clone(), None).await?;
                    {
                        let mut state = self.state.lock();
                        (state.tokens, state.unkept) = (None, None);
                    }
                    let other = if is_deleted { None } else { self.stored().await? };
                    if let Some(other) = other.filter(|other| other.is_fresh() && !is_used(other)) {
                        return Ok(Some(Arc::new(other)));
                    }
                    let issuer = &found.server.issuer;
                    let client = flow.stored_client(issuer).await?;
                    if let Some(client) = client.filter(|client| client.id == old.owner.client_id)
                        && error.is_about_client()
                    {
                        flow.forget_client(issuer, &client).await?;
                    }
                }
                // A program proves again what it is.
                Err(GrantError::Refused { .. }) if !self.needs_user() => {}
                // The token is kept: the next call tries again.
                Err(error) => return Err(error.into_error(&found.server.issuer)),
            }
        }
        let mut user_time = None;
        if self.needs_user() {
            if !may_ask_user {
                return Ok(None);
            }
            // A login takes minutes.
            drop(guard);
            user_time = Some(self.user_clock.start());
        }
        let asked = old.as_ref().map(|old| old.requested.union(&old.granted)).unwrap_or_default();
        let scopes = match challenge {
            Some(challenge) if needs_more_scopes => asked.union(&challenge.scopes().unwrap_or_default()),
            challenge => asked.union(&flow.first_scopes(&found, challenge)),
        };
        let binding = flow.binding(&found, demand.key)?;
        let new = flow.authorize(&found, &scopes, binding).await?;
        drop(user_time);
        let before = vault.get(&key).await?;
        self.keep(&key, before, new).await.map(Some)
    }

    async fn lock(&self, key: &VaultKey) -> Result<VaultGuard> {
        let lock = tokio::time::timeout(MAX_LOCK_WAIT, self.oauth.vault.lock(key)).await;
        lock.map_err(|_| Error::new(ErrorKind::Timeout, "another process holds the tokens of this server"))?
    }

    async fn ask_source(&self, source: &dyn TokenSource, reason: &Reason) -> Result<Arc<Tokens>> {
        let scopes = reason.demand.challenge.as_ref().and_then(Challenge::scopes);
        let request = TokenRequest {
            server: self.server.clone(),
            scope: scopes.as_ref().map(ToString::to_string),
            was_refused: reason.used.as_ref().is_some_and(|used| used.is_fresh()),
        };
        let token = source.token(request).await?;
        Ok(Arc::new(Tokens::of_application(token, scopes.unwrap_or_default())))
    }

    pub(super) fn flow(&self) -> Flow<'_> {
        Flow { oauth: &self.oauth, fetcher: &self.fetcher, nonces: &self.nonces, server: &self.server }
    }

    /// Forgets a token that is not in the vault any more, unless there is another one by now.
    fn forget_token(&self, token: &Tokens) {
        let mut state = self.state.lock();
        if state.tokens.as_ref().is_some_and(|known| known.access == token.access) {
            state.tokens = None;
        }
    }

    /// Forgets what this process knows.
    fn forget(&self) {
        let mut state = self.state.lock();
        (state.tokens, state.has_looked, state.unkept) = (None, false, None);
        state.refused.clear();
        state.sign_outs += 1;
    }

    /// Forgets the tokens and the registration, and gives the tokens back. Returns what was forgotten.
    pub(super) async fn sign_out(&self) -> Result<Option<(Tokens, bool)>> {
        let (vault, key) = (&self.oauth.vault, self.key());
        // A renewal by another process ends first, so that its token is given back, too.
        let guard = self.lock(&key).await?;
        let stored = vault.get(&key).await?;
        let known = self.read(stored.as_ref());
        let is_of_other =
            known.is_none() && stored.as_ref().is_some_and(|stored| Tokens::from_bytes(stored).is_some());
        let tokens = known.or_else(|| self.state.lock().tokens.as_deref().cloned());
        if !is_of_other {
            vault.swap(&key, stored, None).await?;
        }
        drop(guard);
        self.forget();
        let Some(tokens) = tokens else { return Ok(None) };
        let flow = self.flow();
        let revoked = async {
            let found = flow.discover(None, tokens.owner.document.as_deref()).await?;
            if is_of(&tokens, &found, &flow) { flow.revoke(&found, &tokens).await } else { Ok(false) }
        };
        // The tokens are forgotten even if the authorization server is away.
        let is_revoked = revoked.await.unwrap_or_default();
        // Another login may have registered anew.
        let client = flow.stored_client(&tokens.owner.issuer).await?;
        if let Some(client) = client.filter(|client| client.id == tokens.owner.client_id) {
            flow.forget_client(&tokens.owner.issuer, &client).await?;
        }
        Ok(Some((tokens, is_revoked)))
    }

    /// Keeps a token before it is used: the one before it may be dead.
    async fn keep(&self, key: &VaultKey, before: Option<Bytes>, new: Tokens) -> Result<Arc<Tokens>> {
        let kept = self.oauth.vault.swap(key, before.clone(), Some(new.to_bytes())).await;
        let mut state = self.state.lock();
        state.unkept = match kept {
            Ok(_) => None,
            Err(error) => {
                tracing::error!(%error, "a new token could not be kept: it is lost when this program ends");
                Some(Unkept { tokens: new.clone(), before })
            }
        };
        drop(state);
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
