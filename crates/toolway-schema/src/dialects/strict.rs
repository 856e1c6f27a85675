//! How is a node written for OpenAI with `strict`, where the model can write nothing else?
//!
//! Every object is closed and has all its properties; those that were optional may be null, and a call is rid of such nulls
//! again. A schema that needs properties nobody can name, or values of any type, cannot be said so at all.

use serde_json::{Map, Value, json};

use super::loss::{Effect, Losses};
use super::merge::Fuel;
use super::narrow::{Pen, any_item, describe, most_items, options, properties};
use super::node::{Node, Rest};
use super::root::as_object;
use super::unfold::MAX_NODES;
use super::words::Words;
use crate::terms::pattern;
use crate::terms::types::Types;

/// Why a schema cannot be strict.
#[derive(Debug)]
pub(crate) struct Refusal {
    pub(crate) at: String,
    pub(crate) why: &'static str,
}

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
    let mut writer = Writer(Pen { losses, fuel, written: 0 });
    let nodes = options(&root, writer.0.losses, &mut writer.0.fuel, &mut words).nodes;
    let one = nodes.first().map(|node| writer.one(node, &mut words)).transpose()?.flatten();
    let Some(mut members) = one else {
        return Err(Refusal { at: root.at.to_string(), why: "no arguments can be as the schema demands" });
    };
    describe(&mut members, &root, &words);
    fits(&Value::Object(members.clone())).map_err(|why| Refusal { at: String::new(), why })?;
    Ok(Value::Object(members))
}

struct Writer<'l>(Pen<'l>);

