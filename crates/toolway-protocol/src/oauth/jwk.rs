//! Which public keys does a document have, and what may each verify?

use std::fmt::{self, Write as _};

use base64_simd::URL_SAFE_NO_PAD;
use serde_json::{Map, Value};

use super::document::Document;
use super::jwt::Algorithm;

/// A public key for signatures (RFC 7517).
///
/// ```
/// use serde_json::json;
/// use toolway_protocol::oauth::{Algorithm, Jwk};
///
/// let key = Jwk::read(&json!({"kty": "OKP", "crv": "Ed25519", "kid": "1", "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}));
/// let key = key.unwrap();
/// assert_eq!(key.id.as_deref(), Some("1"));
/// assert!(key.fits(Algorithm::EdDsa) && !key.fits(Algorithm::Es256));
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Jwk {
    /// The name of the key, `kid`.
    pub id: Option<String>,
    /// The public half.
    pub material: KeyMaterial,
    /// The one algorithm that the key is for, if it names one.
    algorithm: Option<String>,
}

/// The public half of a key. Numbers are big-endian, without leading zeros.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are those of the standard")]
pub enum KeyMaterial {
    Rsa {
        n: Vec<u8>,
        e: Vec<u8>,
    },
    /// A point of the curve P-256, not compressed.
    P256(Vec<u8>),
    /// A point of the curve P-384, not compressed.
    P384(Vec<u8>),
    Ed25519(Vec<u8>),
}

/// The largest number of keys of a set that are used.
pub const MAX_KEYS: usize = 64;
/// The shortest RSA key that is used, in bits. Shorter ones can be broken.
const MIN_RSA_BITS: usize = 2048;
/// The longest RSA key that is used, in bits. Longer ones take too long.
const MAX_RSA_BITS: usize = 8192;

impl Jwk {
    /// Reads a key. Returns `None` if it is not a public key for signatures of a kind that is supported.
    pub fn read(key: &Value) -> Option<Self> {
        let key = key.as_object()?;
        let is_other_use = key.get("use").is_some_and(|used_for| used_for != "sig");
        let is_other_operation = key.get("key_ops").is_some_and(|operations| {
            !operations.as_array().is_some_and(|operations| operations.iter().any(|name| name == "verify"))
        });
        if is_other_use || is_other_operation {
            return None;
        }
        let algorithm = match key.get("alg") {
            Some(name) => Some(name.as_str()?.to_owned()),
            None => None,
        };
        let id = key.get("kid").and_then(Value::as_str).map(str::to_owned);
        Some(Self { id, material: material(key)?, algorithm })
    }

    /// Reads a set of keys (RFC 7517, section 5). Keys that cannot be used are left out. Returns `None` if it is not a set.
    pub fn read_set(document: &[u8]) -> Option<Vec<Self>> {
        Some(Self::all_of(Document::read(document)?.get("keys")?.as_array()?))
    }

    /// Reads keys. Those that cannot be used are left out.
    pub fn all_of(keys: &[Value]) -> Vec<Self> {
        keys.iter().filter_map(Self::read).take(MAX_KEYS).collect()
    }

    /// Reads the key in a proof. Returns `None` if it has a private half.
    pub fn read_public(key: &Value) -> Option<Self> {
        let members = key.as_object()?;
        let is_private =
            ["d", "p", "q", "dp", "dq", "qi", "oth", "k"].iter().any(|name| members.contains_key(*name));
        if is_private { None } else { Self::read(key) }
    }

    /// Returns whether signatures with this algorithm can be verified with the key.
    pub fn fits(&self, algorithm: Algorithm) -> bool {
        let is_named =
            self.algorithm.as_deref().is_none_or(|name| Algorithm::of_name(name) == Some(algorithm));
        let is_kind = match &self.material {
            KeyMaterial::Rsa { .. } => matches!(
                algorithm,
                Algorithm::Rs256
                    | Algorithm::Rs384
                    | Algorithm::Rs512
                    | Algorithm::Ps256
                    | Algorithm::Ps384
                    | Algorithm::Ps512
            ),
            KeyMaterial::P256(_) => algorithm == Algorithm::Es256,
            KeyMaterial::P384(_) => algorithm == Algorithm::Es384,
            KeyMaterial::Ed25519(_) => algorithm == Algorithm::EdDsa,
        };
        is_named && is_kind
    }

    /// Returns whether the key may verify a token that names its algorithm like this: `Ed25519` and `EdDSA` are two names.
    pub fn allows(&self, name: Option<&str>) -> bool {
        self.algorithm.is_none() || self.algorithm.as_deref() == name
    }

