//! What does a handler remember about its caller from one call to the next?
//!
//! All values of one caller are one record of the store, so that their size is limited together, and they expire and
//! are deleted together. The transport may determine the record ([`MemoryRecord`]), for example the record of a
//! session; otherwise the record of the principal is used.

use std::any::type_name;
use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::ops::{Deref, DerefMut};
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::value::{RawValue, to_raw_value};

use crate::server::Server;
use crate::server::call::context::Ctx;
use crate::server::call::memory_record::{MemoryError, MemoryRecord, RecordContents};
use crate::server::call::principal::Principal;

/// The number of attempts to change a record while other servers change it too.
const MAX_ATTEMPTS: usize = 128;
/// The time that the values of a principal are kept after their last use.
pub(crate) const DEFAULT_MEMORY_TTL: Duration = Duration::from_secs(720 * 3600);

impl Ctx {
    /// Returns the value of this type that is stored for this caller, or its default if none is stored yet.
    ///
    /// In a session the values belong to the session, and over a pipe to the pipe; they are deleted when the session or
    /// pipe ends. For independent requests, the values belong to the principal that
    /// [`on_connect`](crate::server::ServerBuilder::on_connect) has admitted, and are kept for the time set with
    /// [`memory_ttl`](crate::server::ServerBuilder::memory_ttl). A caller cannot see the values of another caller.
    ///
    /// The values of sessions and principals are kept as JSON in the server's
    /// [store](crate::server::ServerBuilder::store); servers that share a store share these values. The values of a
    /// pipe stay in the memory of the process.
    ///
    /// The value is stored under the name of its type, which changes when the type is moved or renamed. Give values
    /// that outlive the program their own name with [`memory_named`](Self::memory_named).
    ///
    /// ```
    /// use toolway::prelude::*;
    /// use toolway::testing::connect;
    ///
    /// #[derive(Default, serde::Serialize, serde::Deserialize)]
    /// struct Visits(u32);
    ///
    /// /// Count how often you were here.
    /// #[tool]
    /// async fn visit(ctx: Ctx) -> Result<String, ToolError> {
    ///     let mut visits = ctx.memory::<Visits>().await?;
    ///     visits.0 += 1;
    ///     visits.save().await?;
    ///     Ok(format!("visit {}", visits.0))
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> toolway::Result<()> {
    /// let server = Server::new("museum", "1.0.0").tools(tools![visit]).build()?;
    /// let (ann, bob) = (connect(&server).await, connect(&server).await);
    /// ann.call("visit", serde_json::json!({})).await?;
    /// assert_eq!(ann.call("visit", serde_json::json!({})).await?.first_text(), Some("visit 2"));
    /// assert_eq!(bob.call("visit", serde_json::json!({})).await?.first_text(), Some("visit 1"));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// Fails if the caller has neither a session nor a principal, if the store fails, or if the stored value cannot be
    /// read as a `T`.
    pub async fn memory<T>(&self) -> Result<Memory<T>, MemoryError>
    where
        T: Serialize + DeserializeOwned + Default + Send,
    {
        self.memory_named(type_name::<T>()).await
    }

    /// Returns the value that is stored for this caller under a name: see [`memory`](Self::memory).
    ///
    /// ```
    /// # async fn doc(ctx: toolway::Ctx) -> Result<(), toolway::ToolError> {
    /// let mut language = ctx.memory_named::<String>("language").await?;
    /// language.push_str("fr");
    /// language.save().await?;
    /// # Ok(())
    /// # }
    /// ```
    pub async fn memory_named<T>(&self, name: impl Into<String>) -> Result<Memory<T>, MemoryError>
    where
        T: Serialize + DeserializeOwned + Default + Send,
    {
        let mut memory = self.memory_handle::<T>(name.into())?;
        memory.read().await?;
        Ok(memory)
    }

    /// Changes the value of this type that is stored for this caller, atomically: concurrent calls do not overwrite
    /// each other's changes. `change` may run more than once, each time on the current value.
    ///
    /// ```
    /// use toolway::prelude::*;
    ///
    /// #[derive(Default, serde::Serialize, serde::Deserialize)]
    /// struct Seen(Vec<String>);
    ///
    /// /// Put a page on the list.
    /// #[tool]
    /// async fn see(page: String, ctx: Ctx) -> Result<usize, ToolError> {
    ///     let count = ctx.memory_update(|seen: &mut Seen| {
    ///         seen.0.push(page.clone());
    ///         seen.0.len()
    ///     });
    ///     Ok(count.await?)
    /// }
    /// ```
    pub async fn memory_update<T, R>(&self, change: impl FnMut(&mut T) -> R) -> Result<R, MemoryError>
    where
        T: Serialize + DeserializeOwned + Default + Send,
    {
        self.memory_handle::<T>(type_name::<T>().to_owned())?.update(change).await
    }

    /// Returns a value that is not read from the store yet.
    fn memory_handle<T: Default>(&self, name: String) -> Result<Memory<T>, MemoryError> {
        let server = self.server();
        let place = match (self.memory_record(), self.principal()) {
            (Some(place), _) => place.clone(),
            (None, Some(principal)) => Arc::new(principal_record(server, principal)),
            (None, None) => return Err(MemoryError::NoOwner),
        };
        Ok(Memory { value: T::default(), stored: None, name, record: place, server: server.clone() })
    }
}

/// A value that is stored for a caller. Returned by [`Ctx::memory`].
///
/// Changes are stored by [`save`](Self::save), which fails if another call changed the value in the meantime;
/// [`update`](Self::update) avoids this.
pub struct Memory<T> {
    value: T,
    /// The stored value at the time of reading.
    stored: Option<Box<RawValue>>,
    name: String,
    record: Arc<MemoryRecord>,
    server: Server,
}

impl<T> Memory<T>
where
    T: Serialize + DeserializeOwned + Default + Send,
{
    /// Stores the current value.
    ///
    /// ```
    /// use toolway::server::ask::MemoryError;
    ///
    /// # async fn doc(ctx: toolway::Ctx) -> Result<(), toolway::ToolError> {
    /// let mut draft = ctx.memory_named::<String>("draft").await?;
    /// draft.push_str("more");
    /// match draft.save().await {
    ///     Err(MemoryError::Conflict) => return Err(toolway::ToolError::new("another call edits this draft")),
    ///     saved => saved?,
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`MemoryError::Conflict`] if another call changed the value since it was read; the other call's value is kept.
    /// Changes to values with other names do not conflict.
    pub async fn save(&mut self) -> Result<(), MemoryError> {
        let after = to_raw_value(&self.value).map_err(MemoryError::Unreadable)?;
        for _ in 0..MAX_ATTEMPTS {
            let look = self.record.load().await?;
            if look.text_of(&self.name) != self.stored.as_deref().map(RawValue::get) {
                return Err(MemoryError::Conflict);
            }
            if self.record.put(look, &self.name, after.clone()).await? {
                self.stored = Some(after);
                return Ok(());
            }
            yield_randomly().await;
        }
        Err(MemoryError::Conflict)
    }

