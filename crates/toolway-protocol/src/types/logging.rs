//! Logging: which levels are there, and what does a log message contain?

use std::fmt;
use std::str::FromStr;

use serde::de::{Deserialize, Deserializer, Error};

use crate::capability::JsonObject;
use crate::json::{Encode, Encoder, RawJson};
use crate::wire::wire;

/// The severity of a log message; later variants are more severe. An unknown level is an error, because messages cannot
/// be filtered by a level of unknown severity.
///
/// ```
/// use toolway_protocol::types::LogLevel;
///
/// assert!(LogLevel::Warning > LogLevel::Info);
/// assert_eq!("warning".parse(), Ok(LogLevel::Warning));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LogLevel {
    /// Detailed information for debugging.
    Debug,
    /// Normal operation.
    Info,
    /// A normal but significant event.
    Notice,
    /// Something may go wrong.
    Warning,
    /// An operation failed.
    Error,
    /// A component failed.
    Critical,
    /// An operator must act immediately.
    Alert,
    /// The system is unusable.
    Emergency,
}

impl LogLevel {
    /// All levels, the least severe first.
    pub const ALL: [Self; 8] = [
        Self::Debug,
        Self::Info,
        Self::Notice,
        Self::Warning,
        Self::Error,
        Self::Critical,
        Self::Alert,
        Self::Emergency,
    ];

    /// Returns the name as it is written in JSON.
    pub const fn as_str(self) -> &'static str {
        NAMES[self as usize]
    }
}

/// The names of all levels, each at the index of its enum value.
const NAMES: [&str; 8] = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];

impl FromStr for LogLevel {
    type Err = UnknownLevel;

    fn from_str(name: &str) -> Result<Self, UnknownLevel> {
        Self::ALL.into_iter().find(|level| level.as_str() == name).ok_or(UnknownLevel)
    }
}

/// The error for a name that is not one of the eight levels.
///
/// ```
/// use toolway_protocol::types::{LogLevel, UnknownLevel};
///
/// assert_eq!("loud".parse::<LogLevel>(), Err(UnknownLevel));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnknownLevel;

impl fmt::Display for UnknownLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "unknown log level, known are debug, info, notice, warning, error, critical, alert and emergency",
        )
    }
}

impl std::error::Error for UnknownLevel {}

impl Encode for LogLevel {
    fn encode(&self, to: &mut Encoder<'_>) {
        to.serde(self.as_str());
    }
}

impl<'de> Deserialize<'de> for LogLevel {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        crate::wire::name(deserializer, str::parse::<Self>)?.map_err(D::Error::custom)
    }
}

wire! {
    /// A log message to a client.
    ///
    /// ```
    /// use toolway_protocol::types::{LogLevel, LogMessage};
    ///
    /// let message = LogMessage::new(LogLevel::Info, serde_json::json!({"message": "started"}));
    /// assert_eq!(message.level, LogLevel::Info);
    /// ```
    pub struct LogMessage {
        /// The severity.
        level: LogLevel = "level";
        /// The content of the message; any JSON.
        data: RawJson = "data";
        /// The name of the logger.
        logger (with_logger): Option<String> = "logger";
        /// Additional metadata.
        meta (with_meta): Option<JsonObject> = "_meta";
    }
}
