//! How does a configured server become a target to connect to?
//!
//! | file | question |
//! |---|---|
//! | `configured.rs` | How does a configured server become a target? |
//! | `over_http.rs`, `without_http.rs` | How does a URL become a target? |

pub(super) mod configured;
#[cfg(feature = "http")]
mod over_http;
#[cfg(not(feature = "http"))]
#[path = "without_http.rs"]
mod over_http;
