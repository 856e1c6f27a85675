//! How is the schema of one argument described in words?

use serde_json::Value;
use toolway::RawJson;
use toolway_schema::{Schema, Types};

/// The maximum depth of nested lists in a description.
const MAX_DEPTH: usize = 2;

/// Reads the schema of a tool's arguments. A schema that cannot be read allows any value.
pub(crate) fn parse_schema(text: &RawJson) -> Schema {
    Schema::of(&text.decode().unwrap_or_default())
}

/// Returns the arguments, in the order of the schema's text.
pub(crate) fn arguments(schema: &Schema, text: &RawJson) -> Vec<(String, Schema)> {
    let member = |text: &RawJson, name: &str| {
        text.members()?.into_iter().rev().find(|(known, _)| known == name).map(|(_, value)| value)
    };
    let named = member(text, "properties").and_then(|properties| properties.members());
    let named = named.unwrap_or_default();
    let mut arguments = schema.properties();
    arguments
        .sort_by_key(|(name, _)| named.iter().position(|(known, _)| known == name).unwrap_or(named.len()));
    arguments
}

/// Describes the allowed values in words: `string`, `integer or null`, `list of string`, `one of a, b`.
pub(crate) fn describe_type(schema: &Schema) -> String {
    describe_within(schema, 0)
}

fn describe_within(schema: &Schema, depth: usize) -> String {
    if let Some(choices) = schema.choices() {
        let choices: Vec<_> = choices.iter().map(value_text).collect();
        return format!("one of {}", choices.join(", "));
    }
    let Some(types) = schema.types() else { return "anything".to_owned() };
    let words = types.names().into_iter().map(|name| match name {
        "array" if depth == MAX_DEPTH || allows_anything(&schema.items()) => "list".to_owned(),
        "array" => format!("list of {}", describe_within(&schema.items(), depth + 1)),
        name => name.to_owned(),
    });
    words.collect::<Vec<_>>().join(" or ")
}

/// Returns whether any value is allowed.
pub(crate) fn allows_anything(schema: &Schema) -> bool {
    schema.types().is_none() && schema.choices().is_none()
}

/// Returns whether the schema explicitly allows one of the types.
pub(crate) fn allows_type(schema: &Schema, types: Types) -> bool {
    schema.types().is_some_and(|said| said.intersects(types))
}

/// Returns a value as a person would write it: a string without quotes, any other value as JSON.
pub(crate) fn value_text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
