//! How is a node written for providers that accept nearly all of JSON Schema: OpenAI and Anthropic?
//!
//! All rules can be expressed, except those that the two providers forbid in the root or in names.

use std::collections::HashSet;

use serde_json::{Map, Value, json};

use super::description_notes::DescriptionNotes;
use super::loss::{Effect, Losses};
use super::merge::CopyBudget;
use super::node::{KeywordGroup, KeywordValue, Node, Rest, Union};
use super::provider::Provider;
use super::root::as_object;
use super::unfold::MAX_NODES;
use crate::terms::types::Types;

/// Writes the schema of a tool's arguments.
pub(crate) fn write(provider: Provider, node: Node, losses: &mut Losses) -> Value {
    let (mut root, mut words) = as_object(node, losses, &mut CopyBudget(MAX_NODES));
    root.keyword_groups.retain(|other| {
        let is_allowed = provider != Provider::OpenAi || other.members.iter().all(|(word, _)| *word != "not");
        if !is_allowed {
            losses.add(&root.at, "not", Effect::Wider, "it is not allowed at the root");
            words.add_schema(&keyword_group_json(other));
        }
        is_allowed
    });
    root.description = words.full_description(root.description.as_deref());
    let mut writer = JsonWriter { provider, losses };
    let mut members = writer.members(&root);
    members.entry("properties").or_insert_with(|| json!({}));
    // If the root has two keywords of the same kind, the second one was written in `allOf`.
    if let Some(Value::Array(more)) = members.remove("allOf") {
        writer.losses.add(&root.at, "allOf", Effect::Wider, "it is not allowed at the root");
        let mut words = DescriptionNotes::default();
        for schema in &more {
            words.add_schema(schema);
        }
        let description = members.get("description").and_then(Value::as_str);
        if let Some(description) = words.full_description(description) {
            members.insert("description".to_owned(), description.into());
        }
    }
    Value::Object(members)
}

/// Writes a node as plain JSON Schema, to be shown in a description.
pub(crate) fn plain_schema(node: &Node) -> Value {
    let mut losses = Losses::default();
    JsonWriter { provider: Provider::OpenAi, losses: &mut losses }.schema(node)
}

/// Writes keywords as plain JSON Schema, to be shown in a description.
pub(crate) fn keyword_group_json(other: &KeywordGroup) -> Value {
    let mut losses = Losses::default();
    let mut writer = JsonWriter { provider: Provider::OpenAi, losses: &mut losses };
    let members = other.members.iter().map(|(word, part)| ((*word).to_owned(), writer.part(part)));
    object_of(members)
}

struct JsonWriter<'l> {
    provider: Provider,
    losses: &'l mut Losses,
}

