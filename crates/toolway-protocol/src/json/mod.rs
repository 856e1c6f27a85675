//! JSON as text: how it is checked on the way in and written on the way out.
//!
//! Payloads stay text until their type is known. `scan.rs` walks a frame once, checks its grammar and limits, and
//! records the positions of members. [`RawJson`] is a piece of that frame. [`Encoder`] writes replies into one
//! buffer, in the shape of one revision.

mod ordered_map;
mod raw;
pub(crate) mod scan;
mod write;

pub use ordered_map::OrderedMap;
pub use raw::{RawJson, message_without_position};
pub use scan::Limits;
pub use write::{Encode, Encoder, Members};
