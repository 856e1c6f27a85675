//! Which names do the elements of several servers have in one list, and which server has each?
//!
//! | file | question |
//! |---|---|
//! | `rules.rs` | What do joined names look like? |
//! | `joined.rs` | Which names do the tools of several servers have in one list, and which server has a name? |
//! | `tags.rs` | Which prefix do the elements of a server have? |
//! | `uris.rs` | How are resources of several servers distinguished, and which server has a URI? |

pub(super) mod joined;
pub(super) mod rules;
pub(super) mod tags;
pub(super) mod uris;
