//! Who sends a request, by its credentials?

use std::collections::{BTreeSet, HashMap};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use ::http::HeaderMap;
use ::http::header::AUTHORIZATION;
use toolway_protocol::oauth::{Algorithm, Jwt, JwtError, MAX_JWT};

use crate::auth::dpop::{ProofChecker, ProofError, ProvenRequest};
use crate::auth::issuer::{IssuerVerifier, rejected};
use crate::auth::verdict_cache::{Verdict, VerdictCache};
use crate::auth::verifications::Verifications;
use crate::auth::verifier::{Rejected, Rejection, Verifier};
use crate::client::oauth::crypto::hash;
use crate::ground::future::BoxFuture;
use crate::ground::log_pace::LogPace;
use crate::ground::panic::catch_panic_async;
use crate::server::admission::protection::Authenticator;
use crate::server::call::verified::Verified;
use crate::server::{ConnectRequest, Refuse};

/// Decides about the credentials of all requests to a server.
pub(crate) struct Gate {
    pub(crate) issuers: Vec<IssuerVerifier>,
    /// Verifies what no issuer has signed.
    pub(crate) other: Option<Box<dyn Verifier>>,
    /// Fixed tokens, by their hash.
    pub(crate) tokens: HashMap<String, Arc<Verified>>,
    /// Scopes that a scope stands for.
    pub(crate) implied: HashMap<String, Vec<String>>,
    pub(crate) cache: VerdictCache,
    pub(crate) verifications: Verifications,
    pub(crate) proofs: ProofChecker,
    pub(crate) dpop: DpopUse,
    /// The URL of the document that tells clients where to sign in.
    pub(crate) metadata_url: Option<String>,
    /// The scopes that clients ask for first.
    pub(crate) scope: String,
    /// Paces the log messages about refused callers, and those about tokens that cannot be verified.
    pub(crate) refusal_pace: LogPace,
    pub(crate) outage_pace: LogPace,
}

/// How tokens that are bound to a key are used. Such a token always needs a proof.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DpopUse {
    /// They are accepted, and clients are not told.
    Accepted,
    /// Clients are told that they are accepted.
    Offered,
    /// Other tokens are refused.
    Required,
}

/// The ways in which a token is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scheme {
    Bearer,
    Dpop,
}

/// Returns the credentials of a request; `None` if it has none. Fails if there are several. The characters of the token are
/// not checked yet. A token in the URL does not count: URLs are logged.
fn presented(headers: &HeaderMap) -> Result<Option<(Scheme, &[u8])>, &'static str> {
    let mut lines = headers.get_all(AUTHORIZATION).iter();
    let Some(line) = lines.next() else { return Ok(None) };
    if lines.next().is_some() {
        return Err("the request has more than one Authorization header");
    }
    let line = line.as_bytes();
    let (scheme, mut token) = line.split_at(line.iter().position(|byte| *byte == b' ').unwrap_or(line.len()));
    let scheme = match scheme {
        scheme if scheme.eq_ignore_ascii_case(b"bearer") => Scheme::Bearer,
        scheme if scheme.eq_ignore_ascii_case(b"dpop") => Scheme::Dpop,
        _ => return Ok(None),
    };
    while let [b' ', rest @ ..] | [rest @ .., b' '] = token {
        token = rest;
    }
    Ok(Some((scheme, token)))
}

/// Returns a token as text, if it can be one. A comma may come from a proxy that joined two headers.
fn well_formed(token: &[u8]) -> Option<&str> {
    let is_token = !token.is_empty() && token.iter().all(|byte| byte.is_ascii_graphic() && *byte != b',');
    std::str::from_utf8(token).ok().filter(|_| is_token)
}

impl Gate {
    async fn check(&self, request: &ConnectRequest) -> Result<Arc<Verified>, Refuse> {
        let (scheme, token) = match presented(request.headers()) {
            Ok(Some(presented)) => presented,
            Ok(None) => return Err(self.challenge(None)),
            Err(text) => return Err(self.malformed(text)),
        };
        let key = self.cache.key(token);
        let verdict = match self.cache.get(key) {
            // Only well-formed tokens have a verdict, so this one need not be checked.
            Some(verdict) => verdict,
            None => match well_formed(token) {
                Some(token) => Box::pin(self.verify_once(token, key, request.remote())).await,
                None => return Err(self.malformed("the Authorization header is malformed")),
            },
        };
        let caller = verdict.map_err(|rejected| self.refuse(&rejected))?;
        if self.needs_no_proof(&caller, scheme) {
            return Ok(caller);
        }
        // It is well-formed, because it has a verdict.
        let token = well_formed(token).unwrap_or_default();
        Box::pin(self.check_binding(&caller, scheme, token, request)).await?;
        Ok(caller)
    }

