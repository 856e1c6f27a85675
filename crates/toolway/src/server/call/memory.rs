//! What does a handler remember of its caller from one call to the next?
//!
//! All values of one caller are one record of the store, so that they can be bounded, live equally long and are forgotten
//! together. The doors say whose record it is ([`Place`]); where they say nothing it is the principal's.

use std::any::type_name;
use std::collections::BTreeMap;
use std::hash::{BuildHasher, RandomState};
use std::ops::{Deref, DerefMut};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use std::{array, fmt};

use bytes::Bytes;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::value::{RawValue, to_raw_value};
use tokio::sync::Mutex;

use crate::error::Error;
use crate::random::random;
use crate::server::Server;
use crate::server::build::builder::ServerBuilder;
use crate::server::call::context::Ctx;
use crate::server::call::extract::Principal;
use crate::store;
use crate::store::Store;

/// How long all values of one caller may be together, as JSON.
const MAX_MEMORY: usize = 256 << 10;
/// How often a change is tried when other servers change the same record.
const TRIES: usize = 128;
/// How long the values of a principal are kept after they were last used.
pub(crate) const KEPT_FOR: Duration = Duration::from_hours(720);

impl ServerBuilder {
    /// How long the values that [`Ctx::memory`](crate::server::Ctx::memory) gives are kept for a principal after they were last used
    /// (30 days). Those of a session live as long as the session.
    ///
    /// ```
    /// use std::time::Duration;
    /// use toolway::prelude::*;
    ///
    /// let server = Server::new("app", "1.0.0").memory_for(Duration::from_secs(24 * 60 * 60)).build()?;
    /// # Ok::<(), toolway::Error>(())
    /// ```
    pub fn memory_for(mut self, time: Duration) -> Self {
        self.memory_for = time;
        self
    }
}

impl Ctx {
    /// What was remembered of this caller under a type; its default, if there is nothing yet.
    ///
    /// In a session that a client has opened, the values belong to the session, and over a pipe to the pipe; both forget
    /// them when they end. Where requests stand alone they belong to the principal that
    /// [`on_connect`](ServerBuilder::on_connect) has admitted, for as long as
    /// [`memory_for`](ServerBuilder::memory_for) says. Nobody sees those of anybody else. They are kept in the server's
    /// [store](ServerBuilder::store) as JSON; servers that share a store share them.
    ///
    /// The name of a type may be another one after it was moved or renamed: give values that outlive the program a name of
    /// their own with [`memory_named`](Self::memory_named).
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
    /// When there is nobody to remember anything of, when the store fails, and when what is there is no `T`.
    pub async fn memory<T>(&self) -> Result<Memory<T>, MemoryError>
    where
        T: Serialize + DeserializeOwned + Default + Send,
    {
        self.memory_named(type_name::<T>()).await
    }

    /// What was remembered of this caller under a name: see [`memory`](Self::memory).
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
        let mut memory = self.unread::<T>(name.into())?;
        memory.read().await?;
        Ok(memory)
    }

    /// Changes what is remembered of this caller under a type, in one step: however many calls do it at the same time, none
    /// of them is lost. `change` may run more than once, each time on what is there then.
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
        self.unread::<T>(type_name::<T>().to_owned())?.update(change).await
    }

    /// A value that nobody has looked at yet.
    fn unread<T: Default>(&self, name: String) -> Result<Memory<T>, MemoryError> {
        let server = self.server();
        let place = match (self.place(), self.principal()) {
            (Some(place), _) => place.clone(),
            (None, Some(principal)) => Arc::new(Place::of_principal(server, principal)),
            (None, None) => return Err(MemoryError::Nobody),
        };
        Ok(Memory { value: T::default(), before: None, name, place, server: server.clone() })
    }
}

/// A value that is remembered of a caller. [`Ctx::memory`] gives it.
///
/// Changes are kept when they are [saved](Self::save), and fail if somebody else was quicker; [`update`](Self::update) has
/// no such trouble.
pub struct Memory<T> {
    value: T,
    /// What was there when it was read.
    before: Option<Box<RawValue>>,
    name: String,
    place: Arc<Place>,
    server: Server,
}

