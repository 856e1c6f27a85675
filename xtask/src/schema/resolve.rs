//! Which keywords apply to one value, after references are followed and choices are made?
//!
//! Knows the part of JSON Schema that the official documents use and refuses other keywords, so that a new revision is
//! never understood only in part.

use serde_json::{Map, Value, json};

use super::generate::Generator;
use crate::run::Result;

/// A schema without `$ref`, `allOf` and choices.
pub(super) type ResolvedSchema = Map<String, Value>;

impl Generator<'_> {
    /// Follows references, decides choices and merges all keywords that apply to one value.
    pub(super) fn resolve(&mut self, schema: &Value) -> Result<ResolvedSchema> {
        let keywords = match schema {
            Value::Object(keywords) => keywords,
            Value::Bool(true) => return Ok(ResolvedSchema::new()),
            _ => return Err(format!("no value is valid by the schema `{schema}`")),
        };
        let mut plain = ResolvedSchema::new();
        for (keyword, rule) in keywords {
            match keyword.as_str() {
                "description" | "title" | "default" | "deprecated" | "$comment" => {}
                "$ref" => {
                    let name = self.document.referenced_definition(rule)?;
                    self.enclosing.push(name.to_owned());
                    let target = self.resolve(self.document.schema(name)?)?;
                    merge(&mut plain, target)?;
                }
                "anyOf" | "oneOf" => {
                    let branches = rule.as_array().filter(|branches| !branches.is_empty());
                    let branches = branches.ok_or_else(|| format!("`{keyword}` has no branches"))?;
                    let branch = self.random.pick(branches);
                    let branch = self.resolve(branch)?;
                    merge(&mut plain, branch)?;
                }
                "allOf" => {
                    for part in rule.as_array().into_iter().flatten() {
                        let part = self.resolve(part)?;
                        merge(&mut plain, part)?;
                    }
                }
                known if KEYWORDS.contains(&known) => {
                    merge(&mut plain, ResolvedSchema::from_iter([(keyword.clone(), rule.clone())]))?;
                }
                _ => {
                    return Err(format!(
                        "the keyword `{keyword}` is not known to xtask/src/schema/resolve.rs"
                    ));
                }
            }
        }
        Ok(plain)
    }
}

/// Merges the keywords of `other` into `plain`: the value must satisfy both.
fn merge(plain: &mut ResolvedSchema, other: ResolvedSchema) -> Result {
    for (keyword, theirs) in other {
        let both = match plain.remove(&keyword) {
            None => theirs,
            Some(ours) if ours == theirs => ours,
            Some(ours) => merge_keyword(&keyword, ours, theirs)?,
        };
        plain.insert(keyword, both);
    }
    Ok(())
}

fn merge_keyword(keyword: &str, ours: Value, theirs: Value) -> Result<Value> {
    match (keyword, ours, theirs) {
        ("properties", Value::Object(mut ours), Value::Object(theirs)) => {
            for (name, theirs) in theirs {
                let both = match ours.remove(&name) {
                    Some(ours) => json!({"allOf": [ours, theirs]}),
                    None => theirs,
                };
                ours.insert(name, both);
            }
            Ok(Value::Object(ours))
        }
        ("required", Value::Array(ours), Value::Array(theirs)) => {
            Ok(ours.into_iter().chain(theirs).collect())
        }
        ("items" | "additionalProperties", ours, theirs) => Ok(json!({"allOf": [ours, theirs]})),
        (_, ours, theirs) => Err(format!(
            "`{keyword}` is both {ours} and {theirs}, which xtask/src/schema/resolve.rs cannot bring together"
        )),
    }
}

/// The keywords that may stand besides references and choices.
const KEYWORDS: [&str; 12] = [
    "type",
    "properties",
    "required",
    "additionalProperties",
    "items",
    "enum",
    "const",
    "format",
    "minimum",
    "maximum",
    "minItems",
    "maxItems",
];

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::run::Result;
    use crate::schema::generate::{Generator, OptionalContent};
    use crate::schema::validate::Document;

    fn make(definitions: Value) -> Result<Vec<Value>> {
        let document = Document::new("R", json!({"$defs": definitions}), &[]).unwrap();
        let mut generator = Generator::new(&document, "It", 1);
        (0..50).map(|_| generator.value("It", OptionalContent::Random)).collect()
    }

    #[test]
    fn parts_of_all_of_hold_at_once() {
        let values = make(json!({
            "It": {"allOf": [
                {"$ref": "#/$defs/Error"},
                {"properties": {"code": {"const": -1}, "data": {"type": "object", "required": ["b"]}}, "required": ["data"]},
            ]},
            "Error": {
                "type": "object",
                "properties": {"code": {"type": "integer"}, "data": {"properties": {"b": {"const": 2}}}},
                "required": ["code"],
            },
        }));
        for value in values.unwrap() {
            assert_eq!((&value["code"], &value["data"]["b"]), (&json!(-1), &json!(2)));
        }
    }

    #[test]
    fn what_is_not_understood_is_refused() {
        let rows = [
            (json!({"type": "string", "pattern": "a+"}), "`pattern`"),
            (json!({"type": "string", "format": "colour"}), "colour"),
            (json!({"anyOf": [{"type": "string"}, {"not": {}}]}), "`not`"),
            (json!({"allOf": [{"const": 1}, {"const": 2}]}), "`const` is both 1 and 2"),
            (json!({"type": "object", "properties": {"a": false}, "required": ["a"]}), "no value is valid"),
        ];
        for (schema, expected) in rows {
            let error = make(json!({"It": schema})).unwrap_err();
            assert!(error.contains(expected), "{error}");
        }
    }
}