    /// Returns whether nothing but the token shows that a request is from the caller.
    fn needs_no_proof(&self, caller: &Verified, scheme: Scheme) -> bool {
        scheme == Scheme::Bearer && caller.key.is_none() && self.dpop != DpopUse::Required
    }

    /// Verifies a token once for all requests that have it at the moment.
    async fn verify_once(&self, token: &str, key: u128, remote: Option<SocketAddr>) -> Verdict {
        self.verifications
            .verdict_of(key, async {
                let (verdict, is_opaque) = self.verify(token, remote).await?;
                Ok(self.keep(key, verdict, is_opaque))
            })
            .await
    }

    /// Keeps a verdict for a while.
    fn keep(&self, key: u128, verdict: Result<Verified, Rejected>, is_opaque: bool) -> Verdict {
        let verdict = verdict.map(|caller| Arc::new(self.with_implied(caller)));
        let life = match &verdict {
            Ok(_) if is_opaque => MAX_OPAQUE,
            Ok(_) => MAX_SIGNED,
            Err(Rejected(Rejection::Invalid(_))) if is_opaque => MAX_REFUSED,
            Err(_) => return verdict,
        };
        let expiry = verdict.as_ref().ok().and_then(|caller| caller.expiry());
        let left = expiry.map(|expiry| expiry.duration_since(SystemTime::now()).unwrap_or_default());
        if left.is_some_and(|left| left.is_zero()) {
            return Err(rejected(JwtError::Expired));
        }
        self.cache.put(key, &verdict, left.map_or(life, |left| life.min(left)));
        verdict
    }

    /// Verifies a token. The issuer that a signed token names decides about it alone. Also returns whether the token is
    /// not a signed one of an issuer. Fails if too many tokens of this peer are being verified.
    async fn verify(
        &self,
        token: &str,
        remote: Option<SocketAddr>,
    ) -> Result<(Result<Verified, Rejected>, bool), Rejected> {
        if token.len() > MAX_JWT {
            return Ok((Err(rejected(JwtError::TooLong)), false));
        }
        if let Some(caller) = self.tokens.get(&hash(token)) {
            return Ok((Ok((**caller).clone()), false));
        }
        let read = Jwt::read(token);
        let issuer = read.as_ref().ok().and_then(|token| token.text_claim("iss"));
        let issuer = self.issuers.iter().find(|known| Some(known.url()) == issuer);
        Ok(match (issuer, read, &self.other) {
            (Some(issuer), Ok(token), _) => (issuer.verify(token).await, false),
            (_, _, Some(other)) => {
                let _place = match remote {
                    Some(remote) => Some(self.verifications.place_for(remote.ip()).await?),
                    None => None,
                };
                (verify_with(&**other, token).await, true)
            }
            (None, Ok(_), None) => (Err(rejected(JwtError::Issuer)), false),
            (_, Err(error), None) => (Err(rejected(error)), false),
        })
    }

    /// Checks that the caller has the key that its token is bound to.
    async fn check_binding(
        &self,
        caller: &Verified,
        scheme: Scheme,
        token: &str,
        request: &ConnectRequest,
    ) -> Result<(), Refuse> {
        let invalid = |text| Err(self.refuse(&Rejected::invalid(text)));
        match (&caller.key, scheme) {
            (None, Scheme::Bearer) => return invalid("the token must be bound to a key"),
            (None, Scheme::Dpop) => return invalid("the token is not bound to a key"),
            (Some(_), Scheme::Bearer) => {
                return invalid("the token is bound to a key: send it with the scheme DPoP and a proof");
            }
            (Some(_), Scheme::Dpop) => {}
        }
        // Without a method, the request was admitted before: its proof is used up.
        let Some(method) = &request.http_method else { return Ok(()) };
        let proven = ProvenRequest { headers: request.headers(), method, token };
        let (error, text) = match self.proofs.check(&proven, caller).await {
            Ok(()) => return Ok(()),
            Err(ProofError::Unavailable) => return Err(Refuse::unavailable()),
            Err(ProofError::TooMany) => {
                let text = "too many requests: the proofs of this caller are used up for the moment";
                self.log(text);
                return Err(Refuse::unavailable().with_text(text));
            }
            Err(ProofError::Invalid(text)) => ("invalid_dpop_proof", text),
            Err(ProofError::NeedsNonce) => ("use_dpop_nonce", "the proof needs the nonce of this server"),
        };
        self.log(text);
        let (name, nonce) = self.proofs.nonce();
        let refuse = self.dpop_challenge(Refuse::challenge("DPoP").with_error(error, text));
        Err(refuse.with_header(name, nonce).with_text(text))
    }

