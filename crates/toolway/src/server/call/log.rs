//! How does a handler talk to the log of its client?

use std::fmt;

use serde_json::{Map, Value};
use toolway_protocol::types::{LogLevel, LogMessage};
use toolway_protocol::{Method, Notification};

use crate::server::call::scope::Scope;

/// Log messages for the client. Made by [`Ctx::log`](crate::server::Ctx::log).
///
/// A message is a text and a few fields; the client gets both as one object, the text under `message`. What the
/// client has not asked for is not sent: up to 2025-11-25 it hears `warning` and above until it says
/// otherwise, from 2026-07-28 on each request says what it wants to hear.
///
/// ```
/// use serde_json::{Value, json};
/// use toolway::prelude::*;
/// use toolway::types::LogLevel;
///
/// /// Import rows.
/// #[tool]
/// async fn import(rows: Vec<String>, ctx: Ctx) -> usize {
///     let log = ctx.log().named("importer");
///     log.info("importing", json!({"rows": rows.len()})).await;
///     for row in rows.iter().filter(|row| row.is_empty()) {
///         log.warning("an empty row", Value::Null).await;
///         if log.is_wanted(LogLevel::Debug) {
///             log.debug("before it", json!(format!("{row:?}"))).await;
///         }
///     }
///     rows.len()
/// }
/// ```
pub struct Log<'c> {
    scope: &'c Scope,
    logger: Option<&'c str>,
}

impl<'c> Log<'c> {
    pub(crate) fn new(scope: &'c Scope) -> Self {
        Self { scope, logger: None }
    }

    /// Says which part of the server speaks.
    pub fn named(mut self, logger: &'c str) -> Self {
        self.logger = Some(logger);
        self
    }

    /// Whether a message of this level would be sent, for those that are expensive to make.
    pub fn is_wanted(&self, level: LogLevel) -> bool {
        // Nothing is said about a call that has ended.
        let arrival = self.scope.arrival();
        arrival.outbound.is_open()
            && arrival.threshold.lets(level)
            && !self.scope.is_over()
            // A server that has not said that it logs must not.
            && self.scope.server().offers(&Method::SetLogLevel)
    }

    /// Sends a message. `fields` is an object, or `null` for none; anything else goes under `data`. A message that was sent
    /// when the function ran before, up to a question, is not sent again.
    pub async fn write(&self, level: LogLevel, message: &str, fields: Value) {
        if !self.is_wanted(level) {
            return;
        }
        let mut data = Map::new();
        data.insert("message".to_owned(), message.into());
        match fields {
            Value::Null => {}
            // The text keeps its place: a field of the same name would hide it.
            Value::Object(fields) => {
                data.extend(fields.into_iter().filter(|(name, _)| name != "message"));
            }
            other => {
                data.insert("data".to_owned(), other);
            }
        }
        let mut news = LogMessage::new(level, Value::Object(data));
        news.logger = self.logger.map(String::from);
        if self.scope.is_new(&(level.as_str(), self.logger, &news.data)) {
            let arrival = self.scope.arrival();
            arrival.outbound.tell(arrival.peer.version, &Notification::LogMessage(news)).await;
        }
    }
}

impl fmt::Debug for Log<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Log").field("logger", &self.logger).finish_non_exhaustive()
    }
}

macro_rules! levels {
    ($($(#[doc = $doc:literal])* $name:ident = $level:ident),* $(,)?) => {
        impl Log<'_> {
            $($(#[doc = $doc])*
            pub async fn $name(&self, message: &str, fields: Value) {
                self.write(LogLevel::$level, message, fields).await;
            })*
        }
    };
}
levels! {
    /// For whoever looks for a fault.
    debug = Debug,
    /// All is well.
    info = Info,
    /// All is well, and somebody may want to know.
    notice = Notice,
    /// Something may go wrong.
    warning = Warning,
    /// Something went wrong.
    error = Error,
    /// A part has failed.
    critical = Critical,
    /// Somebody must act now.
    alert = Alert,
    /// Nothing works.
    emergency = Emergency,
}
