//! How does a server give what it remembers of a call to the client, and know it again when it comes back?
//!
//! In this era nothing is remembered between the rounds of a call: what a later round needs travels through the client, who
//! must not read it, change it, or send it along with another call. So it is sealed with XChaCha20-Poly1305. In what comes
//! back only what this server gave out can be opened, for the same call of the same caller, and not for ever.
//!
//! | bytes | of a sealed state, which is then written in URL-safe base64 without padding |
//! |---|---|
//! | 1 | the version of this format |
//! | 8 | which key it was sealed with |
//! | 24 | the nonce; so long that random ones do not meet, however many machines share a key |
//! | 8 + n | encrypted: when it expires, and the state |
//! | 16 | the tag, which also vouches for everything in [`Bound`] |

mod canonical;
pub(crate) mod keys;

use std::fmt;

use chacha20poly1305::aead::AeadInOut;
use chacha20poly1305::{Tag, XNonce};
use toolway_protocol::RawJson;

pub(crate) use keys::SealKeys;

/// The longest sealed state, in bytes of text: a client sends it back whole, and it is looked at before anybody trusts it.
pub(crate) const MAX_STATE: usize = 64 * 1024;

/// What a state belongs to: it cannot be opened for anything else.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bound<'b> {
    /// Who calls, if anybody said; nobody is not the same as somebody without a name.
    pub(crate) principal: Option<&'b str>,
    /// The name of the server.
    pub(crate) server: &'b str,
    /// The method that is called.
    pub(crate) method: &'b str,
    /// What is called: the name of a tool or a prompt, the URI of a resource.
    pub(crate) target: &'b str,
    /// With which arguments, by their values and not by how they are spelled.
    pub(crate) arguments: Option<&'b RawJson>,
}

/// A state that came back.
#[derive(PartialEq, Eq)]
pub(crate) struct Opened {
    /// What was sealed.
    pub(crate) plain: Vec<u8>,
    /// The same whenever this very state comes back, and of no other: for whoever takes each only once.
    pub(crate) id: String,
    /// When it expires, in seconds since the epoch.
    pub(crate) expires: u64,
}

/// Why a state cannot be opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unsealed {
    /// It is not what this server gave out for this call.
    Foreign,
    /// It is, but too long ago.
    Expired,
}

impl SealKeys {
    const FORMAT: u8 = 1;
    const HEAD: usize = 1 + Self::ID + Self::NONCE;
    const ID: usize = 8;
    const NONCE: usize = 24;
    const EXPIRY: usize = 8;
    const TAG: usize = 16;

    /// Whether a state of this length can be sealed in a text of at most [`MAX_STATE`].
    pub(crate) fn fits(plain_len: usize) -> bool {
        let around = Self::HEAD + Self::EXPIRY + Self::TAG;
        plain_len <= MAX_STATE / 4 * 3 - around
    }

    /// Seals a state until `expires`, in seconds since the epoch. Ask [`fits`](Self::fits) first: what is longer can never be
    /// opened.
    pub(crate) fn seal(&self, bound: &Bound<'_>, plain: &[u8], expires: u64) -> String {
        let key = self.first();
        let mut nonce = [0; Self::NONCE];
        getrandom::fill(&mut nonce).expect("the system has a source of randomness");
        let mut sealed = Vec::with_capacity(Self::HEAD + Self::EXPIRY + plain.len() + Self::TAG);
        sealed.push(Self::FORMAT);
        sealed.extend_from_slice(&key.id);
        sealed.extend_from_slice(&nonce);
        sealed.extend_from_slice(&expires.to_le_bytes());
        sealed.extend_from_slice(plain);
        let tag = key
            .cipher
            .encrypt_inout_detached(
                &XNonce::from(nonce),
                &associated(key.id, bound),
                (&mut sealed[Self::HEAD..]).into(),
            )
            .expect("nobody has a state of 256 GiB");
        sealed.extend_from_slice(&tag);
        base64_simd::URL_SAFE_NO_PAD.encode_to_string(sealed)
    }

    /// Opens a state that came back at the time `now`, in seconds since the epoch.
    pub(crate) fn open(&self, bound: &Bound<'_>, text: &str, now: u64) -> Result<Opened, Unsealed> {
        let (expires, plain, id) = self.unseal(bound, text).ok_or(Unsealed::Foreign)?;
        if now < expires { Ok(Opened { plain, id, expires }) } else { Err(Unsealed::Expired) }
    }

    fn unseal(&self, bound: &Bound<'_>, text: &str) -> Option<(u64, Vec<u8>, String)> {
        if text.len() > MAX_STATE {
            return None;
        }
        let sealed = base64_simd::URL_SAFE_NO_PAD.decode_to_vec(text).ok()?;
        // The last letter may have bits that mean nothing; a state is one text and no other.
        if base64_simd::URL_SAFE_NO_PAD.encode_to_string(&sealed) != text {
            return None;
        }
        let (format, rest) = sealed.split_first()?;
        let (id, rest) = rest.split_first_chunk::<{ Self::ID }>()?;
        let (nonce, rest) = rest.split_first_chunk::<{ Self::NONCE }>()?;
        let (body, tag) = rest.split_last_chunk::<{ Self::TAG }>()?;
        if *format != Self::FORMAT {
            return None;
        }
        let associated = associated(*id, bound);
        let opened = self.known_as(*id).find_map(|key| {
            let mut body = body.to_vec();
            let buffer = body.as_mut_slice().into();
            let (nonce, tag) = (XNonce::from(*nonce), Tag::from(*tag));
            key.cipher.decrypt_inout_detached(&nonce, &associated, buffer, &tag).ok()?;
            Some(body)
        })?;
        let (expires, plain) = opened.split_first_chunk::<{ Self::EXPIRY }>()?;
        // A nonce is used once, and another one cannot be put in its place.
        let id = base64_simd::URL_SAFE_NO_PAD.encode_to_string(nonce);
        Some((u64::from_le_bytes(*expires), plain.to_vec(), id))
    }
}

/// What the tag vouches for without being in the state. Each part says how long it is, so that nothing can move from one into
/// the next.
fn associated(key: [u8; SealKeys::ID], bound: &Bound<'_>) -> Vec<u8> {
    let Bound { principal, server, method, target, arguments } = *bound;
    let mut out = b"toolway/state".to_vec();
    out.push(SealKeys::FORMAT);
    out.extend_from_slice(&key);
    let mut put = |part: &[u8]| {
        out.extend_from_slice(&(part.len() as u64).to_le_bytes());
        out.extend_from_slice(part);
    };
    match principal {
        None => put(b"nobody"),
        Some(name) => {
            put(b"somebody");
            put(name.as_bytes());
        }
    }
    for part in [server, method, target] {
        put(part.as_bytes());
    }
    put(&canonical::arguments(arguments));
    out
}

/// Without the state, which is nobody's business.
impl fmt::Debug for Opened {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Opened").field("id", &self.id).field("expires", &self.expires).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