impl JsonWriter<'_> {
    fn schema(&mut self, node: &Node) -> Value {
        Value::Object(self.members(node))
    }

    fn members(&mut self, node: &Node) -> Map<String, Value> {
        let mut members = Map::new();
        put(&mut members, "title", node.title.clone());
        put(&mut members, "description", node.description.clone());
        for (word, value) in &node.annotations {
            members.insert((*word).to_owned(), value.clone());
        }
        if node.is_never() {
            members.insert("not".to_owned(), json!({}));
            return members;
        }
        match node.types.names().as_slice() {
            _ if node.types == Types::ANY => {}
            [name] => put(&mut members, "type", Some(*name)),
            names => put(&mut members, "type", Some(names)),
        }
        // The type already says that it is null.
        put(&mut members, "enum", node.allowed.clone().filter(|_| node.types != Types::NULL));
        // Keywords that cannot be members of this schema, because it already has one of the same kind.
        let mut more = Vec::new();
        if node.types.intersects(Types::STRING) {
            text(node, &mut members, &mut more);
        }
        if node.types.intersects(Types::NUMBER) {
            range(node, &mut members, &mut more);
        }
        if node.types.intersects(Types::ARRAY) {
            self.array(node, &mut members);
        }
        if node.types.intersects(Types::OBJECT) {
            self.object(node, &mut members);
        }
        for union in &node.unions {
            let word = if union.is_exclusive { "oneOf" } else { "anyOf" };
            let branches = self.branches(union);
            put_or_add(&mut members, &mut more, vec![(word, branches)]);
        }
        for other in &node.keyword_groups {
            let mut parts = Vec::new();
            for (word, part) in &other.members {
                if *word == "unevaluatedItems" && self.provider == Provider::OpenAi {
                    let why = "a list must describe its items, so no unevaluated items are left";
                    self.losses.add(&node.at, word, Effect::Wider, why);
                } else {
                    parts.push((*word, self.condition(word, part)));
                }
            }
            put_or_add(&mut members, &mut more, parts);
        }
        more.extend(node.all_of.iter().map(|inner| self.schema(inner)));
        put(&mut members, "allOf", Some(more).filter(|more| !more.is_empty()));
        members
    }

    fn branches(&mut self, union: &Union) -> Value {
        union.branches.iter().map(|branch| self.schema(branch)).collect()
    }

    /// Writes the value of a keyword. Except under a few keywords, a loss inside the value may have the opposite
    /// effect.
    fn condition(&mut self, word: &str, part: &KeywordValue) -> Value {
        if ["then", "else", "dependentSchemas", "dependentRequired"].contains(&word) {
            return self.part(part);
        }
        // Both providers accept a boolean for these keywords.
        if let KeywordValue::Schema(node) = part
            && node.is_never()
            && word.starts_with("unevaluated")
        {
            return false.into();
        }
        self.losses.negations += 1;
        let value = self.part(part);
        self.losses.negations -= 1;
        value
    }

    fn part(&mut self, part: &KeywordValue) -> Value {
        match part {
            KeywordValue::Schema(node) => self.schema(node),
            KeywordValue::Named(named) => {
                let named = named.iter().map(|(name, node)| (self.key(name), self.schema(node)));
                object_of(named)
            }
            // The lists of `dependentRequired`. Any other JSON is a number.
            KeywordValue::Json(Value::Object(lists)) => {
                let lists = lists.iter().map(|(name, needed)| {
                    let needed = needed.as_array().into_iter().flatten().filter_map(Value::as_str);
                    let needed: Value = needed.map(|name| self.key(name)).collect();
                    (self.key(name), needed)
                });
                object_of(lists)
            }
            KeywordValue::Json(value) => value.clone(),
        }
    }

    fn array(&mut self, node: &Node, members: &mut Map<String, Value>) {
        let array = &node.array;
        if !array.prefix.is_empty() {
            let first = array.prefix.iter().map(|item| self.schema(item)).collect();
            members.insert("prefixItems".to_owned(), first);
        }
        match &array.items {
            Some(items) => put(members, "items", Some(self.schema(items))),
            // OpenAI requires `items` even if every item is allowed.
            None if node.types != Types::ANY && self.provider == Provider::OpenAi => {
                put(members, "items", Some(json!({})));
            }
            None => {}
        }
        put(members, "minItems", array.count.min);
        put(members, "maxItems", array.count.max);
        put(members, "uniqueItems", array.is_unique.then_some(true));
    }

    fn object(&mut self, node: &Node, members: &mut Map<String, Value>) {
        let object = &node.object;
        let own: HashSet<_> = object.properties.iter().map(|(name, _)| name.as_str()).collect();
        let mut properties = Map::new();
        for (name, property) in &object.properties {
            let key = self.key(name);
            if key != *name {
                self.losses.rename(property, &key);
                // The property is renamed, so other keywords that mention its name no longer apply to it.
                if own.contains(&*key)
                    || !object.patterns.is_empty()
                    || node.allowed.is_some()
                    || has_name_rules(node)
                {
                    let why = "another part of the schema depends on the name";
                    self.losses.add(&property.at, "name", Effect::Wider, why);
                    self.losses.add(&property.at, "name", Effect::Narrower, why);
                }
            }
            if key == *name || !own.contains(&*key) {
                properties.insert(key, self.schema(property));
            }
        }
        if !properties.is_empty() || (node.types == Types::OBJECT && self.provider == Provider::OpenAi) {
            members.insert("properties".to_owned(), properties.into());
        }
        if !object.patterns.is_empty() {
            let patterns = object.patterns.iter().map(|(name, inner)| (name.clone(), self.schema(inner)));
            members.insert("patternProperties".to_owned(), object_of(patterns));
        }
        match &object.rest {
            Rest::Unspecified => {}
            Rest::Closed => put(members, "additionalProperties", Some(false)),
            Rest::Schema(inner) if inner.is_any() => put(members, "additionalProperties", Some(true)),
            Rest::Schema(inner) if inner.is_never() => put(members, "additionalProperties", Some(false)),
            Rest::Schema(inner) => put(members, "additionalProperties", Some(self.schema(inner))),
        }
        if !object.required.is_empty() {
            let required: Vec<_> = object.required.iter().map(|name| self.key(name)).collect();
            members.insert("required".to_owned(), required.into());
        }
        put(members, "minProperties", object.count.min);
        put(members, "maxProperties", object.count.max);
    }

    fn key(&mut self, name: &str) -> String {
        let key = self.provider.key(name).into_owned();
        if key != name && self.losses.negations > 0 {
            let why = format!(
                "`{name}` is renamed to `{key}`, and names inside a negation are not restored in calls"
            );
            self.losses.add("", "name", Effect::Wider, why);
        }
        key
    }
}

fn has_name_rules(node: &Node) -> bool {
    node.keyword_groups.iter().flat_map(|other| &other.members).any(|(word, _)| *word == "propertyNames")
}

fn text(node: &Node, members: &mut Map<String, Value>, more: &mut Vec<Value>) {
    let text = &node.text;
    put(members, "minLength", text.count.min);
    put(members, "maxLength", text.count.max);
    for pattern in &text.patterns {
        put_or_add(members, more, vec![("pattern", pattern.clone().into())]);
    }
    for format in &text.formats {
        put_or_add(members, more, vec![("format", format.clone().into())]);
    }
}

fn range(node: &Node, members: &mut Map<String, Value>, more: &mut Vec<Value>) {
    let range = &node.number;
    for (word, bound) in range.bounds() {
        put(members, word, bound.clone().map(Value::Number));
    }
    for multiple in &range.multiple_of {
        put_or_add(members, more, vec![("multipleOf", Value::Number(multiple.clone()))]);
    }
}

/// Makes an object. Members are inserted one by one: `collect` would sort them, with code for each type of iterator.
pub(crate) fn object_of(members: impl IntoIterator<Item = (String, Value)>) -> Value {
    let mut object = Map::new();
    object.extend(members);
    Value::Object(object)
}

fn put(members: &mut Map<String, Value>, word: &str, value: Option<impl Into<Value>>) {
    if let Some(value) = value {
        members.insert(word.to_owned(), value.into());
    }
}

/// Adds keywords to the schema, or to `more` if the schema already has one of them.
fn put_or_add(members: &mut Map<String, Value>, more: &mut Vec<Value>, parts: Vec<(&'static str, Value)>) {
    let is_taken = parts.iter().any(|(word, _)| members.contains_key(*word));
    let parts = parts.into_iter().map(|(word, value)| (word.to_owned(), value));
    if is_taken {
        more.push(object_of(parts));
    } else {
        members.extend(parts);
    }
}
