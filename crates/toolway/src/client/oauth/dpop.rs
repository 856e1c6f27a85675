//! How does a client prove that it has the key of a token? DPoP, RFC 9449.

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};

use ::http::header::{HeaderMap, HeaderName, HeaderValue};
use base64_simd::URL_SAFE_NO_PAD;
use serde_json::json;
use toolway_protocol::oauth::HttpUrl;
use zeroize::Zeroizing;

use crate::client::oauth::clock::now;
use crate::client::oauth::crypto::{SigningKey, encode_json, hash, random_text};
use crate::client::oauth::secret::Secret;
use crate::ground::error::{Error, ErrorKind, Result};
use crate::ground::mutex::Mutex;

/// The header of a proof.
pub(crate) const PROOF_HEADER: HeaderName = HeaderName::from_static("dpop");
/// The header in which a server says which nonce the next proof must have.
pub(crate) const NONCE_HEADER: HeaderName = HeaderName::from_static("dpop-nonce");
/// The algorithm of the proofs.
pub(super) const ALGORITHM: &str = "ES256";

/// A key that tokens are bound to.
pub(super) struct ProofKey {
    key: SigningKey,
    /// PKCS#8, in Base64 for URLs.
    secret: Secret,
    /// The header of every proof, encoded.
    header: String,
}

impl ProofKey {
    pub(super) fn generate() -> Result<Self> {
        let secret = Secret::new(URL_SAFE_NO_PAD.encode_to_string(SigningKey::generate()?.as_slice()));
        Self::from_secret(secret).ok_or_else(|| Error::new(ErrorKind::Application, "a key could not be made"))
    }

    pub(super) fn from_secret(secret: Secret) -> Option<Self> {
        let der = Zeroizing::new(URL_SAFE_NO_PAD.decode_to_vec(secret.reveal()).ok()?);
        let key = SigningKey::from_pkcs8(&der)?;
        let header = encode_json(&json!({"typ": "dpop+jwt", "alg": ALGORITHM, "jwk": key.public_jwk()}));
        Some(Self { key, secret, header })
    }

    pub(super) fn secret(&self) -> &Secret {
        &self.secret
    }

    /// Proves that this client sends a request. Each proof is used once.
    pub(super) fn prove(
        &self,
        method: &str,
        url: &str,
        token: Option<&Secret>,
        nonce: Option<&str>,
    ) -> Result<HeaderValue> {
        let end = url.find(['?', '#']).unwrap_or(url.len());
        let mut claims = json!({"jti": random_text(), "htm": method, "htu": url[..end], "iat": now() / 1000});
        if let Some(token) = token {
            claims["ath"] = hash(token.reveal()).into();
        }
        if let Some(nonce) = nonce {
            claims["nonce"] = nonce.into();
        }
        let proof = self.key.sign(&self.header, &claims)?;
        HeaderValue::from_str(&proof).map_err(|error| {
            Error::new(ErrorKind::Application, "a proof could not be written").caused_by(error)
        })
    }
}

impl PartialEq for ProofKey {
    fn eq(&self, other: &Self) -> bool {
        self.secret == other.secret
    }
}

impl Eq for ProofKey {}

impl fmt::Debug for ProofKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[key]")
    }
}

/// The nonces that servers want to see in the next proof, by the origin of the server.
#[derive(Default)]
pub(super) struct Nonces {
    known: Mutex<HashMap<String, String>>,
    /// `true` if there was a proof.
    are_used: AtomicBool,
}

impl Nonces {
    /// Returns whether proofs are made.
    pub(super) fn are_used(&self) -> bool {
        self.are_used.load(Ordering::Relaxed)
    }

    /// Returns the nonce for a proof.
    pub(super) fn get(&self, url: &str) -> Option<String> {
        self.are_used.store(true, Ordering::Relaxed);
        self.known.lock().get(HttpUrl::parse(url)?.origin).cloned()
    }

    /// Notes the nonce of a reply. Returns whether it is a new one.
    pub(super) fn note(&self, url: impl ToString, headers: &HeaderMap) -> bool {
        let Some(nonce) = usable_nonce(headers) else { return false };
        let url = url.to_string();
        let Some(url) = HttpUrl::parse(&url) else { return false };
        let mut nonces = self.known.lock();
        if nonces.get(url.origin).is_some_and(|known| known == nonce) {
            return false;
        }
        if nonces.len() >= MAX_ORIGINS && !nonces.contains_key(url.origin) {
            nonces.clear();
        }
        nonces.insert(url.origin.to_owned(), nonce.to_owned());
        true
    }
}

/// Returns the nonce of a reply, if it can be used. It may be known already: of several requests that are refused for an old
/// nonce, the first one notes the new one, and all are sent again with it.
pub(super) fn usable_nonce(headers: &HeaderMap) -> Option<&str> {
    let nonce = headers.get(NONCE_HEADER).and_then(|nonce| nonce.to_str().ok());
    nonce.filter(|nonce| nonce.len() <= MAX_NONCE)
}

/// The length of the longest nonce that is used.
const MAX_NONCE: usize = 1024;
/// The largest number of servers whose nonces are known: an MCP server and its authorization servers.
const MAX_ORIGINS: usize = 16;

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    fn read(part: &str) -> Value {
        serde_json::from_slice(&URL_SAFE_NO_PAD.decode_to_vec(part).unwrap()).unwrap()
    }

    #[test]
    fn a_proof_is_for_one_request() {
        let key = ProofKey::generate().unwrap();
        let token = Secret::new("t");
        let prove =
            || key.prove("POST", "https://a.example/mcp?key=hidden#x", Some(&token), Some("n")).unwrap();
        let (one, other) = (prove(), prove());
        assert_ne!(one, other);
        let parts: Vec<&str> = one.to_str().unwrap().split('.').collect();
        let (header, claims) = (read(parts[0]), read(parts[1]));
        assert_eq!((header["typ"].as_str(), header["alg"].as_str()), (Some("dpop+jwt"), Some("ES256")));
        assert_eq!(header["jwk"].as_object().unwrap().len(), 4, "only the public half is shown");
        assert_eq!(
            (claims["htm"].as_str(), claims["htu"].as_str()),
            (Some("POST"), Some("https://a.example/mcp"))
        );
        assert_eq!((&claims["ath"], &claims["nonce"]), (&json!(hash("t")), &json!("n")));
        let again = ProofKey::from_secret(key.secret().clone()).unwrap();
        assert_eq!(again.header, key.header);
        assert!(ProofKey::from_secret(Secret::new("x")).is_none());
    }

    #[test]
    fn a_nonce_belongs_to_one_origin() {
        let nonces = Nonces::default();
        let reply =
            |nonce: &str| HeaderMap::from_iter([(NONCE_HEADER, HeaderValue::from_str(nonce).unwrap())]);
        assert!(nonces.note("https://a.example/x", &reply("1")));
        assert!(!nonces.note("https://a.example/y", &reply("1")), "known already");
        assert!(nonces.note("https://b.example/", &reply("2")));
        assert_eq!(nonces.get("https://a.example/z?q").as_deref(), Some("1"));
        assert_eq!(nonces.get("https://c.example/"), None);
        assert!(!nonces.note("https://a.example/", &reply(&"n".repeat(MAX_NONCE + 1))));
        for number in 0..100 {
            nonces.note(format!("https://{number}.example/"), &reply("n"));
        }
        assert!(nonces.known.lock().len() <= MAX_ORIGINS);
    }
}
