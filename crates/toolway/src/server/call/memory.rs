//! What does a handler remember of its caller from one call to the next?
//!
//! All values of one caller are one record of the store, so that they can be bounded, live equally long and are forgotten
//! together. The doors say whose record it is ([`Place`]); where they say nothing it is the principal's.

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
use crate::server::call::place::{Look, MemoryError, Place};
use crate::server::call::principal::Principal;

/// How often a change is tried when other servers change the same record.
const TRIES: usize = 128;
/// How long the values of a principal are kept after they were last used.
pub(crate) const KEPT_FOR: Duration = Duration::from_secs(720 * 3600);

impl Ctx {
    /// What was remembered of this caller under a type; its default, if there is nothing yet.
    ///
    /// In a session that a client has opened, the values belong to the session, and over a pipe to the pipe; both forget
    /// them when they end. Where requests stand alone they belong to the principal that
    /// [`on_connect`](crate::server::ServerBuilder::on_connect) has admitted, for as long as
    /// [`memory_for`](crate::server::ServerBuilder::memory_for) says. Nobody sees those of anybody else. They are kept in the server's
    /// [store](crate::server::ServerBuilder::store) as JSON; servers that share a store share them.
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
            (None, Some(principal)) => Arc::new(place_of(server, principal)),
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

/// Lets others go first, now more of them and now fewer: of two servers in step with each other, the same one would be too
/// late each time.
async fn step_aside() {
    for _ in 0..RandomState::new().hash_one(()) % 4 {
        tokio::task::yield_now().await;
    }
}

/// The record of a principal. Servers of other names may share the store, and names may hold anything, so their length
/// stands before them.
fn place_of(server: &Server, principal: &Principal) -> Place {
    let name = &server.inner.info.name;
    let key = format!("memory/principal/{}/{name}/{}", name.len(), principal.as_str());
    Place::new(server.inner.store.clone(), key, server.inner.memories.kept_for)
}
