//! How does a schema that describes Rust types become one that every client understands?
//!
//! Clients pass schemas to models, and to validators that know only parts of JSON Schema. So rare forms are replaced by
//! common forms: no lists of types, no booleans as schemas, no formats for how Rust stores a number, and `items` for
//! every array.

use serde_json::{Map, Value, json};

use crate::terms::keyword::{for_each_inner, is_annotation};

/// The side that writes the values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// Callers, which leave out missing values.
    Input,
    /// `serde`, which writes `null` for a missing value.
    Output,
}

/// Rewrites a schema in keywords that every client knows, with the same meaning.
pub fn make_portable(schema: &mut Value, side: Side) {
    let members = match schema {
        Value::Object(members) => members,
        Value::Bool(false) => {
            *schema = json!({"not": {}});
            return;
        }
        _ => {
            *schema = json!({});
            return;
        }
    };
    members.remove("$schema");
    if members.get("format").and_then(Value::as_str).is_some_and(is_storage_format) {
        members.remove("format");
    }
    for keyword in BOOLEAN_KEYWORDS {
        if members.get(keyword) == Some(&Value::Bool(true)) {
            members.remove(keyword);
        }
    }
    if side == Side::Input {
        drop_optional_nulls(members);
    }
    for_each_inner(members, |keyword, inner| {
        if !(BOOLEAN_KEYWORDS.contains(&keyword) && inner.is_boolean()) {
            make_portable(inner, side);
        }
    });
    let is_array = match members.get("type") {
        Some(Value::Array(types)) => types.iter().any(|name| name == "array"),
        Some(name) => name == "array",
        None => false,
    };
    if is_array {
        members.entry("items").or_insert_with(|| json!({}));
    }
    split_types(members);
}

/// Removes `null` from the allowed values, unless only `null` is allowed.
pub fn drop_null(schema: &mut Value) {
    let Value::Object(members) = schema else { return };
    let mut is_dropped = false;
    for keyword in ["type", "enum", "anyOf", "oneOf"] {
        let Some(Value::Array(list)) = members.get_mut(keyword) else { continue };
        let is_null = |item: &Value| match keyword {
            "type" => item == "null",
            "enum" => item.is_null(),
            _ => item.get("type").is_some_and(|name| name == "null"),
        };
        if list.iter().any(is_null) && !list.iter().all(is_null) {
            list.retain(|item| !is_null(item));
            is_dropped = true;
        }
        let [only] = list.as_mut_slice() else { continue };
        match keyword {
            "type" => {
                let name = only.take();
                members.insert(keyword.to_owned(), name);
            }
            "anyOf" | "oneOf" if is_dropped => inline_only_branch(members, keyword),
            _ => {}
        }
    }
    if is_dropped && members.get("default").is_some_and(Value::is_null) {
        members.remove("default");
    }
}

/// Replaces a list of branches by its only branch, unless a keyword would be lost.
fn inline_only_branch(members: &mut Map<String, Value>, keyword: &str) {
    let Some(Value::Object(branch)) = members.get(keyword).and_then(|list| list.get(0)).cloned() else {
        return;
    };
    if members.keys().any(|name| name != keyword && !is_annotation(name) && branch.contains_key(name)) {
        return;
    }
    members.remove(keyword);
    for (name, value) in branch {
        members.entry(name).or_insert(value);
    }
}

fn drop_optional_nulls(members: &mut Map<String, Value>) {
    let required = members.get("required").cloned().unwrap_or_default();
    let is_required =
        |name: &str| required.as_array().is_some_and(|names| names.iter().any(|known| known == name));
    if let Some(Value::Object(properties)) = members.get_mut("properties") {
        properties
            .iter_mut()
            .filter(|(name, _)| !is_required(name))
            .for_each(|(_, schema)| drop_null(schema));
    }
}

/// Turns a list of types into a choice between schemas of one type each.
fn split_types(members: &mut Map<String, Value>) {
    let types = match members.get_mut("type") {
        Some(Value::Array(types)) => std::mem::take(types),
        _ => return,
    };
    members.remove("type");
    if let [only] = types.as_slice() {
        members.insert("type".to_owned(), only.clone());
        return;
    }
    let (remarks, rules): (Map<_, _>, Map<_, _>) =
        std::mem::take(members).into_iter().partition(|(keyword, _)| stays_outside(keyword));
    let branches = types.iter().filter_map(|name| branch(name.as_str()?, &rules)).collect();
    *members = remarks;
    members.insert("anyOf".to_owned(), Value::Array(branches));
}

