//! Does the caller have the key that its token is bound to? DPoP, RFC 9449, on the side of the server.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use ::http::header::{HeaderName, HeaderValue};
use ::http::{HeaderMap, Method};
use base64_simd::URL_SAFE_NO_PAD;
use bytes::Bytes;
use ring::hmac;
use toolway_protocol::oauth::{HttpUrl, Jwk, Jwt};
use toolway_store::{Condition, Operation, Outcome, Step, Store};

use crate::auth::keys;
use crate::auth::proof_rate::ProofRate;
use crate::client::oauth::clock::now;
use crate::client::oauth::crypto::hash;
use crate::client::oauth::dpop::{NONCE_HEADER, PROOF_HEADER};
use crate::ground::mutex::Mutex;
use crate::server::call::verified::Verified;
use crate::store::{Groups, StoreGuard, random_version};

/// The reason why a proof is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ProofError {
    /// The text is for the caller.
    Invalid(&'static str),
    /// The proof must have a nonce of this server.
    NeedsNonce,
    /// The caller uses too many proofs.
    TooMany,
    /// It cannot be found out if the proof was used before.
    Unavailable,
}

/// Checks the proofs of callers.
pub(crate) struct ProofChecker {
    resource: String,
    store: Arc<dyn Store>,
    groups: Groups,
    server: String,
    /// Signs nonces. Servers that share a store have the same key.
    nonce_key: hmac::Key,
    needs_nonce: bool,
    /// The number of proofs in the current window, and its start in seconds.
    window: Mutex<(u64, u64)>,
    is_crowded: AtomicU64,
    rate: ProofRate,
}

/// The request that a proof is for.
pub(crate) struct ProvenRequest<'r> {
    pub(crate) headers: &'r HeaderMap,
    pub(crate) method: &'r Method,
    pub(crate) token: &'r str,
}

