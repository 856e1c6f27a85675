//! Which values does an enum have? Those that its schema lists, if they are texts and nothing else is allowed.

use serde_json::Value;

/// The texts that a schema lists, if it allows nothing else.
pub fn listed(schema: &Value, definitions: &serde_json::Map<String, Value>) -> Option<Vec<String>> {
    let mut found = Vec::new();
    (collect(schema, definitions, 0, &mut found) && !found.is_empty()).then_some(found)
}

/// Whether the schema allows listed texts only; they are added to `found`.
fn collect(
    schema: &Value,
    definitions: &serde_json::Map<String, Value>,
    depth: usize,
    found: &mut Vec<String>,
) -> bool {
    // A definition that leads back to itself lists nothing.
    if depth > 8 {
        return false;
    }
    if let Some(name) = schema.get("$ref").and_then(Value::as_str) {
        let name = name.rsplit('/').next().unwrap_or_default();
        return definitions.get(name).is_some_and(|schema| collect(schema, definitions, depth + 1, found));
    }
    if let Some(values) = schema.get("enum").and_then(Value::as_array) {
        let texts: Option<Vec<_>> = values
            .iter()
            .filter(|value| !value.is_null())
            .map(|value| value.as_str().map(str::to_owned))
            .collect();
        return texts.map(|texts| found.extend(texts)).is_some();
    }
    if let Some(value) = schema.get("const") {
        return value.as_str().map(|text| found.push(text.to_owned())).is_some();
    }
    if let Some(choices) = schema.get("oneOf").or_else(|| schema.get("anyOf")).and_then(Value::as_array) {
        return choices
            .iter()
            .filter(|choice| choice.get("type").and_then(Value::as_str) != Some("null"))
            .all(|choice| collect(choice, definitions, depth + 1, found));
    }
    false
}
