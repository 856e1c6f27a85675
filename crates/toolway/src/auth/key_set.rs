//! Which keys does an issuer have at the moment?
//!
//! The keys are fetched when the first token comes, and again before they are too old. A token with the name of an unknown
//! key makes the server fetch them earlier, but not often: anyone can write such a token.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use ::http::HeaderMap;
use ::http::header::CACHE_CONTROL;
use tokio::sync::Mutex as AsyncMutex;
use tokio::time::Instant;
use toolway_protocol::oauth::{Jwk, Jwt};

use crate::auth::discover::metadata_of;
use crate::auth::keys::{self, KeyVerdict};
use crate::client::oauth::clock::now;
use crate::client::oauth::fetch::Fetcher;
use crate::ground::error::{Chain, Error, ErrorKind, Result};
use crate::ground::mutex::Mutex;

/// The keys of an issuer.
pub(crate) struct KeySet {
    issuer: String,
    fetcher: Fetcher,
    state: Mutex<State>,
    /// Held while the keys are fetched.
    fetching: Arc<AsyncMutex<()>>,
}

#[derive(Default)]
struct State {
    current: Option<Keys>,
    /// The URL of the keys, which the metadata of the issuer names.
    url: Option<String>,
    /// When a fetch failed, and why.
    failure: Option<(Instant, String)>,
    /// When an unknown key last led to a fetch.
    last_search: Option<Instant>,
    /// Names of keys that the issuer did not have.
    unknown: VecDeque<UnknownKey>,
    is_renewing: bool,
}

/// A key that the issuer did not have.
struct UnknownKey {
    name: String,
    since: Instant,
    /// In seconds since 1970.
    noted_on: f64,
}

#[derive(Clone)]
struct Keys {
    all: Arc<Vec<Jwk>>,
    renew_at: Instant,
    fetched_at: Instant,
    /// In seconds since 1970.
    fetched_on: f64,
}

/// The reason why a signature is not verified.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum KeyError {
    Forged,
    /// The keys cannot be had. The text is for the log.
    Unavailable(String),
}

impl KeyError {
    fn search_is_over() -> Self {
        Self::Unavailable("an unknown key was looked for a moment ago".to_owned())
    }
}

impl KeySet {
    pub(crate) fn new(issuer: String, fetcher: Fetcher) -> Self {
        Self { issuer, fetcher, state: Mutex::default(), fetching: Arc::default() }
    }

    /// Verifies the signature of a token.
    pub(crate) async fn verify(self: &Arc<Self>, token: &Jwt<'_>) -> Result<(), KeyError> {
        let keys = self.current().await?;
        match keys::verify(&keys.all, token) {
            KeyVerdict::Signed => return Ok(()),
            KeyVerdict::Forged => return Err(KeyError::Forged),
            KeyVerdict::Unknown => {}
        }
        let id = token.key_id().unwrap_or_default();
        let issued = token.time_claim("iat").ok().flatten();
        if self.is_known_unknown(id, issued) {
            return Err(KeyError::Forged);
        }
        let Some(keys) = self.search(&keys).await? else {
            // The keys may not be fetched again yet. If they are younger than the token, its key does not exist.
            let is_older = issued.is_some_and(|issued| issued + CLOCK_SKEW < keys.fetched_on);
            return Err(if is_older { KeyError::Forged } else { KeyError::search_is_over() });
        };
        match keys::verify(&keys.all, token) {
            KeyVerdict::Signed => Ok(()),
            KeyVerdict::Forged => Err(KeyError::Forged),
            KeyVerdict::Unknown => {
                self.remember_unknown(id);
                Err(KeyError::Forged)
            }
        }
    }

    /// Returns the keys. Fetches them if there are none; if they are not young any more, fetches them in the background.
    async fn current(self: &Arc<Self>) -> Result<Keys, KeyError> {
        let current = {
            let mut state = self.state.lock();
            let current = state.current.clone().filter(|keys| keys.fetched_at.elapsed() < MAX_AGE);
            if let Some(keys) = &current
                && keys.renew_at <= Instant::now()
                && !state.is_renewing
                && !state.has_just_failed()
            {
                state.is_renewing = true;
                let set = self.clone();
                tokio::spawn(async move { drop(set.renew().await) });
            }
            current
        };
        match current {
            Some(keys) => Ok(keys),
            None => self.first().await,
        }
    }

