//! Which format has the data, and can this server read it?
//!
//! A version of this crate reads its own format and the former one, so that servers can be replaced one after the other.
//! Data is written in the format that a key of the store names, which all servers that run can read. That key is raised
//! when no server of the former version is left. The number stands for everything that servers store: the keys and the
//! script of this crate, and what `toolway` writes with them.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use redis::{Cmd, Value};
use toolway_store::{Result, StoreError, StoreFailure};

use crate::error::SetupError;
use crate::keys::Keys;

/// What a server knows of the format.
#[derive(Debug)]
pub(crate) struct Format {
    /// The format of this version.
    own: u32,
    /// Names this server among those that share the store.
    id: String,
    /// The number that the store names; 0 until it is known.
    in_use: AtomicU32,
}

impl Format {
    pub(crate) fn new(own: u32, id: u64) -> Self {
        Self { own, id: format!("{id:016x}"), in_use: AtomicU32::new(0) }
    }

    /// Returns the format in which data is written.
    pub(crate) fn in_use(&self) -> u32 {
        self.in_use.load(Ordering::Relaxed)
    }

    /// Returns the command that enters this server among those that share the store. It may be repeated, and has to be, more
    /// often than the entry lasts.
    pub(crate) fn enter(&self, keys: &Keys) -> Cmd {
        let mut command = redis::cmd("EVAL");
        command.arg(SCRIPT).arg(2).arg(keys.format()).arg(keys.servers());
        command.arg(self.own).arg(&self.id).arg(ENTRY_TIME.as_secs() * 1000).arg(self.in_use());
        command
    }

    /// Reads the reply to [`enter`](Self::enter).
    ///
    /// # Errors
    ///
    /// If this version cannot read the data.
    pub(crate) fn entered(&self, reply: &Value, prefix: &str) -> Result<(), SetupError> {
        let found = match reply {
            Value::BulkString(bytes) => String::from_utf8_lossy(bytes).into_owned(),
            other => format!("{other:?}"),
        };
        let own = self.own;
        let remedy = match found.parse::<u32>() {
            Ok(number) if number == own || Some(number) == own.checked_sub(1) => {
                self.in_use.store(number, Ordering::Relaxed);
                return Ok(());
            }
            Ok(number) if number < own => format!(
                "replace all servers by a version with format {}, then by this one, or use another prefix",
                number + 1
            ),
            Ok(number) => {
                self.in_use.store(number, Ordering::Relaxed);
                "use the version that wrote it, or another prefix".to_owned()
            }
            Err(_) => "use another prefix".to_owned(),
        };
        let message = format!(
            "the data under {prefix:?} has the format {found:?}, and this version of toolway-redis reads the formats {} and {own}: {remedy}",
            own.saturating_sub(1)
        );
        Err(SetupError::new("prefix", message))
    }

    /// Fails if the other servers have gone on to a format that this version does not know: this server was cut off from the
    /// store while they were replaced.
    pub(crate) fn check(&self) -> Result<()> {
        if self.in_use() <= self.own {
            return Ok(());
        }
        let message = format!(
            "the other servers use format {} of the data, and this one knows {}: replace it as well",
            self.in_use(),
            self.own
        );
        Err(StoreError::new(StoreFailure::Broken, message))
    }
}

/// The number of the format of this version.
///
/// Raise it together with any change that the last published version would misread: of the keys, of `step.lua`, or of what
/// `toolway` stores. Then write the former format while [`Format::in_use`] names it, and read both.
/// `docs/design/0017-formats.md` has the steps.
pub(crate) const FORMAT: u32 = 1;
/// The time between two entries of a server.
pub(crate) const BEFORE_NEXT_ENTRY: Duration = Duration::from_secs(10);
/// How long an entry lasts. A server that is cut off for longer does not keep the format back.
const ENTRY_TIME: Duration = Duration::from_secs(60);
const SCRIPT: &str = include_str!("format.lua");