    /// Returns the text whose SHA-256 names the key (RFC 7638).
    pub fn thumbprint_text(&self) -> String {
        let encode = |bytes: &[u8]| URL_SAFE_NO_PAD.encode_to_string(bytes);
        let point = |curve: &str, point: &[u8]| {
            let (x, y) = point[1..].split_at((point.len() - 1) / 2);
            format!(r#"{{"crv":"{curve}","kty":"EC","x":"{}","y":"{}"}}"#, encode(x), encode(y))
        };
        match &self.material {
            KeyMaterial::Rsa { n, e } => {
                format!(r#"{{"e":"{}","kty":"RSA","n":"{}"}}"#, encode(e), encode(n))
            }
            KeyMaterial::P256(bytes) => point("P-256", bytes),
            KeyMaterial::P384(bytes) => point("P-384", bytes),
            KeyMaterial::Ed25519(x) => format!(r#"{{"crv":"Ed25519","kty":"OKP","x":"{}"}}"#, encode(x)),
        }
    }
}

impl fmt::Debug for Jwk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Jwk(")?;
        f.write_str(self.id.as_deref().unwrap_or("?"))?;
        f.write_char(')')
    }
}

fn material(key: &Map<String, Value>) -> Option<KeyMaterial> {
    let bytes = |name: &str| URL_SAFE_NO_PAD.decode_to_vec(key.get(name)?.as_str()?).ok();
    let point = |length: usize| {
        let (x, y) = (bytes("x")?, bytes("y")?);
        (x.len() == length && y.len() == length).then(|| [&[4][..], &x, &y].concat())
    };
    match (key.get("kty")?.as_str()?, key.get("crv").and_then(Value::as_str)) {
        ("RSA", _) => {
            let (n, e) = (without_zeros(bytes("n")?), without_zeros(bytes("e")?));
            let bits = n.len() * 8 - n.first()?.leading_zeros() as usize;
            let is_used = (MIN_RSA_BITS..=MAX_RSA_BITS).contains(&bits) && !e.is_empty() && e.len() <= 4;
            is_used.then_some(KeyMaterial::Rsa { n, e })
        }
        ("EC", Some("P-256")) => point(32).map(KeyMaterial::P256),
        ("EC", Some("P-384")) => point(48).map(KeyMaterial::P384),
        ("OKP", Some("Ed25519")) => bytes("x").filter(|x| x.len() == 32).map(KeyMaterial::Ed25519),
        _ => None,
    }
}

fn without_zeros(mut number: Vec<u8>) -> Vec<u8> {
    let zeros = number.iter().take_while(|byte| **byte == 0).count();
    number.drain(..zeros);
    number
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn rsa(bytes: usize) -> Value {
        json!({"kty": "RSA", "e": "AQAB", "n": URL_SAFE_NO_PAD.encode_to_string(vec![0x80; bytes])})
    }

    fn with(mut key: Value, name: &str, value: Value) -> Value {
        key[name] = value;
        key
    }

    #[test]
    fn only_keys_that_can_verify_are_read() {
        let x = URL_SAFE_NO_PAD.encode_to_string([1; 32]);
        let curve = json!({"kty": "EC", "crv": "P-256", "x": x, "y": x});
        assert!(Jwk::read(&rsa(256)).is_some());
        assert!(Jwk::read(&curve).is_some());
        for odd in [
            rsa(255),
            rsa(1025),
            json!({"kty": "oct", "k": "AAAA"}),
            with(rsa(256), "use", json!("enc")),
            with(rsa(256), "key_ops", json!(["sign"])),
            with(rsa(256), "alg", json!(7)),
            with(rsa(256), "e", json!("")),
            with(rsa(256), "n", json!("not Base64!")),
            with(curve.clone(), "crv", json!("secp256k1")),
            with(curve.clone(), "x", json!("AQ")),
            with(curve.clone(), "kty", json!("OKP")),
            json!([]),
        ] {
            assert_eq!(Jwk::read(&odd), None, "{odd}");
        }
        assert!(Jwk::read(&with(rsa(256), "key_ops", json!(["verify"]))).is_some());
        assert_eq!(Jwk::read_public(&with(curve.clone(), "d", json!("AQ"))), None);
        let set = json!({"keys": [rsa(1), curve, rsa(256)]}).to_string();
        assert_eq!(Jwk::read_set(set.as_bytes()).unwrap().len(), 2);
        assert_eq!(Jwk::read_set(b"[]"), None);
        assert_eq!(Jwk::all_of(&vec![curve; 100]).len(), MAX_KEYS);
    }

    #[test]
    fn a_key_is_for_its_algorithms() {
        let key = Jwk::read(&rsa(256)).unwrap();
        assert!(key.fits(Algorithm::Rs256) && key.fits(Algorithm::Ps512) && !key.fits(Algorithm::Es256));
        let key = Jwk::read(&with(rsa(256), "alg", json!("PS256"))).unwrap();
        assert!(key.fits(Algorithm::Ps256) && !key.fits(Algorithm::Rs256));
        let key = Jwk::read(&with(rsa(256), "alg", json!("RSA-OAEP"))).unwrap();
        assert!(Algorithm::DEFAULT.iter().all(|algorithm| !key.fits(*algorithm)));
    }

    #[test]
    fn the_text_of_a_thumbprint_is_that_of_the_standard() {
        // RFC 8037, appendix A.3.
        let key = json!({"kty": "OKP", "crv": "Ed25519", "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"});
        assert_eq!(
            Jwk::read(&key).unwrap().thumbprint_text(),
            r#"{"crv":"Ed25519","kty":"OKP","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}"#
        );
    }
}
