//! What may be asked of a server, and what comes of it.

pub(crate) mod exchange;
#[allow(dead_code, reason = "only whoever joins a server with clients asks")]
pub(crate) mod forward;
pub(crate) mod pages;
pub(crate) mod remote;
pub(crate) mod requests;
pub(crate) mod result;
pub(crate) mod retry;
pub(crate) mod tools;
pub(crate) mod watch;
