//! How do messages travel over HTTP? Each message is a POST; the reply is JSON or a stream of events that contains it.
//!
//! | file | question |
//! |---|---|
//! | `target.rs` | Which server is it, and what do all its requests carry? |
//! | `root_certificate.rs` | Which certificate authorities does the application trust? Only with the feature `tls`. |
//! | `handshake/` | Which era carries a message, and what does the handshake era add: the session, the server's own stream, resuming? |
//! | `stateless/` | How is a request of the stateless era sent? |
//! | `request/` | How does one HTTP request reach the server, and what form does the reply have? |

mod handshake;
pub(crate) mod request;
#[cfg(feature = "tls")]
mod root_certificate;
mod stateless;
pub(crate) mod target;

#[cfg(test)]
mod tests;
