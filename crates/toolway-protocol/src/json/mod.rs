//! JSON as text: how it is checked on the way in and written on the way out.
//!
//! Payloads stay text until their type is known. `scan.rs` walks a frame once, checks its grammar and limits, and
//! records the positions of members; `keys.rs` and `duplicates.rs` find keys that occur twice. [`RawJson`] is a piece of
//! that frame, `tag.rs` finds which of several types it is, and `flat.rs` reads long texts in it. [`Encoder`] writes replies into one buffer, in the shape of one revision.

#[cfg(test)]
mod draws;
pub(crate) mod duplicates;
pub(crate) mod escape;
mod flat;
mod keys;
mod ordered_map;
mod plain;
pub(crate) mod raw;
pub(crate) mod scan;
pub(crate) mod tag;
mod write;

pub use flat::FlatObject;
pub use ordered_map::OrderedMap;
pub use raw::{RawJson, message_without_position};
pub use scan::Limits;
pub use write::{Encode, Encoder, Members};
