//! What is in an attribute? Keys and values as they are written, before they are interpreted.
//!
//! | file | question |
//! |---|---|
//! | `settings.rs` | What is in the parentheses? |
//! | `values.rs` | How are JSON, icons and annotations written in an attribute? |
//! | `doc.rs` | What is the text of a doc comment? |
//! | `outside.rs` | How is code from an `impl` block or a signature rewritten for use outside of it? |
//! | `closest.rs` | Which known word was probably meant? |
//! | `mistakes.rs` | What is wrong with the author's code? |

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
