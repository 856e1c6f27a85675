//! How is a text signed, and how can its signature be spoiled?

use base64_simd::URL_SAFE_NO_PAD;
use ring::rand::SystemRandom;
use ring::rsa::{KeyPairComponents, PublicKeyComponents};
use ring::signature::{self, EcdsaKeyPair, Ed25519KeyPair, RsaKeyPair};
use ring::{hmac, rsa};
use serde_json::{Value, json};

use crate::random::Random;

/// The keys of the issuer, and those of strangers.
pub(crate) struct Keys(Vec<Key>);

/// A private key.
pub(crate) struct Key {
    /// The name, `kid`.
    pub(crate) id: String,
    /// `true` if the key is in the set that verifiers have.
    pub(crate) is_known: bool,
    /// The public half.
    pub(crate) public: Value,
    private: PrivateKey,
}

enum PrivateKey {
    Rsa(Box<RsaKeyPair>),
    P256(EcdsaKeyPair),
    P384(EcdsaKeyPair),
    Ed25519(Ed25519KeyPair),
}

impl Keys {
    /// Reads a list of private keys. The set that verifiers have is made of those without `stranger` in their names.
    pub(crate) fn read(text: &str) -> Result<Self, String> {
        let keys: Vec<Value> = serde_json::from_str(text).map_err(|error| format!("the keys: {error}"))?;
        keys.into_iter().map(Key::read).collect::<Result<_, _>>().map(Self)
    }

    pub(crate) fn public_set(&self) -> Value {
        json!({"keys": self.0.iter().filter(|key| key.is_known).map(|key| &key.public).collect::<Vec<_>>()})
    }

    pub(crate) fn named(&self, id: &str) -> Result<&Key, String> {
        self.0.iter().find(|key| key.id == id).ok_or_else(|| format!("there is no key {id}"))
    }

    /// Returns any key of the set, or of strangers.
    pub(crate) fn any(&self, is_known: bool, random: &mut Random) -> &Key {
        let keys: Vec<&Key> = self.0.iter().filter(|key| key.is_known == is_known).collect();
        random.pick(&keys)
    }
}

impl Key {
    fn read(jwk: Value) -> Result<Self, String> {
        let id = jwk["kid"].as_str().ok_or("a key has no `kid`")?.to_owned();
        let bytes = |name: &str| {
            let text = jwk[name].as_str().ok_or_else(|| format!("the key {id} has no `{name}`"))?;
            URL_SAFE_NO_PAD.decode_to_vec(text).map_err(|_| format!("`{name}` of the key {id} is not Base64"))
        };
        let wrong = |error: &dyn std::fmt::Display| format!("the key {id} cannot be used: {error}");
        let curve = |algorithm| {
            let point = [&[4][..], &bytes("x")?, &bytes("y")?].concat();
            let random = SystemRandom::new();
            EcdsaKeyPair::from_private_key_and_public_key(algorithm, &bytes("d")?, &point, &random)
                .map_err(|error| wrong(&error))
        };
        let private = match (jwk["kty"].as_str(), jwk["crv"].as_str()) {
            (Some("RSA"), _) => {
                let components = KeyPairComponents {
                    public_key: PublicKeyComponents { n: bytes("n")?, e: bytes("e")? },
                    d: bytes("d")?,
                    p: bytes("p")?,
                    q: bytes("q")?,
                    dP: bytes("dp")?,
                    dQ: bytes("dq")?,
                    qInv: bytes("qi")?,
                };
                let pair = rsa::KeyPair::from_components(&components).map_err(|error| wrong(&error))?;
                PrivateKey::Rsa(Box::new(pair))
            }
            (_, Some("P-256")) => PrivateKey::P256(curve(&signature::ECDSA_P256_SHA256_FIXED_SIGNING)?),
            (_, Some("P-384")) => PrivateKey::P384(curve(&signature::ECDSA_P384_SHA384_FIXED_SIGNING)?),
            _ => {
                let pair = Ed25519KeyPair::from_seed_and_public_key(&bytes("d")?, &bytes("x")?);
                PrivateKey::Ed25519(pair.map_err(|error| wrong(&error))?)
            }
        };
        let is_public = |name: &String| !["d", "p", "q", "dp", "dq", "qi"].contains(&name.as_str());
        let members = jwk.as_object().cloned().unwrap_or_default();
        let public = members.into_iter().filter(|(name, _)| is_public(name)).collect();
        Ok(Self { is_known: !id.contains("stranger"), id, public: Value::Object(public), private })
    }