    /// Refuses a token.
    fn refuse(&self, rejected: &Rejected) -> Refuse {
        match &rejected.0 {
            Rejection::Invalid(text) => {
                self.log(text);
                self.challenge(Some(text)).with_text(text.clone())
            }
            Rejection::Unavailable(cause) => {
                if self.outage_pace.is_due(LOG_INTERVAL, Instant::now()) {
                    tracing::error!(cause, "a token cannot be verified, so its caller is asked to try again");
                }
                Refuse::unavailable()
            }
        }
    }

    /// Demands a token. `wrong` says what is wrong with the one that came.
    fn challenge(&self, wrong: Option<&str>) -> Refuse {
        let describe = |refuse: Refuse| match wrong {
            Some(text) => refuse.with_error("invalid_token", text),
            None => refuse,
        };
        let bearer = (self.dpop != DpopUse::Required)
            .then(|| self.with_place(describe(Refuse::challenge("Bearer")), &self.scope));
        match (bearer, self.dpop) {
            (Some(bearer), DpopUse::Accepted) => bearer,
            (Some(bearer), _) => self.dpop_challenge(describe(bearer.with_challenge("DPoP"))),
            (None, _) => self.dpop_challenge(describe(Refuse::challenge("DPoP"))),
        }
    }

    fn dpop_challenge(&self, refuse: Refuse) -> Refuse {
        let algorithms = Algorithm::DEFAULT.map(Algorithm::name).join(" ");
        self.with_place(refuse.with_algorithms(&algorithms), &self.scope)
    }

    /// Says where to sign in, and which scopes to ask for.
    fn with_place(&self, refuse: Refuse, scope: &str) -> Refuse {
        let refuse = match &self.metadata_url {
            Some(url) => refuse.with_metadata_url(url),
            None => refuse,
        };
        if scope.is_empty() { refuse } else { refuse.with_scope(scope) }
    }

    fn malformed(&self, text: &'static str) -> Refuse {
        self.log(text);
        self.with_place(Refuse::malformed(text).with_error("invalid_request", text), "")
    }

    /// Logs why a caller is refused, at most once a second: strangers cause these lines.
    fn log(&self, reason: &str) {
        if self.refusal_pace.is_due(LOG_INTERVAL, Instant::now()) {
            tracing::info!(reason, "a caller was refused");
        }
    }
}

/// Asks a verifier of the application, which may panic or take too long.
async fn verify_with(verifier: &dyn Verifier, token: &str) -> Result<Verified, Rejected> {
    match tokio::time::timeout(MAX_TIME, catch_panic_async(|| verifier.verify(token))).await {
        Ok(Ok(verdict)) => verdict,
        Ok(Err(panic)) => Err(Rejected::unavailable(panic)),
        Err(_) => Err(Rejected::unavailable("the verifier took too long")),
    }
}

impl Authenticator for Gate {
    fn authenticate<'a>(
        &'a self,
        request: &'a ConnectRequest,
    ) -> BoxFuture<'a, Result<Arc<Verified>, Refuse>> {
        Box::pin(self.check(request))
    }

    fn recall(&self, headers: &HeaderMap) -> Option<Arc<Verified>> {
        let (scheme, token) = presented(headers).ok()??;
        let caller = self.cache.get(self.cache.key(token))?.ok()?;
        self.needs_no_proof(&caller, scheme).then_some(caller)
    }

    fn with_implied(&self, caller: Verified) -> Verified {
        let mut all: BTreeSet<&str> = caller.scopes().collect();
        let mut new: Vec<&str> = all.iter().copied().collect();
        while let Some(scope) = new.pop() {
            for implied in self.implied.get(scope).into_iter().flatten() {
                if all.insert(implied) {
                    new.push(implied);
                }
            }
        }
        let all: Vec<String> = all.into_iter().map(str::to_owned).collect();
        caller.with_scopes(all)
    }

    fn insufficient(&self, scopes: &[&str]) -> Refuse {
        let scopes = scopes.join(" ");
        let text = format!("the token lacks one of the scopes `{scopes}`");
        self.log(&text);
        let scheme = if self.dpop == DpopUse::Required { "DPoP" } else { "Bearer" };
        let refuse = Refuse::forbidden(text).with_challenge(scheme).with_error("insufficient_scope", "");
        self.with_place(refuse, &scopes)
    }
}

/// How long the verdict about a signed token is kept.
const MAX_SIGNED: Duration = Duration::from_secs(5 * 60);
/// How long the verdict about another token is kept, which may be revoked.
const MAX_OPAQUE: Duration = Duration::from_secs(30);
/// How long it is kept that a token is not valid.
const MAX_REFUSED: Duration = Duration::from_secs(5);
/// The longest time that a verifier of the application may take.
const MAX_TIME: Duration = Duration::from_secs(30);
/// The shortest time between two log messages.
const LOG_INTERVAL: Duration = Duration::from_secs(1);
