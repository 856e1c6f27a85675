//! Which keys seal the states that clients carry?

use crate::server::build::builder::ServerBuilder;
use crate::server::stateless::seal::SealKeys;

impl ServerBuilder {
    /// Sets the keys that encrypt the state of a call while the client is asked a question.
    ///
    /// In 2026-07-28, which has no sessions, the client keeps this state and sends it back with the answers. The client
    /// can neither read nor change it. Several machines that serve as one server need common keys, and so does a server
    /// that must continue calls after a restart. Each key is 32 bytes in base64, or 64 hexadecimal digits;
    /// `openssl rand -base64 32` generates one. The first key encrypts, and every key can decrypt: to replace a key,
    /// put the new key first, and remove the old key when no open call uses it any more.
    ///
    /// Only with the feature `http`: a server without HTTP keeps the states of its calls itself, and needs no keys.
    ///
    /// By default the keys are read from the environment variable `TOOLWAY_SEAL_KEYS`, separated by commas; if it is
    /// not set, each server has its own random key. An invalid key is a mistake that [`build`](Self::build) reports.
    ///
    /// ```
    /// use toolway::prelude::*;
    ///
    /// let new = "bWFrZSBtZSB3aXRoIG9wZW5zc2wsIG5vdCBzbyAhISE=";
    /// let old = "6f6c64206b65797320617265206b65707420666f722061207768696c652e2e2e";
    /// let server = Server::new("shop", "1.0.0").seal_keys([new, old]).build()?;
    ///
    /// let error = Server::new("shop", "1.0.0").seal_keys(["secret"]).build().unwrap_err();
    /// assert!(error.to_string().contains("seal key 1 is neither 32 bytes in base64 nor 64 hexadecimal digits"));
    /// assert!(!error.to_string().contains("secret"));
    /// # Ok::<(), toolway::Error>(())
    /// ```
    pub fn seal_keys(mut self, keys: impl IntoIterator<Item = impl AsRef<str>>) -> Self {
        match SealKeys::from_texts(keys) {
            Ok(keys) => self.seal_keys = Some(keys),
            Err(mistake) => self.mistakes.push(mistake),
        }
        self
    }
}