    /// Returns an algorithm that the key can sign with.
    pub(crate) fn algorithm(&self, random: &mut Random) -> &'static str {
        match &self.private {
            PrivateKey::Rsa(_) => match self.public["alg"].as_str() {
                Some("PS256") => "PS256",
                Some(_) => "RS256",
                None => random
                    .pick(&["RS256", "RS256", "RS256", "PS256", "PS256", "PS256", "RS384", "PS384", "RS512"]),
            },
            PrivateKey::P256(_) => "ES256",
            PrivateKey::P384(_) => "ES384",
            PrivateKey::Ed25519(_) => random.pick(&["EdDSA", "EdDSA", "EdDSA", "Ed25519"]),
        }
    }

    /// Signs a text. RSA keys sign with the algorithm of this name, the others have only one.
    pub(crate) fn sign(&self, algorithm: &str, text: &[u8]) -> Result<Vec<u8>, String> {
        let random = SystemRandom::new();
        let failed = |_| format!("the key {} does not sign", self.id);
        match &self.private {
            PrivateKey::Rsa(pair) => {
                let encoding: &dyn signature::RsaEncoding = match algorithm {
                    "RS384" => &signature::RSA_PKCS1_SHA384,
                    "RS512" => &signature::RSA_PKCS1_SHA512,
                    "PS256" => &signature::RSA_PSS_SHA256,
                    "PS384" => &signature::RSA_PSS_SHA384,
                    "PS512" => &signature::RSA_PSS_SHA512,
                    _ => &signature::RSA_PKCS1_SHA256,
                };
                let mut made = vec![0; pair.public().modulus_len()];
                pair.sign(encoding, &random, text, &mut made).map_err(failed)?;
                Ok(made)
            }
            PrivateKey::P256(pair) | PrivateKey::P384(pair) => {
                Ok(pair.sign(&random, text).map_err(failed)?.as_ref().to_vec())
            }
            PrivateKey::Ed25519(pair) => Ok(pair.sign(text).as_ref().to_vec()),
        }
    }

    /// Signs a text with the public half as a shared secret: a verifier that confuses the two accepts it.
    pub(crate) fn sign_as_secret(&self, text: &[u8]) -> Vec<u8> {
        let member = if self.public["n"].is_string() { "n" } else { "x" };
        let secret = URL_SAFE_NO_PAD.decode_to_vec(self.public[member].as_str().unwrap_or_default());
        let secret = hmac::Key::new(hmac::HMAC_SHA256, &secret.unwrap_or_default());
        hmac::sign(&secret, text).as_ref().to_vec()
    }
}

/// What happens to a signature after it was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Spoiled {
    Flipped,
    Shorter,
    Longer,
    LeadingZero,
    Empty,
    Zeros,
    /// The halves change places.
    Swapped,
    /// As in certificates.
    Der,
    /// Another signature that is valid by mathematics: `n - s` for P-256, `s + l` for Ed25519.
    Twin,
}

impl Spoiled {
    pub(crate) const ALL: [Self; 9] = [
        Self::Flipped,
        Self::Shorter,
        Self::Longer,
        Self::LeadingZero,
        Self::Empty,
        Self::Zeros,
        Self::Swapped,
        Self::Der,
        Self::Twin,
    ];

    pub(crate) fn apply(self, mut made: Vec<u8>, algorithm: &str, random: &mut Random) -> Vec<u8> {
        let length = made.len();
        let half = length / 2;
        match self {
            Self::Flipped => made[random.below(length)] ^= 1 << random.below(8),
            Self::Shorter => made.truncate(random.below(length)),
            Self::Longer => made.push(0),
            Self::LeadingZero => made.insert(0, 0),
            Self::Empty => made.clear(),
            Self::Zeros => made.fill(0),
            Self::Swapped => made.rotate_left(half),
            Self::Der => {
                let (r, s) = (integer(&made[..half]), integer(&made[half..]));
                let length = u8::try_from(r.len() + s.len()).unwrap_or_default();
                made = [&[0x30, length][..], &r, &s].concat();
            }
            Self::Twin if algorithm == "ES256" => subtract_from(&P256_ORDER, &mut made[half..]),
            Self::Twin if algorithm.starts_with("Ed") => add_to(&mut made[half..], &ED25519_ORDER),
            Self::Twin => made[0] ^= 0x80,
        }
        made
    }
}

/// Writes a number as in certificates.
fn integer(number: &[u8]) -> Vec<u8> {
    let zeros = number.iter().take_while(|byte| **byte == 0).count();
    let digits = &number[zeros.min(number.len().saturating_sub(1))..];
    let sign: &[u8] = if digits.first().is_some_and(|byte| *byte >= 0x80) { &[0] } else { &[] };
    let length = u8::try_from(sign.len() + digits.len()).unwrap_or_default();
    [&[2, length], sign, digits].concat()
}

/// Replaces a number by `order` minus the number. Both are big-endian.
fn subtract_from(order: &[u8; 32], number: &mut [u8]) {
    let mut borrowed = false;
    for (digit, top) in number.iter_mut().zip(order).rev() {
        let (difference, first) = top.overflowing_sub(*digit);
        let (difference, second) = difference.overflowing_sub(u8::from(borrowed));
        (*digit, borrowed) = (difference, first || second);
    }
}

/// Adds to a number. Both are little-endian.
fn add_to(number: &mut [u8], order: &[u8; 32]) {
    let mut carried = false;
    for (digit, other) in number.iter_mut().zip(order) {
        let (sum, first) = digit.overflowing_add(*other);
        let (sum, second) = sum.overflowing_add(u8::from(carried));
        (*digit, carried) = (sum, first || second);
    }
}

/// The order of the curve P-256, big-endian.
const P256_ORDER: [u8; 32] = [
    0xff, 0xff, 0xff, 0xff, 0x00, 0x00, 0x00, 0x00, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xbc,
    0xe6, 0xfa, 0xad, 0xa7, 0x17, 0x9e, 0x84, 0xf3, 0xb9, 0xca, 0xc2, 0xfc, 0x63, 0x25, 0x51,
];
/// The order of the base point of Ed25519, little-endian.
const ED25519_ORDER: [u8; 32] = [
    0xed, 0xd3, 0xf5, 0x5c, 0x1a, 0x63, 0x12, 0x58, 0xd6, 0x9c, 0xf7, 0xa2, 0xde, 0xf9, 0xde, 0x14, 0, 0, 0,
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x10,
];
