//! Where are tokens kept?

use std::collections::HashMap;
use std::fmt::{self, Write as _};
use std::sync::Arc;

use bytes::Bytes;
use tokio::sync::{Mutex as AsyncMutex, OwnedMutexGuard};

use crate::client::oauth::crypto::hex_hash;
use crate::ground::error::Result;
use crate::ground::future::BoxFuture;
use crate::ground::mutex::Mutex;

/// Keeps tokens and registrations. The values are secret and at most 64 KiB long.
///
/// Many tasks and processes may use one vault at the same time. A write says what it replaces, so that no process deletes or
/// replaces what another one has written.
pub trait Vault: Send + Sync + 'static {
    /// Returns a value.
    fn get<'v>(&'v self, key: &'v VaultKey) -> BoxFuture<'v, Result<Option<Bytes>>>;

    /// Replaces a value, or deletes it, if it is as expected. Returns whether it was.
    fn swap<'v>(
        &'v self,
        key: &'v VaultKey,
        expected: Option<Bytes>,
        value: Option<Bytes>,
    ) -> BoxFuture<'v, Result<bool>>;

    /// Waits until no other task or process has the lock of the key. A lock is held for as long as a token takes to be
    /// renewed, at most about 30 seconds.
    fn lock<'v>(&'v self, key: &'v VaultKey) -> BoxFuture<'v, Result<VaultGuard>>;
}

/// The name of a value in a [`Vault`]. It contains no secrets.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct VaultKey(String);

impl VaultKey {
    /// The key of a record: what it is, and what it belongs to.
    pub(super) fn new(kind: &str, parts: &[&str]) -> Self {
        let mut key = kind.to_owned();
        for part in parts {
            // Lengths keep the parts apart.
            let _ = write!(key, " {}:{part}", part.len());
        }
        Self(key)
    }

    /// Returns the whole name.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns a short name for files, without letters that a file system may refuse. Different keys have different names.
    pub fn file_name(&self) -> String {
        let kind = self.0.split(' ').next().unwrap_or_default();
        format!("{kind}-{}", hex_hash(&self.0))
    }
}

/// The lock of a key. Dropping it releases the lock.
pub struct VaultGuard(#[expect(dead_code, reason = "it is only dropped")] Box<dyn Send>);

impl VaultGuard {
    /// Wraps what releases the lock when it is dropped.
    pub fn new(guard: impl Send + 'static) -> Self {
        Self(Box::new(guard))
    }
}

impl fmt::Debug for VaultGuard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("VaultGuard").finish_non_exhaustive()
    }
}

/// Keeps tokens in memory. They are gone with the process.
#[derive(Default)]
pub struct MemoryVault {
    values: Mutex<HashMap<VaultKey, Bytes>>,
    locks: Mutex<HashMap<VaultKey, Arc<AsyncMutex<()>>>>,
}

impl MemoryVault {
    /// An empty vault.
    pub fn new() -> Self {
        Self::default()
    }
}

impl Vault for MemoryVault {
    fn get<'v>(&'v self, key: &'v VaultKey) -> BoxFuture<'v, Result<Option<Bytes>>> {
        let value = self.values.lock().get(key).cloned();
        Box::pin(async { Ok(value) })
    }

    fn swap<'v>(
        &'v self,
        key: &'v VaultKey,
        expected: Option<Bytes>,
        value: Option<Bytes>,
    ) -> BoxFuture<'v, Result<bool>> {
        let mut values = self.values.lock();
        let is_expected = values.get(key) == expected.as_ref();
        match value {
            _ if !is_expected => {}
            Some(value) => drop(values.insert(key.clone(), value)),
            None => drop(values.remove(key)),
        }
        Box::pin(async move { Ok(is_expected) })
    }

    fn lock<'v>(&'v self, key: &'v VaultKey) -> BoxFuture<'v, Result<VaultGuard>> {
        let lock = self.locks.lock().entry(key.clone()).or_default().clone();
        Box::pin(async {
            let guard: OwnedMutexGuard<()> = lock.lock_owned().await;
            Ok(VaultGuard::new(guard))
        })
    }
}

impl fmt::Debug for MemoryVault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryVault").finish_non_exhaustive()
    }
}

/// Clients may share a vault.
impl<V: Vault + ?Sized> Vault for Arc<V> {
    fn get<'v>(&'v self, key: &'v VaultKey) -> BoxFuture<'v, Result<Option<Bytes>>> {
        V::get(self, key)
    }

    fn swap<'v>(
        &'v self,
        key: &'v VaultKey,
        expected: Option<Bytes>,
        value: Option<Bytes>,
    ) -> BoxFuture<'v, Result<bool>> {
        V::swap(self, key, expected, value)
    }

    fn lock<'v>(&'v self, key: &'v VaultKey) -> BoxFuture<'v, Result<VaultGuard>> {
        V::lock(self, key)
    }
}
