//! What does a schema say about one value?
//!
//! Schemas come from strangers too, so whatever is not understood is taken to say nothing, and all that is looked at has an end.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::node::{Additional, Id, Look, Model, Node, Objects};
use crate::terms::format::Format;
use crate::terms::types::Types;

/// A schema, or a part of one, read once to be asked often. Cloning it is cheap.
///
/// ```
/// use serde_json::json;
/// use toolway_schema::{Schema, Types};
///
/// let schema = Schema::of(&json!({
///     "properties": {"unit": {"$ref": "#/$defs/Unit"}},
///     "$defs": {"Unit": {"enum": ["C", "F"]}},
/// }));
/// let unit = schema.property("unit").unwrap();
/// assert_eq!(unit.types(), Some(Types::STRING));
/// assert_eq!(unit.choices().unwrap(), [json!("C"), json!("F")]);
/// ```
#[derive(Debug, Clone)]
pub struct Schema {
    model: Arc<Model>,
    id: Id,
}

impl Schema {
    /// Reads a schema.
    pub fn of(schema: &Value) -> Self {
        Self { model: Arc::new(Model::of(schema)), id: 0 }
    }

    /// Reads a schema whose references are to definitions that stand apart from it.
    pub fn with_definitions(mut schema: Value, definitions: Map<String, Value>) -> Self {
        if let Value::Object(members) = &mut schema {
            members.insert("$defs".to_owned(), definitions.into());
        }
        Self::of(&schema)
    }

    fn at(&self, id: Id) -> Self {
        Self { model: self.model.clone(), id }
    }

    /// Where it was read to.
    pub(crate) fn place(&self) -> (&Model, Id) {
        (&self.model, self.id)
    }

    fn nodes(&self, ids: Vec<Id>) -> impl Iterator<Item = &Node> {
        ids.into_iter().map(|id| self.model.node(id))
    }

    /// This schema and all that hold at the same time.
    fn parts(&self) -> Vec<Id> {
        let mut parts = vec![self.id];
        let mut next = 0;
        while let Some(id) = parts.get(next).filter(|_| parts.len() < MAX_PARTS) {
            next += 1;
            for part in &self.model.node(*id).all_of {
                if !parts.contains(part) {
                    parts.push(*part);
                }
            }
        }
        parts
    }

    /// The schemas of which one holds.
    fn alternatives(&self) -> Vec<Self> {
        let branches = self.nodes(self.parts()).flat_map(Node::branches).flatten();
        branches.take(MAX_PARTS).map(|id| self.at(*id)).collect()
    }

    /// The types that a value may have; nothing if the schema does not say. Who speaks of properties and forgets to say that
    /// it is an object means one.
    pub fn types(&self) -> Option<Types> {
        self.types_within(0)
    }

    fn types_within(&self, depth: usize) -> Option<Types> {
        let said = self.model.types(self.id, &Look::new(), 0);
        if said != Types::ANY {
            return Some(said).filter(|types| !types.is_none());
        }
        let meant = self.nodes(self.parts()).map(|node| match (&node.object, &node.array) {
            (Some(object), _) if !object.properties.is_empty() => Types::OBJECT,
            (_, Some(array)) if array.items.is_some() => Types::ARRAY,
            _ => Types::NONE,
        });
        let meant = meant.fold(Types::NONE, Types::or);
        if !meant.is_none() || depth == MAX_DEPTH {
            return Some(meant).filter(|types| !types.is_none());
        }
        // One that takes anything makes the others say nothing.
        let each = self.alternatives();
        let each = each.iter().map(|schema| schema.types_within(depth + 1));
        each.reduce(|all, one| Some(all?.or(one?))).flatten()
    }

    /// The values there are, where they are counted.
    pub fn choices(&self) -> Option<Vec<Value>> {
        let values = |schema: &Self| schema.nodes(schema.parts()).find_map(|node| node.options.clone());
        if let Some(values) = values(self) {
            return Some(values);
        }
        // `null` beside the choices of an enum is what an optional one looks like.
        let each = self.alternatives();
        let each = each.iter().map(|schema| values(schema).or_else(|| schema.is_null().then(Vec::new)));
        each.collect::<Option<Vec<_>>>().map(|all| all.concat()).filter(|all| !all.is_empty())
    }

    /// The texts that are listed, if nothing else is allowed apart from null.
    pub fn listed(&self) -> Option<Vec<String>> {
        let texts = self.choices()?.into_iter().filter(|value| !value.is_null()).map(|value| match value {
            Value::String(text) => Some(text),
            _ => None,
        });
        texts.collect::<Option<Vec<_>>>().filter(|texts| !texts.is_empty())
    }