/// Returns the rules that apply to values of one type, or `None` if they allow no value of that type.
fn branch(name: &str, rules: &Map<String, Value>) -> Option<Value> {
    let mut branch = Map::new();
    branch.insert("type".to_owned(), name.into());
    for (keyword, value) in
        rules.iter().filter(|(keyword, _)| applicable_types(keyword).is_none_or(|of| of.contains(&name)))
    {
        let mut value = value.clone();
        if let ("enum", Value::Array(options)) = (keyword.as_str(), &mut value) {
            options.retain(|option| option.is_null() == (name == "null"));
            if options.is_empty() {
                return None;
            }
            // The type `null` needs no `enum`.
            if name == "null" {
                continue;
            }
        }
        branch.insert(keyword.clone(), value);
    }
    Some(Value::Object(branch))
}

/// Returns the types that a keyword applies to, or `None` if it applies to all.
fn applicable_types(keyword: &str) -> Option<&'static [&'static str]> {
    match keyword {
        "minLength" | "maxLength" | "pattern" | "format" => Some(&["string"]),
        "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" | "multipleOf" => {
            Some(&["number", "integer"])
        }
        "items" | "prefixItems" | "minItems" | "maxItems" | "uniqueItems" | "contains" | "minContains"
        | "maxContains" | "unevaluatedItems" => Some(&["array"]),
        "properties"
        | "required"
        | "additionalProperties"
        | "patternProperties"
        | "minProperties"
        | "maxProperties"
        | "propertyNames"
        | "unevaluatedProperties"
        | "dependentRequired"
        | "dependentSchemas" => Some(&["object"]),
        _ => None,
    }
}

/// Returns whether a keyword stays outside the choice: annotations describe the whole choice, and definitions are
/// referenced from the root.
fn stays_outside(keyword: &str) -> bool {
    is_annotation(keyword) || matches!(keyword, "$defs" | "definitions" | "$id" | "$anchor")
}

/// Returns whether a format says how Rust stores a number. Validators do not know these formats, and some refuse the
/// schema.
fn is_storage_format(format: &str) -> bool {
    matches!(format, "float" | "double")
        || format
            .strip_prefix('u')
            .unwrap_or(format)
            .strip_prefix("int")
            .is_some_and(|bits| bits.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Keywords for which every client understands a boolean, and for which `true` has no effect.
const BOOLEAN_KEYWORDS: [&str; 3] = ["additionalProperties", "unevaluatedProperties", "unevaluatedItems"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schemas_say_the_same_in_common_words() {
        for (side, given, expected) in [
            (Side::Output, json!(true), json!({})),
            (Side::Output, json!(false), json!({"not": {}})),
            (Side::Output, json!({"type": "integer", "format": "uint8"}), json!({"type": "integer"})),
            (
                Side::Output,
                json!({"type": "string", "format": "uuid"}),
                json!({"type": "string", "format": "uuid"}),
            ),
            (Side::Output, json!({"type": "array"}), json!({"type": "array", "items": {}})),
            (Side::Output, json!({"type": "array", "items": true}), json!({"type": "array", "items": {}})),
            (
                Side::Output,
                json!({"type": ["string", "null"], "minLength": 1, "description": "D"}),
                json!({"anyOf": [{"type": "string", "minLength": 1}, {"type": "null"}], "description": "D"}),
            ),
            (
                Side::Output,
                json!({"type": ["string", "null"], "enum": ["a", null]}),
                json!({"anyOf": [{"type": "string", "enum": ["a"]}, {"type": "null"}]}),
            ),
            (
                Side::Output,
                json!({"type": ["array", "integer"], "minimum": 0}),
                json!({"anyOf": [{"type": "array", "items": {}}, {"type": "integer", "minimum": 0}]}),
            ),
            (
                Side::Output,
                json!({"additionalProperties": true, "properties": {"a": {"$schema": "s", "additionalProperties": false}}}),
                json!({"properties": {"a": {"additionalProperties": false}}}),
            ),
            (
                Side::Input,
                json!({"properties": {"a": {"type": ["string", "null"], "default": null}, "b": {"type": ["string", "null"]}}, "required": ["b"]}),
                json!({"properties": {"a": {"type": "string"}, "b": {"anyOf": [{"type": "string"}, {"type": "null"}]}}, "required": ["b"]}),
            ),
            (
                Side::Input,
                json!({"properties": {"a": {"description": "D", "anyOf": [{"$ref": "#/$defs/A"}, {"type": "null"}]}}}),
                json!({"properties": {"a": {"description": "D", "$ref": "#/$defs/A"}}}),
            ),
            (
                Side::Output,
                json!({"properties": {"a": {"anyOf": [{"$ref": "#/$defs/A"}, {"type": "null"}]}}}),
                json!({"properties": {"a": {"anyOf": [{"$ref": "#/$defs/A"}, {"type": "null"}]}}}),
            ),
            (
                Side::Input,
                json!({"properties": {"a": {"type": "null"}}}),
                json!({"properties": {"a": {"type": "null"}}}),
            ),
        ] {
            let mut portable = given.clone();
            make_portable(&mut portable, side);
            assert_eq!(portable, expected, "{given}");
            let once = portable.clone();
            make_portable(&mut portable, side);
            assert_eq!(portable, once, "doing it twice does no more");
        }
    }
}
