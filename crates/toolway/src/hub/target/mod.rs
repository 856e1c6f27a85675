//! How does what a file says become a way to a server?
//!
//! | file | question |
//! |---|---|
//! | `configured.rs` | How does a described server become a way to it? |
//! | `over_http.rs`, `without_http.rs` | How does a URL? |

pub(super) mod configured;
#[cfg(feature = "http")]
mod over_http;
#[cfg(not(feature = "http"))]
#[path = "without_http.rs"]
mod over_http;
