//! Admission: which callers are admitted, and as which principal?
//!
//! | file | question |
//! |---|---|
//! | `connect_request.rs` | What is known about a caller before its first message? |
//! | `admit.rs` | How does `on_connect` decide? |

pub(crate) mod admit;
pub(crate) mod connect_request;