    fn is_null(&self) -> bool {
        self.types() == Some(Types::NULL)
    }

    /// The members of an object.
    pub fn properties(&self) -> Vec<(String, Self)> {
        let mut properties: Vec<(String, Self)> = Vec::new();
        for (name, id) in self.objects().flat_map(|object| &object.properties) {
            if properties.iter().all(|(known, _)| known != name) {
                properties.push((name.clone(), self.at(*id)));
            }
        }
        properties
    }

    /// What an object is made of, also one that may be left out.
    fn objects(&self) -> impl Iterator<Item = &Objects> {
        let mut parts = self.parts();
        let mut others: Vec<_> = self.alternatives().into_iter().filter(|schema| !schema.is_null()).collect();
        if others.len() == 1
            && let Some(only) = others.pop()
        {
            parts.extend(only.parts());
        }
        self.nodes(parts).filter_map(|node| node.object.as_deref())
    }

    /// One member of an object.
    pub fn property(&self, name: &str) -> Option<Self> {
        self.objects().find_map(|object| object.properties.get(name)).map(|id| self.at(*id))
    }

    /// The members that must be there.
    pub fn required(&self) -> Vec<String> {
        self.objects().flat_map(|object| object.required.clone()).collect()
    }

    /// What a member must be that is not named; nothing where there is none. A schema that names some and is silent about others
    /// allows them too, but a name that it does not have is more likely misspelt.
    pub fn unnamed(&self) -> Option<Self> {
        if self.types().is_some_and(|types| !types.has(Types::OBJECT)) {
            return None;
        }
        let mut said = self.objects().map(|object| &object.additional);
        match said.find(|additional| !matches!(additional, Additional::Unsaid)) {
            Some(Additional::Schema(id)) => Some(self.at(*id)),
            Some(Additional::Nothing) => None,
            Some(Additional::Anything) => Some(Self::of(&Value::Bool(true))),
            _ => self.properties().is_empty().then(|| Self::of(&Value::Bool(true))),
        }
    }

    /// What the items of an array must be.
    pub fn items(&self) -> Self {
        let items = |ids: Vec<Id>| self.nodes(ids).find_map(|node| node.array.as_ref()?.items);
        let of_alternatives = || self.alternatives().iter().flat_map(Self::parts).collect();
        let items = items(self.parts()).or_else(|| items(of_alternatives()));
        items.map_or_else(|| Self::of(&Value::Bool(true)), |id| self.at(id))
    }

    /// What the author says about it; what stands here comes before what stands where it refers to.
    pub fn description(&self) -> Option<&str> {
        self.nodes(self.parts()).find_map(|node| node.more.as_ref()?.description.as_deref())
    }

    /// The value of what is left out.
    pub fn default(&self) -> Option<&Value> {
        let mut remarks = self.nodes(self.parts()).flat_map(|node| &node.more).flat_map(|more| &more.remarks);
        remarks.find(|(word, _)| *word == "default").map(|(_, value)| value)
    }

    /// Says in words which text is expected, as a format or a pattern says it; nothing if that is left open.
    pub fn expected_text(&self) -> Option<String> {
        self.expected_within(MAX_TEXT)
    }

    fn expected_within(&self, depth: usize) -> Option<String> {
        let depth = depth.checked_sub(1)?;
        let node = self.model.node(self.id);
        if let Some(name) = node.more.as_ref().and_then(|more| more.format.as_deref()) {
            return Some(match Format::named(name) {
                Some(format) => format.noun.to_owned(),
                None => format!("text of the format `{name}`"),
            });
        }
        if let Some(pattern) = node.text.as_ref().and_then(|text| text.pattern.as_ref()) {
            return Some(format!("text that matches `{}`", pattern.source));
        }
        let items = node.array.iter().filter_map(|array| array.items.as_ref());
        let mut inner = node.all_of.iter().chain(node.branches().flatten()).chain(items);
        inner.find_map(|id| self.at(*id).expected_within(depth))
    }
}

/// How many schemas are looked at that hold at the same time, or of which one holds. Schemas can refer to themselves.
const MAX_PARTS: usize = 64;

/// How deep alternatives in alternatives are looked at.
const MAX_DEPTH: usize = 2;

/// How many steps it may be to what says which text is expected: a type may be described by itself.
const MAX_TEXT: usize = 8;
