//! The rules of the providers that accept nearly all of JSON Schema: OpenAI without `strict`, and Anthropic.

use serde_json::{Map, Value};

use super::form;
use super::violation::{Violations, append_step};
use crate::terms::keyword::inner_schemas;

/// Checks the rules of OpenAI for function calling. The root has the type `object` and `properties`, and none of
/// `oneOf`, `anyOf`, `allOf`, `enum`, `const`, `not`. Every array has `items`. A boolean as a schema is refused;
/// `$schema` and `$id` have no meaning.
pub(crate) fn openai(schema: &Value, found: &mut Violations) {
    root(schema, &["oneOf", "anyOf", "allOf", "enum", "const", "not"], found);
    if !schema.get("properties").is_some_and(Value::is_object) {
        found.add("", "the root has to have `properties`");
    }
    form::check(schema, schema, "", 0, found, &mut |members, at, found| {
        let is_array = |value: &Value| match value {
            Value::Array(names) => names.iter().any(|name| name == "array"),
            name => name == "array",
        };
        if members.get("type").is_some_and(is_array) && !members.contains_key("items") {
            found.add(at, "a list has to say what its items are: `items` is missing");
        }
        for word in ["$schema", "$id"].into_iter().filter(|word| members.contains_key(*word)) {
            found.add(at, format!("`{word}` has no meaning here"));
        }
        booleans(members, at, found);
    });
}

/// Checks the rules of Anthropic for tool use. The schema follows draft 2020-12. The root has the type `object` and
/// none of `oneOf`, `allOf`, `anyOf`. Names of properties match `^[a-zA-Z0-9_.-]{1,64}$`.
pub(crate) fn anthropic(schema: &Value, found: &mut Violations) {
    root(schema, &["oneOf", "allOf", "anyOf"], found);
    form::check(schema, schema, "", 0, found, &mut |members, at, found| {
        for name in members.get("properties").and_then(Value::as_object).into_iter().flat_map(Map::keys) {
            let allows = |letter: char| letter.is_ascii_alphanumeric() || "_.-".contains(letter);
            if !(1..=64).contains(&name.chars().count()) || !name.chars().all(allows) {
                let at = append_step(&format!("{at}/properties"), name);
                found.add(&at, "names of properties must have 1 to 64 letters, digits, `_`, `.` and `-`");
            }
        }
    });
}

fn root(schema: &Value, forbidden: &[&str], found: &mut Violations) {
    if schema.get("type").is_none_or(|name| name != "object") {
        found.add("", "the root has to be of type `object`");
    }
    for word in forbidden.iter().filter(|word| schema.get(word).is_some()) {
        found.add("", format!("the root may not have `{word}`"));
    }
}

/// Reports booleans that are used as schemas, except under keywords that decide whether other members or items are
/// allowed.
fn booleans(members: &Map<String, Value>, at: &str, found: &mut Violations) {
    const OPEN: [&str; 5] =
        ["additionalProperties", "unevaluatedItems", "unevaluatedProperties", "$defs", "definitions"];
    for (word, value) in members.iter().filter(|(word, _)| !OPEN.contains(&word.as_str())) {
        if inner_schemas(word, value).iter().any(|(_, schema)| schema.is_boolean()) {
            found.add(&append_step(at, word), "a boolean is not allowed as a schema here");
        }
    }
}
