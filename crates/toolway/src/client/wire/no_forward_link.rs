//! The twin of `forward_link.rs` in a build without the feature `server`: no request is made for another caller.

/// Nothing is forwarded.
pub(crate) trait ForwardLink {}

impl<T> ForwardLink for T {}