impl ProofChecker {
    pub(crate) fn new(resource: String, store: Arc<dyn Store>, server: &str, needs_nonce: bool) -> Self {
        let secret = store.secret();
        let nonce_key = hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes());
        let nonce_key =
            hmac::Key::new(hmac::HMAC_SHA256, hmac::sign(&nonce_key, b"toolway/dpop/nonce/1").as_ref());
        Self {
            resource,
            groups: Groups::new(&secret),
            store: Arc::new(StoreGuard(store)),
            server: server.to_owned(),
            nonce_key,
            needs_nonce,
            window: Mutex::default(),
            is_crowded: AtomicU64::new(0),
            rate: ProofRate::default(),
        }
    }

    /// Checks the proof of a request for a token that is bound to the key of this caller. Each proof is accepted once.
    pub(crate) async fn check(
        &self,
        request: &ProvenRequest<'_>,
        caller: &Verified,
    ) -> Result<(), ProofError> {
        let (jti, key) = self.read(request)?;
        if caller.key.as_deref() != Some(&*key) {
            return Err(ProofError::Invalid("the proof is made with another key than the token is bound to"));
        }
        if !self.rate.allows(caller.principal().as_str()) {
            return Err(ProofError::TooMany);
        }
        self.use_once(&key, &jti).await
    }

    /// Checks everything but the key and the first use. Returns the id of the proof, and the thumbprint of its key.
    fn read(&self, request: &ProvenRequest<'_>) -> Result<(String, String), ProofError> {
        let mut lines = request.headers.get_all(&PROOF_HEADER).iter();
        let (Some(line), None) = (lines.next(), lines.next()) else {
            return Err(ProofError::Invalid("the request must have one DPoP header"));
        };
        let proof = line.to_str().map_err(|_| ProofError::Invalid("the proof is malformed"))?;
        let proof = Jwt::read(proof).map_err(|_| ProofError::Invalid("the proof is malformed"))?;
        if proof.kind().as_deref() != Some("dpop+jwt") {
            return Err(ProofError::Invalid("the proof does not have the type dpop+jwt"));
        }
        let key = proof.header("jwk").and_then(Jwk::read_public);
        let key = key.ok_or(ProofError::Invalid("the proof does not have a public key that is supported"))?;
        if !keys::verify_with(&key, &proof) {
            return Err(ProofError::Invalid("the signature of the proof is not valid"));
        }
        if proof.text_claim("htm") != Some(request.method.as_str()) {
            return Err(ProofError::Invalid("the proof is for another method"));
        }
        if !proof.text_claim("htu").is_some_and(|url| is_same_url(url, &self.resource)) {
            return Err(ProofError::Invalid("the proof is for another URL"));
        }
        let issued = proof.time_claim("iat").ok().flatten();
        #[expect(clippy::cast_precision_loss, reason = "seconds since 1970 are exact")]
        let now = (now() / 1000) as f64;
        if !issued.is_some_and(|issued| (now - issued).abs() <= MAX_PROOF_AGE) {
            return Err(ProofError::Invalid("the proof is too old, or from the future"));
        }
        let jti = proof.text_claim("jti").filter(|jti| jti.len() <= MAX_JTI);
        let jti = jti.ok_or(ProofError::Invalid("the proof has no id"))?;
        match proof.text_claim("nonce") {
            Some(nonce) if self.is_own_nonce(nonce) => {}
            Some(_) => return Err(ProofError::NeedsNonce),
            None if self.needs_nonce || self.is_crowded() => return Err(ProofError::NeedsNonce),
            None => {}
        }
        if proof.text_claim("ath") != Some(hash(request.token).as_str()) {
            return Err(ProofError::Invalid("the proof is for another token"));
        }
        Ok((jti.to_owned(), hash(&key.thumbprint_text())))
    }

    /// Notes that a proof was used. Fails if it was used before, here or at a server with the same store.
    async fn use_once(&self, key: &str, jti: &str) -> Result<(), ProofError> {
        let group = format!("dpop/{}", self.groups.hash("dpop", &[&self.server, key, jti]));
        let step = Step::new().when(Condition::Absent(USED.into())).then(Operation::Put {
            key: USED.into(),
            value: Bytes::new(),
            version: random_version(),
            ttl: REMEMBERED_FOR,
        });
        self.count();
        match self.store.run(&group, &step).await {
            Ok(Outcome::Done(_)) => Ok(()),
            Ok(_) => Err(ProofError::Invalid("the proof was used before")),
            Err(error) => {
                tracing::error!(%error, "the store failed, so a proof cannot be checked");
                Err(ProofError::Unavailable)
            }
        }
    }

    /// Counts proofs. Past a limit, nonces are demanded, so that fewer proofs need to be remembered.
    fn count(&self) {
        let start = now() / 1000 / WINDOW * WINDOW;
        let mut window = self.window.lock();
        if window.1 != start {
            *window = (0, start);
        }
        window.0 += 1;
        if window.0 >= MAX_PROOFS {
            self.is_crowded.store(start + 2 * WINDOW, Ordering::Relaxed);
        }
    }

    fn is_crowded(&self) -> bool {
        self.is_crowded.load(Ordering::Relaxed) > now() / 1000
    }

    /// Makes a nonce: the time, signed.
    pub(crate) fn nonce(&self) -> (HeaderName, HeaderValue) {
        let time = (now() / 1000).to_be_bytes();
        let tag = hmac::sign(&self.nonce_key, &time);
        let nonce = URL_SAFE_NO_PAD.encode_to_string([&time[..], tag.as_ref()].concat());
        (NONCE_HEADER, HeaderValue::from_str(&nonce).expect("Base64 is a valid header"))
    }

    fn is_own_nonce(&self, nonce: &str) -> bool {
        let Ok(nonce) = URL_SAFE_NO_PAD.decode_to_vec(nonce) else { return false };
        let Some((time, tag)) = nonce.split_first_chunk::<8>() else { return false };
        let age = (now() / 1000).abs_diff(u64::from_be_bytes(*time));
        hmac::verify(&self.nonce_key, time, tag).is_ok() && age <= NONCE_LIFE
    }
}

/// Compares the URL of a proof to that of this server. The query and a final slash do not count.
fn is_same_url(named: &str, resource: &str) -> bool {
    let (Some(named), Some(resource)) = (HttpUrl::parse(named), HttpUrl::parse(resource)) else {
        return false;
    };
    let path = |url: &HttpUrl<'_>| url.path.strip_suffix('/').unwrap_or(url.path).to_owned();
    named.is_same_origin(&resource) && path(&named) == path(&resource)
}

