//! Streamable HTTP: one URL for every revision, as a tower service.
//!
//! | file | question |
//! |---|---|
//! | `door/` | Which requests come in, and what is a reply? |
//! | `stateless.rs`, `handshake/` | How does each era answer? |
//! | `service.rs` | How does a request find its era? |
//! | `listen.rs` | How is the service put behind a socket, and how does it stop? |
//! | `h1.rs`, `h2c.rs` | How is HTTP spoken on a socket? |
//! | `seen.rs` | What is seen of a request from outside? |
//! | `socket.rs`, `signal.rs` | What does the system have to do for it? |

mod door;
mod handshake;
mod listen;
#[cfg(not(feature = "h2c"))]
#[path = "h1.rs"]
mod protocol;
#[cfg(feature = "h2c")]
#[path = "h2c.rs"]
mod protocol;
mod seen;
mod service;
mod signal;
mod socket;
mod stateless;

pub use door::body::HttpBody;
pub use door::endpoint::Remote;
pub use door::guard::{Hosts, Origins};
pub use service::HttpService;
pub use signal::told_to_stop;
