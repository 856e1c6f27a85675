//! What does a schema say about one argument?
//!
//! Schemas come from servers, so whatever is not understood is taken to say nothing.

use std::collections::BTreeSet;
use std::sync::Arc;

use toolway::RawJson;

use crate::json::{self, Tree};

/// How many references are followed one after the other.
const MAX_REFERENCES: usize = 16;

/// How many schemas are looked at that hold at the same time, or of which one holds. Schemas can refer to themselves.
const MAX_PARTS: usize = 64;

/// How deep alternatives in alternatives are looked at, and lists in lists.
const MAX_DEPTH: usize = 2;

/// A schema, or a part of one.
#[derive(Debug, Clone)]
pub(crate) struct Schema {
    /// Where references point into.
    root: Arc<Tree>,
    here: Arc<Tree>,
}

/// A type of JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    String,
    Integer,
    Number,
    Boolean,
    Array,
    Object,
    Null,
}

impl Kind {
    fn named(name: &str) -> Option<Self> {
        Some(match name {
            "string" => Self::String,
            "integer" => Self::Integer,
            "number" => Self::Number,
            "boolean" => Self::Boolean,
            "array" => Self::Array,
            "object" => Self::Object,
            "null" => Self::Null,
            _ => return None,
        })
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::String => "string",
            Self::Integer => "integer",
            Self::Number => "number",
            Self::Boolean => "boolean",
            Self::Array => "array",
            Self::Object => "object",
            Self::Null => "null",
        }
    }

    /// The type of a value.
    fn of(value: &RawJson) -> Self {
        match value.as_bytes().first() {
            Some(b'"') => Self::String,
            Some(b't' | b'f') => Self::Boolean,
            Some(b'n') => Self::Null,
            Some(b'[') => Self::Array,
            Some(b'{') => Self::Object,
            _ => Self::Number,
        }
    }
}

impl Schema {
    pub(crate) fn of(text: &RawJson) -> Self {
        let tree = Tree::of(text);
        Self { root: tree.clone(), here: tree }
    }

    fn at(&self, here: &Arc<Tree>) -> Self {
        Self { root: self.root.clone(), here: here.clone() }
    }

    /// A schema that says nothing.
    fn of_anything() -> Self {
        Self::of(&RawJson::from(serde_json::json!({})))
    }

    fn member(&self, name: &str) -> Option<&Arc<Tree>> {
        self.here.member(name)
    }

    fn schemas(&self, name: &str) -> Vec<Self> {
        let items = self.member(name).and_then(|items| items.items()).unwrap_or_default();
        items.iter().map(|item| self.at(item)).collect()
    }

    /// The schema that is meant, where this one refers to another. What stands beside the reference is kept for words.
    fn resolved(&self) -> Self {
        let mut at = self.clone();
        for _ in 0..MAX_REFERENCES {
            let Some(pointer) = at.member("$ref").and_then(|reference| reference.text()) else { break };
            let Some(found) = pointer.strip_prefix('#').and_then(|pointer| point(&self.root, pointer)) else {
                break;
            };
            at = self.at(&found);
        }
        at
    }

    /// This schema and all that hold at the same time.
    fn parts(&self) -> Vec<Self> {
        let mut parts = Vec::new();
        let mut waiting = vec![self.clone()];
        while let Some(part) = waiting.pop()
            && parts.len() < MAX_PARTS
        {
            let part = part.resolved();
            waiting.extend(part.schemas("allOf").into_iter().rev());
            parts.push(part);
        }
        parts
    }

    /// The schemas of which one holds.
    fn alternatives(&self) -> Vec<Self> {
        let parts = self.parts();
        let all = parts.iter().flat_map(|part| [part.schemas("anyOf"), part.schemas("oneOf")].concat());
        all.take(MAX_PARTS).collect()
    }

    /// The types that a value may have; none, where the schema does not say.
    pub(crate) fn kinds(&self) -> BTreeSet<Kind> {
        self.kinds_within(0)
    }

    fn kinds_within(&self, depth: usize) -> BTreeSet<Kind> {
        let mut kinds = BTreeSet::new();
        for part in self.parts() {
            if let Some(named) = part.member("type") {
                let names = named.items().unwrap_or(std::slice::from_ref(named));
                kinds.extend(names.iter().filter_map(|name| Kind::named(&name.text()?)));
            } else if let Some(values) = part.values() {
                kinds.extend(values.iter().map(Kind::of));
            } else if part.member("properties").is_some() {
                kinds.insert(Kind::Object);
            } else if part.member("items").is_some() {
                kinds.insert(Kind::Array);
            }
        }
        if kinds.is_empty() && depth < MAX_DEPTH {
            let alternatives: Vec<_> =
                self.alternatives().iter().map(|schema| schema.kinds_within(depth + 1)).collect();
            // One that takes anything makes the others say nothing.
            if alternatives.iter().all(|kinds| !kinds.is_empty()) {
                kinds.extend(alternatives.into_iter().flatten());
            }
        }
        kinds
    }

    fn values(&self) -> Option<Vec<RawJson>> {
        let listed = self.member("enum").and_then(|values| values.items());
        let listed = listed.or_else(|| self.member("const").map(std::slice::from_ref));
        listed.map(|values| values.iter().map(|value| value.value.clone()).collect())
    }

