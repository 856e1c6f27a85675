//! The endpoint itself, for both eras: which requests are accepted, and what does a reply contain?
//!
//! | file | question |
//! |---|---|
//! | `request.rs` | How is the endpoint configured, and how is a request admitted? |
//! | `guard.rs` | Is this request allowed at all? |
//! | `header_lines.rs` | Which lines do several headers have? |
//! | `client_address.rs` | Which address does a request behind a proxy come from? |
//! | `collect.rs` | How is the body of a request received? |
//! | `limits.rs` | How many resources may a peer use? |
//! | `permit.rs` | What does a request hold until its reply is sent? |
//! | `recall.rs` | Was the caller of a request verified a moment ago? |
//! | `recheck.rs` | How is a request judged again while its stream is open? |
//! | `body.rs`, `reply.rs`, `exchange.rs` | What does a reply contain: one message, or a stream that ends with it? |

pub(super) mod body;
pub(super) mod client_address;
mod collect;
pub(super) mod exchange;
pub(super) mod guard;
mod header_lines;
pub(super) mod limits;
pub(super) mod permit;
#[cfg(feature = "auth")]
mod recall;
#[cfg(not(feature = "auth"))]
#[path = "without_recall.rs"]
mod recall;
mod recheck;
pub(super) mod reply;
pub(super) mod request;
