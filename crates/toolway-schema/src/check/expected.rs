//! Which text does a schema expect at a path, in words?

use std::collections::HashSet;

use crate::model::{Additional, Id, Model, Node};

/// A step of a path into a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step<'s> {
    /// The member of an object.
    Member(&'s str),
    /// The item of an array.
    Item(usize),
}

/// Describes in words which text a format or a pattern expects at a path.
pub(super) fn expected_text<'s>(model: &Model, path: impl IntoIterator<Item = Step<'s>>) -> Option<String> {
    let mut ids = vec![0];
    for step in path {
        ids = with_parts(model, ids).into_iter().filter_map(|id| inner(model.node(id), step)).collect();
    }
    let mut nodes = with_parts(model, ids).into_iter().map(|id| model.node(id));
    nodes.find_map(|node| node.text.as_ref()?.expected_text())
}

/// Returns the schemas, and those that they refer to or include, each once.
fn with_parts(model: &Model, mut ids: Vec<Id>) -> Vec<Id> {
    let mut seen = HashSet::new();
    ids.retain(|id| seen.insert(*id));
    let mut next = 0;
    while let Some(id) = ids.get(next) {
        next += 1;
        let node = model.node(*id);
        ids.extend(node.all_of.iter().chain(node.branches().flatten()).filter(|id| seen.insert(**id)));
    }
    ids
}

/// Returns the schema of an inner value.
fn inner(node: &Node, step: Step<'_>) -> Option<Id> {
    match step {
        Step::Member(name) => {
            let object = node.object.as_ref()?;
            let additional = match object.additional {
                Additional::Schema(id) => Some(id),
                _ => None,
            };
            object.properties.get(name).copied().or(additional)
        }
        Step::Item(index) => {
            let array = node.array.as_ref()?;
            array.prefix.get(index).copied().or(array.items)
        }
    }
}