    /// The values there are, where they are counted.
    pub(crate) fn choices(&self) -> Option<Vec<RawJson>> {
        if let Some(values) = self.parts().iter().find_map(Self::values) {
            return Some(values);
        }
        let alternatives = self.alternatives();
        if alternatives.is_empty() {
            return None;
        }
        // `null` beside the choices of an enum is what an optional one looks like.
        let each = alternatives.iter().map(|schema| match schema.parts().iter().find_map(Self::values) {
            Some(values) => Some(values),
            None => schema.is_null().then(Vec::new),
        });
        let all: Option<Vec<_>> = each.collect();
        all.map(|all| all.concat()).filter(|all| !all.is_empty())
    }

    fn is_null(&self) -> bool {
        self.kinds().iter().eq([&Kind::Null])
    }

    /// The members of an object, in their order.
    pub(crate) fn properties(&self) -> Vec<(String, Self)> {
        let mut properties: Vec<(String, Self)> = Vec::new();
        for part in self.objects() {
            for (name, schema) in part.member("properties").map(|all| all.members()).unwrap_or_default() {
                if properties.iter().all(|(known, _)| known != name) {
                    properties.push((name.clone(), self.at(schema)));
                }
            }
        }
        properties
    }

    /// What an object is made of, also one that may be left out.
    fn objects(&self) -> Vec<Self> {
        let mut parts = self.parts();
        let mut others: Vec<_> = self.alternatives().into_iter().filter(|schema| !schema.is_null()).collect();
        if others.len() == 1
            && let Some(only) = others.pop()
        {
            parts.extend(only.parts());
        }
        parts
    }

    pub(crate) fn property(&self, name: &str) -> Option<Self> {
        self.properties().into_iter().find(|(known, _)| known == name).map(|(_, schema)| schema)
    }

    /// The members that must be there.
    pub(crate) fn required(&self) -> Vec<String> {
        let mut required = Vec::new();
        for part in self.objects() {
            let names = part.member("required").and_then(|names| names.items()).unwrap_or_default();
            required.extend(names.iter().filter_map(|name| name.text()));
        }
        required
    }

    /// Whether an object may have members that are not named: because the schema says so, or names none. A schema that names some
    /// and is silent about others allows them too, but a name that it does not have is more likely misspelt.
    pub(crate) fn is_open(&self) -> bool {
        let kinds = self.kinds();
        if !kinds.is_empty() && !kinds.contains(&Kind::Object) {
            return false;
        }
        match self.additional() {
            Some(more) => more.here.value.as_str() != "false",
            None => self.properties().is_empty(),
        }
    }

    /// What a member must be that is not named.
    pub(crate) fn more(&self) -> Self {
        self.additional().unwrap_or_else(Self::of_anything)
    }

    fn additional(&self) -> Option<Self> {
        self.objects().iter().find_map(|part| part.member("additionalProperties").map(|more| self.at(more)))
    }

    /// What the items of an array must be.
    pub(crate) fn items(&self) -> Self {
        let items =
            |parts: Vec<Self>| parts.iter().find_map(|part| part.member("items").map(|items| self.at(items)));
        let of_alternatives = || self.alternatives().into_iter().flat_map(|schema| schema.parts()).collect();
        items(self.parts()).or_else(|| items(of_alternatives())).unwrap_or_else(Self::of_anything)
    }

    pub(crate) fn description(&self) -> Option<String> {
        self.said("description").and_then(|text| text.text())
    }

    pub(crate) fn default(&self) -> Option<RawJson> {
        self.said("default").map(|default| default.value.clone())
    }

    /// Something about this schema: what stands here comes before what stands where it refers to.
    fn said(&self, name: &str) -> Option<Arc<Tree>> {
        self.member(name).cloned().or_else(|| self.parts().iter().find_map(|part| part.member(name).cloned()))
    }

    /// What may stand there, in words: `string`, `integer or null`, `list of string`, `one of a, b`.
    pub(crate) fn words(&self) -> String {
        self.words_within(0)
    }

    fn words_within(&self, depth: usize) -> String {
        if let Some(choices) = self.choices() {
            let choices: Vec<_> = choices.iter().map(shown).collect();
            return format!("one of {}", choices.join(", "));
        }
        let kinds = self.kinds();
        if kinds.is_empty() {
            return "anything".to_owned();
        }
        let words = kinds.iter().map(|kind| match kind {
            Kind::Array => {
                let items = self.items();
                if depth == MAX_DEPTH || items.kinds().is_empty() && items.choices().is_none() {
                    "list".to_owned()
                } else {
                    format!("list of {}", items.words_within(depth + 1))
                }
            }
            kind => kind.name().to_owned(),
        });
        words.collect::<Vec<_>>().join(" or ")
    }
}

/// A value as a person would write it.
pub(crate) fn shown(value: &RawJson) -> String {
    json::text(value).unwrap_or_else(|| value.as_str().to_owned())
}

/// What a JSON pointer leads to.
fn point(root: &Arc<Tree>, pointer: &str) -> Option<Arc<Tree>> {
    let mut at = root;
    for step in pointer.split('/').skip(1) {
        let step = step.replace("~1", "/").replace("~0", "~");
        at = match at.items() {
            Some(items) => items.get(step.parse::<usize>().ok()?)?,
            None => at.member(&step)?,
        };
    }
    Some(at.clone())
}
