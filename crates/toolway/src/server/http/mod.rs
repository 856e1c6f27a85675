//! Streamable HTTP: a tower service that serves every revision of the protocol at one URL. The revisions form two eras:
//! the handshake era (up to 2025-11-25), in which `initialize` opens a session, and the stateless era (2026-07-28), in
//! which every request stands alone.
//!
//! | file | question |
//! |---|---|
//! | `endpoint/` | Which requests are accepted, and what does a reply contain? |
//! | `stateless.rs`, `handshake/` | How does each era answer? |
//! | `service.rs` | Which era answers a request? |
//! | `handler.rs` | How does a proxy answer requests in place of a server? |
//! | `listen.rs` | How is the service bound to a socket, and how does it shut down? |
//! | `health.rs` | Is the server alive, and should it get requests? |
//! | `metadata.rs` | Where do clients learn how to sign in? |
//! | `h1.rs`, `h2c.rs`, `connection.rs` | How does the server speak HTTP on a socket? |
//! | `events.rs` | Which events does an HTTP request log? |
//! | `socket.rs`, `signal.rs` | Which socket options and signals does the server use? |

mod connection;
mod endpoint;
mod events;
mod handler;
mod handshake;
mod health;
mod listen;
#[cfg(feature = "auth")]
mod metadata;
#[cfg(not(feature = "auth"))]
#[path = "without_auth.rs"]
mod metadata;
#[cfg(not(feature = "h2c"))]
#[path = "h1.rs"]
mod protocol;
#[cfg(feature = "h2c")]
#[path = "h2c.rs"]
mod protocol;
mod service;
mod signal;
#[cfg(test)]
mod size_tests;
mod socket;
mod stateless;

pub use super::observe::store_meter::StoreUsage;
pub use super::observe::usage::{ResourceUsage, Usage};
#[doc(hidden)]
pub use connection::{AnswerRequest, HttpAnswer, Socket, serve_connection};
pub use endpoint::body::{ResponseBody, StreamWriter};
pub use endpoint::client_address::Network;
pub use endpoint::guard::{Hosts, Origins};
pub use endpoint::request::RemoteAddr;
pub use handler::HttpHandler;
pub use health::HealthService;
#[cfg(feature = "auth")]
pub use metadata::WellKnownService;
pub use service::HttpService;
pub use signal::shutdown_signal;
