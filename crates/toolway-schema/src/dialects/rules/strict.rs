//! The rules of OpenAI for `strict`: Structured Outputs, Supported schemas.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::form;
use super::violation::{MAX_DEPTH, Violations, append_step};

pub(crate) fn check(schema: &Value, found: &mut Violations) {
    if schema.get("type").is_none_or(|name| name != "object") {
        found.add("", "the root has to be of type `object`");
    }
    if schema.get("anyOf").is_some() {
        found.add("", "the root may not be a choice");
    }
    form::check(schema, schema, "", 0, found, &mut |_, _, _| {});
    let Size { properties, values, characters: letters, .. } = Size::of(schema, found);
    if properties > MAX_PROPERTIES {
        found.add("", format!("there are {properties} properties, and 5000 are allowed"));
    }
    if letters > MAX_CHARACTERS {
        found.add("", format!("names and values have {letters} letters, and 120000 are allowed"));
    }
    if values > MAX_VALUES {
        found.add("", format!("there are {values} listed values, and 1000 are allowed"));
    }
}

/// The size of a schema, as OpenAI counts it.
#[derive(Default)]
pub(crate) struct Size {
    pub(crate) levels: usize,
    pub(crate) properties: usize,
    /// The number of values in all `enum` lists.
    pub(crate) values: usize,
    /// The number of characters in all names of properties and definitions, and in all values.
    pub(crate) characters: usize,
    pub(crate) has_long_list: bool,
}

impl Size {
    /// Measures a schema, and checks each schema in it.
    pub(crate) fn of(schema: &Value, found: &mut Violations) -> Self {
        let mut size = Self::default();
        walk(schema, "", 0, 0, &mut size, found);
        size
    }
}

fn walk(schema: &Value, at: &str, level: usize, depth: usize, size: &mut Size, found: &mut Violations) {
    let Value::Object(members) = schema else {
        return found.add(at, "a boolean is not allowed as a schema here");
    };
    if depth > MAX_DEPTH {
        return;
    }
    for word in members.keys().filter(|word| !KEYWORDS.contains(&word.as_str())) {
        found.add(&append_step(at, word), "it is not supported");
    }
    if !["type", "anyOf", "$ref"].iter().any(|word| members.contains_key(*word)) {
        found.add(at, "every schema must have a type");
    }
    if members.contains_key("$ref") && members.len() > 1 {
        found.add(at, "`$ref` must be the only keyword of its schema");
    }
    // Inserted one by one, as in all sets here: `collect` would sort, with code for each type of iterator.
    let mut types = BTreeSet::new();
    match members.get("type") {
        Some(Value::Array(names)) => types.extend(names.iter().filter_map(Value::as_str)),
        Some(Value::String(name)) => _ = types.insert(name.as_str()),
        _ => {}
    }
    if let Some(format) = members.get("format").and_then(Value::as_str)
        && !FORMATS.contains(&format)
    {
        found.add(&append_step(at, "format"), format!("`{format}` is not supported"));
    }
    let listed = members.get("enum").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let texts = listed.iter().chain(members.get("const")).filter_map(Value::as_str);
    let letters: usize = texts.map(|text| text.chars().count()).sum();
    size.characters += letters;
    size.values += listed.len();
    if listed.len() > LARGE_ENUM && letters > MAX_LARGE_ENUM_CHARACTERS {
        size.has_long_list = true;
        let values = listed.len();
        found.add(
            &append_step(at, "enum"),
            format!("{values} values have {letters} letters, and 15000 are allowed"),
        );
    }
    let is_object = types.contains("object") || members.contains_key("properties");
    let is_array = types.contains("array") || members.contains_key("items");
    let level = level + usize::from(is_object || is_array);
    size.levels = size.levels.max(level);
    if level == MAX_NESTING + 1 {
        found.add(at, "at most 10 levels of nesting are allowed");
    }
    if is_object {
        object(members, at, found);
    }
    if is_array && !members.contains_key("items") {
        found.add(at, "a list has to say what its items are: `items` is missing");
    }
    for word in ["properties", "$defs", "definitions"] {
        for (name, inner) in members.get(word).and_then(Value::as_object).into_iter().flatten() {
            size.properties += usize::from(word == "properties");
            size.characters += name.chars().count();
            let level = if word == "properties" { level } else { 0 };
            walk(inner, &append_step(&append_step(at, word), name), level, depth + 1, size, found);
        }
    }
    if let Some(items) = members.get("items") {
        walk(items, &append_step(at, "items"), level, depth + 1, size, found);
    }
    for (index, branch) in members.get("anyOf").and_then(Value::as_array).into_iter().flatten().enumerate() {
        walk(branch, &format!("{at}/anyOf/{index}"), level, depth + 1, size, found);
    }
}

/// Checks that `additionalProperties` is `false` and that every property is required.
fn object(members: &Map<String, Value>, at: &str, found: &mut Violations) {
    if members.get("additionalProperties") != Some(&Value::Bool(false)) {
        found.add(at, "an object has to have `additionalProperties: false`");
    }
    let (mut named, mut required) = (BTreeSet::new(), BTreeSet::new());
    let properties = members.get("properties").and_then(Value::as_object);
    named.extend(properties.into_iter().flat_map(Map::keys).map(String::as_str));
    let listed = members.get("required").and_then(Value::as_array);
    required.extend(listed.into_iter().flatten().filter_map(Value::as_str));
    if named != required {
        found.add(at, "every property has to be required, and nothing else");
    }
}

const KEYWORDS: [&str; 22] = [
    "$defs",
    "$ref",
    "additionalProperties",
    "anyOf",
    "const",
    "definitions",
    "description",
    "enum",
    "exclusiveMaximum",
    "exclusiveMinimum",
    "format",
    "items",
    "maxItems",
    "maximum",
    "minItems",
    "minimum",
    "multipleOf",
    "pattern",
    "properties",
    "required",
    "title",
    "type",
];

/// A schema may have up to 10 levels of nesting.
pub(crate) const MAX_NESTING: usize = 10;
/// A schema may have up to 5000 object properties total.
pub(crate) const MAX_PROPERTIES: usize = 5_000;
/// A schema may have up to 1000 enum values across all enum properties.
pub(crate) const MAX_VALUES: usize = 1_000;
/// The maximum total string length of property names, definition names, enum values and const values.
pub(crate) const MAX_CHARACTERS: usize = 120_000;
/// An `enum` list with more values than this has a limit on its characters. Null counts as a value.
const LARGE_ENUM: usize = 250;
/// The maximum number of characters in an `enum` list with more than [`LARGE_ENUM`] values.
const MAX_LARGE_ENUM_CHARACTERS: usize = 15_000;

pub(crate) const FORMATS: [&str; 9] =
    ["date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"];
