//! Which text does a type expect that is read from text? Its schema says so, by a format or a pattern.

use serde_json::{Map, Value};

use crate::format::Format;

/// Says in words what a schema expects; nothing if it leaves that open.
pub fn expected_text(schema: &Value, definitions: &Map<String, Value>) -> Option<String> {
    in_schema(schema, definitions, DEEPEST)
}

/// The number of references that are followed: a type may be described by itself.
const DEEPEST: u8 = 8;

fn in_schema(schema: &Value, definitions: &Map<String, Value>, depth: u8) -> Option<String> {
    let depth = depth.checked_sub(1)?;
    if let Some(name) = schema.get("format").and_then(Value::as_str) {
        return Some(match Format::named(name) {
            Some(format) => format.noun.to_owned(),
            None => format!("text of the format `{name}`"),
        });
    }
    if let Some(pattern) = schema.get("pattern").and_then(Value::as_str) {
        return Some(format!("text that matches `{pattern}`"));
    }
    let referenced = schema.get("$ref").and_then(Value::as_str).and_then(|path| path.rsplit('/').next());
    let referenced = referenced.and_then(|name| definitions.get(name));
    let choices =
        ["anyOf", "oneOf", "allOf"].iter().filter_map(|word| schema.get(word)?.as_array()).flatten();
    let mut inner = referenced.into_iter().chain(choices).chain(schema.get("items"));
    inner.find_map(|schema| in_schema(schema, definitions, depth))
}
