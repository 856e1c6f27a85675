//! How does a configured server become a target to connect to?
//!
//! | file | question |
//! |---|---|
//! | `configured.rs` | How does a configured server become a target? |
//! | `over_http.rs`, `without_http.rs` | How does a URL become a target? |
//! | `sign_in.rs`, `without_auth.rs` | How does a client sign in to a configured server? |

pub(super) mod configured;
#[cfg(feature = "http")]
mod over_http;
#[cfg(not(feature = "http"))]
#[path = "without_http.rs"]
mod over_http;
#[cfg(feature = "auth")]
mod sign_in;
#[cfg(all(feature = "http", not(feature = "auth")))]
#[path = "without_auth.rs"]
mod sign_in;
