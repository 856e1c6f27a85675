//! How is a node split into schemas of one type each?
//!
//! This is needed for providers that require one type per schema, and support neither conditions nor a choice beside
//! other keywords.

use std::collections::HashSet;
use std::rc::Rc;

use serde_json::Value;

use super::description_notes::DescriptionNotes;
use super::json;
use super::loss::{Effect, Losses};
use super::merge::{CopyBudget, are_disjoint, extend_new, intersect, rest_schema};
use super::node::{KeywordValue, Node, Rest, Union};
use crate::terms::number::canonical;
use crate::terms::types::Types;

/// The alternatives for a value, and whether null is one of them.
#[derive(Debug)]
pub(crate) struct Alternatives {
    pub(crate) is_nullable: bool,
    /// The alternatives other than null. Each node has one type and contains no choices.
    pub(crate) nodes: Vec<Node>,
}

/// Splits a node into alternatives. Rules that are lost are described to the model in words.
pub(crate) fn alternatives(
    node: &Node,
    losses: &mut Losses,
    fuel: &mut CopyBudget,
    words: &mut DescriptionNotes,
) -> Alternatives {
    let mut options = Alternatives { is_nullable: false, nodes: Vec::new() };
    let mut base = node.without_annotations();
    let about_all = base
        .keyword_groups
        .iter()
        .position(|other| other.is_unevaluated)
        .map(|index| base.keyword_groups.remove(index));
    let mut todo = vec![base];
    let mut flat = Vec::new();
    while let Some(mut node) = todo.pop() {
        if node.is_never() || node.is_truncated {
            continue;
        }
        drop_conditions(&mut node, losses, words);
        if node.unions.is_empty() {
            flat.push(node);
            continue;
        }
        let union = node.unions.remove(0);
        let word = if union.is_exclusive { "oneOf" } else { "anyOf" };
        if union.is_exclusive && !has_disjoint_branches(&union) {
            losses.add(
                &node.at,
                word,
                Effect::Wider,
                "a rule that only one branch may match cannot be expressed",
            );
        }
        if let Some(values) = as_values(&union, words) {
            let values = Node::of_values(&node.at, values);
            todo.push(Rc::unwrap_or_clone(intersect(node.into(), values.into(), fuel)));
            continue;
        }
        let size = node.size() * union.branches.len()
            + union.branches.iter().map(|branch| branch.size()).sum::<usize>();
        if flat.len() + todo.len() + union.branches.len() > MAX_ALTERNATIVES || !fuel.spend(size) {
            losses.add(
                &node.at,
                word,
                Effect::Wider,
                "the schema is too large when all its branches are written out",
            );
            todo.push(node);
            continue;
        }
        let branches = union.branches.into_iter().rev();
        let node = Rc::new(node);
        todo.extend(branches.map(|branch| Rc::unwrap_or_clone(intersect(Rc::clone(&node), branch, fuel))));
    }
    for mut node in flat {
        if let Some(other) = &about_all {
            for (word, part) in &other.members {
                apply_unevaluated(&mut node, word, part);
            }
        }
        assume_type(&mut node, losses);
        options.is_nullable |= node.types.intersects(Types::NULL);
        for types in [Types::STRING, Types::NUMBER, Types::BOOLEAN, Types::ARRAY, Types::OBJECT] {
            let types = node.types.and(types);
            if types.is_empty() {
                continue;
            }
            let mut one = Node { types, ..node.clone() };
            one.reconcile();
            if !one.is_never() && !options.nodes.contains(&one) {
                options.nodes.push(one);
            }
        }
    }
    options
}

/// Moves rules that only a full JSON Schema can express into words.
fn drop_conditions(node: &mut Node, losses: &mut Losses, words: &mut DescriptionNotes) {
    for other in std::mem::take(&mut node.keyword_groups) {
        let word = other.members.first().map_or("", |(word, _)| word);
        losses.add(&node.at, word, Effect::Wider, "conditions cannot be expressed");
        words.add_schema(&json::keyword_group_json(&other));
    }
    for more in std::mem::take(&mut node.all_of) {
        losses.add(&node.at, "allOf", Effect::Wider, "the parts cannot be merged");
        words.add_schema(&json::plain_schema(&more));
    }
}

/// Applies an `unevaluated…` keyword to a node without choices, where it is known which members and items are not
/// evaluated.
fn apply_unevaluated(node: &mut Node, word: &str, part: &KeywordValue) {
    let KeywordValue::Schema(inner) = part else { return };
    if word == "unevaluatedItems" {
        node.array.items.get_or_insert_with(|| inner.clone());
    } else if node.object.rest == Rest::Unspecified {
        node.object.rest = if inner.is_never() { Rest::Closed } else { Rest::Schema(inner.clone()) };
    }
}

