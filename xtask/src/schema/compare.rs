//! Was everything preserved?
//!
//! A value is read by a type, written again and compared here. Everything that the schema knows must be there again and
//! equal; numbers are equal by value. A member counts as known if the schema declares it, describes additional members,
//! or declares no members at all (a map). Unknown members may be lost, but must not be added.
//!
//! Where the schema gives a choice, all branches that the input satisfies count together, so that it does not matter
//! whether a type is chosen by tag or by shape.

use serde_json::Value;

use super::validate::Document;
use crate::run::Result;

/// A part of a value that was not preserved.
#[derive(Debug)]
pub(super) struct Difference {
    /// The path in the value.
    pub(super) path: String,
    /// The place, relative to the nearest definition: `Tool/icons`. Several if branches of a choice overlap.
    pub(super) places: Vec<String>,
    /// The value before; `None` if something was added.
    pub(super) input: Option<Value>,
    /// The value after; `None` if it was lost.
    pub(super) output: Option<Value>,
}

/// Returns all differences between a value of the definition and what was written for it.
pub(super) fn differences(
    document: &Document,
    definition: &str,
    input: &Value,
    output: &Value,
) -> Result<Vec<Difference>> {
    let mut comparison = Comparison { document, found: Vec::new() };
    let view = AppliedSchema::of_definition(document, definition)?;
    comparison.walk(vec![view], input, output, "")?;
    Ok(comparison.found)
}

struct Comparison<'d> {
    document: &'d Document,
    found: Vec<Difference>,
}

/// A schema that applies to the current value.
#[derive(Clone)]
struct AppliedSchema<'d> {
    schema: &'d Value,
    /// Its JSON pointer in the document, to find the validators of its branches.
    pointer: String,
    /// Its place as printed and as the allow-list writes it.
    place: String,
}

impl<'d> Comparison<'d> {
    fn walk(&mut self, views: Vec<AppliedSchema<'d>>, input: &Value, output: &Value, path: &str) -> Result {
        let mut views = views;
        let mut plain = Vec::new();
        while let Some(view) = views.pop() {
            if view.expand(self.document, input, &mut views)? {
                plain.push(view);
            }
        }
        match (input, output) {
            (Value::Object(ours), Value::Object(theirs)) => {
                for (name, value) in ours {
                    let known: Vec<AppliedSchema<'d>> =
                        plain.iter().filter_map(|view| view.member(name)).collect();
                    let path = format!("{path}/{name}");
                    match theirs.get(name) {
                        _ if known.is_empty() => {}
                        Some(written) => self.walk(known, value, written, &path)?,
                        None => self.note(&known, &path, Some(value), None),
                    }
                }
                for (name, written) in theirs.iter().filter(|(name, _)| !ours.contains_key(*name)) {
                    if plain.iter().all(|view| view.member(name).is_none()) {
                        let places: Vec<AppliedSchema<'d>> =
                            plain.iter().map(|view| view.below(view.schema, "", name)).collect();
                        self.note(&places, &format!("{path}/{name}"), None, Some(written));
                    }
                }
            }
            (Value::Array(ours), Value::Array(theirs)) if ours.len() == theirs.len() => {
                for (index, (value, written)) in ours.iter().zip(theirs).enumerate() {
                    let items = plain.iter().map(AppliedSchema::item).collect();
                    self.walk(items, value, written, &format!("{path}/{index}"))?;
                }
            }
            _ if are_equal(input, output) => {}
            _ => self.note(&plain, path, Some(input), Some(output)),
        }
        Ok(())
    }

