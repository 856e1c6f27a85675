//! Where is the memory of a caller stored?

use std::collections::BTreeMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use std::{array, fmt};

use serde_json::value::RawValue;
use tokio::sync::Mutex;

use crate::ground::error::Error;
use crate::ground::random::random_hex;
use crate::store::{
    self, Answer, Condition, Name, Operation, Outcome, Step, Store, StoreError, Version, random_version,
};

/// The record with the memory of one caller, and how long it is kept after its last use.
#[derive(Debug)]
pub(crate) struct MemoryRecord {
    pub(crate) store: Arc<dyn Store>,
    /// The group of the record in the store.
    pub(crate) group: String,
    /// The key of the record in its group.
    pub(crate) key: String,
    pub(crate) ttl: Duration,
    /// `true` if the session or pipe of the caller has ended; its record must then be deleted.
    pub(crate) is_over: AtomicBool,
}

impl MemoryRecord {
    /// Uses the record under this key.
    pub(crate) fn new(store: Arc<dyn Store>, group: String, key: String, ttl: Duration) -> Self {
        Self { store, group, key, ttl, is_over: AtomicBool::new(false) }
    }

    /// Creates a record for a caller that only this process knows, such as the other end of a pipe. The record is not
    /// in the server's store: no other server could use it, and it would stay there if the program is killed.
    pub(crate) fn in_process() -> Arc<Self> {
        let store = Arc::new(store::MemoryStore::new());
        Arc::new(Self::new(store, String::new(), random_hex::<8>(), Duration::MAX))
    }

    pub(super) async fn load(&self) -> Result<RecordContents, MemoryError> {
        let read = Step::new()
            .then(Operation::Renew { key: self.key.clone().into(), ttl: self.ttl })
            .then(Operation::Get { key: self.key.clone().into(), known: None });
        let stored = match self.run(&read).await? {
            Outcome::Done(mut answers) => match answers.pop() {
                Some(Answer::Value(value)) => value,
                _ => None,
            },
            _ => None,
        };
        let bytes = stored.as_ref().and_then(|stored| stored.bytes.as_ref());
        let values = match bytes {
            Some(bytes) => serde_json::from_slice(bytes).map_err(MemoryError::Unreadable)?,
            None => BTreeMap::new(),
        };
        Ok(RecordContents { version: stored.map(|stored| stored.version), values })
    }

    /// Stores a value beside the others. Returns `false` if the record changed in the meantime.
    pub(super) async fn put(
        &self,
        look: RecordContents,
        name: &str,
        value: Box<RawValue>,
    ) -> Result<bool, MemoryError> {
        let RecordContents { version: before, mut values } = look;
        values.insert(name.to_owned(), value);
        let after = serde_json::to_vec(&values).map_err(MemoryError::Unreadable)?;
        if after.len() > MAX_RECORD_SIZE {
            return Err(MemoryError::TooLarge(after.len()));
        }
        let key = Name::from(self.key.clone());
        let unchanged = match before {
            Some(version) => Condition::HasVersion(key.clone(), version),
            None => Condition::Absent(key.clone()),
        };
        let put = Operation::Put { key, value: after.into(), version: random_version(), ttl: self.ttl };
        let outcome = self.run(&Step::new().when(unchanged).then(put)).await?;
        if self.is_over.load(Ordering::SeqCst) {
            self.delete().await?;
        }
        Ok(matches!(outcome, Outcome::Done(_)))
    }

    pub(crate) async fn delete(&self) -> store::Result<()> {
        self.run(&Step::new().then(Operation::Delete(self.key.clone().into()))).await.map(drop)
    }

    async fn run(&self, step: &Step) -> store::Result<Outcome> {
        self.store.run(&self.group, step).await
    }
}

/// The contents of a record at one moment.
pub(super) struct RecordContents {
    version: Option<Version>,
    pub(super) values: BTreeMap<String, Box<RawValue>>,
}

impl RecordContents {
    pub(super) fn text_of(&self, name: &str) -> Option<&str> {
        self.values.get(name).map(|value| value.get())
    }
}

/// The server's settings and locks for the memory of callers.
pub(crate) struct MemoryLocks {
    pub(super) ttl: Duration,
    /// Locks for changes to records. Records share the locks by hash, so that their number is fixed.
    locks: [Mutex<()>; 64],
    hasher: RandomState,
}

impl MemoryLocks {
    pub(crate) fn new(kept_for: Duration) -> Self {
        Self { ttl: kept_for, locks: array::from_fn(|_| Mutex::new(())), hasher: RandomState::new() }
    }

    pub(super) async fn lock(&self, place: &MemoryRecord) -> tokio::sync::MutexGuard<'_, ()> {
        let number =
            usize::try_from(self.hasher.hash_one((&place.group, &place.key)) % 64).unwrap_or_default();
        self.locks[number].lock().await
    }
}

/// The reason why a value cannot be remembered.
///
/// ```
/// use toolway::server::ask::MemoryError;
///
/// assert!(MemoryError::NoOwner.to_string().contains("on_connect"));
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum MemoryError {
    /// The caller has neither a session nor a principal.
    NoOwner,
    /// All values of this caller together would have this many bytes, which is too much.
    TooLarge(usize),
    /// Another call changed the value since it was read.
    Conflict,
    /// The stored value does not match the type, or the type cannot be written as JSON.
    Unreadable(serde_json::Error),
    /// The store failed.
    Store(Error),
}

impl fmt::Display for MemoryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoOwner => f.write_str(
                "nothing can be remembered for a caller without a session or a principal: set a principal in \
                 `on_connect`",
            ),
            Self::TooLarge(bytes) => write!(
                f,
                "the values remembered for this caller would take {bytes} bytes, but at most {MAX_RECORD_SIZE} bytes are \
                 kept"
            ),
            Self::Conflict => f.write_str("the value was changed by another call meanwhile: read it again"),
            Self::Unreadable(_) => f.write_str("the value does not match its type"),
            Self::Store(_) => f.write_str("the store failed"),
        }
    }
}

impl std::error::Error for MemoryError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Unreadable(error) => Some(error),
            Self::Store(error) => Some(error),
            Self::NoOwner | Self::TooLarge(_) | Self::Conflict => None,
        }
    }
}

impl From<StoreError> for MemoryError {
    fn from(error: StoreError) -> Self {
        Self::Store(error.into())
    }
}

/// The maximum size of all values of one caller together, as JSON, in bytes.
const MAX_RECORD_SIZE: usize = 256 << 10;
