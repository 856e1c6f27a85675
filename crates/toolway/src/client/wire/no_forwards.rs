//! The twin of `forwards.rs` in a build without the feature `server`: no request is made for another caller.

/// Nothing is forwarded.
pub(crate) trait Forwards {}

impl<T> Forwards for T {}
