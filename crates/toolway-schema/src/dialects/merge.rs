//! How are two schemas that must both hold merged into one, and how are alternatives merged?

use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use serde_json::Number;

use super::node::{Node, ObjectRules, Rest, Union};
use crate::model::CountLimits;
use crate::terms::number::{self, canonical};
use crate::terms::types::Types;

/// The number of nodes that may still be copied.
#[derive(Debug)]
pub(crate) struct CopyBudget(pub(super) usize);

impl CopyBudget {
    /// Subtracts the nodes, if enough are left. Returns whether there were enough.
    pub(crate) fn spend(&mut self, nodes: usize) -> bool {
        let left = self.0.checked_sub(nodes);
        self.0 = left.unwrap_or(self.0);
        left.is_some()
    }
}

/// Returns a node for the values that fit both nodes. Its annotations come from the first node that has any.
pub(crate) fn intersect(a: Rc<Node>, b: Rc<Node>, fuel: &mut CopyBudget) -> Rc<Node> {
    let has_remarks =
        |node: &Node| node.title.is_some() || node.description.is_some() || !node.annotations.is_empty();
    if a.is_any() && !has_remarks(&a) {
        return b;
    }
    if b.is_any() && !has_remarks(&b) {
        return a;
    }
    let types = a.types.and(b.types);
    // If one node was cut, the rules of the other are still known.
    let is_cut = (a.is_truncated && (b.is_truncated || b.is_any())) || (b.is_truncated && a.is_any());
    // A node is not merged if one of its keywords depends on all other keywords. Objects with patterns are merged only
    // if they are equal, because it is unknown which names match a pattern.
    let is_apart = a.has_unevaluated()
        || b.has_unevaluated()
        || ((!a.object.patterns.is_empty() || !b.object.patterns.is_empty()) && a.object != b.object)
        || !fuel.spend(copied_nodes(&a, &b) + copied_nodes(&b, &a));
    if is_apart {
        let all_of = vec![a.without_annotations().into(), b.without_annotations().into()];
        let mut apart = Node { types, is_truncated: is_cut, all_of, ..Node::any(&a.at) };
        apart.title = a.title.clone().or_else(|| b.title.clone());
        apart.description = a.description.clone().or_else(|| b.description.clone());
        apart.annotations =
            if a.annotations.is_empty() { b.annotations.clone() } else { a.annotations.clone() };
        return apart.into();
    }
    let (mut both, b) = (Rc::unwrap_or_clone(a), Rc::unwrap_or_clone(b));
    both.types = types;
    both.is_truncated = is_cut;
    both.title = both.title.or(b.title);
    both.description = both.description.or(b.description);
    for (word, value) in b.annotations {
        if !both.annotations.iter().any(|(known, _)| *known == word) {
            both.annotations.push((word, value));
        }
    }
    both.allowed = both.allowed.into_iter().chain(b.allowed).reduce(|a, b| {
        let b: HashSet<_> = b.iter().map(canonical).collect();
        a.into_iter().filter(|value| b.contains(&canonical(value))).collect()
    });
    both.text.count = intersect_counts(both.text.count, b.text.count);
    extend_new(&mut both.text.patterns, b.text.patterns);
    extend_new(&mut both.text.formats, b.text.formats);
    both.number.minimum = tighter(both.number.minimum, b.number.minimum, Ordering::Greater);
    both.number.exclusive_minimum =
        tighter(both.number.exclusive_minimum, b.number.exclusive_minimum, Ordering::Greater);
    both.number.maximum = tighter(both.number.maximum, b.number.maximum, Ordering::Less);
    both.number.exclusive_maximum =
        tighter(both.number.exclusive_maximum, b.number.exclusive_maximum, Ordering::Less);
    extend_new(&mut both.number.multiple_of, b.number.multiple_of);
    both.array.is_unique |= b.array.is_unique;
    both.array.count = intersect_counts(both.array.count, b.array.count);
    let (prefix, items) = (std::mem::take(&mut both.array.prefix), both.array.items.take());
    let length = prefix.len().max(b.array.prefix.len());
    let (mut ours, mut theirs) = (prefix.into_iter(), b.array.prefix.into_iter());
    for _ in 0..length {
        let one = ours.next().or_else(|| items.clone());
        let other = theirs.next().or_else(|| b.array.items.clone());
        both.array.prefix.extend(intersect_optional(one, other, fuel));
    }
    both.array.items = intersect_optional(items, b.array.items, fuel);
    both.object = intersect_members(both.object, b.object, fuel);
    both.unions.extend(b.unions);
    both.all_of.extend(b.all_of);
    extend_new(&mut both.keyword_groups, b.keyword_groups);
    both.reconcile();
    both.into()
}

/// Returns the number of nodes of `one` that a merge copies for the members of `other`.
fn copied_nodes(one: &Node, other: &Node) -> usize {
    let rest = match &one.object.rest {
        Rest::Schema(node) if !other.object.properties.is_empty() => {
            node.size() * other.object.properties.len()
        }
        _ => 0,
    };
    let items = match &one.array.items {
        Some(node) if !other.array.prefix.is_empty() => node.size() * other.array.prefix.len(),
        _ => 0,
    };
    rest + items
}

fn intersect_optional(a: Option<Rc<Node>>, b: Option<Rc<Node>>, fuel: &mut CopyBudget) -> Option<Rc<Node>> {
    a.into_iter().chain(b).reduce(|a, b| intersect(a, b, fuel))
}