    async fn renew(&self) -> Result<Keys, KeyError> {
        // Allows the next renewal even if this one is cancelled.
        let _renewing = Renewing(self);
        let _turn = self.fetching.lock().await;
        self.fetch(true).await
    }

    /// Fetches the keys, unless another caller has just done so.
    async fn first(&self) -> Result<Keys, KeyError> {
        let _turn = self.fetching.lock().await;
        {
            let state = self.state.lock();
            if let Some(keys) = state.current.clone().filter(|keys| keys.fetched_at.elapsed() < MAX_AGE) {
                return Ok(keys);
            }
            if state.has_just_failed()
                && let Some((_, cause)) = &state.failure
            {
                return Err(KeyError::Unavailable(cause.clone()));
            }
        }
        self.fetch(true).await
    }

    /// Looks for a key that is not among `seen`. Returns `None` if the keys may not be fetched again yet.
    async fn search(self: &Arc<Self>, seen: &Keys) -> Result<Option<Keys>, KeyError> {
        let turn = self.fetching.clone().lock_owned().await;
        {
            let mut state = self.state.lock();
            // Another caller has fetched them while this one waited.
            if let Some(keys) = state.current.clone().filter(|keys| keys.fetched_at > seen.fetched_at) {
                return Ok(Some(keys));
            }
            if state.last_search.is_some_and(|last| last.elapsed() < SEARCH_INTERVAL) {
                return Ok(None);
            }
            state.last_search = Some(Instant::now());
        }
        // In a task of its own. A caller that goes away would end the fetch, and the next one may come only after a while.
        let set = self.clone();
        let fetching = tokio::spawn(async move {
            let _turn = turn;
            set.fetch(false).await
        });
        fetching.await.map_err(|_| KeyError::search_is_over())?.map(Some)
    }

    async fn fetch(&self, finds_url: bool) -> Result<Keys, KeyError> {
        let fetched = self.try_fetch(finds_url).await;
        let mut state = self.state.lock();
        match fetched {
            Ok(keys) => {
                state.current = Some(keys.clone());
                state.failure = None;
                state.unknown.clear();
                Ok(keys)
            }
            Err(error) => {
                let cause = Chain(&error).to_string();
                tracing::warn!(
                    issuer = self.issuer,
                    error = cause,
                    "the keys of an issuer cannot be fetched"
                );
                state.failure = Some((Instant::now(), cause.clone()));
                Err(KeyError::Unavailable(cause))
            }
        }
    }

    async fn try_fetch(&self, finds_url: bool) -> Result<Keys> {
        let known = self.state.lock().url.clone().filter(|_| !finds_url);
        let url = match known {
            Some(url) => url,
            None => self.find_url().await?,
        };
        let reply = self.fetcher.get(&url, HeaderMap::new(), MAX_KEY_SET).await?;
        let keys =
            Some(&reply.body).filter(|_| reply.status.is_success()).and_then(|body| Jwk::read_set(body));
        let keys = keys.ok_or_else(|| {
            let text = format!("{} sends no set of keys (status {})", self.issuer, reply.status.as_u16());
            Error::new(ErrorKind::PeerMisbehaved, text)
        })?;
        self.state.lock().url = Some(url);
        let life = life_of(&reply.headers);
        let fetched_at = Instant::now();
        let renew_at = fetched_at + life.mul_f64(RENEW_FRACTION);
        Ok(Keys { all: Arc::new(keys), renew_at, fetched_at, fetched_on: seconds() })
    }

    /// Finds the URL of the keys in the metadata of the issuer.
    async fn find_url(&self) -> Result<String> {
        metadata_of(&self.issuer, &self.fetcher).await?.jwks_uri.ok_or_else(|| {
            let text = format!("{} does not say where its keys are", self.issuer);
            Error::new(ErrorKind::PeerMisbehaved, text)
        })
    }

    /// Returns whether the issuer did not have a key. If the token was issued later, the issuer may have it now.
    fn is_known_unknown(&self, id: &str, issued: Option<f64>) -> bool {
        let mut state = self.state.lock();
        while state.unknown.front().is_some_and(|unknown| unknown.since.elapsed() > REMEMBERED_FOR) {
            state.unknown.pop_front();
        }
        let is_it = |unknown: &UnknownKey| {
            unknown.name == id && issued.is_none_or(|issued| issued <= unknown.noted_on + CLOCK_SKEW)
        };
        state.unknown.iter().any(is_it)
    }

