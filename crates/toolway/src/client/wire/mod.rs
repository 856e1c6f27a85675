//! What carries messages to a server, and how is a server located? This folder defines the traits of transports and
//! eras. `pipe/`, `process/` and `http/` implement the transports, `handshake/` and `stateless/` the eras.
//!
//! | file | question |
//! |---|---|
//! | `transport.rs` | What must a transport do? |
//! | `outgoing.rs` | What does a transport know about a message that it sends? |
//! | `inbox.rs` | Where do the server's notifications and questions go? |
//! | `target.rs` | Where is a server, and how is it reached? |
//! | `opening.rs` | What does an era need to open a connection, and what does it return? |
//! | `era_link.rs` | What does an era decide about the requests of a connection? |
//! | `forward_link.rs`, `no_forward_link.rs` | What does an era decide about requests that are forwarded for another caller? |
//! | `request_options.rs` | Which settings and which state does a single request have, in either era? |
//! | `backoff.rs` | How long does a client wait before it retries? |
//! | `rate.rs` | How often may something happen? |

pub(crate) mod backoff;
pub(crate) mod era_link;
#[cfg(feature = "server")]
pub(crate) mod forward_link;
#[cfg(not(feature = "server"))]
#[path = "no_forward_link.rs"]
pub(crate) mod forward_link;
pub(crate) mod inbox;
pub(crate) mod opening;
pub(crate) mod outgoing;
pub(crate) mod rate;
pub(crate) mod request_options;
pub(crate) mod target;
pub(crate) mod transport;
