//! How do several tasks share a value behind a lock?

use std::sync::{MutexGuard, PoisonError};

/// A lock around a value. Unlike [`std::sync::Mutex`], it is not poisoned by a panic of its holder.
#[derive(Default)]
pub(super) struct Mutex<T>(std::sync::Mutex<T>);

impl<T> Mutex<T> {
    /// Waits for the lock and returns a guard that holds it.
    pub(super) fn lock(&self) -> MutexGuard<'_, T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
