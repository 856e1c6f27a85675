//! What is in a cursor? A position in a list, signed by this server.
//!
//! The client keeps the cursor and sends it back, so it is signed with SipHash-2-4-128, a function for authenticating
//! short messages. A forged cursor is refused, and a cursor of one list is invalid for another.

use std::fmt;
use std::hash::{BuildHasher, Hasher, RandomState};

use siphasher::sip128::{Hasher128, SipHasher24};
use toolway_protocol::RpcError;

/// The key of a server's cursors.
#[derive(Clone)]
pub(crate) struct CursorKey([u8; 16]);

impl CursorKey {
    /// Creates a key that only this server has.
    pub(crate) fn random() -> Self {
        Self(random_key())
    }

    /// Derives a key from a secret. The key is the same on every machine with that secret.
    pub(crate) fn from_secret(secret: &[u8]) -> Self {
        let mut hasher = SipHasher24::new_with_key(b"toolway/cursor/1");
        hasher.write(secret);
        Self(hasher.finish128().as_bytes())
    }

    /// Writes a position in a list as a cursor.
    pub(crate) fn sign(&self, list: &str, place: &str) -> String {
        let mut bytes = self.tag(list, place).to_vec();
        bytes.extend_from_slice(place.as_bytes());
        base64_simd::URL_SAFE_NO_PAD.encode_to_string(bytes)
    }

    /// Returns the position that a cursor of this list stands for.
    pub(crate) fn verify(&self, list: &str, cursor: &str) -> Result<String, RpcError> {
        let wrong = || RpcError::invalid_params("`params.cursor` was not issued by this server");
        let bytes = base64_simd::URL_SAFE_NO_PAD.decode_to_vec(cursor).map_err(|_| wrong())?;
        let (tag, place) = bytes.split_at_checked(16).ok_or_else(wrong)?;
        let place = std::str::from_utf8(place).map_err(|_| wrong())?;
        // Compare all bytes, so that the duration reveals nothing about the right tag.
        let differs = tag.iter().zip(self.tag(list, place)).fold(0, |sum, (a, b)| sum | (a ^ b));
        if differs == 0 { Ok(place.to_owned()) } else { Err(wrong()) }
    }

    fn tag(&self, list: &str, place: &str) -> [u8; 16] {
        let mut hasher = SipHasher24::new_with_key(&self.0);
        // The length distinguishes `ab` + `c` from `a` + `bc`.
        hasher.write(&(list.len() as u64).to_le_bytes());
        hasher.write(list.as_bytes());
        hasher.write(place.as_bytes());
        hasher.finish128().as_bytes()
    }
}

/// Returns an unpredictable key. The standard library seeds `RandomState` from the system's randomness.
pub(crate) fn random_key() -> [u8; 16] {
    let mut key = [0; 16];
    for half in key.chunks_exact_mut(8) {
        half.copy_from_slice(&RandomState::new().build_hasher().finish().to_le_bytes());
    }
    key
}

impl fmt::Debug for CursorKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CursorKey")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_is_good_for_its_list_and_its_server_only() {
        let key = CursorKey::random();
        let cursor = key.sign("tools", "7");
        assert_eq!(key.verify("tools", &cursor).as_deref(), Ok("7"));
        assert!(key.verify("prompts", &cursor).is_err());
        assert!(CursorKey::random().verify("tools", &cursor).is_err());
        assert!(key.verify("tools", "").is_err());
        assert!(key.verify("tools", "7").is_err());
        let mut forged = cursor.into_bytes();
        forged[3] ^= 1;
        assert!(key.verify("tools", std::str::from_utf8(&forged).unwrap_or_default()).is_err());
    }

    #[test]
    fn a_shared_secret_makes_cursors_good_everywhere() {
        let cursor = CursorKey::from_secret(b"secret").sign("tools", "7");
        assert_eq!(CursorKey::from_secret(b"secret").verify("tools", &cursor).as_deref(), Ok("7"));
        assert!(CursorKey::from_secret(b"other").verify("tools", &cursor).is_err());
    }
}