impl<T> Memory<T>
where
    T: Serialize + DeserializeOwned + Default + Send,
{
    /// Keeps the value as it is now.
    ///
    /// ```
    /// use toolway::server::MemoryError;
    ///
    /// # async fn doc(ctx: toolway::Ctx) -> Result<(), toolway::ToolError> {
    /// let mut draft = ctx.memory_named::<String>("draft").await?;
    /// draft.push_str("more");
    /// match draft.save().await {
    ///     Err(MemoryError::Conflict) => return Err(toolway::ToolError::new("somebody else edits this draft")),
    ///     saved => saved?,
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`MemoryError::Conflict`] if another call has changed the value since it was read; it stays as that call left it.
    /// What was remembered under other names does not matter.
    pub async fn save(&mut self) -> Result<(), MemoryError> {
        let after = to_raw_value(&self.value).map_err(MemoryError::Unreadable)?;
        for _ in 0..TRIES {
            let look = self.place.look().await?;
            if look.text_of(&self.name) != self.before.as_deref().map(RawValue::get) {
                return Err(MemoryError::Conflict);
            }
            if self.place.put(look, &self.name, after.clone()).await? {
                self.before = Some(after);
                return Ok(());
            }
            step_aside().await;
        }
        Err(MemoryError::Conflict)
    }

    /// Changes what is remembered and keeps it, in one step: however many calls do it at the same time, none of them is
    /// lost. `change` may run more than once, each time on what is there then; what was changed here and not
    /// [saved](Self::save) is given up.
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
    /// As [`Ctx::memory`], and when there is no room for the value. A conflict only if other servers change the record of
    /// this caller all the time.
    pub async fn update<R>(&mut self, mut change: impl FnMut(&mut T) -> R) -> Result<R, MemoryError> {
        // Calls of this server wait for each other instead of undoing each other's work. It is a lock of tokio, because what
        // it is held for is a conversation with the store.
        let place = self.place.clone();
        let server = self.server.clone();
        let _turn = server.inner.memories.turn(&place).await;
        for _ in 0..TRIES {
            let look = self.read().await?;
            let outcome = change(&mut self.value);
            let after = to_raw_value(&self.value).map_err(MemoryError::Unreadable)?;
            if place.put(look, &self.name, after.clone()).await? {
                self.before = Some(after);
                return Ok(outcome);
            }
            step_aside().await;
        }
        Err(MemoryError::Conflict)
    }

    /// Takes over what is there.
    async fn read(&mut self) -> Result<Look, MemoryError> {
        let look = self.place.look().await?;
        self.value = match look.text_of(&self.name) {
            Some(text) => serde_json::from_str(text).map_err(MemoryError::Unreadable)?,
            None => T::default(),
        };
        self.before = look.values.get(&self.name).cloned();
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

/// Why nothing can be remembered.
///
/// ```
/// use toolway::server::MemoryError;
///
/// assert!(MemoryError::Nobody.to_string().contains("on_connect"));
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum MemoryError {
    /// The caller is nobody in particular, and its requests stand alone.
    Nobody,
    /// All values of this caller would be so many bytes long together, which is too much.
    TooLarge(usize),
    /// Somebody else has changed the value since it was read.
    Conflict,
    /// What is there is not what the type expects, or the type cannot be written as JSON.
    Unreadable(serde_json::Error),
    /// The store failed.
    Store(Error),
}

impl fmt::Display for MemoryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nobody => f.write_str(
                "nothing can be remembered of a caller that is nobody in particular: admit it as a principal with `on_connect`",
            ),
            Self::TooLarge(bytes) => write!(
                f,
                "what is remembered of this caller would be {bytes} bytes long, but at most {MAX_MEMORY} are kept"
            ),
            Self::Conflict => f.write_str("the value was changed by another call meanwhile: read it again"),
            Self::Unreadable(_) => f.write_str("the value and its type do not fit each other"),
            Self::Store(_) => f.write_str("the store failed"),
        }
    }
}

impl std::error::Error for MemoryError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Unreadable(error) => Some(error),
            Self::Store(error) => Some(error),
            Self::Nobody | Self::TooLarge(_) | Self::Conflict => None,
        }
    }
}

impl From<Error> for MemoryError {
    fn from(error: Error) -> Self {
        Self::Store(error)
    }
}