    /// Changes the value and stores it, atomically: concurrent calls do not overwrite each other's changes. `change`
    /// may run more than once, each time on the current value. Local changes that were not [saved](Self::save) are
    /// discarded.
    ///
    /// ```
    /// # async fn doc(ctx: toolway::Ctx) -> Result<(), toolway::ToolError> {
    /// let mut count = ctx.memory_named::<u32>("count").await?;
    /// let doubled = count.update(|count| {
    ///     *count += 1;
    ///     *count * 2
    /// });
    /// assert_eq!(doubled.await?, *count * 2);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// The same errors as [`Ctx::memory`], and [`MemoryError::TooLarge`]. [`MemoryError::Conflict`] is returned only if
    /// other servers change the record of this caller constantly.
    pub async fn update<R>(&mut self, mut change: impl FnMut(&mut T) -> R) -> Result<R, MemoryError> {
        // Calls of this server wait for each other instead of conflicting. This is a tokio lock, because it is held
        // while the store is accessed.
        let place = self.record.clone();
        let server = self.server.clone();
        let _turn = server.inner.memory_locks.lock(&place).await;
        for _ in 0..MAX_ATTEMPTS {
            let look = self.read().await?;
            let outcome = change(&mut self.value);
            let after = to_raw_value(&self.value).map_err(MemoryError::Unreadable)?;
            if place.put(look, &self.name, after.clone()).await? {
                self.stored = Some(after);
                return Ok(outcome);
            }
            yield_randomly().await;
        }
        Err(MemoryError::Conflict)
    }

    /// Reads the current value from the store.
    async fn read(&mut self) -> Result<RecordContents, MemoryError> {
        let look = self.record.load().await?;
        self.value = match look.text_of(&self.name) {
            Some(text) => serde_json::from_str(text).map_err(MemoryError::Unreadable)?,
            None => T::default(),
        };
        self.stored = look.values.get(&self.name).cloned();
        Ok(look)
    }
}

impl<T> Deref for Memory<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T> DerefMut for Memory<T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.value
    }
}

impl<T: fmt::Debug> fmt::Debug for Memory<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Memory").field("name", &self.name).field("value", &self.value).finish_non_exhaustive()
    }
}

/// Yields a random number of times. Two servers that retry in lockstep would otherwise conflict in the same way each
/// time.
async fn yield_randomly() {
    for _ in 0..RandomState::new().hash_one(()) % 4 {
        tokio::task::yield_now().await;
    }
}

/// Returns the record of a principal. Servers with other names may share the store, so the group depends on the name of
/// the server, too.
fn principal_record(server: &Server, principal: &Principal) -> MemoryRecord {
    let group = server.inner.groups.principal(&server.inner.info.name, principal.as_str());
    MemoryRecord::new(server.inner.store.clone(), group, "memory".to_owned(), server.inner.memory_locks.ttl)
}