const USED: &str = "used";
/// The greatest age of a proof in seconds, and how far in the future it may be.
const MAX_PROOF_AGE: f64 = 300.0;
/// How long a proof is remembered: as long as it could be accepted.
const REMEMBERED_FOR: Duration = Duration::from_secs(11 * 60);
/// The length of the longest id of a proof.
const MAX_JTI: usize = 256;
/// The life of a nonce in seconds.
const NONCE_LIFE: u64 = 300;
/// The number of proofs in one window past which nonces are demanded.
const MAX_PROOFS: u64 = 100_000;
/// The length of a window in seconds.
const WINDOW: u64 = 600;

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::client::oauth::crypto::{SigningKey, encode_json};
    use crate::store::MemoryStore;

    const URL: &str = "https://notes.example/mcp";

    struct Caller {
        key: SigningKey,
    }

    impl Caller {
        fn new() -> Self {
            Self { key: SigningKey::from_pkcs8(&SigningKey::generate().unwrap()).unwrap() }
        }

        fn thumbprint(&self) -> String {
            hash(&Jwk::read(&self.key.public_jwk()).unwrap().thumbprint_text())
        }

        fn prove(&self, header: &Value, claims: &Value) -> HeaderMap {
            let mut head = json!({"typ": "dpop+jwt", "alg": "ES256", "jwk": self.key.public_jwk()});
            let mut body =
                json!({"htm": "POST", "htu": URL, "iat": now() / 1000, "jti": "1", "ath": hash("the token")});
            for (whole, changes) in [(&mut head, header), (&mut body, claims)] {
                for (name, value) in changes.as_object().unwrap() {
                    whole[name] = value.clone();
                }
            }
            let proof = self.key.sign(&encode_json(&head), &body).unwrap();
            HeaderMap::from_iter([(PROOF_HEADER, HeaderValue::from_str(&proof).unwrap())])
        }
    }

    fn checker(needs_nonce: bool) -> ProofChecker {
        ProofChecker::new(URL.to_owned(), Arc::new(MemoryStore::new()), "notes", needs_nonce)
    }

    async fn verdict(
        checker: &ProofChecker,
        headers: &HeaderMap,
        thumbprint: &str,
    ) -> Result<(), ProofError> {
        let request = ProvenRequest { headers, method: &Method::POST, token: "the token" };
        checker.check(&request, &Verified::new("ann").with_key(thumbprint)).await
    }

    #[tokio::test]
    async fn a_proof_is_accepted_once() {
        let (checker, caller) = (checker(false), Caller::new());
        let headers = caller.prove(&json!({}), &json!({}));
        assert_eq!(verdict(&checker, &headers, &caller.thumbprint()).await, Ok(()));
        let again = verdict(&checker, &headers, &caller.thumbprint()).await;
        assert_eq!(again, Err(ProofError::Invalid("the proof was used before")));
        let next = caller.prove(&json!({}), &json!({"jti": "2"}));
        assert_eq!(verdict(&checker, &next, &caller.thumbprint()).await, Ok(()));
        // The same id of another caller is another proof.
        let other = Caller::new();
        let headers = other.prove(&json!({}), &json!({}));
        assert_eq!(verdict(&checker, &headers, &other.thumbprint()).await, Ok(()));
    }

    #[tokio::test]
    async fn each_rule_refuses_a_proof() {
        let (checker, caller) = (checker(false), Caller::new());
        let thumbprint = caller.thumbprint();
        let seconds = now() / 1000;
        let private = json!({"jwk": {"kty": "EC", "d": "AA"}});
        let other_key = json!({"jwk": Caller::new().key.public_jwk()});
        for (header, claims) in [
            (json!({"typ": "jwt"}), json!({})),
            (json!({"typ": null}), json!({})),
            (json!({"alg": "none"}), json!({})),
            (json!({"alg": "HS256"}), json!({})),
            (json!({"alg": "RS256"}), json!({})),
            (json!({"jwk": null}), json!({})),
            (private, json!({})),
            (other_key, json!({})),
            (json!({"crit": ["x"]}), json!({})),
            (json!({}), json!({"htm": "GET"})),
            (json!({}), json!({"htm": "post"})),
            (json!({}), json!({"htm": null})),
            (json!({}), json!({"htu": "https://notes.example/other"})),
            (json!({}), json!({"htu": "https://evil.example/mcp"})),
            (json!({}), json!({"htu": "http://notes.example/mcp"})),
            (json!({}), json!({"htu": null})),
            (json!({}), json!({"iat": seconds - 301})),
            (json!({}), json!({"iat": seconds + 310})),
            (json!({}), json!({"iat": seconds.to_string()})),
            (json!({}), json!({"iat": null})),
            (json!({}), json!({"jti": ""})),
            (json!({}), json!({"jti": "x".repeat(257)})),
            (json!({}), json!({"jti": null})),
            (json!({}), json!({"ath": hash("another token")})),
            (json!({}), json!({"ath": null})),
        ] {
            let headers = caller.prove(&header, &claims);
            let outcome = verdict(&checker, &headers, &thumbprint).await;
            assert!(matches!(outcome, Err(ProofError::Invalid(_))), "{header} {claims}: {outcome:?}");
        }
        let fine = caller.prove(&json!({}), &json!({}));
        let outcome = verdict(&checker, &fine, &Caller::new().thumbprint()).await;
        assert!(matches!(outcome, Err(ProofError::Invalid(_))), "the token is bound to another key");
        let mut twice = fine.clone();
        twice.append(PROOF_HEADER, fine[&PROOF_HEADER].clone());
        assert!(matches!(verdict(&checker, &twice, &thumbprint).await, Err(ProofError::Invalid(_))));
        assert!(matches!(
            verdict(&checker, &HeaderMap::new(), &thumbprint).await,
            Err(ProofError::Invalid(_))
        ));
        // None of them has used up the proof.
        assert_eq!(verdict(&checker, &fine, &thumbprint).await, Ok(()));
        for same in
            ["HTTPS://Notes.Example:443/mcp", "https://notes.example/mcp/", "https://notes.example/mcp?a=b"]
        {
            let headers = caller.prove(&json!({}), &json!({"htu": same, "jti": same}));
            assert_eq!(verdict(&checker, &headers, &thumbprint).await, Ok(()), "{same}");
        }
    }

    #[tokio::test]
    async fn a_nonce_is_from_this_server_or_its_neighbours() {
        let store = Arc::new(MemoryStore::new());
        let node = || ProofChecker::new(URL.to_owned(), store.clone(), "notes", true);
        let (one, other, caller) = (node(), node(), Caller::new());
        let thumbprint = caller.thumbprint();
        let without = caller.prove(&json!({}), &json!({}));
        assert_eq!(verdict(&one, &without, &thumbprint).await, Err(ProofError::NeedsNonce));
        let nonce = one.nonce().1;
        let with = caller.prove(&json!({}), &json!({"nonce": nonce.to_str().unwrap()}));
        assert_eq!(verdict(&other, &with, &thumbprint).await, Ok(()));
        assert_eq!(
            verdict(&one, &with, &thumbprint).await,
            Err(ProofError::Invalid("the proof was used before")),
            "another node has seen it"
        );
        for wrong in ["", "x", "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", checker(true).nonce().1.to_str().unwrap()]
        {
            let with = caller.prove(&json!({}), &json!({"nonce": wrong, "jti": "n"}));
            assert_eq!(verdict(&one, &with, &thumbprint).await, Err(ProofError::NeedsNonce), "{wrong}");
        }
        // A server that demands no nonce does not accept one of another server either.
        let with = caller.prove(&json!({}), &json!({"nonce": nonce.to_str().unwrap(), "jti": "n"}));
        assert_eq!(verdict(&checker(false), &with, &thumbprint).await, Err(ProofError::NeedsNonce));
    }

    #[tokio::test]
    async fn a_nonce_is_accepted_for_five_minutes() {
        let (checker, caller) = (checker(true), Caller::new());
        for (age, outcome) in [(290, Ok(())), (310, Err(ProofError::NeedsNonce))] {
            let time = (now() / 1000 - age).to_be_bytes();
            let tag = hmac::sign(&checker.nonce_key, &time);
            let nonce = URL_SAFE_NO_PAD.encode_to_string([&time[..], tag.as_ref()].concat());
            let headers = caller.prove(&json!({}), &json!({"nonce": nonce, "jti": age.to_string()}));
            assert_eq!(verdict(&checker, &headers, &caller.thumbprint()).await, outcome, "{age}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_proof_is_remembered_as_long_as_it_could_be_accepted() {
        let (checker, caller) = (checker(false), Caller::new());
        // The proof is from the future as far as that is accepted, so it is accepted for ten minutes.
        let headers = caller.prove(&json!({}), &json!({"iat": now() / 1000 + 299}));
        assert_eq!(verdict(&checker, &headers, &caller.thumbprint()).await, Ok(()));
        // Only the clock of the store moves.
        tokio::time::advance(Duration::from_secs(600)).await;
        let again = verdict(&checker, &headers, &caller.thumbprint()).await;
        assert_eq!(again, Err(ProofError::Invalid("the proof was used before")));
    }

    #[tokio::test]
    async fn very_many_proofs_make_nonces_mandatory() {
        let (checker, caller) = (checker(false), Caller::new());
        let thumbprint = caller.thumbprint();
        for count in [MAX_PROOFS - 2, MAX_PROOFS - 1] {
            *checker.window.lock() = (count, now() / 1000 / WINDOW * WINDOW);
            let headers = caller.prove(&json!({}), &json!({"jti": count.to_string()}));
            assert_eq!(verdict(&checker, &headers, &thumbprint).await, Ok(()), "{count}");
        }
        let without = caller.prove(&json!({}), &json!({}));
        assert_eq!(verdict(&checker, &without, &thumbprint).await, Err(ProofError::NeedsNonce));
        let nonce = checker.nonce().1;
        let with = caller.prove(&json!({}), &json!({"nonce": nonce.to_str().unwrap()}));
        assert_eq!(verdict(&checker, &with, &thumbprint).await, Ok(()));
    }
    #[tokio::test(start_paused = true)]
    async fn a_caller_with_very_many_proofs_must_wait() {
        let (checker, caller) = (checker(false), Caller::new());
        while checker.rate.allows("ann") {}
        let headers = caller.prove(&json!({}), &json!({}));
        assert_eq!(verdict(&checker, &headers, &caller.thumbprint()).await, Err(ProofError::TooMany));
        tokio::time::advance(Duration::from_secs(1)).await;
        assert_eq!(verdict(&checker, &headers, &caller.thumbprint()).await, Ok(()));
    }
}
