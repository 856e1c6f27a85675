//! How is a node written for OpenAI with `strict`, where the model can write only what the schema allows?
//!
//! Every object is closed and requires all its properties. Properties that were optional may be null, and `restore.rs`
//! removes these nulls from calls. A schema that needs properties without names, or values of any type, cannot be
//! strict.

use serde_json::Value;

use super::loss::Losses;
use super::merge::CopyBudget;
use super::node::{Node, Rest};
use super::root::as_object;
use super::rules::strict::{MAX_CHARACTERS, MAX_NESTING, MAX_PROPERTIES, MAX_VALUES, Size};
use super::rules::violation::Violations;
use super::unfold::MAX_NODES;
use super::writer::{Dialect, Refusal, Writer};

/// Writes the schema of a tool's arguments.
pub(crate) fn write(node: Node, losses: &mut Losses) -> Result<Value, Refusal> {
    let mut fuel = CopyBudget(MAX_NODES);
    let (mut root, mut words) = as_object(node, losses, &mut fuel);
    // The schema of a tool without arguments often says only that the arguments are an object.
    if root.object.properties.is_empty()
        && root.object.required.is_empty()
        && root.object.rest == Rest::Unspecified
    {
        root.object.rest = Rest::Closed;
    }
    let mut writer = Writer::new(Dialect::Strict, losses, fuel);
    let Some(members) = writer.root(&root, &mut words)? else {
        return Err(Refusal::of(&root, "no arguments can match the schema"));
    };
    let schema = Value::Object(writer.with_description(members, &root, &words));
    match check_size(&schema) {
        Ok(()) => Ok(schema),
        Err(why) => Err(Refusal { at: String::new(), why }),
    }
}

/// Checks the size limits of OpenAI.
fn check_size(schema: &Value) -> Result<(), &'static str> {
    let size = Size::of(schema, &mut Violations::default());
    let rules = [
        (size.levels <= MAX_NESTING, "it is nested deeper than 10 levels"),
        (size.properties <= MAX_PROPERTIES, "it has more than 5000 properties"),
        (size.values <= MAX_VALUES, "its lists have more than 1000 values"),
        (size.characters <= MAX_CHARACTERS, "its names and values have more than 120000 letters"),
        (!size.has_long_list, "a list of more than 250 values has more than 15000 letters"),
    ];
    rules.into_iter().find(|(holds, _)| !holds).map_or(Ok(()), |(_, why)| Err(why))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::{Conversion, Provider, check, convert};
    use super::*;

    fn strict(property: &Value) -> Conversion {
        let schema = json!({
            "type": "object",
            "properties": {"a": property},
            "required": ["a"],
            "additionalProperties": false,
        });
        convert(Provider::OpenAiStrict, &schema)
    }

    #[test]
    fn a_branch_that_no_value_fits_is_left_out_without_losses() {
        let impossible = json!({"type": "array", "items": {"type": "string"}, "minItems": 2, "maxItems": 1});
        let object = json!({
            "type": "object",
            "properties": {"b": impossible},
            "required": ["b"],
            "additionalProperties": {"type": "string"},
            "minProperties": 2,
        });
        let converted = strict(&json!({"anyOf": [object, {"type": "string"}]}));
        assert!(converted.is_strict);
        assert_eq!(converted.losses, []);
        let schema = converted.schema.expect("a strict schema");
        assert_eq!(schema["properties"]["a"], json!({"type": "string"}), "{schema}");
    }

    #[test]
    fn null_is_one_of_the_values_of_a_long_list() {
        let texts = |count: usize| (0..count).map(|index| format!("{index:0>100}"));
        for (count, is_strict) in [(249, true), (250, false)] {
            let values: Vec<Value> = texts(count).map(Value::from).chain([Value::Null]).collect();
            let converted = strict(&json!({"enum": values}));
            assert_eq!(converted.is_strict, is_strict, "{count} texts and null");
            let written = json!({
                "type": "object",
                "properties": {"a": {"type": ["string", "null"], "enum": values}},
                "required": ["a"],
                "additionalProperties": false,
            });
            assert_eq!(
                check(Provider::OpenAiStrict, &written).is_empty(),
                is_strict,
                "{count} texts and null"
            );
        }
    }
}
