//! How does one HTTP request reach the server, and what shape has the reply?
//!
//! | file | question |
//! |---|---|
//! | `endpoint.rs` | Where does a request go, and what shape has the reply? |
//! | `url.rs` | Which URL can a server have, and how is it shown to people? |
//! | `headers.rs` | Which headers may an application add to its requests? |
//! | `redirect.rs` | The server says that it is elsewhere: do we go there? |
//! | `refusal.rs` | What does a reply mean that holds no result? |
//! | `events.rs` | Which messages does a stream of events hold? |
//! | `client.rs` | What must something do to send HTTP requests? |
//! | `built_in.rs` | How does the built-in client send them? |
//! | `watched.rs` | Has the connection of a request ended without the request being told? |
//! | `tls.rs`, `no_tls.rs` | Whom do we believe to be the server that an `https://` URL names? |

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
