//! What are the elements of several servers called in one list, and whose is what?
//!
//! | file | question |
//! |---|---|
//! | `rules.rs` | What do joined names look like? |
//! | `joined.rs` | What are the tools of several servers called in one list, and whose is a name? |
//! | `tags.rs` | What stands for a server in the names of its elements? |
//! | `uris.rs` | How are resources of several servers told apart, and whose is a URI? |

pub(super) mod joined;
pub(super) mod rules;
pub(super) mod tags;
pub(super) mod uris;
