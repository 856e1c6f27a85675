//! Which log messages does a client want?

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use toolway_protocol::types::LogLevel;

/// The log messages that a client requested.
#[derive(Debug, Clone)]
pub(crate) enum Threshold {
    /// No messages.
    Nothing,
    /// Messages of this level and above, for one request.
    From(LogLevel),
    /// The level that the client set last, which may change while a call runs.
    Shared(Arc<SharedLevel>),
}

impl Threshold {
    /// Returns the lowest level.
    pub(crate) fn min_level(&self) -> Option<LogLevel> {
        match self {
            Self::Nothing => None,
            Self::From(least) => Some(*least),
            Self::Shared(least) => Some(least.get()),
        }
    }

    pub(crate) fn allows(&self, level: LogLevel) -> bool {
        self.min_level().is_some_and(|least| level >= least)
    }
}

/// A level that can be changed while it is in use.
#[derive(Debug)]
pub(crate) struct SharedLevel(AtomicU8);

impl SharedLevel {
    pub(crate) fn new(level: LogLevel) -> Self {
        Self(AtomicU8::new(level as u8))
    }

    pub(crate) fn set(&self, level: LogLevel) {
        self.0.store(level as u8, Ordering::Relaxed);
    }

    pub(crate) fn get(&self) -> LogLevel {
        LogLevel::ALL[usize::from(self.0.load(Ordering::Relaxed))]
    }
}
