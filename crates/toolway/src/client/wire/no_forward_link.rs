//! Replaces `forward_link.rs` in a build without the feature `server`, in which requests are not forwarded.

/// An empty trait that every type implements.
pub(crate) trait ForwardLink {}

impl<T> ForwardLink for T {}
