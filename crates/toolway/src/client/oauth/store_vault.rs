//! How do several machines share the tokens of their clients?

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::hkdf::{HKDF_SHA256, Prk, Salt};
use tokio::task::AbortHandle;
use toolway_store::{Answer, Condition, Operation, Outcome, Step, Store, StoredValue};

use crate::client::oauth::crypto::random_text;
use crate::client::oauth::vault::{Vault, VaultGuard, VaultKey};
use crate::ground::error::{Error, ErrorKind, Result};
use crate::ground::future::BoxFuture;
use crate::store::{StoreGuard, random_version};

/// Keeps tokens in a [`Store`], such as that of `toolway-redis`: for gateways and agents that run on
/// several machines.
///
/// The values are encrypted with a key, which all machines must have. A value that is not read or written for 90 days
/// is gone.
///
/// ```
/// use toolway::client::{OAuth, StoreVault};
/// use toolway::store::MemoryStore;
///
/// # let key_from_the_secrets_of_your_platform = [7; 32];
/// let vault = StoreVault::new(MemoryStore::new(), key_from_the_secrets_of_your_platform);
/// let oauth = OAuth::browser().vault(vault);
/// ```
#[derive(Clone)]
pub struct StoreVault {
    store: Arc<dyn Store>,
    /// The keys of the values are derived from it.
    key: Arc<Prk>,
}

impl StoreVault {
    /// A vault in a store, with a key of 32 random bytes.
    pub fn new(store: impl Store, key: [u8; 32]) -> Self {
        let key = Salt::new(HKDF_SHA256, b"toolway/vault/1").extract(&key);
        Self { store: Arc::new(StoreGuard(store)), key: Arc::new(key) }
    }

    async fn run(&self, name: &str, step: Step) -> Result<Outcome> {
        let group = format!("vault/{name}");
        Ok(self.store.run(&group, &step).await?)
    }

    async fn read(&self, key: &VaultKey) -> Result<Option<(StoredValue, Bytes)>> {
        let name = key.file_name();
        let step = Step::new()
            .then(Operation::Get { key: VALUE.into(), known: None })
            .then(Operation::Renew { key: VALUE.into(), ttl: KEPT });
        let Outcome::Done(answers) = self.run(&name, step).await? else { return Ok(None) };
        let Some(Answer::Value(Some(mut stored))) = answers.into_iter().next() else { return Ok(None) };
        let sealed = stored.bytes.take().unwrap_or_default();
        let opened = self.open(&name, &sealed).ok_or_else(unreadable)?;
        Ok(Some((stored, opened)))
    }

    /// Returns the key of one value. No two values have the same, so random nonces do not repeat.
    fn key_of(&self, name: &str) -> LessSafeKey {
        let info = [name.as_bytes()];
        let key = self.key.expand(&info, &CHACHA20_POLY1305).map(UnboundKey::from);
        LessSafeKey::new(key.expect("the length of a key is valid"))
    }

    fn seal(&self, name: &str, value: &[u8]) -> Bytes {
        let mut nonce = [0; NONCE_LEN];
        getrandom::fill(&mut nonce).expect("the system has a source of randomness");
        let mut body = value.to_vec();
        let sealing = Nonce::assume_unique_for_key(nonce);
        self.key_of(name)
            .seal_in_place_append_tag(sealing, Aad::from(name), &mut body)
            .expect("a value is shorter than the cipher allows");
        [&nonce, &*body].concat().into()
    }

    fn open(&self, name: &str, sealed: &[u8]) -> Option<Bytes> {
        let (nonce, body) = sealed.split_first_chunk::<NONCE_LEN>()?;
        let mut body = body.to_vec();
        let nonce = Nonce::assume_unique_for_key(*nonce);
        let opened = self.key_of(name).open_in_place(nonce, Aad::from(name), &mut body).ok()?;
        Some(Bytes::copy_from_slice(opened))
    }
}

