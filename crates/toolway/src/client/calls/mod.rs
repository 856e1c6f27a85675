//! Which requests can a client make, and what do they return?
//!
//! | file | question |
//! |---|---|
//! | `requests.rs` | Which requests can a client make? |
//! | `exchange.rs` | Which settings does a single request have, and what does it return? |
//! | `pages.rs` | How is a long list read? |
//! | `list_page.rs` | What is on one page of a list? |
//! | `retry.rs` | When is a request sent again? |
//! | `result.rs` | What did a tool return? |
//! | `tools.rs` | How is the tool list fetched, and when is it fetched again? |
//! | `watch.rs` | What has changed on the server? |
//! | `remote.rs` | How does a model use a server's tools? |
//! | `forward.rs` | How is a request forwarded for another caller? Only with the feature `server`. |

pub(crate) mod exchange;
#[cfg(feature = "server")]
pub(crate) mod forward;
mod list_page;
pub(crate) mod pages;
pub(crate) mod remote;
pub(crate) mod requests;
pub(crate) mod result;
mod retry;
mod tools;
pub(crate) mod watch;
