//! How is a node written for providers with few keywords: one type per schema, and choices only between such schemas?
//!
//! Strict schemas of OpenAI and schemas of Gemini are written in the same way; the differences are in `strict.rs` and
//! `gemini.rs`.

use std::collections::HashSet;

use serde_json::{Map, Value, json};

use super::description_notes::DescriptionNotes;
use super::loss::{Effect, Losses};
use super::merge::CopyBudget;
use super::narrow::{alternatives, any_item, max_items, properties};
use super::node::{Node, Rest};
use super::provider::Provider;
use super::rules::strict::FORMATS;
use super::unfold::MAX_NODES;
use crate::terms::pattern;
use crate::terms::types::Types;

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Dialect {
    Strict,
    Gemini,
}

/// The reason why a schema cannot be written at all. Only strict schemas can be refused.
#[derive(Debug)]
pub(crate) struct Refusal {
    pub(crate) at: String,
    pub(crate) why: &'static str,
}

impl Refusal {
    pub(crate) fn of(node: &Node, why: &'static str) -> Self {
        Self { at: node.at.to_string(), why }
    }
}

/// A schema, or `None` if no value can fit it.
pub(crate) type WriteResult = Result<Option<Map<String, Value>>, Refusal>;

/// Writes nodes, and tracks the losses and the remaining size.
pub(crate) struct Writer<'l> {
    pub(crate) dialect: Dialect,
    pub(crate) losses: &'l mut Losses,
    pub(crate) copy_budget: CopyBudget,
    pub(crate) written_nodes: usize,
}

/// A schema of one type that is being written.
pub(crate) struct Draft<'d> {
    pub(crate) node: &'d Node,
    pub(crate) members: Map<String, Value>,
    pub(crate) notes: &'d mut DescriptionNotes,
}

impl Draft<'_> {
    pub(crate) fn put(&mut self, word: &str, value: impl Into<Value>) {
        self.members.insert(word.to_owned(), value.into());
    }
}

impl<'l> Writer<'l> {
    pub(crate) fn new(dialect: Dialect, losses: &'l mut Losses, fuel: CopyBudget) -> Self {
        Self { dialect, losses, copy_budget: fuel, written_nodes: 0 }
    }

    /// Writes the schema of the arguments. Returns `None` if no arguments are possible, or none can be expressed.
    pub(crate) fn root(&mut self, root: &Node, words: &mut DescriptionNotes) -> WriteResult {
        let nodes = alternatives(root, self.losses, &mut self.copy_budget, words).nodes;
        nodes.first().map_or(Ok(None), |node| self.object(node, words))
    }

    fn schema(&mut self, node: &Node) -> WriteResult {
        self.written_nodes += 1;
        if self.written_nodes > MAX_NODES {
            return self.too_large(node);
        }
        if node.is_truncated && node.types == Types::OBJECT && self.dialect == Dialect::Gemini {
            let mut words = DescriptionNotes::default();
            let text = self.write_as_text(node, false, &mut words);
            return Ok(text.map(|members| self.with_description(members, node, &words)));
        }
        if node.is_truncated || node.is_never() {
            return Ok(None);
        }
        let mut words = self.annotation_notes(node);
        if node.is_any() {
            let members = self.any_scalar(node, "a value of any type cannot be expressed")?;
            return Ok(Some(self.with_description(members, node, &words)));
        }
        let options = alternatives(node, self.losses, &mut self.copy_budget, &mut words);
        let is_alone = options.nodes.len() == 1;
        let has_text = options.nodes.iter().any(|option| option.types == Types::STRING);
        let mut written: Vec<Map<String, Value>> = Vec::new();
        for option in &options.nodes {
            let mut own = DescriptionNotes::default();
            let words = if is_alone { &mut words } else { &mut own };
            let Some(one) = self.single_type(option, has_text, words)? else { continue };
            let one = self.with_description(one, option, &own);
            if !written.contains(&one) {
                written.push(one);
            }
        }
        let members = match written.len() {
            0 if options.is_nullable => self.type_schema("null"),
            0 => return Ok(None),
            1 => written.remove(0),
            _ => one_member("anyOf", written.into_iter().map(Value::Object).collect()),
        };
        let mut members = self.with_description(members, node, &words);
        if options.is_nullable {
            self.allow_null(&mut members);
        }
        Ok(Some(members))
    }