/// Where what is remembered of one caller is kept, and for how long after it was last used.
#[derive(Debug)]
pub(crate) struct Place {
    store: Arc<dyn Store>,
    key: String,
    ttl: Duration,
    /// Whoever it belongs to has gone, and takes it along.
    is_over: AtomicBool,
}

impl Place {
    /// The record under this key.
    #[allow(dead_code, reason = "only HTTP asks")]
    pub(crate) fn new(store: Arc<dyn Store>, key: String, ttl: Duration) -> Self {
        Self { store, key, ttl, is_over: AtomicBool::new(false) }
    }

    /// A record of somebody who is only known here, such as the other end of a pipe. No other server could use it, so it
    /// is not in the server's store: there it would outlive a program that is killed.
    pub(crate) fn here() -> Arc<Self> {
        Arc::new(Self::new(Arc::new(store::Memory::new()), random::<8>(), Duration::MAX))
    }

    /// What tells it from all others.
    #[allow(dead_code, reason = "only whoever joins a server with clients asks")]
    pub(crate) fn key(&self) -> &str {
        &self.key
    }

    /// The record of a principal. Servers of other names may share the store, and names may hold anything, so their length
    /// stands before them.
    fn of_principal(server: &Server, principal: &Principal) -> Self {
        let name = &server.inner.info.name;
        let key = format!("memory/principal/{}/{name}/{}", name.len(), principal.as_str());
        Self::new(server.inner.store.clone(), key, server.inner.memories.kept_for)
    }

    /// Lets it live on, whether anybody has used it or not.
    #[allow(dead_code, reason = "only HTTP asks")]
    pub(crate) async fn renew(&self) -> crate::error::Result<()> {
        self.store.renew(&self.key, self.ttl).await.map(drop)
    }

    /// Forgets everything, also what is about to be written.
    #[allow(dead_code, reason = "only HTTP asks")]
    pub(crate) async fn forget(&self) -> crate::error::Result<()> {
        self.is_over.store(true, Ordering::SeqCst);
        self.store.delete(&self.key).await.map(drop)
    }

    async fn look(&self) -> Result<Look, MemoryError> {
        let bytes = self.store.renew(&self.key, self.ttl).await?;
        let values = match &bytes {
            Some(bytes) => serde_json::from_slice(bytes).map_err(MemoryError::Unreadable)?,
            None => BTreeMap::new(),
        };
        Ok(Look { bytes, values })
    }

    /// Puts a value beside the others; whether nobody else was quicker.
    async fn put(&self, look: Look, name: &str, value: Box<RawValue>) -> Result<bool, MemoryError> {
        let Look { bytes: before, mut values } = look;
        values.insert(name.to_owned(), value);
        let after = serde_json::to_vec(&values).map_err(MemoryError::Unreadable)?;
        if after.len() > MAX_MEMORY {
            return Err(MemoryError::TooLarge(after.len()));
        }
        let is_done = self.store.swap(&self.key, before, after.into(), self.ttl).await?;
        if self.is_over.load(Ordering::SeqCst) {
            self.store.delete(&self.key).await?;
        }
        Ok(is_done)
    }
}

/// Lets others go first, now more of them and now fewer: of two servers in step with each other, the same one would be too
/// late each time.
async fn step_aside() {
    for _ in 0..RandomState::new().hash_one(()) % 4 {
        tokio::task::yield_now().await;
    }
}

/// What was there at one moment.
struct Look {
    bytes: Option<Bytes>,
    values: BTreeMap<String, Box<RawValue>>,
}

impl Look {
    fn text_of(&self, name: &str) -> Option<&str> {
        self.values.get(name).map(|value| value.get())
    }
}

/// What a server needs to remember anything.
pub(crate) struct Memories {
    kept_for: Duration,
    /// Those who change the same record take turns. Records share them, so that there is one for each without any table.
    turns: [Mutex<()>; 64],
    hasher: RandomState,
}

impl Memories {
    pub(crate) fn new(kept_for: Duration) -> Self {
        Self { kept_for, turns: array::from_fn(|_| Mutex::new(())), hasher: RandomState::new() }
    }

    async fn turn(&self, place: &Place) -> tokio::sync::MutexGuard<'_, ()> {
        let number = usize::try_from(self.hasher.hash_one(&place.key) % 64).unwrap_or_default();
        self.turns[number].lock().await
    }
}
