//! Admission: which callers are admitted, and as which principal?
//!
//! | file | question |
//! |---|---|
//! | `connect_request.rs` | What is known about a caller before its first message? |
//! | `admit.rs` | How does `on_connect` decide? |
//! | `protection.rs` | How is a server protected? |
//! | `notification_filter.rs` | Which notifications may the caller of a stream receive? |
//! | `scopes.rs` | Which scopes does a request need, and does its caller have them? |

pub(crate) mod admit;
pub(crate) mod connect_request;
pub(crate) mod notification_filter;
#[cfg(feature = "auth")]
pub(crate) mod protection;
#[cfg(not(feature = "auth"))]
#[path = "without_auth.rs"]
pub(crate) mod protection;
pub(crate) mod scopes;
