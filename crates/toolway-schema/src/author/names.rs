//! Do the names that an author writes in a schema and those that the code reads belong together?

use std::collections::{BTreeSet, HashSet};

use serde_json::{Map, Value};

use crate::model::{Additional, Id, Model, Part};
use crate::texts::closest::closest;

/// The names of arguments that the code reads.
#[derive(Debug, Default)]
pub struct Names {
    /// All of them.
    pub read: Vec<String>,
    /// Those that a schema has to describe.
    pub expected: Vec<String>,
    /// Whether the code sees whatever was sent.
    pub sees_all: bool,
}

impl Names {
    /// What is wrong with the names in a schema that replaces the one of the types.
    pub fn disagree(&self, whole: &Value) -> Vec<String> {
        let mut described = Described::default();
        described.look(&Model::of(whole), 0);
        let mut missing: Vec<&str> =
            if described.is_vague { Vec::new() } else { self.undescribed(&described) };
        let mut mistakes = Vec::new();
        for name in described.names.iter().filter(|name| self.is_strange(name)) {
            // A name that is spelled wrongly is one mistake, not two.
            let meant = closest(name, missing.iter().copied()).map(str::to_owned);
            missing.retain(|name| meant.as_deref() != Some(name));
            mistakes.push(strange(name, meant.as_deref()));
        }
        mistakes.extend(
            missing
                .iter()
                .map(|name| format!("it takes the argument `{name}`, which its schema does not describe")),
        );
        mistakes
    }

    /// Properties of a schema that is laid over the one of the types, and that the code does not read.
    pub fn strangers(&self, patch: &Value) -> Vec<String> {
        let described = patch.get("properties").and_then(Value::as_object);
        let names = described.into_iter().flat_map(Map::keys).filter(|name| self.is_strange(name));
        names.map(|name| strange(name, closest(name, self.read.iter().map(String::as_str)))).collect()
    }

    fn undescribed(&self, described: &Described) -> Vec<&str> {
        let names = self.expected.iter().filter(|name| !described.names.contains(*name));
        names.map(String::as_str).collect()
    }

    fn is_strange(&self, name: &str) -> bool {
        !self.sees_all && !self.read.iter().any(|read| read == name)
    }
}

fn strange(name: &str, meant: Option<&str>) -> String {
    let hint = meant.map(|meant| format!(", did you mean `{meant}`?")).unwrap_or_default();
    format!("the schema describes `{name}`, and there is no such argument{hint}")
}

/// The names that a schema describes, wherever in it they stand.
#[derive(Default)]
struct Described {
    names: BTreeSet<String>,
    /// It says something about names that it does not list.
    is_vague: bool,
    seen: HashSet<Id>,
}

impl Described {
    fn look(&mut self, model: &Model, id: Id) {
        if !self.seen.insert(id) {
            return;
        }
        let node = model.node(id);
        if let Some(object) = &node.object {
            self.names.extend(object.properties.keys().cloned());
            self.is_vague |= !object.patterns.is_empty()
                || matches!(object.additional, Additional::Anything | Additional::Schema(_));
        }
        let same_value = node.all_of.iter().chain(node.branches().flatten());
        same_value.for_each(|id| self.look(model, *id));
        let Some(more) = &node.more else { return };
        self.is_vague |= more.mistakes.iter().any(|mistake| mistake.word == "$ref");
        for (word, part) in &more.parts {
            match (*word, part) {
                ("if" | "then" | "else", Part::Schema(id)) => self.look(model, *id),
                ("unevaluatedProperties", Part::Schema(id)) => self.is_vague |= !model.node(*id).is_never,
                (_, Part::Named(named)) => named.iter().for_each(|(_, id)| self.look(model, *id)),
                _ => {}
            }
        }
    }
}
