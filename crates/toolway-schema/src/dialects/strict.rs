//! How is a node written for OpenAI with `strict`, where the model can write nothing else?
//!
//! Every object is closed and has all its properties; those that were optional may be null, and a call is rid of such nulls
//! again. A schema that needs properties nobody can name, or values of any type, cannot be said so at all.

use serde_json::{Map, Value, json};

use super::loss::Losses;
use super::merge::Fuel;
use super::node::{Node, Rest};
use super::root::as_object;
use super::unfold::MAX_NODES;
use super::writer::{Dialect, Refusal, Writer};

/// The schema of a tool's arguments.
pub(crate) fn write(node: Node, losses: &mut Losses) -> Result<Value, Refusal> {
    let mut fuel = Fuel(MAX_NODES);
    let (mut root, mut words) = as_object(node, losses, &mut fuel);
    // A tool that takes nothing says no more than that it is an object.
    if root.object.properties.is_empty()
        && root.object.required.is_empty()
        && root.object.rest == Rest::Unsaid
    {
        root.object.rest = Rest::Closed;
    }
    let mut writer = Writer::new(Dialect::Strict, losses, fuel);
    let Some(members) = writer.root(&root, &mut words)? else {
        return Err(Refusal::of(&root, "no arguments can be as the schema demands"));
    };
    let schema = Value::Object(writer.described(members, &root, &words));
    match fits(&schema) {
        Ok(()) => Ok(schema),
        Err(why) => Err(Refusal { at: String::new(), why }),
    }
}

/// Allows null beside what a schema allows.
pub(crate) fn allow_null(members: &mut Map<String, Value>) {
    let null = json!({"type": "null"});
    if let Some(Value::Array(branches)) = members.get_mut("anyOf") {
        if !branches.contains(&null) {
            branches.push(null);
        }
        return;
    }
    if members.get("type").is_some_and(|name| name == "null" || name.is_array()) {
        return;
    }
    if members.get("type").is_some_and(|name| name == "object" || name == "array") {
        let mut outer = Map::new();
        for word in ["title", "description"] {
            outer.extend(members.remove_entry(word));
        }
        outer.insert("anyOf".to_owned(), Value::Array(vec![std::mem::take(members).into(), null]));
        *members = outer;
        return;
    }
    if let Some(name) = members.get_mut("type") {
        *name = json!([name.take(), "null"]);
    }
    if let Some(Value::Array(values)) = members.get_mut("enum") {
        values.push(Value::Null);
    }
}

/// Whether a schema keeps to what OpenAI says about sizes.
fn fits(schema: &Value) -> Result<(), &'static str> {
    let mut size = Size::default();
    size.measure(schema, 0);
    let rules = [
        (size.deepest <= MAX_NESTING, "it is nested deeper than 10 levels"),
        (size.properties <= MAX_PROPERTIES, "it has more than 5000 properties"),
        (size.values <= MAX_VALUES, "its lists have more than 1000 values"),
        (size.letters <= MAX_LETTERS, "its names and values have more than 120000 letters"),
        (!size.has_long_list, "a list of more than 250 values has more than 15000 letters"),
    ];
    rules.into_iter().find(|(holds, _)| !holds).map_or(Ok(()), |(_, why)| Err(why))
}

#[derive(Default)]
struct Size {
    deepest: usize,
    properties: usize,
    values: usize,
    letters: usize,
    has_long_list: bool,
}

impl Size {
    fn measure(&mut self, schema: &Value, depth: usize) {
        if let Some(Value::Array(values)) = schema.get("enum") {
            let letters: usize =
                values.iter().filter_map(Value::as_str).map(|text| text.chars().count()).sum();
            self.values += values.len();
            self.letters += letters;
            self.has_long_list |= values.len() > MANY_VALUES && letters > MAX_LIST_LETTERS;
        }
        // A level is an object or a list.
        let is_level = schema.get("properties").is_some() || schema.get("items").is_some();
        let depth = depth + usize::from(is_level);
        self.deepest = self.deepest.max(depth);
        for (name, property) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
            self.properties += 1;
            self.letters += name.chars().count();
            self.measure(property, depth);
        }
        if let Some(items) = schema.get("items") {
            self.measure(items, depth);
        }
        for branch in schema.get("anyOf").and_then(Value::as_array).into_iter().flatten() {
            self.measure(branch, depth);
        }
    }
}

/// OpenAI, Structured Outputs, Supported schemas: levels of nesting.
const MAX_NESTING: usize = 10;
/// The same: properties in all.
const MAX_PROPERTIES: usize = 5_000;
/// The same: values of `enum` in all.
const MAX_VALUES: usize = 1_000;
/// The same: letters of names and values in all.
const MAX_LETTERS: usize = 120_000;
/// The same: from how many values on a list has a limit of its own.
const MANY_VALUES: usize = 250;
/// The same: letters of such a list.
const MAX_LIST_LETTERS: usize = 15_000;

/// The same: formats of strings.
pub(crate) const FORMATS: [&str; 9] =
    ["date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"];
