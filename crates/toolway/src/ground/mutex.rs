//! How do several tasks share a value behind a lock?

use std::fmt;
use std::sync::{MutexGuard, PoisonError};

/// A lock around a value. Unlike [`std::sync::Mutex`], it is not poisoned by a panic of its holder.
///
/// Ignoring the poison is safe here, because every critical section leaves the value consistent even if it panics.
/// Handlers, hooks and layers of the application run while no lock is held. The only application code that runs while a
/// lock is held is `Clone` of a Tower service.
#[derive(Default)]
pub(crate) struct Mutex<T>(std::sync::Mutex<T>);

impl<T> Mutex<T> {
    /// Creates a lock around a value.
    pub(crate) const fn new(value: T) -> Self {
        Self(std::sync::Mutex::new(value))
    }

    /// Waits for the lock and returns a guard that holds it.
    pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T: fmt::Debug> fmt::Debug for Mutex<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
