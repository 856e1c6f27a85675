//! Which of the keys of an issuer has signed a token?

use ring::signature::{self, UnparsedPublicKey, VerificationAlgorithm};
use toolway_protocol::oauth::{Algorithm, Jwk, Jwt, KeyMaterial};

/// The largest number of keys that are tried for a token that does not name its key.
const MAX_TRIES: usize = 8;

/// Says if a key fits, or has signed the token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KeyVerdict {
    Signed,
    /// There is a key with this name, or there are keys that fit, but none has signed the token.
    Forged,
    /// There is no key with this name.
    Unknown,
}

/// Verifies the signature of a token with the keys of its issuer.
pub(crate) fn verify(keys: &[Jwk], token: &Jwt<'_>) -> KeyVerdict {
    let is_named = |key: &&Jwk| token.key_id().is_none_or(|id| key.id.as_deref() == Some(id));
    let named: Vec<&Jwk> = keys.iter().filter(is_named).collect();
    if named.is_empty() {
        return KeyVerdict::Unknown;
    }
    let mut fitting = named.into_iter().filter(|key| key.fits(token.algorithm)).take(MAX_TRIES);
    if fitting.any(|key| verify_with(key, token)) { KeyVerdict::Signed } else { KeyVerdict::Forged }
}

/// Verifies the signature of a token with one key, which must fit its algorithm.
pub(crate) fn verify_with(key: &Jwk, token: &Jwt<'_>) -> bool {
    let name = token.header("alg").and_then(serde_json::Value::as_str);
    if !key.fits(token.algorithm) || !key.allows(name) {
        return false;
    }
    let (message, signature) = (token.signed_part(), token.signature());
    match &key.material {
        KeyMaterial::Rsa { n, e } => {
            let Some(algorithm) = rsa(token.algorithm) else { return false };
            signature::RsaPublicKeyComponents { n, e }.verify(algorithm, message, signature).is_ok()
        }
        KeyMaterial::P256(point) => check(&signature::ECDSA_P256_SHA256_FIXED, point, message, signature),
        KeyMaterial::P384(point) => check(&signature::ECDSA_P384_SHA384_FIXED, point, message, signature),
        KeyMaterial::Ed25519(key) => check(&signature::ED25519, key, message, signature),
    }
}

fn check(
    algorithm: &'static dyn VerificationAlgorithm,
    key: &[u8],
    message: &[u8],
    signature: &[u8],
) -> bool {
    UnparsedPublicKey::new(algorithm, key).verify(message, signature).is_ok()
}

fn rsa(algorithm: Algorithm) -> Option<&'static signature::RsaParameters> {
    Some(match algorithm {
        Algorithm::Rs256 => &signature::RSA_PKCS1_2048_8192_SHA256,
        Algorithm::Rs384 => &signature::RSA_PKCS1_2048_8192_SHA384,
        Algorithm::Rs512 => &signature::RSA_PKCS1_2048_8192_SHA512,
        Algorithm::Ps256 => &signature::RSA_PSS_2048_8192_SHA256,
        Algorithm::Ps384 => &signature::RSA_PSS_2048_8192_SHA384,
        Algorithm::Ps512 => &signature::RSA_PSS_2048_8192_SHA512,
        Algorithm::Es256 | Algorithm::Es384 | Algorithm::EdDsa => return None,
    })
}

#[cfg(test)]
mod tests {
    use ring::signature::{Ed25519KeyPair, KeyPair};
    use serde_json::json;

    use super::*;
    use crate::client::oauth::crypto::encode_json;

    #[test]
    fn a_key_verifies_only_the_algorithm_that_it_names() {
        let pair = Ed25519KeyPair::from_seed_unchecked(&[7; 32]).unwrap();
        let x = base64_simd::URL_SAFE_NO_PAD.encode_to_string(pair.public_key().as_ref());
        let signed = format!("{}.{}", encode_json(&json!({"alg": "EdDSA"})), encode_json(&json!({})));
        let signature = base64_simd::URL_SAFE_NO_PAD.encode_to_string(pair.sign(signed.as_bytes()).as_ref());
        let token = format!("{signed}.{signature}");
        let token = Jwt::read(&token).unwrap();
        // `EdDSA` and `Ed25519` are two names of one algorithm.
        for (named, is_valid) in [(None, true), (Some("EdDSA"), true), (Some("Ed25519"), false)] {
            let mut key = json!({"kty": "OKP", "crv": "Ed25519", "x": x});
            key.as_object_mut().unwrap().extend(named.map(|name| ("alg".to_owned(), json!(name))));
            assert_eq!(verify_with(&Jwk::read(&key).unwrap(), &token), is_valid, "{named:?}");
        }
    }

    /// RFC 8037, appendix A.
    const TOKEN: &str = "eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc.hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg";

    #[test]
    fn a_signature_of_the_standard_is_valid_and_any_change_of_it_is_not() {
        // The payload of the example is not JSON, so the parts are verified directly.
        let key = json!({"kty": "OKP", "crv": "Ed25519", "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"});
        let Some(Jwk { material: KeyMaterial::Ed25519(key), .. }) = Jwk::read(&key) else { panic!() };
        let (message, signature) = TOKEN.rsplit_once('.').unwrap();
        let signature = base64_simd::URL_SAFE_NO_PAD.decode_to_vec(signature).unwrap();
        assert!(check(&signature::ED25519, &key, message.as_bytes(), &signature));
        for index in 0..signature.len() {
            let mut forged = signature.clone();
            forged[index] ^= 1;
            assert!(!check(&signature::ED25519, &key, message.as_bytes(), &forged), "byte {index}");
        }
        assert!(!check(&signature::ED25519, &key, b"another message", &signature));
    }
}
