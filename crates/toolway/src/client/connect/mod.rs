//! What is a client, how does it connect, and how does it connect again?
//!
//! | file | question |
//! |---|---|
//! | `client.rs` | What is a client? |
//! | `builder.rs`, `config.rs` | What can be said about a client before it connects? |
//! | `shared.rs` | What do all clones of a client share? |
//! | `reconnect.rs` | How is a connection opened, and opened again? |
//! | `connection.rs` | How does one request go over one connection: in time, and told if it is given up? |
//! | `tool_cache.rs` | Which tools has the server, as far as we know? |
//! | `text_target.rs` | Which server is meant by a line of text? |
//! | `over_http.rs`, `without_http.rs` | How is a server reached that has a URL? |

pub(crate) mod builder;
pub(crate) mod client;
mod config;
pub(crate) mod connection;
#[cfg(feature = "http")]
mod over_http;
#[cfg(not(feature = "http"))]
#[path = "without_http.rs"]
mod over_http;
mod reconnect;
pub(crate) mod shared;
mod text_target;
pub(crate) mod tool_cache;