    /// Returns the annotations in words.
    fn annotation_notes(&mut self, node: &Node) -> DescriptionNotes {
        let mut words = DescriptionNotes::default();
        words.add_annotations(node);
        for (word, _) in &node.annotations {
            let why = "it is not supported; the description mentions it instead";
            self.losses.add(&node.at, word, Effect::AnnotationOnly, why);
        }
        words
    }

    /// Adds the title and the description of the node to its schema, before a description that is already there.
    pub(crate) fn with_description(
        &self,
        mut schema: Map<String, Value>,
        node: &Node,
        words: &DescriptionNotes,
    ) -> Map<String, Value> {
        let members = match self.dialect {
            Dialect::Strict => &mut schema,
            Dialect::Gemini => first_branch(&mut schema),
        };
        if let Some(title) = &node.title {
            members.insert("title".to_owned(), title.clone().into());
        }
        let own = members.get("description").and_then(Value::as_str).map(str::to_owned);
        let description = match (&node.description, own) {
            (Some(outer), Some(own)) if *outer != own => Some(format!("{outer}\n\n{own}")),
            (outer, own) => outer.clone().or(own),
        };
        if let Some(description) = words.full_description(description.as_deref()) {
            members.insert("description".to_owned(), description.into());
        }
        schema
    }

    fn allow_null(&self, members: &mut Map<String, Value>) {
        match self.dialect {
            Dialect::Strict => allow_null(members),
            Dialect::Gemini => {
                let members = first_branch(members);
                if members.get("type").is_some_and(|name| name != "NULL") {
                    members.insert("nullable".to_owned(), true.into());
                }
            }
        }
    }

    /// Returns a schema of any value of a type.
    pub(crate) fn type_schema(&self, name: &str) -> Map<String, Value> {
        let name = match self.dialect {
            Dialect::Strict => name.to_owned(),
            Dialect::Gemini => name.to_ascii_uppercase(),
        };
        one_member("type", name.into())
    }

    fn draft<'d>(&self, node: &'d Node, words: &'d mut DescriptionNotes) -> Draft<'d> {
        let name = node.types.names().first().copied().unwrap_or_default();
        Draft { node, members: self.type_schema(name), notes: words }
    }

    /// Writes a node of one type.
    fn single_type(&mut self, node: &Node, has_text: bool, words: &mut DescriptionNotes) -> WriteResult {
        if node.types == Types::OBJECT {
            return match self.object(node, words)? {
                // An object that is possible but cannot be written has properties without names.
                None if self.dialect == Dialect::Gemini && properties(node).is_some() => {
                    Ok(self.write_as_text(node, has_text, words))
                }
                written => Ok(written),
            };
        }
        let mut draft = self.draft(node, words);
        if !self.values(&mut draft) {
            return Ok(None);
        }
        match node.types {
            Types::STRING => self.text(&mut draft),
            Types::ARRAY => return self.array(draft),
            Types::BOOLEAN => {}
            _ => self.number(&mut draft),
        }
        Ok(Some(draft.members))
    }

    /// Writes the list of allowed values, or describes it in words. Returns whether any value is left.
    pub(crate) fn values(&mut self, draft: &mut Draft<'_>) -> bool {
        let Draft { node, .. } = *draft;
        let Some(values) = node.allowed.clone() else { return true };
        match (self.dialect, node.types) {
            (Dialect::Strict, Types::ARRAY | Types::OBJECT) => {
                self.describe_instead(draft, "enum", values, "only simple values can be listed");
            }
            (Dialect::Strict, _) => draft.put("enum", values),
            (Dialect::Gemini, Types::STRING) => {
                let mut listed = values;
                let before = listed.len();
                listed.retain(|value| value != "");
                if listed.len() < before {
                    self.losses.add(&node.at, "enum", Effect::Narrower, "the empty text cannot be listed");
                }
                if listed.is_empty() {
                    return false;
                }
                draft.put("enum", listed);
                draft.put("format", "enum");
            }
            (Dialect::Gemini, _) => {
                self.describe_instead(draft, "enum", values, "only strings can be listed");
            }
        }
        true
    }

