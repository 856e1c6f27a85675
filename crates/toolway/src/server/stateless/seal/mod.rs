//! How does a server hand the state of a call to the client, and recognize it when the client sends it back?
//!
//! In the stateless era, a client that is asked questions repeats its call with the answers, and the server remembers
//! nothing in between. The state of the call travels through the client, which must not read it, change it, or send it
//! with another call. So the state is sealed: encrypted and authenticated with XChaCha20-Poly1305. A sealed state can
//! be opened only with the key that sealed it, only for the same call of the same caller, and only until it expires.
//!
//! | bytes | of a sealed state, which is encoded in URL-safe base64 without padding |
//! |---|---|
//! | 1 | the version of this format |
//! | 8 | the id of the key that sealed the state |
//! | 24 | the nonce; it is long enough that random nonces do not collide, however many machines share a key |
//! | 8 + n | encrypted: the time when the state expires, and the state |
//! | 16 | the tag, which also authenticates everything in [`Binding`] |

mod canonical;
pub(crate) mod keys;

use std::fmt;
use std::ops::Range;

use chacha20poly1305::aead::AeadInOut;
use chacha20poly1305::{Tag, XNonce};
use toolway_protocol::RawJson;

pub(crate) use keys::SealKeys;

/// The longest sealed state, in bytes of text. The length is limited because the server has to decrypt the whole text
/// before it can trust it.
pub(crate) const MAX_STATE: usize = 64 * 1024;

/// The call that a state belongs to. The state cannot be opened for another call.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Binding<'b> {
    /// The principal of the caller. `None` differs from an empty name.
    pub(crate) principal: Option<&'b str>,
    /// The name of the server.
    pub(crate) server: &'b str,
    /// The method that is called.
    pub(crate) method: &'b str,
    /// The name of the tool or prompt, or the URI of the resource.
    pub(crate) target: &'b str,
    /// The arguments, compared by value and not by spelling.
    pub(crate) arguments: Option<&'b RawJson>,
}

/// A state that was opened.
#[derive(PartialEq, Eq)]
pub(crate) struct OpenedState {
    /// The content that was sealed.
    pub(crate) plain: Vec<u8>,
    /// An id that is unique to this state, for callers that accept each state only once.
    pub(crate) id: String,
    /// When the state expires, in seconds since the Unix epoch.
    pub(crate) expires: u64,
}

/// Why a state cannot be opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OpenError {
    /// The state was not issued for this call, or not with one of these keys.
    Foreign,
    /// The state was issued for this call, but has expired.
    Expired,
    /// The state expires later than it may. Otherwise a state from a server whose clock is a day ahead would be valid
    /// for a day.
    TooLong,
}

impl SealKeys {
    const FORMAT: u8 = 1;
    const HEAD: usize = 1 + Self::ID + Self::NONCE;
    const ID: usize = 8;
    const NONCE: usize = 24;
    const EXPIRY: usize = 8;
    const TAG: usize = 16;

    /// Returns whether a state of this length can be sealed in a text of at most [`MAX_STATE`] bytes.
    pub(crate) fn fits(plain_len: usize) -> bool {
        let around = Self::HEAD + Self::EXPIRY + Self::TAG;
        plain_len <= MAX_STATE / 4 * 3 - around
    }

    /// Seals a state that expires at `expires`, in seconds since the Unix epoch. Check [`fits`](Self::fits) first: a
    /// state that does not fit cannot be opened.
    pub(crate) fn seal(&self, bound: &Binding<'_>, plain: &[u8], expires: u64) -> String {
        let key = self.sealing_key();
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
                &associated_data(key.id, bound),
                (&mut sealed[Self::HEAD..]).into(),
            )
            .expect("a state is shorter than 256 GiB");
        sealed.extend_from_slice(&tag);
        base64_simd::URL_SAFE_NO_PAD.encode_to_string(sealed)
    }

    /// Opens a state at the beginning of `valid`, which must expire before its end; both are seconds since the Unix
    /// epoch.
    pub(crate) fn open(
        &self,
        bound: &Binding<'_>,
        text: &str,
        valid: Range<u64>,
    ) -> Result<OpenedState, OpenError> {
        let (expires, plain, id) = self.unseal(bound, text).ok_or(OpenError::Foreign)?;
        if expires <= valid.start {
            Err(OpenError::Expired)
        } else if expires > valid.end {
            Err(OpenError::TooLong)
        } else {
            Ok(OpenedState { plain, id, expires })
        }
    }

    fn unseal(&self, bound: &Binding<'_>, text: &str) -> Option<(u64, Vec<u8>, String)> {
        if text.len() > MAX_STATE {
            return None;
        }
        let sealed = base64_simd::URL_SAFE_NO_PAD.decode_to_vec(text).ok()?;
        // The last letter of the base64 text may contain unused bits. Only one spelling of a state is accepted.
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
        let associated = associated_data(*id, bound);
        let opened = self.keys_with_id(*id).find_map(|key| {
            let mut body = body.to_vec();
            let buffer = body.as_mut_slice().into();
            let (nonce, tag) = (XNonce::from(*nonce), Tag::from(*tag));
            key.cipher.decrypt_inout_detached(&nonce, &associated, buffer, &tag).ok()?;
            Some(body)
        })?;
        let (expires, plain) = opened.split_first_chunk::<{ Self::EXPIRY }>()?;
        // The nonce serves as the id: it is used only once, and the tag protects it against changes.
        let id = base64_simd::URL_SAFE_NO_PAD.encode_to_string(nonce);
        Some((u64::from_le_bytes(*expires), plain.to_vec(), id))
    }
}

/// Returns the associated data: the tag authenticates it, but the state does not contain it. Each part has a length
/// prefix, so that no byte can move from one part into the next.
fn associated_data(key: [u8; SealKeys::ID], bound: &Binding<'_>) -> Vec<u8> {
    let Binding { principal, server, method, target, arguments } = *bound;
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

/// Leaves out the state, which is confidential.
impl fmt::Debug for OpenedState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenedState")
            .field("id", &self.id)
            .field("expires", &self.expires)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