    fn note(
        &mut self,
        views: &[AppliedSchema<'d>],
        path: &str,
        input: Option<&Value>,
        output: Option<&Value>,
    ) {
        let mut places: Vec<String> = views.iter().map(|view| view.place.clone()).collect();
        places.sort();
        places.dedup();
        self.found.push(Difference {
            path: if path.is_empty() { "the whole".to_owned() } else { path.to_owned() },
            places,
            input: input.cloned(),
            output: output.cloned(),
        });
    }
}

impl<'d> AppliedSchema<'d> {
    fn of_definition(document: &'d Document, definition: &str) -> Result<Self> {
        Ok(Self {
            schema: document.schema(definition)?,
            pointer: document.pointer(definition),
            place: definition.to_owned(),
        })
    }

    /// Adds the schemas that this one refers to to the list, and returns whether it also has rules of its own.
    fn expand(&self, document: &'d Document, input: &Value, list: &mut Vec<Self>) -> Result<bool> {
        let Some(keywords) = self.schema.as_object() else { return Ok(true) };
        let mut refers = false;
        for (keyword, rule) in keywords {
            match keyword.as_str() {
                "$ref" => list.push(Self::of_definition(document, document.referenced_definition(rule)?)?),
                "allOf" | "anyOf" | "oneOf" => {
                    for (index, branch) in rule.as_array().into_iter().flatten().enumerate() {
                        let pointer = format!("{}/{keyword}/{index}", self.pointer);
                        if keyword == "allOf" || document.fits(&pointer, input)? {
                            list.push(Self { schema: branch, pointer, place: self.place.clone() });
                        }
                    }
                }
                _ => continue,
            }
            refers = true;
        }
        Ok(!refers || MEMBER_KEYWORDS.iter().any(|keyword| keywords.contains_key(*keyword)))
    }

    /// Returns the schema of a member, if this one knows it.
    fn member(&self, name: &str) -> Option<Self> {
        let properties = &self.schema["properties"];
        if let Some(schema) = properties.get(name) {
            return Some(self.below(schema, &format!("properties/{}", escaped(name)), name));
        }
        match self.schema.get("additionalProperties") {
            Some(Value::Bool(false)) => None,
            Some(schema) => Some(self.below(schema, "additionalProperties", "*")),
            None if properties.is_null() => Some(self.below(&ANYTHING, "", "*")),
            None => None,
        }
    }

    fn item(&self) -> Self {
        self.below(self.schema.get("items").unwrap_or(&ANYTHING), "items", "*")
    }

