//! Servers that share a store: which state of sessions is stored, and how do the servers find each other?
//!
//! | file | question |
//! |---|---|
//! | `announcements.rs` | How does a server notice that it has missed a message to all servers? |
//! | `claim.rs`, `claim_entry.rs` | How is a request kept from running twice? |
//! | `delivery.rs` | How do cancellations and answers reach the server that runs the call? |
//! | `event_store.rs` | How do the events of a stream get into the store? |
//! | `gaps.rs` | How do streams hear that the store may have lost what it had confirmed? |
//! | `message.rs` | What do servers tell each other? |
//! | `node.rs` | Which servers are alive, and how do messages reach them? |
//! | `pipe.rs` | How does a POST of the transport of 2024-11-05 reach the server that holds its stream? |
//! | `place.rs` | How many sessions does one peer have open, at all servers together? |
//! | `question_id.rs` | Which server asked a question? |
//! | `remote_log.rs` | How is a stream read that another server writes? |
//! | `session.rs` | Which steps does a session take in the store? |
//! | `unsettled_claim.rs` | What happens to a claim if it is not known whether the store has it? |

mod announcements;
pub(super) mod claim;
pub(super) mod claim_entry;
pub(super) mod delivery;
pub(super) mod event_store;
mod gaps;
pub(super) mod message;
pub(super) mod node;
pub(super) mod pipe;
pub(super) mod place;
pub(super) mod question_id;
pub(super) mod remote_log;
pub(super) mod session;
mod unsettled_claim;
