//! How do messages travel over HTTP? The client sends each message as a POST. The body of the HTTP response is the
//! reply as JSON, or a stream of events that contains the reply.
//!
//! In the handshake era (revisions 2024-11-05 to 2025-11-25), the first request is `initialize`, and the server may
//! open a session. In the stateless era (from 2026-07-28), each request is independent.
//!
//! | file | question |
//! |---|---|
//! | `target.rs` | Which server does a client connect to, and which settings apply to all requests? |
//! | `root_certificate.rs` | Which certificate authorities does the application trust? Only with the feature `tls`. |
//! | `proxy_choice.rs` | Which proxy does the application choose? Only with the feature `tls`. |
//! | `handshake/` | How does a transport choose the era of a message? What does the handshake era add? (Sessions, a stream for messages that do not belong to a request, and streams that resume.) |
//! | `stateless/` | How is a request of the stateless era sent? |
//! | `relay/` | How does a program pass messages on to a server, as they are? |
//! | `request/` | How does one HTTP request reach the server, and what form does the reply have? |

mod handshake;
#[cfg(feature = "tls")]
mod proxy_choice;
pub(crate) mod relay;
pub(crate) mod request;
#[cfg(feature = "tls")]
mod root_certificate;
mod stateless;
pub(crate) mod target;

#[cfg(test)]
mod tests;
