//! Schemas of tool arguments, in the dialect of each provider.
//!
//! A tool's schema may be any JSON Schema. A provider supports only a part of JSON Schema, and may refuse a whole
//! request because of one unsupported keyword. [`convert`] keeps as much of a schema as the provider supports,
//! describes the rest to the model in words, and [reports](Loss) everything that is lost.
//!
//! ```
//! use serde_json::json;
//! use toolway::agent::{Provider, schema};
//!
//! let original = json!({
//!     "$schema": "https://json-schema.org/draft/2020-12/schema",
//!     "type": "object",
//!     "properties": {"unit": {"$ref": "#/$defs/Unit"}},
//!     "$defs": {"Unit": {"enum": ["C", "F"]}},
//! });
//! let converted = schema::convert(Provider::OpenAi, &original);
//! assert!(converted.losses.is_empty());
//! assert_eq!(
//!     converted.schema.unwrap(),
//!     json!({"type": "object", "properties": {"unit": {"type": "string", "enum": ["C", "F"]}}})
//! );
//!
//! let strict = schema::convert(Provider::OpenAiStrict, &original);
//! assert!(strict.is_strict);
//! assert_eq!(
//!     strict.schema.unwrap()["properties"]["unit"],
//!     json!({"type": ["string", "null"], "enum": ["C", "F", null]}),
//!     "what is optional may be null, and a `ToolSet` leaves it out again when it is"
//! );
//! ```
//!
//! ```
//! use serde_json::json;
//! use toolway::agent::{Effect, Provider, schema};
//!
//! let converted = schema::convert(
//!     Provider::Gemini,
//!     &json!({"type": "object", "properties": {"even": {"type": "integer", "multipleOf": 2}}}),
//! );
//! let loss = &converted.losses[0];
//! assert_eq!((&*loss.pointer, &*loss.what, loss.effect), ("/properties/even", "multipleOf", Effect::Wider));
//! // The lost keyword is described to the model in words.
//! let schema = converted.schema.unwrap();
//! assert_eq!(schema["properties"]["even"]["description"], "A multiple of 2.");
//! ```

#[doc(inline)]
pub use toolway_schema::dialects::{Conversion, Effect, Loss, convert};
