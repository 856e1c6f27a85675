//! How is a value locked that several tasks share?

use std::fmt;
use std::sync::{MutexGuard, PoisonError};

/// A lock around a value. Unlike [`std::sync::Mutex`], it is not poisoned by a panic of its holder.
///
/// That is sound here because every critical section leaves the value whole, wherever it ends. Handlers, hooks and layers run outside
/// of locks, and so do their panics; of the application's code, only `Clone` of a Tower service runs inside one.
#[derive(Default)]
pub(crate) struct Mutex<T>(std::sync::Mutex<T>);

impl<T> Mutex<T> {
    /// Puts a value behind a lock.
    pub(crate) const fn new(value: T) -> Self {
        Self(std::sync::Mutex::new(value))
    }

    /// Waits for the lock, and holds it until the guard is dropped.
    pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T: fmt::Debug> fmt::Debug for Mutex<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
