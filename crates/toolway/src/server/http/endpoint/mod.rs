//! The endpoint itself, for both eras: which requests are accepted, and what does a reply contain?
//!
//! | file | question |
//! |---|---|
//! | `request.rs` | How is the endpoint configured, and how is a request admitted? |
//! | `guard.rs` | Is this request allowed at all? |
//! | `limits.rs` | How many resources may a peer use? |
//! | `body.rs`, `reply.rs`, `exchange.rs` | What does a reply contain: one message, or a stream that ends with it? |

pub(super) mod body;
pub(super) mod exchange;
pub(super) mod guard;
pub(super) mod limits;
pub(super) mod reply;
pub(super) mod request;
