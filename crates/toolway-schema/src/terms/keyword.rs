//! Which keywords does JSON Schema have, and which of them contain schemas?

use serde_json::{Map, Value};

use crate::terms::format::Format;
use crate::terms::refs::escape_step;

/// The kind of schemas that the value of a keyword contains.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SchemaContent {
    NoSchema,
    Schema,
    ListOfSchemas,
    SchemasByName,
}

impl SchemaContent {
    pub(crate) fn of(keyword: &str) -> Self {
        match keyword {
            "items"
            | "additionalProperties"
            | "not"
            | "if"
            | "then"
            | "else"
            | "contains"
            | "propertyNames"
            | "unevaluatedProperties"
            | "unevaluatedItems" => Self::Schema,
            "allOf" | "anyOf" | "oneOf" | "prefixItems" => Self::ListOfSchemas,
            "properties" | "patternProperties" | "$defs" | "definitions" | "dependentSchemas" => {
                Self::SchemasByName
            }
            _ => Self::NoSchema,
        }
    }
}

/// Returns the schemas directly inside a keyword, each with its relative pointer.
pub(crate) fn inner_schemas<'v>(keyword: &str, value: &'v Value) -> Vec<(String, &'v Value)> {
    match (SchemaContent::of(keyword), value) {
        (SchemaContent::Schema, schema) => vec![(format!("/{keyword}"), schema)],
        (SchemaContent::ListOfSchemas, Value::Array(list)) => {
            let list = list.iter().enumerate();
            list.map(|(index, schema)| (format!("/{keyword}/{index}"), schema)).collect()
        }
        (SchemaContent::SchemasByName, Value::Object(named)) => {
            let named = named.iter();
            named.map(|(name, schema)| (format!("/{keyword}/{}", escape_step(name)), schema)).collect()
        }
        _ => Vec::new(),
    }
}

/// Calls `visit` for each schema directly inside the keywords, to modify it.
pub(crate) fn for_each_inner(members: &mut Map<String, Value>, mut visit: impl FnMut(&str, &mut Value)) {
    for (keyword, value) in members {
        match (SchemaContent::of(keyword), value) {
            (SchemaContent::Schema, schema) => visit(keyword, schema),
            (SchemaContent::ListOfSchemas, Value::Array(list)) => {
                for schema in list {
                    visit(keyword, schema);
                }
            }
            (SchemaContent::SchemasByName, Value::Object(named)) => {
                for schema in named.values_mut() {
                    visit(keyword, schema);
                }
            }
            _ => {}
        }
    }
}

/// Returns whether a keyword is only for readers and restricts no value.
pub(crate) fn is_annotation(keyword: &str) -> bool {
    const ANNOTATIONS: [&str; 12] = [
        "title",
        "description",
        "default",
        "examples",
        "example",
        "deprecated",
        "$comment",
        "readOnly",
        "writeOnly",
        "contentEncoding",
        "contentMediaType",
        "contentSchema",
    ];
    ANNOTATIONS.contains(&keyword) || keyword.starts_with("x-")
}

/// Returns whether a schema patch adds only annotations.
pub fn adds_only_annotations(schema: &Value) -> bool {
    let Value::Object(members) = schema else { return false };
    members.iter().all(|(keyword, value)| match keyword.as_str() {
        "properties" => value.as_object().is_some_and(|named| named.values().all(adds_only_annotations)),
        "items" => adds_only_annotations(value),
        "format" => value.as_str().is_some_and(|name| Format::from_name(name).is_none()),
        keyword => is_annotation(keyword),
    })
}
