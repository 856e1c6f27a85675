//! Schemas of tool arguments in the form that each provider accepts.
//!
//! A tool's schema may be any JSON Schema. A provider accepts a subset of it, and refuses the whole request for one
//! unsupported keyword. [`convert`] keeps as much of a schema as the provider supports, describes the rest to the model
//! in words, and [reports](Loss) every loss. [`check`](fn@check) checks a schema against a provider's rules, for
//! example in a test of a schema that was written by hand.
//!
//! | file | question |
//! |---|---|
//! | `unfold.rs` | What does a schema mean with its references expanded? |
//! | `node.rs` | How is an expanded schema stored? |
//! | `merge.rs` | How are two schemas that must both hold merged into one, and how are alternatives merged? |
//! | `root.rs` | How is the root of a schema turned into an object, as arguments require? |
//! | `json.rs` | How is a schema written for providers that accept nearly all of JSON Schema? |
//! | `narrow.rs` | How is a schema split into schemas of one type each? |
//! | `writer.rs`, `strict.rs`, `gemini.rs` | How is a schema written for providers that require one type per schema? |
//! | `provider.rs` | Which providers are there, and which names of tools and properties do they allow? |
//! | `description_notes.rs` | How are rules that a provider's schema cannot express described to the model? |
//! | `loss.rs` | What is lost? |
//! | `restore.rs` | How are a model's arguments converted back to the form that the tool expects? |
//! | `rules/` | Does a schema follow a provider's rules? |

mod description_notes;
mod gemini;
mod json;
mod loss;
mod merge;
mod narrow;
mod node;
mod provider;
mod restore;
mod root;
mod rules;
mod strict;
mod unfold;
mod writer;

#[cfg(test)]
mod agreement_tests;
#[cfg(test)]
mod rules_tests;

use std::rc::Rc;

use serde_json::Value;

pub use loss::{Effect, Loss};
pub use provider::Provider;
pub use rules::Violation;

use crate::model::Schema;
use loss::Losses;
use rules::violation::Violations;
use unfold::unfold;

/// The result of [`convert`].
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Conversion {
    /// The schema. `None` for a tool without arguments, if the provider refuses a schema without properties (Gemini).
    pub schema: Option<Value>,
    /// `true` if `strict` may be set with this schema.
    pub is_strict: bool,
    /// The parts of the original schema that were lost.
    pub losses: Vec<Loss>,
}

/// Converts the schema of a tool's arguments to the form that a provider accepts.
///
/// References inside the schema are expanded; nothing is ever fetched. A definition that contains itself is expanded a
/// few times and then cut. If a schema cannot be strict, the result for [`Provider::OpenAiStrict`] is the schema for
/// [`Provider::OpenAi`], and the losses contain the reason.
pub fn convert(provider: Provider, schema: &Value) -> Conversion {
    Schema::of(schema).convert(provider)
}

impl Schema {
    /// Converts the schema to the form that a provider accepts, as [`convert`] does.
    pub fn convert(&self, provider: Provider) -> Conversion {
        let mut losses = Losses::default();
        let node = Rc::unwrap_or_clone(unfold(self, &mut losses));
        let mut is_strict = false;
        let schema = match provider {
            Provider::OpenAi | Provider::Anthropic => Some(json::write(provider, node, &mut losses)),
            Provider::Gemini => gemini::write(node, &mut losses),
            Provider::OpenAiStrict => {
                let mut tried = Losses::default();
                match strict::write(node.clone(), &mut tried) {
                    Ok(schema) => {
                        losses.append(tried);
                        is_strict = true;
                        Some(schema)
                    }
                    Err(refusal) => {
                        losses.add(&refusal.at, "strict", Effect::Wider, refusal.why);
                        Some(json::write(Provider::OpenAi, node, &mut losses))
                    }
                }
            }
        };
        Conversion { schema, is_strict, losses: losses.into_list() }
    }
}

/// Returns every rule that the schema of a tool's arguments breaks. The provider accepts a schema without violations.
pub fn check(provider: Provider, schema: &Value) -> Vec<Violation> {
    let mut found = Violations::default();
    match provider {
        Provider::OpenAi => rules::json::openai(schema, &mut found),
        Provider::Anthropic => rules::json::anthropic(schema, &mut found),
        Provider::OpenAiStrict => rules::strict::check(schema, &mut found),
        Provider::Gemini => rules::gemini::check(schema, &mut found),
    }
    found.0
}
