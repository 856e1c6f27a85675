//! How is a node written for Gemini, which has words of its own: a part of those of `OpenAPI` 3.0?
//!
//! One type at a time, `nullable` for null, lists of values only for strings, a choice only alone. An object has to name its
//! properties; one that cannot is asked for as text that holds JSON, and a call gets the object back.

use serde_json::{Map, Number, Value, json};

use super::loss::{Effect, Losses};
use super::merge::{Fuel, compare};
use super::narrow::{self, Pen, any_item, most_items, options, properties};
use super::node::{Node, Rest};
use super::provider::Provider;
use super::root::as_object;
use super::unfold::MAX_NODES;
use super::words::Words;
use crate::terms::types::Types;

/// The schema of a tool's arguments; nothing if it takes none, as an object without properties is refused.
pub(crate) fn write(node: Node, losses: &mut Losses) -> Option<Value> {
    let mut fuel = Fuel(MAX_NODES);
    let (root, mut words) = as_object(node, losses, &mut fuel);
    let mut writer = Writer(Pen { losses, fuel, written: 0 });
    let nodes = options(&root, writer.0.losses, &mut writer.0.fuel, &mut words).nodes;
    let one = nodes.first().and_then(|node| writer.object(node, &mut words));
    let Some(mut members) = one else {
        let object = &root.object;
        let is_open = !matches!(object.rest, Rest::Unsaid | Rest::Closed) || !object.patterns.is_empty();
        let has_names = !object.properties.is_empty() || !object.required.is_empty();
        if is_open || has_names || object.fewest.is_some() {
            let why = "arguments have to have names and types, and none is left that has";
            writer.0.losses.add(&root.at, "properties", Effect::Narrower, why);
            writer.0.losses.add(&root.at, "properties", Effect::Wider, why);
        }
        return None;
    };
    describe(&mut members, &root, &words);
    Some(Value::Object(members))
}

struct Writer<'l>(Pen<'l>);