    fn text(&mut self, draft: &mut Draft<'_>) {
        let text = &draft.node.text;
        self.count(draft, "minLength", text.count.min);
        self.count(draft, "maxLength", text.count.max);
        for pattern in &text.patterns {
            let (is_taken, why) = match self.dialect {
                Dialect::Strict => {
                    (pattern::is_simple(pattern), "only one pattern is supported, without lookaround")
                }
                Dialect::Gemini => (true, "only one is supported"),
            };
            self.put_once(draft, "pattern", pattern.as_str(), is_taken, why);
        }
        for format in &text.formats {
            let is_taken = match self.dialect {
                Dialect::Strict => FORMATS.contains(&format.as_str()),
                Dialect::Gemini => format == "date-time",
            };
            let why = "it is not one of the supported formats";
            self.put_once(draft, "format", format.as_str(), is_taken, why);
        }
    }

    fn number(&mut self, draft: &mut Draft<'_>) {
        let range = &draft.node.number;
        let (is_taken, why) = match self.dialect {
            Dialect::Strict => {
                for (word, bound) in range.bounds() {
                    if let Some(bound) = bound {
                        draft.put(word, bound.clone());
                    }
                }
                (true, "only one is supported")
            }
            Dialect::Gemini => {
                self.inclusive_bounds(draft);
                (false, "it is not supported")
            }
        };
        for multiple in &range.multiple_of {
            self.put_once(draft, "multipleOf", multiple.clone(), is_taken, why);
        }
    }

    fn array(&mut self, mut draft: Draft<'_>) -> WriteResult {
        let Draft { node, .. } = draft;
        if node.array.is_unique {
            self.describe_instead(&mut draft, "uniqueItems", true, "it is not supported");
        }
        let mut most = max_items(node);
        let item = match any_item(node, self.losses, draft.notes) {
            // The array must be empty, so the schema of its items does not matter.
            _ if most == Some(0) => None,
            Some(item) => self.schema(&item)?,
            None => Some(self.any_scalar(node, "a list of anything cannot be expressed")?),
        };
        let item = item.unwrap_or_else(|| {
            most = Some(0);
            self.type_schema("string")
        });
        if node.array.count.min.zip(most).is_some_and(|(fewest, most)| fewest > most) {
            return Ok(None);
        }
        draft.put("items", item);
        self.count(&mut draft, "minItems", node.array.count.min);
        self.count(&mut draft, "maxItems", most);
        Ok(Some(draft.members))
    }

    /// Writes an object. Strict objects are closed and require all their properties; Gemini requires at least one
    /// property.
    fn object(&mut self, node: &Node, words: &mut DescriptionNotes) -> WriteResult {
        let object = &node.object;
        let is_strict = self.dialect == Dialect::Strict;
        let Some(named) = properties(node) else { return Ok(None) };
        let is_open =
            !object.patterns.is_empty() || matches!(&object.rest, Rest::Schema(inner) if !inner.is_never());
        if is_strict && named.is_empty() && (is_open || object.rest == Rest::Unspecified) {
            return Err(Refusal::of(node, "an object whose properties have no names cannot be expressed"));
        }
        let own: HashSet<_> = named.iter().map(|(name, ..)| name.clone()).collect();
        let mut properties = Map::new();
        let mut required: Vec<String> = Vec::new();
        for (name, property, is_required) in named {
            let Some(key) = self.key(&name, &own, &property) else { continue };
            match self.schema(&property)? {
                Some(mut inner) => {
                    if is_required {
                        required.push(key.clone());
                    } else if is_strict {
                        allow_null(&mut inner);
                    }
                    properties.insert(key, inner.into());
                }
                None if is_required => return Ok(None),
                None => {}
            }
        }
        if !is_strict && properties.is_empty() {
            return Ok(None);
        }
        let mut draft = self.draft(node, words);
        self.values(&mut draft);
        if is_open {
            let why = match self.dialect {
                Dialect::Strict => "every object has to be closed; only the named properties are left",
                Dialect::Gemini => "only properties with names can be expressed",
            };
            self.losses.add(&node.at, "additionalProperties", Effect::Narrower, why);
        }
        if !object.patterns.is_empty() {
            let why = "it is not supported, and may apply to named properties too";
            self.losses.add(&node.at, "patternProperties", Effect::Wider, why);
        }
        if is_strict {
            required = properties.keys().cloned().collect();
            draft.put("additionalProperties", false);
        }
        if is_strict || !required.is_empty() {
            draft.put("required", required);
        }
        draft.put("properties", properties);
        self.count(&mut draft, "minProperties", object.count.min);
        self.count(&mut draft, "maxProperties", object.count.max);
        Ok(Some(draft.members))
    }

