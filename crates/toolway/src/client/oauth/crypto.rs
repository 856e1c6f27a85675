//! Random values, hashes and signatures. All of the cryptography is that of `ring`, which TLS uses as well.

use base64_simd::URL_SAFE_NO_PAD;
use ring::digest::{SHA256, digest};
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair};
use serde_json::{Value, json};
use zeroize::Zeroizing;

use crate::client::oauth::secret::Secret;
use crate::ground::error::{Error, ErrorKind, Result};

/// Returns a random text with 256 bits that cannot be guessed, in Base64 for URLs.
pub(crate) fn random_text() -> String {
    let mut bytes = [0; 32];
    // Without randomness, a login could be taken over, so this panics.
    getrandom::fill(&mut bytes).expect("the system has a source of randomness");
    URL_SAFE_NO_PAD.encode_to_string(bytes)
}

/// Returns the SHA-256 of a text, in Base64 for URLs.
pub(crate) fn hash(text: &str) -> String {
    URL_SAFE_NO_PAD.encode_to_string(digest(&SHA256, text.as_bytes()).as_ref())
}

/// Returns the SHA-256 of a text, in hexadecimal.
pub(crate) fn hex_hash(text: &str) -> String {
    let digit = |digit: u8| char::from_digit(digit.into(), 16).unwrap_or_default();
    let hash = digest(&SHA256, text.as_bytes());
    hash.as_ref().iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

/// A private key for signatures with ES256.
pub(crate) struct SigningKey(EcdsaKeyPair);

impl SigningKey {
    /// Reads a key in PKCS#8, as PEM.
    pub(crate) fn from_pem(pem: &Secret) -> Result<Self> {
        let mistake = |what: &str| Error::new(ErrorKind::Misuse, format!("the private key {what}"));
        let body = pem.reveal().trim().strip_prefix("-----BEGIN PRIVATE KEY-----");
        let body = body.and_then(|rest| rest.strip_suffix("-----END PRIVATE KEY-----"));
        let body = body.ok_or_else(|| {
            mistake("must be PEM that begins with -----BEGIN PRIVATE KEY-----: convert it with `openssl pkcs8 -topk8 -nocrypt`")
        })?;
        let body: String = body.split_whitespace().collect();
        let der = base64_simd::STANDARD
            .decode_to_vec(&body)
            .map_err(|_| mistake("is not valid PEM: its Base64 cannot be read"))?;
        let key = Self::from_pkcs8(&der);
        key.ok_or_else(|| mistake("is not one for ES256: make one with the curve P-256"))
    }

    /// Reads a key in PKCS#8.
    pub(crate) fn from_pkcs8(der: &[u8]) -> Option<Self> {
        let key = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, der, &SystemRandom::new());
        key.map(Self).ok()
    }

    /// Makes a key, in PKCS#8.
    pub(crate) fn generate() -> Result<Zeroizing<Vec<u8>>> {
        let key = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &SystemRandom::new());
        let key = key.map_err(|_| Error::new(ErrorKind::Application, "a key could not be made"))?;
        Ok(Zeroizing::new(key.as_ref().to_vec()))
    }

    /// Returns the public half as a JWK (RFC 7517).
    pub(crate) fn public_jwk(&self) -> Value {
        // A point of the curve: the byte 4, and two coordinates of 32 bytes.
        let point = self.0.public_key().as_ref();
        let (x, y) = point[1..].split_at((point.len() - 1) / 2);
        let encode = |bytes: &[u8]| URL_SAFE_NO_PAD.encode_to_string(bytes);
        json!({"kty": "EC", "crv": "P-256", "x": encode(x), "y": encode(y)})
    }

    /// Signs claims as a JWT (RFC 7515). The header is [encoded](encode_json) already.
    pub(crate) fn sign(&self, header: &str, claims: &Value) -> Result<String> {
        let message = format!("{header}.{}", encode_json(claims));
        let failed = |_| Error::new(ErrorKind::Application, "a signature could not be made");
        let signature = self.0.sign(&SystemRandom::new(), message.as_bytes()).map_err(failed)?;
        Ok(format!("{message}.{}", URL_SAFE_NO_PAD.encode_to_string(signature.as_ref())))
    }
}

/// Encodes JSON as a part of a JWT.
pub(crate) fn encode_json(value: &Value) -> String {
    URL_SAFE_NO_PAD.encode_to_string(value.to_string())
}

#[cfg(test)]
mod tests {
    use ring::signature::{ECDSA_P256_SHA256_FIXED, UnparsedPublicKey};

    use super::*;

    #[test]
    fn the_hash_is_that_of_the_standard() {
        // RFC 7636, appendix B.
        let verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
        assert_eq!(hash(verifier), "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM");
        assert_eq!(random_text().len(), 43);
        assert_ne!(random_text(), random_text());
    }

    #[test]
    fn a_signature_can_be_verified() {
        let pem = base64_simd::STANDARD.encode_to_string(SigningKey::generate().unwrap().as_slice());
        let pem = format!("-----BEGIN PRIVATE KEY-----\n{pem}\n-----END PRIVATE KEY-----\n");
        let key = SigningKey::from_pem(&Secret::new(pem)).unwrap();
        let token = key.sign(&encode_json(&json!({"alg": "ES256"})), &json!({"sub": "a"})).unwrap();
        let (message, signature) = token.rsplit_once('.').unwrap();
        let signature = URL_SAFE_NO_PAD.decode_to_vec(signature).unwrap();
        let public = UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, key.0.public_key().as_ref());
        public.verify(message.as_bytes(), &signature).unwrap();
        let (header, claims) = message.split_once('.').unwrap();
        assert_eq!(URL_SAFE_NO_PAD.decode_to_vec(header).unwrap(), br#"{"alg":"ES256"}"#);
        assert_eq!(URL_SAFE_NO_PAD.decode_to_vec(claims).unwrap(), br#"{"sub":"a"}"#);
    }

    #[test]
    fn what_is_not_a_key_is_explained_and_not_shown() {
        for (pem, part) in [
            ("hidden", "must be PEM"),
            ("-----BEGIN RSA PRIVATE KEY-----\nhidden\n-----END RSA PRIVATE KEY-----", "must be PEM"),
            ("-----BEGIN PRIVATE KEY-----\nhidden!\n-----END PRIVATE KEY-----", "Base64"),
            ("-----BEGIN PRIVATE KEY-----\naGlkZGVu\n-----END PRIVATE KEY-----", "P-256"),
        ] {
            let error = SigningKey::from_pem(&Secret::new(pem)).err().unwrap().to_string();
            assert!(error.contains(part) && !error.contains("hidden"), "{error}");
        }
    }
}