impl Writer<'_> {
    /// A node; nothing if no value can be like that.
    fn schema(&mut self, node: &Node) -> Option<Map<String, Value>> {
        self.0.written += 1;
        if self.0.written > MAX_NODES {
            if self.0.written == MAX_NODES + 1 {
                let why = "the schema is too large with everything written out";
                self.0.losses.add("", "schema", Effect::Narrower, why);
            }
            return None;
        }
        if node.is_cut && node.types == Types::OBJECT {
            let mut words = Words::default();
            let mut members = self.as_text(node, false, &mut words)?;
            describe(&mut members, node, &words);
            return Some(members);
        }
        if node.is_cut || node.is_never() {
            return None;
        }
        let mut words = self.0.remarks(node);
        if node.is_any() {
            let mut members = self.anything(&node.at);
            describe(&mut members, node, &words);
            return Some(members);
        }
        let options = options(node, self.0.losses, &mut self.0.fuel, &mut words);
        let is_alone = options.nodes.len() == 1;
        let has_text = options.nodes.iter().any(|option| option.types == Types::STRING);
        let mut written: Vec<Map<String, Value>> = Vec::new();
        for option in &options.nodes {
            let mut own = Words::default();
            let Some(mut one) = self.one(option, has_text, if is_alone { &mut words } else { &mut own })
            else {
                continue;
            };
            describe(&mut one, option, &own);
            if !written.contains(&one) {
                written.push(one);
            }
        }
        let mut members = match written.len() {
            0 if options.is_nullable => Map::from_iter([("type".to_owned(), json!("NULL"))]),
            0 => return None,
            1 => written.remove(0),
            _ => {
                // Nothing may stand beside a choice.
                let mut first = written.remove(0);
                describe(&mut first, node, &words);
                if options.is_nullable {
                    first.insert("nullable".to_owned(), true.into());
                }
                written.insert(0, first);
                let branches = written.into_iter().map(Value::Object).collect();
                return Some(Map::from_iter([("anyOf".to_owned(), branches)]));
            }
        };
        describe(&mut members, node, &words);
        if options.is_nullable && members.get("type").is_some_and(|name| name != "NULL") {
            members.insert("nullable".to_owned(), true.into());
        }
        Some(members)
    }

    /// Anything that can be said without going on for ever.
    fn anything(&mut self, at: &str) -> Map<String, Value> {
        let why = "a value of any type cannot be said; it is text, a number or a boolean";
        self.0.losses.add(at, "type", Effect::Narrower, why);
        let simple = json!([{"type": "STRING", "nullable": true}, {"type": "NUMBER"}, {"type": "BOOLEAN"}]);
        Map::from_iter([("anyOf".to_owned(), simple)])
    }

    /// A node of one type.
    fn one(&mut self, node: &Node, has_text: bool, words: &mut Words) -> Option<Map<String, Value>> {
        match node.types {
            Types::STRING => self.text(node, words),
            Types::ARRAY => self.array(node, words),
            Types::OBJECT => match self.object(node, words) {
                Some(members) => Some(members),
                // Unless there can be none, it has properties that cannot be named.
                None if properties(node).is_some() => self.as_text(node, has_text, words),
                None => None,
            },
            Types::BOOLEAN => {
                self.values(node, words);
                Some(Map::from_iter([("type".to_owned(), json!("BOOLEAN"))]))
            }
            _ => {
                self.values(node, words);
                Some(self.number(node, words))
            }
        }
    }

    /// Values that cannot be listed are told.
    fn values(&mut self, node: &Node, words: &mut Words) {
        if let Some(values) = &node.allowed {
            self.0.lose(node, "enum", &values.clone().into(), "only strings can be listed", words);
        }
    }

    fn text(&mut self, node: &Node, words: &mut Words) -> Option<Map<String, Value>> {
        let mut members = Map::from_iter([("type".to_owned(), json!("STRING"))]);
        if let Some(values) = &node.allowed {
            let listed: Vec<_> = values.iter().filter(|value| *value != "").cloned().collect();
            if listed.len() < values.len() {
                self.0.losses.add(&node.at, "enum", Effect::Narrower, "the empty text cannot be listed");
            }
            if listed.is_empty() {
                return None;
            }
            members.insert("enum".to_owned(), listed.into());
            members.insert("format".to_owned(), "enum".into());
        }
        let text = &node.text;
        for (word, count) in [("minLength", text.shortest), ("maxLength", text.longest)] {
            self.count(node, &mut members, word, count, words);
        }
        for pattern in &text.patterns {
            if members.contains_key("pattern") {
                self.0.lose(node, "pattern", &pattern.clone().into(), "there may be one", words);
            } else {
                members.insert("pattern".to_owned(), pattern.clone().into());
            }
        }
        for format in &text.formats {
            if format == "date-time" && !members.contains_key("format") {
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
        Some(members)
    }

    fn number(&mut self, node: &Node, words: &mut Words) -> Map<String, Value> {
        let is_whole = node.types == Types::INTEGER;
        let name = if is_whole { "INTEGER" } else { "NUMBER" };
        let mut members = Map::from_iter([("type".to_owned(), json!(name))]);
        let range = &node.number;
        // Between whole numbers there is nothing, so a bound that is not reached is the one beside it.
        let beside = |bound: &Option<Number>, step| {
            bound
                .as_ref()
                .filter(|_| is_whole)
                .and_then(Number::as_i64)
                .and_then(|bound| bound.checked_add(step))
        };
        let (above, below) = (beside(&range.above, 1), beside(&range.below, -1));
        if let Some(bound) = range.above.as_ref().filter(|_| above.is_none()) {
            self.0.lose(
                node,
                "exclusiveMinimum",
                &Value::Number(bound.clone()),
                "it is not supported",
                words,
            );
        }
        if let Some(bound) = range.below.as_ref().filter(|_| below.is_none()) {
            self.0.lose(
                node,
                "exclusiveMaximum",
                &Value::Number(bound.clone()),
                "it is not supported",
                words,
            );
        }
        let tighter =
            |a: Option<Number>, b: Option<Number>, is_better: fn(std::cmp::Ordering) -> bool| match (a, b) {
                (Some(a), Some(b)) => Some(if is_better(compare(&b, &a)) { b } else { a }),
                (a, b) => a.or(b),
            };
        let least = tighter(range.least.clone(), above.map(Number::from), std::cmp::Ordering::is_gt);
        let most = tighter(range.most.clone(), below.map(Number::from), std::cmp::Ordering::is_lt);
        for (word, bound) in [("minimum", least), ("maximum", most)] {
            if let Some(bound) = bound {
                members.insert(word.to_owned(), Value::Number(bound));
            }
        }
        for multiple in &range.multiples {
            self.0.lose(node, "multipleOf", &Value::Number(multiple.clone()), "it is not supported", words);
        }
        members
    }

    fn array(&mut self, node: &Node, words: &mut Words) -> Option<Map<String, Value>> {
        let array = &node.array;
        self.values(node, words);
        if array.is_unique {
            self.0.lose(node, "uniqueItems", &true.into(), "it is not supported", words);
        }
        let mut most = most_items(node);
        let item = match any_item(node, self.0.losses, words) {
            _ if most == Some(0) => None,
            Some(item) => self.schema(&item),
            None => Some(self.anything(&node.at)),
        };
        let item = item.unwrap_or_else(|| {
            most = Some(0);
            Map::from_iter([("type".to_owned(), json!("STRING"))])
        });
        if array.fewest.zip(most).is_some_and(|(fewest, most)| fewest > most) {
            return None;
        }
        let mut members =
            Map::from_iter([("type".to_owned(), json!("ARRAY")), ("items".to_owned(), item.into())]);
        for (word, count) in [("minItems", array.fewest), ("maxItems", most)] {
            self.count(node, &mut members, word, count, words);
        }
        Some(members)
    }

    /// An object with properties; nothing if it has none, or if there can be no such object.
    fn object(&mut self, node: &Node, words: &mut Words) -> Option<Map<String, Value>> {
        let object = &node.object;
        let mut inner = Map::new();
        let mut required = Vec::new();
        let named = properties(node)?;
        let own: std::collections::HashSet<_> = named.iter().map(|(name, ..)| name.clone()).collect();
        for (name, property, is_required) in named {
            let key = Provider::Gemini.key(&name);
            if *key != name {
                let why = format!(
                    "properties of that name are not allowed; it is called `{key}`, and turned back in calls"
                );
                self.0.losses.add(&property.at, "name", Effect::Remark, why);
                if own.contains(&*key) {
                    let why = "the name that it would get is another property's";
                    self.0.losses.add(&property.at, "name", Effect::Narrower, why);
                    continue;
                }
            }
            match self.schema(&property) {
                Some(schema) => {
                    if is_required {
                        required.push(Value::from(&*key));
                    }
                    inner.insert(key.into_owned(), schema.into());
                }
                None if is_required => return None,
                None => {}
            }
        }
        if inner.is_empty() {
            return None;
        }
        self.values(node, words);
        let is_open = match &object.rest {
            Rest::Unsaid | Rest::Closed => !object.patterns.is_empty(),
            Rest::Like(inner) => !inner.is_never() || !object.patterns.is_empty(),
        };
        if is_open {
            let why = "only properties with names can be said";
            self.0.losses.add(&node.at, "additionalProperties", Effect::Narrower, why);
        }
        if !object.patterns.is_empty() {
            let why = "it is not supported, and may speak about named properties too";
            self.0.losses.add(&node.at, "patternProperties", Effect::Wider, why);
        }
        let mut members =
            Map::from_iter([("type".to_owned(), json!("OBJECT")), ("properties".to_owned(), inner.into())]);
        if !required.is_empty() {
            members.insert("required".to_owned(), required.into());
        }
        for (word, count) in [("minProperties", object.fewest), ("maxProperties", object.most)] {
            self.count(node, &mut members, word, count, words);
        }
        Some(members)
    }

    /// An object whose properties have no names, as text that holds JSON.
    fn as_text(&mut self, node: &Node, has_text: bool, words: &mut Words) -> Option<Map<String, Value>> {
        if has_text {
            let why = "an object without names would be text, which is allowed as such";
            self.0.losses.add(&node.at, "properties", Effect::Narrower, why);
            return None;
        }
        let why = "an object has to name its properties; it is asked for as text, and turned back in calls";
        self.0.losses.add(&node.at, "properties", Effect::Wider, why);
        self.values(node, words);
        words.say("A JSON object, written as text.");
        // What is known of it, unless that is nothing.
        if !node.is_cut && node.subjects() == Types::OBJECT {
            words.also(&super::json::show(&node.without_remarks()));
        }
        Some(Map::from_iter([("type".to_owned(), json!("STRING"))]))
    }

    fn count(
        &mut self,
        node: &Node,
        members: &mut Map<String, Value>,
        word: &str,
        count: Option<u64>,
        words: &mut Words,
    ) {
        match count {
            // It is a signed number there.
            Some(count) if i64::try_from(count).is_ok() => {
                members.insert(word.to_owned(), count.into());
            }
            Some(count) => self.0.lose(node, word, &count.into(), "it is too large", words),
            None => {}
        }
    }
}

/// Adds what is for readers. A choice has no place for it; its first branch has.
fn describe(members: &mut Map<String, Value>, node: &Node, words: &Words) {
    match members.get_mut("anyOf") {
        Some(Value::Array(branches)) => {
            if let Some(Value::Object(first)) = branches.first_mut() {
                describe(first, node, words);
            }
        }
        _ => narrow::describe(members, node, words),
    }
}
