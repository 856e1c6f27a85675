//! What does a schema say about one value?
//!
//! Schemas may come from untrusted peers, so everything that is not understood is ignored, and every search is
//! limited.

use std::collections::HashSet;
use std::sync::Arc;

use serde_json::{Map, Value};

use super::node::{Additional, Id, Model, Node, ObjectRules};
use crate::terms::format::Format;
use crate::terms::types::Types;

/// A schema, or a part of one, that is read once and queried often. Cloning it is cheap.
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
        Self { model: Arc::new(Model::for_conversion(schema)), id: 0 }
    }

    /// Reads a schema that refers to separate definitions.
    pub fn with_definitions(mut schema: Value, definitions: Map<String, Value>) -> Self {
        if let Value::Object(members) = &mut schema {
            members.insert("$defs".to_owned(), definitions.into());
        }
        Self::of(&schema)
    }

    fn at(&self, id: Id) -> Self {
        Self { model: self.model.clone(), id }
    }

    /// Returns the model and the index of the node.
    pub(crate) fn model_and_id(&self) -> (&Model, Id) {
        (&self.model, self.id)
    }

    fn nodes(&self, ids: Vec<Id>) -> impl Iterator<Item = &Node> {
        ids.into_iter().map(|id| self.model.node(id))
    }

    /// Returns this schema and all schemas that must also hold.
    fn parts(&self) -> Vec<Id> {
        let mut parts = vec![self.id];
        let mut next = 0;
        while let Some(id) = parts.get(next).filter(|_| parts.len() < MAX_PARTS) {
            next += 1;
            for part in self.model.node(*id).all_of.iter().take(MAX_PARTS) {
                if !parts.contains(part) {
                    parts.push(*part);
                }
            }
        }
        parts
    }

    /// Returns the schemas of which one must hold.
    fn alternatives(&self) -> Vec<Self> {
        let branches = self.nodes(self.parts()).flat_map(Node::branches).flatten();
        branches.take(MAX_PARTS).map(|id| self.at(*id)).collect()
    }

    /// Returns the types that a value may have, or `None` if the schema does not say. A schema with properties but
    /// without a type means an object.
    pub fn types(&self) -> Option<Types> {
        self.types_within(0)
    }

    fn types_within(&self, depth: usize) -> Option<Types> {
        let said = self.model.types(self.id);
        if said != Types::ANY {
            return Some(said).filter(|types| !types.is_empty());
        }
        let meant = self.nodes(self.parts()).map(|node| match (&node.object, &node.array) {
            (Some(object), _) if !object.properties.is_empty() => Types::OBJECT,
            (_, Some(array)) if array.items.is_some() => Types::ARRAY,
            _ => Types::NONE,
        });
        let meant = meant.fold(Types::NONE, Types::or);
        if !meant.is_empty() || depth == MAX_DEPTH {
            return Some(meant).filter(|types| !types.is_empty());
        }
        // If one alternative allows any type, the others add nothing.
        let each = self.alternatives();
        let each = each.iter().map(|schema| schema.types_within(depth + 1));
        each.reduce(|all, one| Some(all?.or(one?))).flatten()
    }

    /// Returns the allowed values, if they are listed.
    pub fn choices(&self) -> Option<Vec<Value>> {
        let values = |schema: &Self| schema.nodes(schema.parts()).find_map(|node| node.allowed.clone());
        if let Some(values) = values(self) {
            return Some(values);
        }
        // `null` beside the values of an enum is the form of an optional enum.
        let each = self.alternatives();
        let each = each.iter().map(|schema| values(schema).or_else(|| schema.is_null().then(Vec::new)));
        each.collect::<Option<Vec<_>>>().map(|all| all.concat()).filter(|all| !all.is_empty())
    }

    /// Returns the allowed texts, if the schema allows only listed texts and null.
    pub fn text_choices(&self) -> Option<Vec<String>> {
        let texts = self.choices()?.into_iter().filter(|value| !value.is_null()).map(|value| match value {
            Value::String(text) => Some(text),
            _ => None,
        });
        texts.collect::<Option<Vec<_>>>().filter(|texts| !texts.is_empty())
    }

    fn is_null(&self) -> bool {
        self.types() == Some(Types::NULL)
    }

    /// Returns the members of an object.
    pub fn properties(&self) -> Vec<(String, Self)> {
        let mut known = HashSet::new();
        let all = self.objects().flat_map(|object| &object.properties);
        all.filter(|(name, _)| known.insert(*name)).map(|(name, id)| (name.clone(), self.at(*id))).collect()
    }

    /// Returns the object rules, also those of an object that may be null.
    fn objects(&self) -> impl Iterator<Item = &ObjectRules> {
        let mut parts = self.parts();
        let mut others: Vec<_> = self.alternatives().into_iter().filter(|schema| !schema.is_null()).collect();
        if others.len() == 1
            && let Some(only) = others.pop()
        {
            parts.extend(only.parts());
        }
        self.nodes(parts).filter_map(|node| node.object.as_deref())
    }

    /// Returns one member of an object.
    pub fn property(&self, name: &str) -> Option<Self> {
        self.objects().find_map(|object| object.properties.get(name)).map(|id| self.at(*id))
    }

    /// Returns the names of the required members.
    pub fn required(&self) -> Vec<String> {
        self.objects().flat_map(|object| object.required.clone()).collect()
    }

    /// Returns the schema of the members that are not named, or `None` if they are not allowed. In JSON Schema, members
    /// that the schema does not mention are allowed. Here they count as not allowed if the schema names other members,
    /// because an unknown name is probably misspelled.
    pub fn additional_properties(&self) -> Option<Self> {
        if self.types().is_some_and(|types| !types.intersects(Types::OBJECT)) {
            return None;
        }
        let mut said = self.objects().map(|object| &object.additional);
        match said.find(|additional| !matches!(additional, Additional::Unspecified)) {
            Some(Additional::Schema(id)) => Some(self.at(*id)),
            Some(Additional::Nothing) => None,
            Some(Additional::Anything) => Some(Self::of(&Value::Bool(true))),
            _ => self.properties().is_empty().then(|| Self::of(&Value::Bool(true))),
        }
    }

    /// Returns the schema of the items of an array.
    pub fn items(&self) -> Self {
        let items = |ids: Vec<Id>| self.nodes(ids).find_map(|node| node.array.as_ref()?.items);
        let of_alternatives = || self.alternatives().iter().flat_map(Self::parts).collect();
        let items = items(self.parts()).or_else(|| items(of_alternatives()));
        items.map_or_else(|| Self::of(&Value::Bool(true)), |id| self.at(id))
    }

    /// Returns the author's description. The schema's own description takes precedence over that of a referenced
    /// schema.
    pub fn description(&self) -> Option<&str> {
        self.nodes(self.parts()).find_map(|node| node.details.as_ref()?.description.as_deref())
    }

    /// Returns the default value.
    pub fn default(&self) -> Option<&Value> {
        let mut remarks =
            self.nodes(self.parts()).flat_map(|node| &node.details).flat_map(|more| &more.annotations);
        remarks.find(|(word, _)| *word == "default").map(|(_, value)| value)
    }

    /// Describes in words which text a format or a pattern expects, or returns `None` if there is neither.
    pub fn expected_text(&self) -> Option<String> {
        self.expected_within(MAX_TEXT, &mut HashSet::new())
    }

    fn expected_within(&self, depth: usize, seen: &mut HashSet<Id>) -> Option<String> {
        let depth = depth.checked_sub(1).filter(|_| seen.insert(self.id))?;
        let node = self.model.node(self.id);
        if let Some(name) = node.details.as_ref().and_then(|more| more.format.as_deref()) {
            return Some(match Format::from_name(name) {
                Some(format) => format.noun.to_owned(),
                None => format!("text of the format `{name}`"),
            });
        }
        if let Some(expected) = node.text.as_ref().and_then(|text| text.expected_text()) {
            return Some(expected);
        }
        let items = node.array.iter().filter_map(|array| array.items.as_ref());
        let mut inner = node.all_of.iter().chain(node.branches().flatten()).chain(items);
        inner.find_map(|id| self.at(*id).expected_within(depth, seen))
    }
}

/// The maximum number of schemas that are searched for rules or alternatives. The limit is needed because a schema can
/// refer to itself.
const MAX_PARTS: usize = 64;

/// The maximum depth of nested alternatives that are searched for types.
const MAX_DEPTH: usize = 2;

/// The maximum number of nested schemas that are searched for a format or a pattern. The limit is needed because a
/// schema can refer to itself.
const MAX_TEXT: usize = 8;
