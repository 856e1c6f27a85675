//! Where do the keys come from that states are sealed with?
//!
//! The first of them seals and all of them open, so that a key can be replaced without a call being lost: put the new one
//! first, and take the old one away when everything that it sealed has expired.

use std::ffi::OsString;
use std::fmt;

use chacha20poly1305::aead::{AeadInOut, KeyInit};
use chacha20poly1305::{XChaCha20Poly1305, XNonce};

/// The keys of a server's sealed states; at least one.
pub(crate) struct SealKeys {
    keys: Vec<Key>,
    /// Whether nobody else has them.
    is_random: bool,
}

/// One key, and by which name a sealed state refers to it.
pub(super) struct Key {
    pub(super) cipher: XChaCha20Poly1305,
    pub(super) id: [u8; 8],
}

impl SealKeys {
    /// One key that nobody else has.
    pub(crate) fn random() -> Self {
        let mut key = [0; 32];
        getrandom::fill(&mut key).expect("the system has a source of randomness");
        Self { keys: vec![Key::new(key)], is_random: true }
    }

    /// Whether they are this server's alone.
    pub(crate) fn is_random(&self) -> bool {
        self.is_random
    }

    /// Reads keys from text, the one that seals first: each is 32 bytes in base64, of either alphabet and padded or not, or 64
    /// hexadecimal digits.
    pub(crate) fn from_texts(texts: impl IntoIterator<Item = impl AsRef<str>>) -> Result<Self, String> {
        let mut keys = Vec::new();
        for (index, text) in texts.into_iter().enumerate() {
            let key = read(text.as_ref().trim()).ok_or_else(|| {
                format!(
                    "seal key {} is neither 32 bytes in base64 nor 64 hexadecimal digits; {MAKE}",
                    index + 1
                )
            })?;
            keys.push(Key::new(key));
        }
        if keys.is_empty() {
            return Err(format!("there is no seal key; {MAKE}"));
        }
        Ok(Self { keys, is_random: false })
    }

    /// Reads the keys that the environment has, if it has any.
    pub(crate) fn from_env() -> Option<Result<Self, String>> {
        Self::from_variable(std::env::var_os(VARIABLE)?)
    }

    /// Reads a variable of keys, with commas or white space between them. One without any is as good as none.
    pub(super) fn from_variable(value: OsString) -> Option<Result<Self, String>> {
        let wrong = |mistake: &str| Some(Err(format!("in {VARIABLE}: {mistake}")));
        let Ok(text) = value.into_string() else { return wrong(&format!("it is not text; {MAKE}")) };
        let is_between = |letter: char| letter == ',' || letter.is_whitespace();
        let mut texts = text.split(is_between).filter(|text| !text.is_empty()).peekable();
        texts.peek()?;
        Self::from_texts(texts).map_or_else(|mistake| wrong(&mistake), |keys| Some(Ok(keys)))
    }

    /// The key that seals.
    pub(super) fn first(&self) -> &Key {
        &self.keys[0]
    }

    /// The keys that a sealed state may refer to by this name.
    pub(super) fn known_as(&self, id: [u8; 8]) -> impl Iterator<Item = &Key> {
        self.keys.iter().filter(move |key| key.id == id)
    }
}

impl Key {
    fn new(key: [u8; 32]) -> Self {
        let cipher = XChaCha20Poly1305::new(&key.into());
        // The tag of a constant says nothing about the key. Its nonce is this one's alone: states have random ones.
        let tag = cipher
            .encrypt_inout_detached(&XNonce::default(), b"toolway/seal-key", (&mut [][..]).into())
            .expect("nothing is not too long");
        let id = *tag.first_chunk().expect("a tag has 16 bytes");
        Self { cipher, id }
    }
}

fn read(text: &str) -> Option<[u8; 32]> {
    let mut key = [0; 32];
    if text.len() == 64 {
        let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
        for (byte, pair) in key.iter_mut().zip(text.as_bytes().chunks_exact(2)) {
            *byte = digit(pair[0])? << 4 | digit(pair[1])?;
        }
        return Some(key);
    }
    let text = text.strip_suffix('=').unwrap_or(text).replace('-', "+").replace('_', "/");
    let bytes = base64_simd::STANDARD_NO_PAD.decode_to_vec(text).ok()?;
    bytes.try_into().ok()
}

impl fmt::Debug for SealKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SealKeys")
    }
}

const VARIABLE: &str = "TOOLWAY_SEAL_KEYS";
const MAKE: &str = "make one with `openssl rand -base64 32`";