    fn below(&self, schema: &'d Value, pointer: &str, place: &str) -> Self {
        Self {
            schema,
            pointer: format!("{}/{pointer}", self.pointer),
            place: format!("{}/{place}", self.place),
        }
    }
}

/// Compares values; 1 and 1.0 are the same number.
fn are_equal(ours: &Value, theirs: &Value) -> bool {
    match (ours, theirs) {
        (Value::Number(ours), Value::Number(theirs)) => {
            ours == theirs || (ours.is_f64() || theirs.is_f64()) && ours.as_f64() == theirs.as_f64()
        }
        _ => ours == theirs,
    }
}

/// Escapes a name for a JSON pointer.
fn escaped(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

/// The schema of a value without rules.
static ANYTHING: Value = Value::Bool(true);
/// Keywords about members or items that may stand next to a reference or a choice.
const MEMBER_KEYWORDS: [&str; 3] = ["properties", "additionalProperties", "items"];

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::differences;
    use crate::schema::validate::Document;

    fn document() -> Document {
        let definitions = json!({
            "Tool": {"type": "object", "properties": {
                "name": {"type": "string"},
                "size": {"type": "number"},
                "icons": {"type": "array", "items": {"$ref": "#/$defs/Icon"}},
                "_meta": {"type": "object"},
                "data": {},
                "none": {"type": "object", "properties": {}},
                "open": {"type": "object", "properties": {"a": {}}, "additionalProperties": {}},
            }},
            "Icon": {"type": "object", "properties": {"src": {"type": "string"}}},
            "Block": {"anyOf": [{"$ref": "#/$defs/Text"}, {"$ref": "#/$defs/Link"}]},
            "Text": {"type": "object", "properties": {"type": {"const": "text"}, "text": {}}, "required": ["type"]},
            "Link": {"type": "object", "properties": {"type": {"const": "link"}, "uri": {}}, "required": ["type"]},
            "Both": {"allOf": [{"$ref": "#/$defs/Icon"}, {"properties": {"theme": {}}}]},
        });
        Document::new("R", json!({"$defs": definitions}), &[]).unwrap()
    }

    /// Returns `path at places` of each difference.
    fn difference_lines(definition: &str, input: &Value, output: &Value) -> Vec<String> {
        let document = document();
        assert_eq!(document.mistakes(definition, input), Ok(vec![]), "the row itself is wrong");
        let found = differences(&document, definition, input, output).unwrap();
        found.iter().map(|found| format!("{} at {}", found.path, found.places.join(" or "))).collect()
    }

    #[test]
    fn what_the_schema_knows_must_come_back() {
        let rows = [
            ("Tool", json!({"name": "a", "size": 1}), json!({"size": 1.0, "name": "a"}), vec![]),
            ("Tool", json!({"size": 0.5}), json!({"size": 0.25}), vec!["/size at Tool/size"]),
            ("Tool", json!({"name": "a"}), json!({}), vec!["/name at Tool/name"]),
            ("Tool", json!({"name": "a"}), json!({"name": "b"}), vec!["/name at Tool/name"]),
            ("Tool", json!({"name": "a"}), json!("a"), vec!["the whole at Tool"]),
            // Undeclared next to declared members: unknown.
            ("Tool", json!({"x": 1}), json!({}), vec![]),
            ("Tool", json!({"none": {"x": 1}}), json!({"none": {}}), vec![]),
            // A map, any value, and an object that is explicitly open: known.
            (
                "Tool",
                json!({"_meta": {"x": {"y": 1}}}),
                json!({"_meta": {"x": {}}}),
                vec!["/_meta/x/y at Tool/_meta/*/*"],
            ),
            ("Tool", json!({"data": null}), json!({}), vec!["/data at Tool/data"]),
            ("Tool", json!({"open": {"x": 1}}), json!({"open": {}}), vec!["/open/x at Tool/open/*"]),
            // The place is relative to the nearest definition.
            (
                "Tool",
                json!({"icons": [{"src": "s"}]}),
                json!({"icons": [{}]}),
                vec!["/icons/0/src at Icon/src"],
            ),
            ("Tool", json!({"icons": [{}, {}]}), json!({"icons": [{}]}), vec!["/icons at Tool/icons"]),
            // The branch that matches decides what is known.
            (
                "Block",
                json!({"type": "text", "text": 1}),
                json!({"type": "text"}),
                vec!["/text at Text/text"],
            ),
            ("Block", json!({"type": "text", "uri": 1}), json!({"type": "text"}), vec![]),
            (
                "Both",
                json!({"src": "s", "theme": 1}),
                json!({}),
                vec!["/src at Icon/src", "/theme at Both/theme"],
            ),
        ];
        for (definition, input, output, expected) in rows {
            assert_eq!(difference_lines(definition, &input, &output), expected, "{input} -> {output}");
        }
    }

    #[test]
    fn only_what_the_schema_knows_may_be_added() {
        assert!(difference_lines("Tool", &json!({}), &json!({"name": "a"})).is_empty());
        assert!(difference_lines("Tool", &json!({"_meta": {}}), &json!({"_meta": {"stamp": 1}})).is_empty());
        assert_eq!(difference_lines("Tool", &json!({}), &json!({"later": 1})), ["/later at Tool/later"]);
    }

    #[test]
    fn large_integers_are_not_compared_as_fractions() {
        let near = |number: i64| json!({"data": number});
        assert_eq!(difference_lines("Tool", &near(i64::MAX), &near(i64::MAX - 1)), ["/data at Tool/data"]);
    }
}
