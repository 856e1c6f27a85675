//! Is a value a JSON Schema of draft 2020-12 at all?
//!
//! The rules are those of the meta-schema of this draft: the kind of value that each keyword has, and the positions of
//! inner schemas.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::violation::{MAX_DEPTH, Violations, append_step};
use crate::terms::keyword::{SchemaContent, inner_schemas};
use crate::terms::types::Types;

/// The function that is called for every schema.
type SchemaVisitor<'e> = dyn FnMut(&Map<String, Value>, &str, &mut Violations) + 'e;

/// Checks the form of a schema, and calls `each` for every schema in it.
pub(crate) fn check(
    root: &Value,
    schema: &Value,
    outer: &str,
    depth: usize,
    found: &mut Violations,
    each: &mut SchemaVisitor<'_>,
) {
    let members = match schema {
        Value::Object(members) => members,
        Value::Bool(_) => return,
        _ => return found.add(outer, "a schema must be an object or a boolean"),
    };
    if depth > MAX_DEPTH {
        return found.add(outer, "it is nested too deeply");
    }
    each(members, outer, found);
    for (word, value) in members {
        let at = append_step(outer, word);
        match word.as_str() {
            "type" => types(value, &at, found),
            "enum" if !matches!(value, Value::Array(list) if !list.is_empty()) => {
                found.add(&at, "it must be a list of at least one value");
            }
            "required" => names(value, &at, found),
            "title" | "description" | "format" | "pattern" | "$comment" | "$id" | "$schema" | "$anchor"
            | "contentEncoding" | "contentMediaType"
                if !value.is_string() =>
            {
                found.add(&at, "it must be a string");
            }
            "minLength" | "maxLength" | "minItems" | "maxItems" | "minProperties" | "maxProperties"
            | "minContains" | "maxContains"
                if value.as_u64().is_none() =>
            {
                found.add(&at, "it must be a whole number that is not negative");
            }
            "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" if !value.is_number() => {
                found.add(&at, "it must be a number");
            }
            "multipleOf" if value.as_f64().is_none_or(|number| number <= 0.0) => {
                found.add(&at, "it must be a number above 0");
            }
            "uniqueItems" | "deprecated" | "readOnly" | "writeOnly" if !value.is_boolean() => {
                found.add(&at, "it must be true or false");
            }
            "examples" if !value.is_array() => found.add(&at, "it must be a list"),
            "$ref" => {
                let target = value.as_str().and_then(|text| text.strip_prefix('#'));
                if target.is_none_or(|pointer| root.pointer(pointer).is_none()) {
                    let why =
                        "the reference has no target in the schema, and other documents are not fetched";
                    found.add(&at, why);
                }
            }
            "dependentRequired" => match value {
                Value::Object(lists) => {
                    lists.iter().for_each(|(name, list)| names(list, &append_step(&at, name), found));
                }
                _ => found.add(&at, "it must be an object"),
            },
            _ => match (SchemaContent::of(word), value) {
                (SchemaContent::ListOfSchemas, value) if value.get(0).is_none() => {
                    found.add(&at, "it must be a list of at least one schema");
                }
                (SchemaContent::SchemasByName, value) if !value.is_object() => {
                    found.add(&at, "it must be an object of schemas");
                }
                _ => {
                    for (place, schema) in inner_schemas(word, value) {
                        check(root, schema, &format!("{outer}{place}"), depth + 1, found, each);
                    }
                }
            },
        }
    }
}

fn types(value: &Value, at: &str, found: &mut Violations) {
    let is_type = |name: &Value| name.as_str().is_some_and(|name| Types::from_name(name).is_some());
    let is_right = match value {
        Value::Array(list) => {
            let different: HashSet<_> = list.iter().filter_map(Value::as_str).collect();
            !list.is_empty() && list.iter().all(is_type) && different.len() == list.len()
        }
        one => is_type(one),
    };
    if !is_right {
        found.add(at, "it must be the name of a type, or a list of different types");
    }
}

fn names(value: &Value, at: &str, found: &mut Violations) {
    let Value::Array(list) = value else { return found.add(at, "it must be a list of names") };
    let different: HashSet<_> = list.iter().filter_map(Value::as_str).collect();
    if different.len() != list.len() {
        found.add(at, "it must be a list of different names");
    }
}
