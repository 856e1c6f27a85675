//! The lowest layer: which revisions exist, and what did each of them add?
//!
//! | file | question |
//! |---|---|
//! | `revision.rs` | Which revisions exist, in which order, and to which era does each belong? |
//! | [`since`] | Which revision added which member? |

mod revision;
pub mod since;

pub use revision::{Era, ProtocolVersion, UnknownVersion};
