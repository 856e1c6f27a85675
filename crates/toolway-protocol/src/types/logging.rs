//! Logging: how much does a client want to hear, and what is it told?

use std::fmt;
use std::str::FromStr;

use serde::de::{Deserialize, Deserializer, Error};

use crate::capability::Settings;
use crate::json::{Encode, Encoder, RawJson};
use crate::wire::wire;

/// How much something matters; later ones matter more. Unlike other names, an unknown one is an error: what it
/// would let through is not known.
///
/// ```
/// use toolway_protocol::types::LogLevel;
///
/// assert!(LogLevel::Warning > LogLevel::Info);
/// assert_eq!("warning".parse(), Ok(LogLevel::Warning));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LogLevel {
    /// To look for a fault.
    Debug,
    /// All is well.
    Info,
    /// All is well, and an operator may want to know.
    Notice,
    /// Something may go wrong.
    Warning,
    /// Something went wrong.
    Error,
    /// A part has failed.
    Critical,
    /// An operator must act now.
    Alert,
    /// Nothing works.
    Emergency,
}

impl LogLevel {
    /// All of them, the least first.
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

    /// The name on the wire.
    pub const fn as_str(self) -> &'static str {
        NAMES[self as usize]
    }
}

/// The names of all levels, each at the place that its number says.
const NAMES: [&str; 8] = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];

impl FromStr for LogLevel {
    type Err = UnknownLevel;

    fn from_str(name: &str) -> Result<Self, UnknownLevel> {
        Self::ALL.into_iter().find(|level| level.as_str() == name).ok_or(UnknownLevel)
    }
}

/// Not one of the eight levels.
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
    /// A log message on its way to a client.
    ///
    /// ```
    /// use toolway_protocol::types::{LogLevel, LogMessage};
    ///
    /// let message = LogMessage::new(LogLevel::Info, serde_json::json!({"message": "started"}));
    /// assert_eq!(message.level, LogLevel::Info);
    /// ```
    pub struct LogMessage {
        /// How much it matters.
        level: LogLevel = "level";
        /// What happened; any JSON.
        data: RawJson = "data";
        /// Who says it.
        logger (with_logger): Option<String> = "logger";
        /// Anything else.
        meta (with_meta): Option<Settings> = "_meta";
    }
}
