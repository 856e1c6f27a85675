//! Which values does a schema allow? Random ones, generated from the schema itself.
//!
//! The generator uses the freedom that a schema leaves: optional members may be missing, undeclared members appear,
//! texts are unusual. From its third nested visit on, a recursive definition gets only its required parts, so that
//! every value is finite.

use serde_json::{Map, Value, json};

use super::random::Random;
use super::resolve::ResolvedSchema;
use super::scalar::{self, KEYS};
use super::validate::Document;
use crate::run::Result;

/// How much of the optional content a value has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OptionalContent {
    /// Required members only, empty arrays.
    None,
    /// Everything.
    All,
    /// A random selection.
    Random,
}

/// Generates values of definitions.
#[derive(Debug)]
pub(super) struct Generator<'d> {
    pub(super) document: &'d Document,
    pub(super) random: Random,
    optional_content: OptionalContent,
    /// The definitions that enclose the value being generated.
    pub(super) enclosing: Vec<String>,
}

impl<'d> Generator<'d> {
    /// Creates a generator for values of one definition.
    pub(super) fn new(document: &'d Document, definition: &str, seed: u64) -> Self {
        let random = Random::new(seed, &format!("{}/{definition}", document.revision));
        Self { document, random, optional_content: OptionalContent::Random, enclosing: Vec::new() }
    }

    /// Generates a value of the definition; the error names the part of its schema that is not supported.
    pub(super) fn value(&mut self, definition: &str, measure: OptionalContent) -> Result<Value> {
        self.optional_content = measure;
        self.enclosing = vec![definition.to_owned()];
        self.make(self.document.schema(definition)?)
    }

    fn make(&mut self, schema: &Value) -> Result<Value> {
        let depth = self.enclosing.len();
        let plain = self.resolve(schema)?;
        let value = self.make_plain(&plain);
        self.enclosing.truncate(depth);
        value
    }

    fn make_plain(&mut self, plain: &ResolvedSchema) -> Result<Value> {
        if let Some(value) = plain.get("const") {
            return Ok(value.clone());
        }
        if let Some(Value::Array(values)) = plain.get("enum") {
            return Ok(self.random.pick(values).clone());
        }
        let named = plain.get("type").map(types).unwrap_or_default();
        let one = match named.as_slice() {
            [] if ["properties", "required", "additionalProperties"]
                .iter()
                .any(|key| plain.contains_key(*key)) =>
            {
                "object"
            }
            [] if plain.contains_key("items") => "array",
            [] => return Ok(scalar::anything(&mut self.random, 3)),
            several => *self.random.pick(several),
        };
        match one {
            "null" => Ok(Value::Null),
            "boolean" => Ok(Value::Bool(self.random.once_in(2))),
            "integer" | "number" => Ok(scalar::number(&mut self.random, one, plain)),
            "string" => scalar::text(&mut self.random, plain.get("format")).map(Value::String),
            "array" => self.array(plain),
            "object" => self.object(plain),
            other => Err(format!("the type `{other}` is not known to JSON Schema")),
        }
    }

    fn object(&mut self, plain: &ResolvedSchema) -> Result<Value> {
        let none = Map::new();
        let properties = plain.get("properties").and_then(Value::as_object);
        let required: Vec<&str> = strings(plain.get("required"));
        let open = json!({});
        let additional = plain.get("additionalProperties").unwrap_or(&open);
        let mut object = Map::new();
        for (name, schema) in properties.unwrap_or(&none) {
            if required.contains(&name.as_str()) || self.adds_optional() {
                object.insert(name.clone(), self.make(schema)?);
            }
        }
        for name in required {
            if !object.contains_key(name) {
                object.insert(name.to_owned(), self.make(additional)?);
            }
        }
        if *additional == Value::Bool(false) {
            return Ok(Value::Object(object));
        }
        match properties {
            None => {
                for _ in 0..self.count(0, usize::MAX) {
                    let key = (*self.random.pick(&KEYS)).to_owned();
                    object.insert(key, self.make(additional)?);
                }
            }
            Some(_) => {
                if self.adds_optional() {
                    object.insert(UNDECLARED.to_owned(), self.make(additional)?);
                }
            }
        }
        Ok(Value::Object(object))
    }

    fn array(&mut self, plain: &ResolvedSchema) -> Result<Value> {
        let open = json!({});
        let items = plain.get("items").unwrap_or(&open);
        let limit =
            |keyword: &str| plain.get(keyword).and_then(Value::as_u64).and_then(|n| usize::try_from(n).ok());
        let count = self.count(limit("minItems").unwrap_or(0), limit("maxItems").unwrap_or(usize::MAX));
        (0..count).map(|_| self.make(items)).collect::<Result<Vec<_>>>().map(Value::Array)
    }

    /// Decides whether to add an optional part.
    fn adds_optional(&mut self) -> bool {
        match self.optional_content {
            _ if self.is_recursive() => false,
            OptionalContent::None => false,
            OptionalContent::All => true,
            OptionalContent::Random => self.random.once_in(2),
        }
    }

    /// Decides how many items to add.
    fn count(&mut self, least: usize, most: usize) -> usize {
        let wanted = match self.optional_content {
            _ if self.is_recursive() => 0,
            OptionalContent::None => 0,
            OptionalContent::All => 2,
            OptionalContent::Random => self.random.below(4),
        };
        wanted.min(most).max(least)
    }

