//! The door itself, whichever era answers: which requests come in, and what is a reply?
//!
//! | file | question |
//! |---|---|
//! | `endpoint.rs` | How is the door described, and how does a request come in? |
//! | `guard.rs` | May this request come in at all? |
//! | `limits.rs` | How much may a peer take? |
//! | `body.rs`, `reply.rs`, `exchange.rs` | What is in a reply: a message, or a stream that ends with it? |

pub(super) mod body;
pub(super) mod endpoint;
pub(super) mod exchange;
pub(super) mod guard;
pub(super) mod limits;
pub(super) mod reply;