    /// Returns the name of a property, or `None` if it would collide with another property.
    fn key(&mut self, name: &str, own: &HashSet<String>, property: &Node) -> Option<String> {
        let key = match self.dialect {
            Dialect::Strict => return Some(name.to_owned()),
            Dialect::Gemini => Provider::Gemini.key(name),
        };
        if key == name {
            return Some(name.to_owned());
        }
        self.losses.rename(property, &key);
        if own.contains(&*key) {
            let why = "its new name belongs to another property";
            self.losses.add(&property.at, "name", Effect::Narrower, why);
            return None;
        }
        Some(key.into_owned())
    }

    /// Describes a keyword in words, because the schema cannot express it.
    pub(crate) fn describe_instead(
        &mut self,
        draft: &mut Draft<'_>,
        word: &str,
        value: impl Into<Value>,
        why: &str,
    ) {
        self.losses.add(&draft.node.at, word, Effect::Wider, why);
        draft.notes.add_keyword(word, &value.into());
    }

    /// Writes a keyword that may occur only once, or describes it in words.
    fn put_once(
        &mut self,
        draft: &mut Draft<'_>,
        word: &str,
        value: impl Into<Value>,
        is_taken: bool,
        why: &str,
    ) {
        if is_taken && !draft.members.contains_key(word) {
            draft.put(word, value);
        } else {
            self.describe_instead(draft, word, value, why);
        }
    }

    /// Writes a count, or describes it in words.
    fn count(&mut self, draft: &mut Draft<'_>, word: &str, count: Option<u64>) {
        let Some(count) = count else { return };
        match self.dialect {
            Dialect::Strict if !word.ends_with("Items") => {
                self.describe_instead(draft, word, count, "it is not supported");
            }
            // Gemini uses a signed number.
            Dialect::Gemini if i64::try_from(count).is_err() => {
                self.describe_instead(draft, word, count, "it is too large");
            }
            _ => draft.put(word, count),
        }
    }

    /// Returns a schema of text, numbers and booleans, because a schema of any value would never end. A strict schema
    /// is refused.
    fn any_scalar(&mut self, node: &Node, why: &'static str) -> Result<Map<String, Value>, Refusal> {
        if self.dialect == Dialect::Strict {
            return Err(Refusal::of(node, why));
        }
        let why = "a value of any type cannot be expressed; the schema allows text, numbers and booleans";
        self.losses.add(&node.at, "type", Effect::Narrower, why);
        let simple = json!([{"type": "STRING", "nullable": true}, {"type": "NUMBER"}, {"type": "BOOLEAN"}]);
        Ok(one_member("anyOf", simple))
    }

    fn too_large(&mut self, node: &Node) -> WriteResult {
        if self.dialect == Dialect::Strict {
            return Err(Refusal::of(node, "it is too large with everything written out"));
        }
        if self.written_nodes == MAX_NODES + 1 {
            let why = "the schema is too large with everything written out";
            self.losses.add("", "schema", Effect::Narrower, why);
        }
        Ok(None)
    }
}

fn one_member(name: &str, value: Value) -> Map<String, Value> {
    let mut members = Map::new();
    members.insert(name.to_owned(), value);
    members
}

/// Allows null in addition to the values of a strict schema.
fn allow_null(members: &mut Map<String, Value>) {
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

/// Returns the members that may have a description: Gemini allows nothing beside a choice, so the description goes into
/// the first branch.
fn first_branch(members: &mut Map<String, Value>) -> &mut Map<String, Value> {
    if !members.contains_key("anyOf") {
        return members;
    }
    let first = members.get_mut("anyOf").and_then(|branches| branches.get_mut(0));
    first.and_then(Value::as_object_mut).expect("a choice has branches, which are objects")
}
