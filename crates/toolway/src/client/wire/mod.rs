//! What carries messages, and where a server is.

pub(crate) mod target;
pub(crate) mod transport;
