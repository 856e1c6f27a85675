//! What stands in an attribute? Keys and values as they are written, before anything is made of them.
//!
//! | file | question |
//! |---|---|
//! | `settings.rs` | What stands in the parentheses? |
//! | `values.rs` | How are JSON, icons and annotations written there? |
//! | `doc.rs` | What does a doc comment say? |
//! | `outside.rs` | How is something of a signature written outside of it? |
//! | `closest.rs` | Which known word was probably meant? |
//! | `mistakes.rs` | What is wrong with what the author wrote? |

pub(crate) mod closest;
mod doc;
mod mistakes;
mod outside;
mod settings;
pub(crate) mod values;

pub(crate) use doc::text as doc_text;
pub(crate) use mistakes::Mistakes;
pub(crate) use outside::Outside;
pub(crate) use settings::{Given, Keys, Setting, literal, settings, settings_of, without_groups};
