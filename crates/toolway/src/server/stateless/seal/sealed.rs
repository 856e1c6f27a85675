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

use std::ops::Range;

use toolway_store::__cipher::aead::AeadInOut;
use toolway_store::__cipher::{Tag, XNonce};

use super::binding::{Binding, MAX_STATE, OpenError, OpenedState, associated_data};
use super::keys::SealKeys;

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
                &Self::associated_data(key.id, bound),
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

    /// Returns the associated data: the tag authenticates it, but the state does not contain it.
    fn associated_data(key: [u8; Self::ID], bound: &Binding<'_>) -> Vec<u8> {
        let mut head = [Self::FORMAT; 1 + Self::ID];
        head[1..].copy_from_slice(&key);
        associated_data(&head, bound)
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
        let associated = Self::associated_data(*id, bound);
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
