//! Does a schema keep to a provider's rules?
//!
//! Written from what the providers document and from what their services answer, and from nothing else here: this is what
//! [`convert`](super::convert) is tested by. It asks these rules how large a strict schema is.

mod form;
mod gemini;
mod json;
pub(crate) mod strict;
pub(crate) mod violation;

use serde_json::Value;

use super::provider::Provider;
use violation::Found;
pub use violation::Violation;

/// Every rule that the schema of a tool's arguments breaks. Without one, the provider takes it.
pub fn check(provider: Provider, schema: &Value) -> Vec<Violation> {
    let mut found = Found::default();
    match provider {
        Provider::OpenAi => json::openai(schema, &mut found),
        Provider::Anthropic => json::anthropic(schema, &mut found),
        Provider::OpenAiStrict => strict::check(schema, &mut found),
        Provider::Gemini => gemini::check(schema, &mut found),
    }
    found.0
}
