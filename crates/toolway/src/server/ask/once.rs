//! Which effects are not repeated when a function runs again?

use std::convert::Infallible;

use serde::Serialize;
use serde::de::DeserializeOwned;
use toolway_protocol::RawJson;
use toolway_protocol::json::message_without_position;

use crate::ground::mistakes::BoxError;
use crate::server::call::context::Ctx;
use crate::server::failure::ask::{AskError, AskErrorKind, OnceError};

impl Ctx {
    /// Runs an effect and remembers its result, so that the effect is skipped when the function runs again with an
    /// answer. A failure is not remembered.
    ///
    /// In 2026-07-28 the result is encrypted and sent to the client, which sends it back when it calls again. Keep the
    /// result small, and do not store anything in it that must be revocable. The effect runs **at least once**, not
    /// exactly once: a client may call again with an older state, and a server may crash between the effect and the
    /// moment when its result is stored. An effect that must not happen twice needs an idempotency key for the other
    /// side; [`remember`](Self::remember) can keep one.
    ///
    /// ```
    /// use toolway::Form;
    /// use toolway::prelude::*;
    ///
    /// #[derive(Form)]
    /// struct Confirm {
    ///     go_on: bool,
    /// }
    ///
    /// # async fn take_snapshot() -> std::io::Result<String> { Ok("snapshot-1".to_owned()) }
    /// /// Upgrade the database.
    /// #[tool]
    /// async fn upgrade(ctx: Ctx) -> Result<String, ToolError> {
    ///     let snapshot = ctx.once("snapshot", || take_snapshot()).await?;
    ///     let Confirm { go_on } = ctx.ask(format!("{snapshot} is safe. Upgrade?")).await?;
    ///     Ok(format!("{} after {snapshot}", if go_on { "upgraded" } else { "nothing done" }))
    /// }
    /// ```
    ///
    /// # Errors
    ///
    /// The error of the effect is passed on unchanged: if it is a [`ToolError`](crate::ToolError), the caller sees it
    /// as if the function had returned it. `once` also fails if the result is too large to remember, or if the
    /// remembered result has another type.
    ///
    /// # Cancellation
    ///
    /// An effect that is dropped before it completes is not remembered.
    pub async fn once<T, E, F>(
        &self,
        key: impl Into<String>,
        effect: impl FnOnce() -> F,
    ) -> Result<T, OnceError>
    where
        T: Serialize + DeserializeOwned,
        E: Into<BoxError>,
        F: Future<Output = Result<T, E>>,
    {
        let key = key.into();
        if let Some(done) = self.effect_result(&key)? {
            return Ok(done);
        }
        let result = self.scope().run_effect(&key, effect()).await.map_err(OnceError::new)?;
        self.record_effect(key, &result)?;
        Ok(result)
    }

    /// Runs an effect that cannot fail and remembers its value, as [`once`](Self::once) does with the value of a
    /// result.
    ///
    /// ```
    /// use toolway::Form;
    /// use toolway::prelude::*;
    ///
    /// #[derive(Form)]
    /// struct Confirm {
    ///     go_on: bool,
    /// }
    ///
    /// # async fn start() -> u32 { 7 }
    /// /// Start a job, and stop it again if it is not wanted.
    /// #[tool]
    /// async fn run(ctx: Ctx) -> Result<String, ToolError> {
    ///     let pid = ctx.once_value("pid", async || start().await).await?;
    ///     let Confirm { go_on } = ctx.ask(format!("Job {pid} is running. Let it go on?")).await?;
    ///     Ok(format!("{pid} {}", if go_on { "runs" } else { "was stopped" }))
    /// }
    /// ```
    ///
    /// If nothing is awaited, [`remember`](Self::remember) is shorter.
    ///
    /// # Errors
    ///
    /// Fails if the value is too large to remember, or if the remembered value has another type.
    ///
    /// # Cancellation
    ///
    /// An effect that is dropped before it completes is not remembered.
    pub async fn once_value<T, F>(
        &self,
        key: impl Into<String>,
        effect: impl FnOnce() -> F,
    ) -> Result<T, OnceError>
    where
        T: Serialize + DeserializeOwned,
        F: Future<Output = T>,
    {
        self.once(key, || async { Ok::<T, Infallible>(effect().await) }).await
    }

    /// Computes a value and remembers it for later runs of the function: a random number, the time, an idempotency key.
    ///
    /// ```
    /// use std::time::SystemTime;
    /// use toolway::prelude::*;
    ///
    /// /// When did this begin?
    /// #[tool]
    /// fn begun(ctx: &Ctx) -> Result<String, ToolError> {
    ///     let begun = ctx.remember("begun", SystemTime::now)?;
    ///     Ok(format!("{begun:?}"))
    /// }
    /// ```
    ///
    /// # Errors
    ///
    /// The same as [`once_value`](Self::once_value).
    pub fn remember<T>(&self, key: impl Into<String>, make: impl FnOnce() -> T) -> Result<T, OnceError>
    where
        T: Serialize + DeserializeOwned,
    {
        let key = key.into();
        if let Some(done) = self.effect_result(&key)? {
            return Ok(done);
        }
        let result = make();
        self.record_effect(key, &result)?;
        Ok(result)
    }

    fn effect_result<T: DeserializeOwned>(&self, key: &str) -> Result<Option<T>, OnceError> {
        let Some(result) = self.scope().effect_result(key).map_err(OnceError::new)? else { return Ok(None) };
        result.decode().map(Some).map_err(|error| {
            invalid_result(format!(
                "the remembered result of `{key}` has another type: give each effect its own key, and a new key if the \
                 type changes: {}",
                message_without_position(&error)
            ))
        })
    }

    fn record_effect(&self, key: String, result: &impl Serialize) -> Result<(), OnceError> {
        let result = RawJson::from_value(result).map_err(|error| {
            invalid_result(format!("the result of `{key}` cannot be written as JSON: {error}"))
        })?;
        self.scope().record_effect(key, result).map_err(OnceError::new)
    }
}

fn invalid_result(text: String) -> OnceError {
    OnceError::new(AskError::new(AskErrorKind::InvalidResult, text))
}
