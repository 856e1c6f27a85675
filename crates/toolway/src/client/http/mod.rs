//! How do messages travel over HTTP? One POST each; the reply is JSON or a stream of events that holds it.
//!
//! | file | question |
//! |---|---|
//! | `target.rs` | Which server is meant, and what is it told with every request? |
//! | `root_certificate.rs` | Which authorities does the application trust? Only with the feature `tls`. |
//! | `handshake/` | Which era carries a message, and what does an opened conversation add: its session, the server's own stream, going on? |
//! | `stateless/` | What does a request carry that stands alone? |
//! | `request/` | How does one HTTP request reach the server, and what shape has the reply? |

mod handshake;
pub(crate) mod request;
#[cfg(feature = "tls")]
mod root_certificate;
mod stateless;
pub(crate) mod target;

#[cfg(test)]
mod tests;
