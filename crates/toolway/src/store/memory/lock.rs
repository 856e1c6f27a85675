//! How is a part of the store locked?

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Nothing is half done when a lock is held, so what a panic leaves behind is whole.
pub(super) fn lock<T>(kept: &Mutex<T>) -> MutexGuard<'_, T> {
    kept.lock().unwrap_or_else(PoisonError::into_inner)
}
