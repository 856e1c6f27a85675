//! What may be asked of a server, and what comes of it?
//!
//! | file | question |
//! |---|---|
//! | `requests.rs` | What may be asked of a server? |
//! | `exchange.rs` | What can be said about one request, and what comes of it? |
//! | `pages.rs` | How is a long list read? |
//! | `retry.rs` | When is a request sent again? |
//! | `result.rs` | What did a tool give back? |
//! | `tools.rs` | How is the list of tools read, and when is it read again? |
//! | `watch.rs` | What has changed at the server? |
//! | `remote.rs` | How are a server's tools used by a model? |
//! | `forward.rs` | How is a request made for another caller? Only with the feature `server`. |

pub(crate) mod exchange;
#[cfg(feature = "server")]
pub(crate) mod forward;
pub(crate) mod pages;
pub(crate) mod remote;
pub(crate) mod requests;
pub(crate) mod result;
mod retry;
mod tools;
pub(crate) mod watch;
