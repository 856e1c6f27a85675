//! Under which names is data stored, without revealing whose it is?

use std::hash::Hasher;

use siphasher::sip128::{Hasher128, SipHasher24};
use toolway_store::{Secret, Version};

/// The names of groups. Owners are hashed with the secret of the store, so that their names are in no slow log.
#[derive(Clone, Copy)]
pub(crate) struct Groups([u8; 16]);

impl Groups {
    pub(crate) fn new(secret: &Secret) -> Self {
        Self(derive_key(secret, b"toolway/groups/1"))
    }

    /// Returns the group of a principal of a server. Servers with other names may share the store.
    pub(crate) fn principal(&self, server: &str, principal: &str) -> String {
        format!("p/{}", self.hash("principal", &[server, principal]))
    }

    pub(crate) fn hash(&self, kind: &str, parts: &[&str]) -> String {
        let mut hasher = SipHasher24::new_with_key(&self.0);
        for part in std::iter::once(&kind).chain(parts) {
            // The length distinguishes `ab` + `c` from `a` + `bc`.
            hasher.write(&(part.len() as u64).to_le_bytes());
            hasher.write(part.as_bytes());
        }
        format!("{:032x}", hasher.finish128().as_u128())
    }
}

/// Derives a key for one purpose from the secret of a store.
pub(crate) fn derive_key(secret: &Secret, purpose: &[u8; 16]) -> [u8; 16] {
    let mut hasher = SipHasher24::new_with_key(purpose);
    hasher.write(secret.as_bytes());
    hasher.finish128().as_bytes()
}

/// Returns a random version for a stored value.
pub(crate) fn random_version() -> Version {
    let mut bytes = [0; 8];
    getrandom::fill(&mut bytes).expect("the system has a source of randomness");
    Version(u64::from_le_bytes(bytes))
}

#[cfg(test)]
mod tests {
    use super::{Groups, Secret};

    #[test]
    fn names_of_owners_are_hashed_and_kept_apart() {
        let (one, two) = (Groups::new(&Secret::new([1; 32])), Groups::new(&Secret::new([2; 32])));
        let alice = one.principal("notes", "alice");
        assert!(!alice.contains("alice"));
        assert_eq!(alice, one.principal("notes", "alice"));
        for other in
            [one.principal("notesa", "lice"), one.principal("notes", "bob"), two.principal("notes", "alice")]
        {
            assert_ne!(alice, other);
        }
    }
}