impl Vault for StoreVault {
    fn get<'v>(&'v self, key: &'v VaultKey) -> BoxFuture<'v, Result<Option<Bytes>>> {
        Box::pin(async { Ok(self.read(key).await?.map(|(_, value)| value)) })
    }

    fn swap<'v>(
        &'v self,
        key: &'v VaultKey,
        expected: Option<Bytes>,
        value: Option<Bytes>,
    ) -> BoxFuture<'v, Result<bool>> {
        Box::pin(async move {
            let condition = match self.read(key).await? {
                Some((stored, found)) if Some(&found) == expected.as_ref() => {
                    Condition::HasVersion(VALUE.into(), stored.version)
                }
                None if expected.is_none() => Condition::Absent(VALUE.into()),
                _ => return Ok(false),
            };
            let name = key.file_name();
            let operation = match value {
                Some(value) => Operation::Put {
                    key: VALUE.into(),
                    value: self.seal(&name, &value),
                    version: random_version(),
                    ttl: KEPT,
                },
                None => Operation::Delete(VALUE.into()),
            };
            let outcome = self.run(&name, Step::new().when(condition).then(operation)).await?;
            Ok(matches!(outcome, Outcome::Done(_)))
        })
    }

    fn lock<'v>(&'v self, key: &'v VaultKey) -> BoxFuture<'v, Result<VaultGuard>> {
        Box::pin(async {
            let name = key.file_name();
            let holder = Bytes::from(random_text());
            let lease = Lease { vault: self.clone(), name, holder, renewal: None };
            let (map, holder) = (LOCK.into(), lease.holder.clone());
            let claim = Step::new()
                .when(Condition::Free { map, key: HOLDER.into(), value: holder.clone() })
                .then(Operation::Enter { map: LOCK.into(), key: HOLDER.into(), value: holder, ttl: LEASE });
            // The lease of a holder that is gone ends soon.
            while let Outcome::Refused { .. } = self.run(&lease.name, claim.clone()).await? {
                tokio::time::sleep(LOOK_AGAIN).await;
            }
            Ok(VaultGuard::new(lease.hold(claim)))
        })
    }
}

/// The lock of a key, for as long as it is renewed.
struct Lease {
    vault: StoreVault,
    name: String,
    /// Distinguishes this holder from all others.
    holder: Bytes,
    renewal: Option<AbortHandle>,
}

impl Lease {
    /// Renews the lease until it is dropped.
    fn hold(mut self, claim: Step) -> Self {
        let (vault, name) = (self.vault.clone(), self.name.clone());
        let renewal = tokio::spawn(async move {
            loop {
                tokio::time::sleep(LEASE / 3).await;
                if let Err(error) = vault.run(&name, claim.clone()).await {
                    tracing::debug!(%error, "the lock of a token could not be renewed");
                }
            }
        });
        self.renewal = Some(renewal.abort_handle());
        self
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        if let Some(renewal) = self.renewal.take() {
            renewal.abort();
        }
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        let (vault, name, value) =
            (self.vault.clone(), std::mem::take(&mut self.name), Some(self.holder.clone()));
        runtime.spawn(async move {
            let leave = Operation::Leave { map: LOCK.into(), key: HOLDER.into(), value };
            if let Err(error) = vault.run(&name, Step::new().then(leave)).await {
                tracing::debug!(%error, "the lock of a token is released only when its time is over");
            }
        });
    }
}

fn unreadable() -> Error {
    let text = "a value in the store cannot be decrypted: give all machines the key with which it was stored, or delete it";
    Error::new(ErrorKind::Misuse, text)
}

impl fmt::Debug for StoreVault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoreVault").finish_non_exhaustive()
    }
}

