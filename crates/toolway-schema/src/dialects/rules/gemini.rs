//! The rules of Gemini for `FunctionDeclaration.parameters`, which is a `Schema`: a subset of `OpenAPI` 3.0.
//!
//! An unknown field is an error of the request ("Cannot find field"), and so is nearly every field in the wrong place
//! ("only allowed for STRING type").

use serde_json::{Map, Value};

use super::violation::{MAX_DEPTH, Violations, append_step};

pub(crate) fn check(schema: &Value, found: &mut Violations) {
    if type_of(schema) != "OBJECT" {
        found.add("", "parameters have to be of type OBJECT");
    }
    walk(schema, "", 0, found);
}

fn walk(schema: &Value, at: &str, depth: usize, found: &mut Violations) {
    let Value::Object(members) = schema else { return found.add(at, "a schema must be an object") };
    if depth > MAX_DEPTH {
        return found.add(at, "it is nested too deeply");
    }
    for (word, value) in members {
        field(word, value, &append_step(at, word), found);
    }
    if let Some(branches) = members.get("anyOf") {
        if members.len() > 1 {
            found.add(at, "when `anyOf` is used, it has to be the only field");
        }
        let branches = branches.as_array().map(Vec::as_slice).unwrap_or_default();
        if branches.is_empty() {
            found.add(at, "`anyOf` must be a list of at least one schema");
        }
        for (index, branch) in branches.iter().enumerate() {
            walk(branch, &format!("{at}/anyOf/{index}"), depth + 1, found);
        }
        return;
    }
    let kind = type_of(schema);
    if !TYPES.contains(&&*kind) {
        found.add(at, "`type` must be one of STRING, NUMBER, INTEGER, BOOLEAN, ARRAY, OBJECT, NULL");
    }
    for (word, kinds) in FIELD_TYPES {
        if members.contains_key(word) && !kinds.contains(&&*kind) {
            found.add(&append_step(at, word), format!("only allowed for type {}", kinds.join(", ")));
        }
    }
    if let Some(format) = members.get("format").and_then(Value::as_str) {
        let formats: &[_] = match &*kind {
            "STRING" => &["enum", "date-time"],
            "NUMBER" => &["float", "double"],
            "INTEGER" => &["int32", "int64"],
            _ => &[],
        };
        if !formats.contains(&format) {
            found.add(&append_step(at, "format"), format!("`{format}` is not supported for type {kind}"));
        }
    }
    match (&*kind, members.get("items")) {
        ("ARRAY", None) => found.add(at, "`items` is missing"),
        (_, Some(items)) => walk(items, &append_step(at, "items"), depth + 1, found),
        _ => {}
    }
    if kind == "OBJECT" {
        object(members, at, depth, found);
    }
}

fn object(members: &Map<String, Value>, at: &str, depth: usize, found: &mut Violations) {
    let Some(properties) =
        members.get("properties").and_then(Value::as_object).filter(|named| !named.is_empty())
    else {
        return found.add(at, "`properties` has to be non-empty for type OBJECT");
    };
    for (name, property) in properties {
        let at = append_step(&append_step(at, "properties"), name);
        let is_name = name.len() <= 64
            && name.starts_with(|letter: char| letter.is_ascii_alphabetic() || letter == '_')
            && name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_');
        if !is_name {
            found.add(&at, "names must begin with a letter or `_` and have up to 64 letters, digits and `_`");
        }
        walk(property, &at, depth + 1, found);
    }
    for word in ["required", "propertyOrdering"] {
        for name in members.get(word).and_then(Value::as_array).into_iter().flatten() {
            if name.as_str().is_none_or(|name| !properties.contains_key(name)) {
                found.add(&append_step(at, word), format!("the property {name} is not defined"));
            }
        }
    }
}

/// Checks that a field exists and that its value has the right kind.
fn field(word: &str, value: &Value, at: &str, found: &mut Violations) {
    let is_right = match word {
        "type" | "format" | "title" | "description" | "pattern" => value.is_string(),
        "nullable" => value.is_boolean(),
        "enum" => {
            let texts = value.as_array().into_iter().flatten();
            let mut texts = texts.map(|text| text.as_str().is_some_and(|text| !text.is_empty()));
            value.as_array().is_some_and(|texts| !texts.is_empty()) && texts.all(|is_text| is_text)
        }
        "required" | "propertyOrdering" => {
            value.as_array().is_some_and(|names| names.iter().all(Value::is_string))
        }
        "minLength" | "maxLength" | "minItems" | "maxItems" | "minProperties" | "maxProperties" => {
            // Signed 64-bit integers in the JSON form of protocol buffers, which also allows text.
            value.as_i64().or_else(|| value.as_str()?.parse().ok()).is_some_and(|count| count >= 0)
        }
        "minimum" | "maximum" => value.is_number(),
        "properties" | "items" => value.is_object(),
        "anyOf" => value.is_array(),
        "default" | "example" => true,
        _ => return found.add(at, format!("there is no field `{word}`")),
    };
    if !is_right {
        found.add(at, format!("`{word}` has a value of the wrong kind"));
    }
}

/// Returns the type in upper case; the documentation uses both upper and lower case.
fn type_of(schema: &Value) -> String {
    schema.get("type").and_then(Value::as_str).unwrap_or_default().to_ascii_uppercase()
}

const TYPES: [&str; 7] = ["STRING", "NUMBER", "INTEGER", "BOOLEAN", "ARRAY", "OBJECT", "NULL"];

/// The fields that only some types have.
const FIELD_TYPES: [(&str, &[&str]); 13] = [
    ("enum", &["STRING"]),
    ("minLength", &["STRING"]),
    ("maxLength", &["STRING"]),
    ("pattern", &["STRING"]),
    ("minimum", &["NUMBER", "INTEGER"]),
    ("maximum", &["NUMBER", "INTEGER"]),
    ("items", &["ARRAY"]),
    ("minItems", &["ARRAY"]),
    ("maxItems", &["ARRAY"]),
    ("properties", &["OBJECT"]),
    ("required", &["OBJECT"]),
    ("minProperties", &["OBJECT"]),
    ("maxProperties", &["OBJECT"]),
];
