//! How does one HTTP request reach the server, and what form does the reply have?
//!
//! | file | question |
//! |---|---|
//! | `endpoint.rs` | Where does a request go, and what form does the reply have? |
//! | `url.rs` | Which URL can a server have, and how is it shown to people? |
//! | `headers.rs` | Which headers may an application add to its requests? |
//! | `redirect.rs` | Is a redirect followed? |
//! | `refusal.rs` | What does a reply without a result mean? |
//! | `events.rs` | Which messages does a stream of events contain? |
//! | `client.rs` | What must an HTTP client do? |
//! | `built_in.rs` | How does the built-in client send requests? |
//! | `watched.rs` | Has the connection of a request ended without an error for the request? |
//! | `tls.rs`, `no_tls.rs` | How is the server of an `https://` URL verified? |

pub(crate) mod built_in;
pub(crate) mod client;
pub(crate) mod endpoint;
pub(crate) mod events;
pub(crate) mod headers;
mod redirect;
pub(crate) mod refusal;
#[cfg(feature = "tls")]
pub(crate) mod tls;
#[cfg(not(feature = "tls"))]
#[path = "no_tls.rs"]
pub(crate) mod tls;
pub(crate) mod url;
mod watched;
