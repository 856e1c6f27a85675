//! What is in an attribute? Keys and values as they are written, before they are interpreted.
//!
//! | file | question |
//! |---|---|
//! | `settings.rs` | What is in the parentheses? |
//! | `values.rs` | How are JSON, icons and annotations written in an attribute? |
//! | `doc.rs` | What is the text of a doc comment? |
//! | `scope_rewriter.rs` | How is code from an `impl` block or a signature rewritten for use outside of it? |
//! | `closest.rs` | Which known word was probably meant? |
//! | `mistakes.rs` | What is wrong with the author's code? |

pub(crate) mod closest;
mod doc;
mod mistakes;
mod scope_rewriter;
mod settings;
pub(crate) mod values;

pub(crate) use doc::text as doc_text;
pub(crate) use mistakes::Mistakes;
pub(crate) use scope_rewriter::ScopeRewriter;
pub(crate) use settings::{
    AttributeKeys, Setting, SettingValue, literal, parse_attributes, parse_settings, without_groups,
};
