//! Do the names in an author's schema match the names that the code reads?

use std::collections::{BTreeSet, HashSet};

use serde_json::{Map, Value};

use crate::model::{Additional, Id, KeywordValue, Model};
use crate::texts::closest::closest;

/// The names of the arguments that the code reads.
#[derive(Debug, Default)]
pub struct ArgumentNames {
    /// All names.
    pub read: Vec<String>,
    /// The names that a schema must describe.
    pub expected: Vec<String>,
    /// `true` if the code receives all arguments, whatever their names.
    pub accepts_any: bool,
}

impl ArgumentNames {
    /// Reports wrong and missing names in a schema that the author wrote instead of the schema derived from Rust types.
    pub fn mismatches(&self, whole: &Value) -> Vec<String> {
        let mut described = DescribedNames::default();
        described.collect_names(&Model::for_conversion(whole));
        let mut missing: Vec<&str> =
            if described.allows_others { Vec::new() } else { self.undescribed(&described) };
        let mut mistakes = Vec::new();
        for name in described.names.iter().filter(|name| self.is_unknown(name)) {
            // Report a misspelled name as one mistake, not two.
            let meant = closest(name, missing.iter().copied()).map(str::to_owned);
            missing.retain(|name| meant.as_deref() != Some(name));
            mistakes.push(unknown_name_message(name, meant.as_deref()));
        }
        mistakes.extend(
            missing
                .iter()
                .map(|name| format!("it takes the argument `{name}`, which its schema does not describe")),
        );
        mistakes
    }

    /// Reports the properties of `patch` that the code does not read. The patch is merged into the schema derived from
    /// Rust types.
    pub fn unknown_names(&self, patch: &Value) -> Vec<String> {
        let described = patch.get("properties").and_then(Value::as_object);
        let names = described.into_iter().flat_map(Map::keys).filter(|name| self.is_unknown(name));
        names
            .map(|name| unknown_name_message(name, closest(name, self.read.iter().map(String::as_str))))
            .collect()
    }

    fn undescribed(&self, described: &DescribedNames) -> Vec<&str> {
        let names = self.expected.iter().filter(|name| !described.names.contains(*name));
        names.map(String::as_str).collect()
    }

    fn is_unknown(&self, name: &str) -> bool {
        !self.accepts_any && !self.read.iter().any(|read| read == name)
    }
}

fn unknown_name_message(name: &str, meant: Option<&str>) -> String {
    let hint = meant.map(|meant| format!(", did you mean `{meant}`?")).unwrap_or_default();
    format!("the schema describes `{name}`, but there is no such argument{hint}")
}

/// The names that a schema describes, including those in its branches and references.
#[derive(Default)]
struct DescribedNames {
    names: BTreeSet<String>,
    /// `true` if the schema allows names that it does not list.
    allows_others: bool,
    seen: HashSet<Id>,
}

impl DescribedNames {
    /// Collects the names in the schemas that apply to the same value. References may form long chains, so this is not
    /// a recursion.
    fn collect_names(&mut self, model: &Model) {
        let mut pending = vec![0];
        while let Some(id) = pending.pop() {
            if self.seen.insert(id) {
                self.collect_names_of_node(model, id, &mut pending);
            }
        }
    }

    fn collect_names_of_node(&mut self, model: &Model, id: Id, pending: &mut Vec<Id>) {
        let node = model.node(id);
        if let Some(object) = &node.object {
            self.names.extend(object.properties.keys().cloned());
            self.allows_others |= !object.patterns.is_empty()
                || matches!(object.additional, Additional::Anything | Additional::Schema(_));
        }
        pending.extend(node.all_of.iter().chain(node.branches().flatten()));
        let Some(more) = &node.details else { return };
        self.allows_others |= more.mistakes.iter().any(|mistake| mistake.keyword == "$ref");
        for (word, part) in &more.parts {
            match (*word, part) {
                ("if" | "then" | "else", KeywordValue::Schema(id)) => pending.push(*id),
                ("unevaluatedProperties", KeywordValue::Schema(id)) => {
                    self.allows_others |= !model.node(*id).is_never;
                }
                (_, KeywordValue::Named(named)) => pending.extend(named.iter().map(|(_, id)| *id)),
                _ => {}
            }
        }
    }
}
