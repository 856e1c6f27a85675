//! Replaces `forward_link.rs` in a build without the feature `server`: no request is forwarded for another caller.

/// Empty, as nothing is forwarded.
pub(crate) trait ForwardLink {}

impl<T> ForwardLink for T {}
