//! Schemas of tools' arguments, as each provider takes them.
//!
//! A tool's schema may be any JSON Schema; a provider takes a part of it, and refuses the whole request for one keyword too
//! many. [`convert`] says as much of a schema as the provider can hear, tells the model in words what is left, and
//! [reports](Loss) each thing that is lost. [`check`](fn@check) knows the providers' rules, and is good for tests of schemas that were
//! written by hand.
//!
//! | file | question |
//! |---|---|
//! | `unfold.rs` | What does a schema say with its references written out? |
//! | `node.rs` | In which one form is that kept? |
//! | `merge.rs` | What holds when two schemas hold at once, and what when one of them does? |
//! | `root.rs` | How does it become an object, which is what arguments are? |
//! | `json.rs` | How is it written for those who take nearly all of JSON Schema? |
//! | `narrow.rs` | Which schemas of one type each say the same? |
//! | `writer.rs`, `strict.rs`, `gemini.rs` | And how is it written for those who take nothing else? |
//! | `provider.rs` | Which providers are there, and what may tools and properties be called there? |
//! | `words.rs` | How is the model told what its schema cannot say? |
//! | `loss.rs` | What is lost? |
//! | `restore.rs` | How do arguments that keep to what was written become those that the tool takes? |
//! | `rules/` | Does a schema keep to a provider's rules? |

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
mod words;
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
use rules::violation::Found;
use unfold::unfold;

/// What [`convert`] makes of a schema.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Converted {
    /// The schema; nothing if a tool without arguments is best described without one, as for Gemini.
    pub schema: Option<Value>,
    /// Whether `strict` may be said with it.
    pub is_strict: bool,
    /// What the schema does not say any more.
    pub losses: Vec<Loss>,
}

/// Writes the schema of a tool's arguments as a provider takes it.
///
/// References are written out, which is done for those inside the schema only; nothing is ever fetched. A definition that
/// contains itself is written out a few times and then cut. Where a schema cannot be strict, for [`Provider::OpenAiStrict`]
/// the one for [`Provider::OpenAi`] comes instead, and the losses say why.
pub fn convert(provider: Provider, schema: &Value) -> Converted {
    Schema::of(schema).convert(provider)
}

impl Schema {
    /// Writes it as a provider takes it, as [`convert`] does.
    pub fn convert(&self, provider: Provider) -> Converted {
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
        Converted { schema, is_strict, losses: losses.into_list() }
    }
}

/// Every rule that the schema of a tool's arguments breaks. Without one, the provider takes it.
pub fn check(provider: Provider, schema: &Value) -> Vec<Violation> {
    let mut found = Found::default();
    match provider {
        Provider::OpenAi => rules::json::openai(schema, &mut found),
        Provider::Anthropic => rules::json::anthropic(schema, &mut found),
        Provider::OpenAiStrict => rules::strict::check(schema, &mut found),
        Provider::Gemini => rules::gemini::check(schema, &mut found),
    }
    found.0
}