    /// Returns whether the innermost definition is nested in itself. Then nothing optional is added, because the value
    /// would never end.
    fn is_recursive(&self) -> bool {
        let Some((last, outer)) = self.enclosing.split_last() else { return false };
        outer.iter().filter(|name| *name == last).count() >= 2
    }
}

/// Returns the names in a `type`, which is a name or an array of names.
fn types(rule: &Value) -> Vec<&str> {
    rule.as_str().map_or_else(|| strings(Some(rule)), |name| vec![name])
}

fn strings(list: Option<&Value>) -> Vec<&str> {
    list.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect()
}

/// An undeclared member, added to objects that declare members.
const UNDECLARED: &str = "x-undeclared";

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{Generator, OptionalContent, UNDECLARED};
    use crate::schema::validate::Document;

    fn document(definitions: Value) -> Document {
        Document::new("R", json!({"$defs": definitions}), &[]).unwrap()
    }

    /// Generates many values of the definition `It` and checks that all are valid.
    fn values(definitions: Value) -> Vec<Value> {
        let document = document(definitions);
        let mut generator = Generator::new(&document, "It", 1);
        let make = |_| {
            let value = generator.value("It", OptionalContent::Random).unwrap();
            assert_eq!(document.mistakes("It", &value), Ok(vec![]), "{value}");
            value
        };
        (0..300).map(make).collect()
    }

    fn all_come_up(values: &[Value], expected: &[Value]) {
        for value in expected {
            assert!(values.contains(value), "{value} never came up");
        }
    }

    fn depth(value: &Value) -> usize {
        let inner = |depths: &mut dyn Iterator<Item = usize>| 1 + depths.max().unwrap_or(0);
        match value {
            Value::Array(items) => inner(&mut items.iter().map(depth)),
            Value::Object(members) => inner(&mut members.values().map(depth)),
            _ => 0,
        }
    }

    #[test]
    fn optional_and_undeclared_members_come_and_go() {
        let values = values(json!({"It": {
            "type": "object",
            "properties": {"name": {"const": "n"}, "size": {"enum": [1, 2]}},
            "required": ["name"],
        }}));
        let with = |key: &str| values.iter().filter(|value| value.get(key).is_some()).count();
        assert_eq!(with("name"), 300);
        for key in ["size", UNDECLARED] {
            assert!((50..250).contains(&with(key)), "{key}: {}", with(key));
        }
    }

    #[test]
    fn a_closed_object_gets_no_undeclared_member() {
        let values = values(json!({"It": {
            "type": "object", "properties": {"a": {"type": "boolean"}}, "additionalProperties": false,
        }}));
        all_come_up(&values, &[json!({}), json!({"a": true}), json!({"a": false})]);
    }

    #[test]
    fn every_branch_and_every_type_comes_up() {
        let values = values(json!({
            "It": {"anyOf": [{"$ref": "#/$defs/Word"}, {"type": ["null", "boolean"]}, {"type": "array", "items": {"const": 1}}]},
            "Word": {"enum": ["yes", "no"]},
        }));
        all_come_up(
            &values,
            &[json!("yes"), json!("no"), json!(null), json!(true), json!([]), json!([1, 1, 1])],
        );
    }

    #[test]
    fn limits_and_formats_hold() {
        values(json!({"It": {
            "type": "object",
            "properties": {
                "part": {"type": "number", "minimum": 0, "maximum": 1},
                "size": {"type": "integer", "minimum": 0},
                "far": {"type": "integer", "minimum": 50, "maximum": 60},
                "few": {"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": 2},
                "uri": {"type": "string", "format": "uri"},
                "template": {"type": "string", "format": "uri-template"},
                "date": {"type": "string", "format": "date"},
                "time": {"type": "string", "format": "date-time"},
                "email": {"type": "string", "format": "email"},
            },
            "required": ["part", "size", "far", "few", "uri", "template", "date", "time", "email"],
        }}));
    }

    #[test]
    fn a_definition_that_contains_itself_comes_to_an_end() {
        let definitions = json!({
            "It": {"anyOf": [{"$ref": "#/$defs/Map"}, {"type": "array", "items": {"$ref": "#/$defs/It"}}, {"type": "null"}]},
            "Map": {"type": "object", "additionalProperties": {"$ref": "#/$defs/It"}},
        });
        let depths: Vec<usize> = values(definitions.clone()).iter().map(depth).collect();
        assert!(depths.iter().any(|depth| *depth > 2), "{depths:?}");
        let document = document(definitions);
        Generator::new(&document, "It", 1).value("It", OptionalContent::All).unwrap();
    }

    #[test]
    fn least_and_most_are_the_two_ends() {
        let document = document(json!({"It": {
            "type": "object", "properties": {"a": {"const": 1}, "b": {"type": "array", "items": {"const": 2}}}, "required": ["b"],
        }}));
        let mut generator = Generator::new(&document, "It", 1);
        assert_eq!(generator.value("It", OptionalContent::None), Ok(json!({"b": []})));
        let most = generator.value("It", OptionalContent::All).unwrap();
        assert_eq!((&most["a"], &most["b"]), (&json!(1), &json!([2, 2])));
        assert!(most.get(UNDECLARED).is_some());
    }
}
