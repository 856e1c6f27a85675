//! How is the root of a schema turned into an object, as arguments require?
//!
//! Providers require a root that is only an object: without a choice, a list of values or `not`. A choice becomes one
//! object with the properties of all branches, and the description tells the model which properties belong together.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use super::description_notes::DescriptionNotes;
use super::loss::{Effect, Losses};
use super::merge::{CopyBudget, extend_names, intersect, rest_schema, union_of_objects};
use super::node::{Node, Rest};
use crate::model::CountLimits;
use crate::terms::types::Types;

/// Turns the root into an object without choices. Also returns the sentences to add to its description.
pub(crate) fn as_object(
    mut node: Node,
    losses: &mut Losses,
    fuel: &mut CopyBudget,
) -> (Node, DescriptionNotes) {
    let mut words = DescriptionNotes::default();
    if !node.types.intersects(Types::OBJECT) {
        losses.add(
            &node.at,
            "type",
            Effect::Wider,
            "arguments are always an object, which this schema does not allow",
        );
        let description = node.description.take();
        return (Node { description, ..Node::of_types(&node.at, Types::OBJECT) }, words);
    }
    node.types = Types::OBJECT;
    if let Some(values) = node.allowed.take() {
        losses.add(&node.at, "enum", Effect::Wider, "the root may not be a list of values");
        words.add_keyword("enum", &values.into());
    }
    for residue in std::mem::take(&mut node.all_of) {
        let (residue, _) = as_object(Rc::unwrap_or_clone(residue), losses, fuel);
        absorb(&mut node, residue, losses, fuel);
    }
    for union in std::mem::take(&mut node.unions) {
        let word = if union.is_exclusive { "oneOf" } else { "anyOf" };
        let branches = union.branches.into_iter().filter(|branch| branch.types.intersects(Types::OBJECT));
        let branches: Vec<_> =
            branches.map(|branch| as_object(Rc::unwrap_or_clone(branch), losses, fuel).0).collect();
        let why = "the root may not be a choice, so the properties of all branches are put into one object";
        losses.add(&node.at, word, Effect::Wider, why);
        // If a branch does not name a property, the property may have any value there, or is not allowed.
        let properties = branches.iter().flat_map(|branch| &branch.object.properties);
        let names: HashSet<&str> = properties.map(|(name, _)| name.as_str()).collect();
        let is_missed = branches
            .iter()
            .any(|branch| branch.object.rest != Rest::Closed && branch.object.properties.len() < names.len());
        if is_missed {
            losses.add(&node.at, word, Effect::Narrower, why);
        }
        describe_branches(&branches, &mut words);
        for branch in &branches {
            report_unmerged(branch, losses);
        }
        let joined = union_of_objects(&node.at, branches);
        node = Rc::unwrap_or_clone(intersect(node.into(), joined, fuel));
        // Nodes that could not be merged are still separate.
        for residue in std::mem::take(&mut node.all_of) {
            absorb(&mut node, Rc::unwrap_or_clone(residue), losses, fuel);
        }
    }
    (node, words)
}

/// Merges as much as possible of another object that must also hold.
fn absorb(node: &mut Node, other: Node, losses: &mut Losses, fuel: &mut CopyBudget) {
    report_unmerged(&other, losses);
    let places = node.object.properties.iter().enumerate();
    let places: HashMap<_, _> = places.map(|(place, (name, _))| (name.clone(), place)).collect();
    for (name, property) in other.object.properties {
        if let Some((_, known)) = places.get(&name).and_then(|place| node.object.properties.get_mut(*place)) {
            *known = intersect(Rc::clone(known), property, fuel);
            continue;
        }
        let rest = rest_schema(&node.object.rest, &property.at).filter(|_| node.object.patterns.is_empty());
        let property = match rest {
            Some(rest) => intersect(property, rest, fuel),
            None => property,
        };
        node.object.properties.push((name, property));
    }
    extend_names(&mut node.object.required, other.object.required);
    node.object.count.min = node.object.count.min.max(other.object.count.min);
}

/// Reports the rules of an object that [`absorb`] does not merge.
fn report_unmerged(object: &Node, losses: &mut Losses) {
    let members = &object.object;
    let has_rest = members.rest != Rest::Unspecified || !members.patterns.is_empty();
    let has_counts = members.count != CountLimits::default();
    if has_rest || has_counts || !object.keyword_groups.is_empty() {
        let why = "it is in a branch of the root, and the root may not have branches";
        losses.add(&object.at, "additionalProperties", Effect::Wider, why);
    }
}

/// Describes which properties belong together.
fn describe_branches(branches: &[Node], words: &mut DescriptionNotes) {
    let required = branches.iter().map(|branch| branch.object.required.iter().map(String::as_str));
    let required: Vec<HashSet<&str>> = required.map(Iterator::collect).collect();
    let common = |name: &String| required.iter().all(|names| names.contains(name.as_str()));
    let needs = branches.iter().map(|branch| {
        let needed: Vec<_> = branch.object.required.iter().filter(|name| !common(name)).collect();
        needed.into_iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(" and ")
    });
    let needs: Vec<_> = needs.collect();
    if needs.len() > 1 && needs.iter().all(|need| !need.is_empty()) {
        words.add(format!("Give one of: {}.", needs.join("; ")));
    }
}
