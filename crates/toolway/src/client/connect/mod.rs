//! What is a client, and how does it connect and reconnect?
//!
//! | file | question |
//! |---|---|
//! | `client.rs` | What is a client? |
//! | `builder.rs`, `config.rs` | Which settings does a client have? |
//! | `shared.rs` | What do all clones of a client share? |
//! | `reconnect.rs` | How is a connection opened, the first time and again? |
//! | `connection.rs` | How is one request sent over one connection, timed out and cancelled? |
//! | `list_limit.rs` | How long may a list of the server be? |
//! | `tool_cache.rs` | Which tools is the server known to have? |
//! | `text_target.rs` | How is a server described as text? |
//! | `with_oauth.rs` | How does a client sign in to the server that it connects to? |
//! | `over_http.rs`, `without_http.rs` | How does a client connect to a URL, with and without the feature `http`? |

pub(crate) mod builder;
pub(crate) mod client;
mod config;
pub(crate) mod connection;
pub(crate) mod list_limit;
#[cfg(feature = "http")]
mod over_http;
#[cfg(not(feature = "http"))]
#[path = "without_http.rs"]
mod over_http;
mod reconnect;
pub(crate) mod shared;
mod text_target;
pub(crate) mod tool_cache;
#[cfg(feature = "auth")]
mod with_oauth;
