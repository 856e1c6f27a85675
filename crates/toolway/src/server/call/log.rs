//! How does a handler send log messages to its client?

use std::fmt;

use serde_json::{Map, Value};
use toolway_protocol::types::{LogLevel, LogMessage};
use toolway_protocol::{Method, Notification};

use crate::server::call::scope::Scope;

/// Log messages for the client. Made by [`Ctx::log`](crate::server::Ctx::log).
///
/// A message is a text and a few fields. The client gets both as one object, with the text under `message`. Messages of
/// a level that the client did not request are not sent: up to 2025-11-25 a client receives `warning` and above until
/// it sets another level; since 2026-07-28 each request sets its level.
///
/// ```
/// use serde_json::{Value, json};
/// use toolway::prelude::*;
/// use toolway::types::LogLevel;
///
/// /// Import rows.
/// #[tool]
/// async fn import(rows: Vec<String>, ctx: Ctx) -> usize {
///     let log = ctx.log().with_name("importer");
///     log.info("importing", json!({"rows": rows.len()})).await;
///     for row in rows.iter().filter(|row| row.is_empty()) {
///         log.warning("an empty row", Value::Null).await;
///         if log.is_enabled(LogLevel::Debug) {
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

    /// Sets the name of the logger, usually a part of the server.
    pub fn with_name(mut self, logger: &'c str) -> Self {
        self.logger = Some(logger);
        self
    }

    /// Returns whether a message of this level would be sent, to skip messages that are expensive to create.
    pub fn is_enabled(&self, level: LogLevel) -> bool {
        // A call that has ended sends nothing more.
        let arrival = self.scope.arrival();
        arrival.outbound.is_open()
            && arrival.threshold.allows(level)
            && !self.scope.is_over()
            // A server without the logging capability must not send log messages.
            && self.scope.server().offers(&Method::SetLogLevel)
    }

    /// Sends a message. `fields` is an object, or `null` for none; any other value goes under `data`. If the function
    /// runs again after a question, a message that an earlier run already sent is not sent again.
    pub async fn write(&self, level: LogLevel, message: &str, fields: Value) {
        if !self.is_enabled(level) {
            return;
        }
        let mut data = Map::new();
        data.insert("message".to_owned(), message.into());
        match fields {
            Value::Null => {}
            // Drop a field named `message`: it would replace the text.
            Value::Object(fields) => {
                data.extend(fields.into_iter().filter(|(name, _)| name != "message"));
            }
            other => {
                data.insert("data".to_owned(), other);
            }
        }
        let mut news = LogMessage::new(level, Value::Object(data));
        news.logger = self.logger.map(String::from);
        if self.scope.record_log(&(level.as_str(), self.logger, &news.data)) {
            let arrival = self.scope.arrival();
            arrival.outbound.send_notification(arrival.peer.version, &Notification::LogMessage(news)).await;
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
    /// Sends a message for debugging.
    debug = Debug,
    /// Sends a message about normal operation.
    info = Info,
    /// Sends a message about normal operation that may need attention.
    notice = Notice,
    /// Sends a warning that something may go wrong.
    warning = Warning,
    /// Sends a message that something went wrong.
    error = Error,
    /// Sends a message that a part of the system has failed.
    critical = Critical,
    /// Sends a message that requires immediate action.
    alert = Alert,
    /// Sends a message that the system is unusable.
    emergency = Emergency,
}