fn intersect_members(a: ObjectRules, b: ObjectRules, fuel: &mut CopyBudget) -> ObjectRules {
    let mut theirs: HashMap<_, _> = b.properties.iter().cloned().collect();
    let mut properties = Vec::new();
    for (name, node) in a.properties {
        let other = theirs.remove(&name).or_else(|| rest_schema(&b.rest, &node.at));
        properties.extend(intersect_optional(Some(node), other, fuel).map(|node| (name, node)));
    }
    for (name, _) in b.properties {
        let Some(node) = theirs.remove(&name) else { continue };
        let other = rest_schema(&a.rest, &node.at);
        properties.extend(intersect_optional(Some(node), other, fuel).map(|node| (name, node)));
    }
    let rest = match (a.rest, b.rest) {
        (Rest::Closed, _) | (_, Rest::Closed) => Rest::Closed,
        (Rest::Schema(a), Rest::Schema(b)) => Rest::Schema(intersect(a, b, fuel)),
        (Rest::Schema(node), Rest::Unspecified) | (Rest::Unspecified, Rest::Schema(node)) => {
            Rest::Schema(node)
        }
        (Rest::Unspecified, Rest::Unspecified) => Rest::Unspecified,
    };
    let mut required = a.required;
    extend_names(&mut required, b.required);
    // The patterns are equal; otherwise the two nodes would not have been merged.
    let patterns = a.patterns;
    ObjectRules { properties, patterns, rest, required, count: intersect_counts(a.count, b.count) }
}

/// Returns the schema of the properties that are not named.
pub(crate) fn rest_schema(rest: &Rest, at: &str) -> Option<Rc<Node>> {
    match rest {
        Rest::Unspecified => None,
        Rest::Closed => Some(Node::never(at).into()),
        Rest::Schema(node) => Some(Rc::clone(node)),
    }
}

/// Combines the branches of a choice into one object: it has the properties of all branches, and a property is
/// required if all branches require it. The object allows everything that the branches allow, and more.
pub(crate) fn union_of_objects(at: &str, branches: Vec<Node>) -> Rc<Node> {
    let mut joined = Node::of_types(at, Types::OBJECT);
    let mut required: Option<Vec<String>> = None;
    let mut properties: Vec<(String, Vec<Rc<Node>>)> = Vec::new();
    let mut places = HashMap::new();
    let mut is_closed = true;
    for branch in branches {
        let ObjectRules { properties: ours, rest, required: needed, .. } = branch.object;
        required = Some(match required {
            None => needed,
            Some(before) => {
                let needed: HashSet<_> = needed.into_iter().collect();
                before.into_iter().filter(|name| needed.contains(name)).collect()
            }
        });
        is_closed &= rest == Rest::Closed;
        for (name, node) in ours {
            let place = *places.entry(name.clone()).or_insert(properties.len());
            match properties.get_mut(place) {
                Some((_, nodes)) if nodes.contains(&node) => {}
                Some((_, nodes)) => nodes.push(node),
                None => properties.push((name, vec![node])),
            }
        }
    }
    joined.object.required = required.unwrap_or_default();
    joined.object.rest = if is_closed { Rest::Closed } else { Rest::Unspecified };
    joined.object.properties = properties
        .into_iter()
        .map(|(name, mut nodes)| {
            // A property of only one branch needs no choice.
            if nodes.len() == 1
                && let Some(only) = nodes.pop()
            {
                return (name, only);
            }
            let at = nodes.first().map(|node| node.at.clone()).unwrap_or_default();
            let union = Union { branches: nodes, is_exclusive: false };
            (name, Node { unions: vec![union], ..Node::any(&at) }.into())
        })
        .collect();
    joined.into()
}

/// Returns whether no value can fit both nodes.
pub(crate) fn are_disjoint(a: &Node, b: &Node) -> bool {
    if !a.types.intersects(b.types) {
        return true;
    }
    if let (Some(ours), Some(theirs)) = (&a.allowed, &b.allowed) {
        let theirs: HashSet<_> = theirs.iter().map(canonical).collect();
        return !ours.iter().any(|value| theirs.contains(&canonical(value)));
    }
    // Objects with a tag property.
    let are_objects = a.types == Types::OBJECT && b.types == Types::OBJECT;
    are_objects
        && a.object.properties.iter().any(|(name, node)| {
            node.allowed.is_some()
                && a.object.requires(name)
                && b.object.requires(name)
                && b.object
                    .get(name)
                    .is_some_and(|other| other.allowed.is_some() && are_disjoint(node, other))
        })
}

/// Returns the stricter of two bounds.
pub(crate) fn tighter(a: Option<Number>, b: Option<Number>, wanted: Ordering) -> Option<Number> {
    a.into_iter().chain(b).reduce(|a, b| if number::compare(&b, &a) == Some(wanted) { b } else { a })
}

fn intersect_counts(a: CountLimits, b: CountLimits) -> CountLimits {
    CountLimits { min: a.min.max(b.min), max: a.max.into_iter().chain(b.max).min() }
}

/// Adds the names that are not present yet; there may be thousands.
pub(crate) fn extend_names(names: &mut Vec<String>, more: Vec<String>) {
    let known: HashSet<_> = names.iter().cloned().collect();
    names.extend(more.into_iter().filter(|name| !known.contains(name)));
}

/// Adds the items that are not present yet.
pub(crate) fn extend_new<T: PartialEq>(list: &mut Vec<T>, more: impl IntoIterator<Item = T>) {
    for item in more {
        if !list.contains(&item) {
            list.push(item);
        }
    }
}