/// The names in the group of a value.
const VALUE: &str = "value";
const LOCK: &str = "lock";
const HOLDER: &str = "holder";
/// How long a value is kept after it was last read or written.
const KEPT: Duration = Duration::from_secs(90 * 86_400);
/// How long a lock is held after its holder is gone.
const LEASE: Duration = Duration::from_secs(15);
/// How often a lock that another holds is looked at.
const LOOK_AGAIN: Duration = Duration::from_millis(100);

#[cfg(test)]
mod tests {
    use toolway_store::MemoryStore;

    use super::*;

    fn key() -> VaultKey {
        VaultKey::new("tokens", &["alice", "https://id.example"])
    }

    #[tokio::test(start_paused = true)]
    async fn values_are_encrypted_and_bound_to_their_names() {
        let store = Arc::new(MemoryStore::new());
        let vault = StoreVault::new(store.clone(), [1; 32]);
        let secret = Bytes::from("the canary sings");
        assert!(vault.swap(&key(), None, Some(secret.clone())).await.unwrap());
        assert_eq!(vault.get(&key()).await.unwrap(), Some(secret.clone()));
        let raw = |name: String| {
            let store = store.clone();
            async move {
                let get = Operation::Get { key: VALUE.into(), known: None };
                store.run(&format!("vault/{name}"), &Step::new().then(get)).await.unwrap()
            }
        };
        let Outcome::Done(answers) = raw(key().file_name()).await else { panic!("nothing is stored") };
        let [Answer::Value(Some(StoredValue { bytes: Some(bytes), .. }))] = &answers[..] else {
            panic!("nothing is stored")
        };
        assert!(!bytes.windows(6).any(|part| part == b"canary"));
        assert!(vault.open("tokens-other", bytes).is_none(), "moved to another name");
        assert!(vault.open(&key().file_name(), &bytes[..7]).is_none(), "cut off");
        let stranger = StoreVault::new(store, [2; 32]);
        let error = stranger.get(&key()).await.unwrap_err().to_string();
        assert!(error.contains("key"), "{error}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_write_says_what_it_replaces() {
        let vault = StoreVault::new(MemoryStore::new(), [1; 32]);
        let (one, two) = (Bytes::from("one"), Bytes::from("two"));
        assert!(!vault.swap(&key(), Some(one.clone()), Some(two.clone())).await.unwrap());
        assert!(vault.swap(&key(), None, Some(one.clone())).await.unwrap());
        assert!(!vault.swap(&key(), None, Some(two.clone())).await.unwrap());
        assert!(!vault.swap(&key(), Some(two.clone()), None).await.unwrap());
        assert!(vault.swap(&key(), Some(one), Some(two.clone())).await.unwrap());
        assert!(vault.swap(&key(), Some(two), None).await.unwrap());
        assert_eq!(vault.get(&key()).await.unwrap(), None);
    }

    #[tokio::test(start_paused = true)]
    async fn a_lock_has_one_holder_and_ends_with_it() {
        let store = Arc::new(MemoryStore::new());
        let (here, there) = (StoreVault::new(store.clone(), [1; 32]), StoreVault::new(store, [1; 32]));
        let held = here.lock(&key()).await.unwrap();
        let key = key();
        let mut waiting = std::pin::pin!(there.lock(&key));
        assert!(tokio::time::timeout(LEASE * 4, &mut waiting).await.is_err(), "the lock is held");
        drop(held);
        drop(tokio::time::timeout(LEASE / 4, waiting).await.expect("the lock is free").unwrap());
        // A holder that is killed releases and renews nothing.
        let claim = |value: &'static str| {
            let (map, key) = (LOCK.into(), HOLDER.into());
            Step::new().then(Operation::Enter { map, key, value: value.into(), ttl: LEASE })
        };
        here.run(&key.file_name(), claim("killed")).await.unwrap();
        assert!(tokio::time::timeout(LEASE / 2, here.lock(&key)).await.is_err());
        assert!(tokio::time::timeout(LEASE, here.lock(&key)).await.is_ok());
    }
}