/// Sets a missing type to the one that the keywords apply to: a schema with properties but without a type means an
/// object.
fn assume_type(node: &mut Node, losses: &mut Losses) {
    let subjects = node.constrained_types();
    let is_one = [Types::STRING, Types::NUMBER, Types::ARRAY, Types::OBJECT].contains(&subjects);
    if node.types == Types::ANY && node.allowed.is_none() && is_one {
        losses.add(
            &node.at,
            "type",
            Effect::Narrower,
            "the schema has no type, so the type that its keywords apply to is used",
        );
        node.types = subjects;
    }
}

/// Turns a choice between values into a list of them. The descriptions of the values are added to the words.
fn as_values(union: &Union, words: &mut DescriptionNotes) -> Option<Vec<Value>> {
    let mut values = Vec::new();
    let mut known = HashSet::new();
    for branch in &union.branches {
        let allowed = branch.allowed.as_ref()?;
        if !branch.has_no_other_rules() {
            return None;
        }
        values.extend(allowed.iter().filter(|value| known.insert(canonical(value))).cloned());
    }
    for branch in &union.branches {
        if let (Some([value]), Some(about)) =
            (branch.allowed.as_deref(), branch.description.as_ref().or(branch.title.as_ref()))
        {
            words.add(format!("{value}: {about}"));
        }
    }
    Some(values)
}

/// Returns whether no value fits two branches.
fn has_disjoint_branches(union: &Union) -> bool {
    let branches = &union.branches;
    branches.len() <= MAX_ALTERNATIVES
        && branches.iter().enumerate().all(|(index, a)| {
            branches[index + 1..]
                .iter()
                .all(|b| a.unions.is_empty() && b.unions.is_empty() && are_disjoint(a, b))
        })
}

/// Returns the properties of an object, including those that are required but not described, and whether each is
/// required. Returns `None` if no object can satisfy the schema.
pub(crate) fn properties(node: &Node) -> Option<Vec<(String, Rc<Node>, bool)>> {
    let object = &node.object;
    let required: HashSet<&str> = object.required.iter().map(String::as_str).collect();
    let named: HashSet<&str> = object.properties.iter().map(|(name, _)| name.as_str()).collect();
    let mut properties: Vec<_> = object
        .properties
        .iter()
        .map(|(name, property)| (name.clone(), property.clone(), required.contains(name.as_str())))
        .collect();
    for name in object.required.iter().filter(|name| !named.contains(name.as_str())) {
        let property = rest_schema(&object.rest, &node.at).filter(|_| object.patterns.is_empty());
        properties.push((name.clone(), property.unwrap_or_else(|| Node::any(&node.at).into()), true));
    }
    let is_possible =
        properties.iter().all(|(_, property, is_required)| !(*is_required && property.is_never()));
    is_possible.then_some(properties)
}

/// Returns the schema of any item of an array, even if each position has a schema of its own. Returns `None` if every
/// item is allowed.
pub(crate) fn any_item(node: &Node, losses: &mut Losses, words: &mut DescriptionNotes) -> Option<Rc<Node>> {
    let array = &node.array;
    if array.prefix.is_empty() {
        return array.items.clone();
    }
    losses.add(
        &node.at,
        "prefixItems",
        Effect::Wider,
        "a separate schema for each position cannot be expressed",
    );
    let places =
        array.prefix.iter().map(|place| json::plain_schema(place).to_string()).collect::<Vec<_>>().join(", ");
    words.add(format!("The items in order: {places}."));
    // A schema that no item can satisfy is left out.
    let rest = array.items.as_ref().filter(|items| !items.is_never());
    let is_open =
        array.items.is_none() && array.count.max.is_none_or(|most| most > array.prefix.len() as u64);
    if is_open {
        let why = "items after the last one with a schema may be anything, which cannot be expressed";
        losses.add(&node.at, "items", Effect::Narrower, why);
    }
    let mut branches = Vec::new();
    extend_new(&mut branches, array.prefix.iter().chain(rest).cloned());
    if branches.len() == 1 {
        return branches.pop();
    }
    Some(Node { unions: vec![Union { branches, is_exclusive: false }], ..Node::any(&node.at) }.into())
}

/// Returns the maximum number of items; a closed tuple ends after its last position.
pub(crate) fn max_items(node: &Node) -> Option<u64> {
    let array = &node.array;
    let is_closed = array.items.as_deref().is_some_and(Node::is_never);
    let places = is_closed.then_some(array.prefix.len() as u64);
    array.count.max.into_iter().chain(places).min()
}

/// The maximum number of branches that are expanded.
const MAX_ALTERNATIVES: usize = 32;
