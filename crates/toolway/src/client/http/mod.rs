//! How do messages travel over HTTP? One POST each; the reply is JSON or a stream of events that holds it.
//!
//! | file | question |
//! |---|---|
//! | `target.rs` | Which server is meant, and what is it told with every request? |
//! | `url.rs` | Which URL can a server have, and how is it shown to people? |
//! | `headers.rs` | Which headers may an application add to its requests? |
//! | `transport.rs` | How do messages travel over HTTP, in either era? |
//! | `endpoint.rs` | How does one HTTP request reach the server, and what shape has the reply? |
//! | `redirect.rs` | The server says that it is elsewhere: do we go there? |
//! | `refusal.rs` | What does a reply mean that holds no result? |
//! | `events.rs` | Which messages does a stream of events hold? |
//! | `stateless.rs` | What does a request carry that stands alone? |
//! | `handshake/` | What does an opened conversation add: its session, the server's own stream, going on after a break? |
//! | `client.rs` | What must something do to send HTTP requests? |
//! | `built_in.rs` | How does the built-in client send them? |
//! | `watched.rs` | Has the connection of a request ended without the request being told? |
//! | `tls.rs`, `root_certificate.rs`, `no_tls.rs` | Whom do we believe to be the server that an `https://` URL names? |

mod built_in;
pub(crate) mod client;
mod endpoint;
mod events;
mod handshake;
mod headers;
mod redirect;
mod refusal;
#[cfg(feature = "tls")]
mod root_certificate;
mod stateless;
pub(crate) mod target;
#[cfg(feature = "tls")]
mod tls;
#[cfg(not(feature = "tls"))]
#[path = "no_tls.rs"]
mod tls;
mod transport;
mod url;
mod watched;

#[cfg(test)]
mod tests;