impl Writer<'_> {
    /// A node; nothing if no value can be like that.
    fn schema(&mut self, node: &Node) -> Result<Option<Map<String, Value>>, Refusal> {
        self.0.written += 1;
        if self.0.written > MAX_NODES {
            return Err(refusal(node, "it is too large with everything written out"));
        }
        if node.is_cut || node.is_never() {
            return Ok(None);
        }
        if node.is_any() {
            return Err(refusal(node, "a value of any type cannot be said"));
        }
        let mut words = self.0.remarks(node);
        let options = options(node, self.0.losses, &mut self.0.fuel, &mut words);
        let is_alone = options.nodes.len() == 1;
        let mut written: Vec<Map<String, Value>> = Vec::new();
        for option in &options.nodes {
            let mut own = Words::default();
            let Some(mut one) = self.one(option, if is_alone { &mut words } else { &mut own })? else {
                continue;
            };
            describe(&mut one, option, &own);
            if !written.contains(&one) {
                written.push(one);
            }
        }
        let mut members = match written.len() {
            0 if options.is_nullable => Map::from_iter([("type".to_owned(), json!("null"))]),
            0 => return Ok(None),
            1 => written.remove(0),
            _ => Map::from_iter([("anyOf".to_owned(), written.into_iter().map(Value::Object).collect())]),
        };
        describe(&mut members, node, &words);
        Ok(Some(if options.is_nullable { nullable(members) } else { members }))
    }

    /// A node of one type.
    fn one(&mut self, node: &Node, words: &mut Words) -> Result<Option<Map<String, Value>>, Refusal> {
        let mut members = Map::new();
        let name = node.types.names().first().copied().unwrap_or_default();
        members.insert("type".to_owned(), name.into());
        if let Some(values) = &node.allowed {
            if matches!(name, "array" | "object") {
                self.0.lose(node, "enum", &values.clone().into(), "only simple values can be listed", words);
            } else {
                members.insert("enum".to_owned(), values.clone().into());
            }
        }
        match node.types {
            Types::STRING => self.text(node, &mut members, words),
            Types::ARRAY => return self.array(node, members, words),
            Types::OBJECT => return self.object(node, members, words),
            Types::BOOLEAN => {}
            _ => self.range(node, &mut members, words),
        }
        Ok(Some(members))
    }

    fn text(&mut self, node: &Node, members: &mut Map<String, Value>, words: &mut Words) {
        let text = &node.text;
        for (word, count) in [("minLength", text.shortest), ("maxLength", text.longest)] {
            if let Some(count) = count {
                self.0.lose(node, word, &count.into(), "it is not supported", words);
            }
        }
        for pattern in &text.patterns {
            if pattern::is_simple(pattern) && !members.contains_key("pattern") {
                members.insert("pattern".to_owned(), pattern.clone().into());
            } else {
                self.0.lose(
                    node,
                    "pattern",
                    &pattern.clone().into(),
                    "there may be one, and it may not look around",
                    words,
                );
            }
        }
        for format in &text.formats {
            if FORMATS.contains(&format.as_str()) && !members.contains_key("format") {
                members.insert("format".to_owned(), format.clone().into());
            } else {
                self.0.lose(
                    node,
                    "format",
                    &format.clone().into(),
                    "it is not among those that are supported",
                    words,
                );
            }
        }
    }

    fn range(&mut self, node: &Node, members: &mut Map<String, Value>, words: &mut Words) {
        let range = &node.number;
        for (word, bound) in range.bounds() {
            if let Some(bound) = bound {
                members.insert(word.to_owned(), Value::Number(bound.clone()));
            }
        }
        for multiple in &range.multiples {
            let multiple = Value::Number(multiple.clone());
            if members.contains_key("multipleOf") {
                self.0.lose(node, "multipleOf", &multiple, "there may be one", words);
            } else {
                members.insert("multipleOf".to_owned(), multiple);
            }
        }
    }

    fn array(
        &mut self,
        node: &Node,
        mut members: Map<String, Value>,
        words: &mut Words,
    ) -> Result<Option<Map<String, Value>>, Refusal> {
        let array = &node.array;
        if array.is_unique {
            self.0.lose(node, "uniqueItems", &true.into(), "it is not supported", words);
        }
        let mut most = most_items(node);
        let is_empty = most == Some(0);
        let item = match any_item(node, self.0.losses, words) {
            // There is none, so it may be anything.
            _ if is_empty => None,
            Some(item) => self.schema(&item)?,
            None => return Err(refusal(node, "a list of anything cannot be said")),
        };
        let item = item.unwrap_or_else(|| {
            most = Some(0);
            Map::from_iter([("type".to_owned(), json!("string"))])
        });
        if array.fewest.zip(most).is_some_and(|(fewest, most)| fewest > most) {
            return Ok(None);
        }
        members.insert("items".to_owned(), item.into());
        for (word, count) in [("minItems", array.fewest), ("maxItems", most)] {
            if let Some(count) = count {
                members.insert(word.to_owned(), count.into());
            }
        }
        Ok(Some(members))
    }

    fn object(
        &mut self,
        node: &Node,
        mut members: Map<String, Value>,
        words: &mut Words,
    ) -> Result<Option<Map<String, Value>>, Refusal> {
        let object = &node.object;
        let Some(named) = properties(node) else { return Ok(None) };
        let is_open = match &object.rest {
            Rest::Closed => !object.patterns.is_empty(),
            Rest::Unsaid => named.is_empty() || !object.patterns.is_empty(),
            Rest::Like(inner) => !inner.is_never() || !object.patterns.is_empty(),
        };
        if is_open && named.is_empty() {
            return Err(refusal(node, "an object whose properties have no names cannot be said"));
        }
        if is_open {
            let why = "every object has to be closed; only the named properties are left";
            self.0.losses.add(&node.at, "additionalProperties", Effect::Narrower, why);
        }
        if !object.patterns.is_empty() {
            let why = "it is not supported, and may speak about named properties too";
            self.0.losses.add(&node.at, "patternProperties", Effect::Wider, why);
        }
        for (word, count) in [("minProperties", object.fewest), ("maxProperties", object.most)] {
            if let Some(count) = count {
                self.0.lose(node, word, &count.into(), "it is not supported", words);
            }
        }
        let mut properties = Map::new();
        for (name, property, is_required) in named {
            match self.schema(&property)? {
                Some(inner) if is_required => properties.insert(name, inner.into()),
                Some(inner) => properties.insert(name, nullable(inner).into()),
                None if is_required => return Ok(None),
                None => None,
            };
        }
        members.insert("required".to_owned(), properties.keys().cloned().collect());
        members.insert("properties".to_owned(), properties.into());
        members.insert("additionalProperties".to_owned(), false.into());
        Ok(Some(members))
    }
}

fn refusal(node: &Node, why: &'static str) -> Refusal {
    Refusal { at: node.at.to_string(), why }
}

/// The same, or null.
fn nullable(mut members: Map<String, Value>) -> Map<String, Value> {
    let null = json!({"type": "null"});
    if let Some(Value::Array(branches)) = members.get_mut("anyOf") {
        if !branches.contains(&null) {
            branches.push(null);
        }
        return members;
    }
    if members.get("type").is_some_and(|name| name == "null" || name.is_array()) {
        return members;
    }
    if members.get("type").is_some_and(|name| name == "object" || name == "array") {
        let mut outer = Map::new();
        for word in ["title", "description"] {
            outer.extend(members.remove_entry(word));
        }
        outer.insert("anyOf".to_owned(), Value::Array(vec![members.into(), null]));
        return outer;
    }
    if let Some(name) = members.get_mut("type") {
        *name = json!([name.take(), "null"]);
    }
    if let Some(Value::Array(values)) = members.get_mut("enum") {
        values.push(Value::Null);
    }
    members
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
const FORMATS: [&str; 9] =
    ["date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"];