    fn remember_unknown(&self, id: &str) {
        let mut state = self.state.lock();
        if state.unknown.len() >= MAX_UNKNOWN {
            state.unknown.pop_front();
        }
        state.unknown.push_back(UnknownKey {
            name: id.to_owned(),
            since: Instant::now(),
            noted_on: seconds(),
        });
    }
}

impl State {
    fn has_just_failed(&self) -> bool {
        self.failure.as_ref().is_some_and(|(when, _)| when.elapsed() < FAILURE_INTERVAL)
    }
}

/// Returns the time in seconds since 1970.
#[expect(clippy::cast_precision_loss, reason = "seconds since 1970 are exact")]
fn seconds() -> f64 {
    (now() / 1000) as f64
}

struct Renewing<'s>(&'s KeySet);

impl Drop for Renewing<'_> {
    fn drop(&mut self) {
        self.0.state.lock().is_renewing = false;
    }
}

/// Returns how long a set of keys is valid, as its issuer says.
fn life_of(headers: &HeaderMap) -> Duration {
    let lines = headers.get_all(CACHE_CONTROL).iter().filter_map(|line| line.to_str().ok());
    let seconds = lines.flat_map(|line| line.split(',')).find_map(|part| {
        let (name, value) = part.trim().split_once('=')?;
        if name.eq_ignore_ascii_case("max-age") { value.trim_matches('"').parse().ok() } else { None }
    });
    seconds.map_or(DEFAULT_LIFE, |seconds| Duration::from_secs(seconds).clamp(MIN_LIFE, MAX_AGE))
}

/// The length of the longest set of keys.
const MAX_KEY_SET: usize = 256 << 10;
/// The shortest time between two fetches because of unknown keys.
const SEARCH_INTERVAL: Duration = Duration::from_secs(30);
/// The shortest time between a fetch that failed and the next one.
const FAILURE_INTERVAL: Duration = Duration::from_secs(5);
/// The age at which keys are not used any more, if no newer ones can be fetched.
const MAX_AGE: Duration = Duration::from_secs(24 * 3600);
/// The shortest life of a set of keys, whatever its issuer says.
const MIN_LIFE: Duration = Duration::from_secs(5 * 60);
/// The life of a set of keys whose issuer does not say it.
const DEFAULT_LIFE: Duration = Duration::from_secs(60 * 60);
/// The part of its life after which a set of keys is fetched again.
const RENEW_FRACTION: f64 = 0.8;
/// How long the name of a key that does not exist is remembered.
const REMEMBERED_FOR: Duration = Duration::from_secs(5 * 60);
/// How many of these names are remembered.
const MAX_UNKNOWN: usize = 128;
/// By how many seconds the clock of an issuer may differ.
const CLOCK_SKEW: f64 = 60.0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_names_of_unknown_keys_are_remembered() {
        let fetcher = crate::auth::discover::fetcher("http://127.0.0.1", false).unwrap();
        let keys = KeySet::new("http://127.0.0.1".to_owned(), fetcher);
        for number in 0..=2 * MAX_UNKNOWN {
            keys.remember_unknown(&number.to_string());
        }
        assert_eq!(keys.state.lock().unknown.len(), MAX_UNKNOWN);
        let last = (2 * MAX_UNKNOWN).to_string();
        assert!(!keys.is_known_unknown("0", None) && keys.is_known_unknown(&last, None));
        // The issuer may have made the key since.
        assert!(keys.is_known_unknown(&last, Some(seconds() + 59.0)));
        assert!(!keys.is_known_unknown(&last, Some(seconds() + 65.0)));
    }

    #[test]
    fn the_issuer_says_how_long_its_keys_are_valid_within_limits() {
        let life =
            |text: &str| life_of(&HeaderMap::from_iter([(CACHE_CONTROL, text.parse().unwrap())])).as_secs();
        assert_eq!(life("public, max-age=600"), 600);
        assert_eq!(life("Max-Age=\"600\""), 600);
        assert_eq!(life("max-age=1"), 300);
        assert_eq!(life("max-age=99999999"), 86_400);
        assert_eq!(life("no-store"), 3600);
        assert_eq!(life("max-age=-1"), 3600);
    }
}
