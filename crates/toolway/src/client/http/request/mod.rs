//! How does one HTTP request reach the server, and what form does the reply have?
//!
//! | file | question |
//! |---|---|
//! | `endpoint.rs` | How is a request sent, and what form does the reply have? |
//! | `url.rs` | Which URLs are valid for a server, and how is a URL shown without its secrets? |
//! | `headers.rs` | Which headers may an application add to its requests? |
//! | `redirect.rs` | Which redirects are followed? |
//! | `refusal.rs` | Which error does a reply without a result become? |
//! | `events.rs` | Which messages does a stream of events contain? |
//! | `client.rs` | What must an HTTP client do? |
//! | `built_in.rs` | How does the built-in client send requests? |
//! | `recorded.rs` | How are requests and replies recorded? |
//! | `observed_connection.rs` | How does a request learn that its connection has ended, if hyper does not report it? |
//! | `tls.rs`, `no_tls.rs` | How is the server of an `https://` URL verified? |
//! | `proxy.rs` | Through which proxy does an encrypted connection go? |

pub(crate) mod built_in;
pub(crate) mod client;
pub(crate) mod endpoint;
pub(crate) mod events;
pub(crate) mod headers;
mod observed_connection;
#[cfg(feature = "tls")]
pub(crate) mod proxy;
pub(crate) mod recorded;
pub(crate) mod redirect;
pub(crate) mod refusal;
#[cfg(feature = "tls")]
pub(crate) mod tls;
#[cfg(not(feature = "tls"))]
#[path = "no_tls.rs"]
pub(crate) mod tls;
pub(crate) mod url;
