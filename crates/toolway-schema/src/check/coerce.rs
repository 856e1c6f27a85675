//! How is a value of the wrong type converted, if its content is right?
//!
//! A value is converted only if the schema makes the result unambiguous. A value is left unchanged if its type is
//! allowed, or if two branches would accept the converted value.

use std::cell::RefCell;
use std::collections::HashSet;

use serde_json::{Map, Value};

use super::walk::Walk;
use crate::model::{Additional, Id, Model, Node, ObjectRules, Pattern};
use crate::terms::number;
use crate::terms::types::Types;
use crate::terms::work::{Budget, STEP};

/// Converts all values that can be converted. Returns whether anything changed.
pub(crate) fn coerce(model: &Model, value: &mut Value) -> bool {
    Coercer::new(model, Extent::Everything).value(&[0], value, 0)
}

/// Removes the nulls that count as absent.
pub(crate) fn drop_nulls(model: &Model, value: &mut Value) {
    Coercer::new(model, Extent::Nulls).value(&[0], value, 0);
}

/// Returns whether the value contains a `null`.
pub(crate) fn has_null(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(items) => items.iter().any(has_null),
        Value::Object(members) => members.values().any(has_null),
        _ => false,
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Extent {
    Nulls,
    Everything,
}

struct Coercer<'p> {
    model: &'p Model,
    extent: Extent,
    /// When the budget is spent, the remaining values stay as they are, and are reported if their types are wrong.
    budget: Budget,
    /// Answers which properties may be null.
    walk: RefCell<Walk<'p>>,
}

impl<'p> Coercer<'p> {
    fn new(model: &'p Model, extent: Extent) -> Self {
        Self { model, extent, budget: Budget::new(), walk: RefCell::new(Walk::new(model)) }
    }

    /// Converts a value that all of these schemas apply to: a conversion for one of them must be acceptable to the
    /// others. `depth` is the number of arrays and objects that contain the value.
    fn value(&self, ids: &[Id], value: &mut Value, depth: usize) -> bool {
        let mut is_changed = false;
        if self.extent == Extent::Everything
            && let Some(converted) = self.converted(ids, value, depth)
        {
            *value = converted;
            is_changed = true;
        }
        if !value.is_array() && !value.is_object() {
            return is_changed;
        }
        let nodes = self.applicable_nodes(ids, value);
        let is_changed_inside = match value {
            Value::Array(items) => self.items(&nodes, items, depth + 1),
            Value::Object(members) => self.members(&nodes, members, depth + 1),
            _ => false,
        };
        is_changed || is_changed_inside
    }

    /// Returns the value in a type that the schemas allow, if its own type is not allowed and there is only one
    /// possibility.
    fn converted(&self, ids: &[Id], value: &Value, depth: usize) -> Option<Value> {
        let types = ids.iter().map(|id| self.model.types(*id)).fold(Types::ANY, Types::and);
        let is_for_one = |value: &Value| {
            let mut seen = HashSet::new();
            ids.iter().all(|id| self.is_unambiguous(*id, value, &mut seen))
        };
        match value {
            Value::Number(number) => {
                if number.is_f64() && types.contains(Types::INTEGER) && !types.contains(Types::NUMBER) {
                    return to_integer(value);
                }
                let is_text = types.contains(Types::STRING) && types.and(Types::NUMBER) == Types::NONE;
                is_text.then(|| Value::String(number.to_string())).filter(is_for_one)
            }
            Value::String(text) if !types.contains(Types::STRING) => parse_text(text, types)
                .filter(|value| is_for_one(value) && depth + nesting_depth(value) <= MAX_DEPTH),
            _ => None,
        }
    }

    /// Returns whether in each choice at most one branch accepts the type of the value. The nodes in `seen` are known
    /// to be unambiguous, or are being looked at.
    fn is_unambiguous(&self, id: Id, value: &Value, seen: &mut HashSet<Id>) -> bool {
        if !seen.insert(id) {
            return true;
        }
        let node = self.node(id);
        let takes = |branch: &&Id| {
            // If the budget is spent, each branch counts: nothing is unambiguous any more.
            !self.budget.spend(STEP) || self.model.types(**branch).contains(Types::of(value))
        };
        node.branches().all(|branches| {
            let mut taking = branches.iter().filter(takes);
            let first = taking.next();
            taking.next().is_none() && first.is_none_or(|branch| self.is_unambiguous(*branch, value, seen))
        }) && node.all_of.iter().all(|part| self.is_unambiguous(*part, value, seen))
    }

    /// Returns the schemas that apply to the value, each once: the given schemas, the schemas that they refer to, and
    /// the branch of each choice that is the only plausible one.
    fn applicable_nodes(&self, ids: &[Id], value: &Value) -> Vec<&Node> {
        let mut seen = HashSet::new();
        let mut found = ids.to_vec();
        found.retain(|id| seen.insert(*id));
        let mut next = 0;
        while let Some(id) = found.get(next) {
            next += 1;
            let node = self.node(*id);
            found.extend(node.all_of.iter().filter(|id| seen.insert(**id)));
            for branches in node.branches() {
                let is_plausible = |id: &&Id| self.is_plausible(**id, value, &mut HashSet::new());
                let mut plausible = branches.iter().filter(is_plausible);
                if let (Some(only), None) = (plausible.next(), plausible.next()) {
                    found.extend(Some(*only).filter(|id| seen.insert(*id)));
                }
            }
        }
        found.into_iter().map(|id| self.node(id)).collect()
    }

    fn items(&self, nodes: &[&Node], items: &mut [Value], depth: usize) -> bool {
        let rules: Vec<_> = nodes.iter().filter_map(|node| node.array.as_deref()).collect();
        let behind: Vec<Id> = rules.iter().filter_map(|rules| rules.items).collect();
        let longest = rules.iter().map(|rules| rules.prefix.len()).max().unwrap_or(0);
        let mut is_changed = false;
        for (index, item) in items.iter_mut().enumerate() {
            is_changed |= if index < longest {
                let at = rules.iter().filter_map(|rules| rules.prefix.get(index).copied().or(rules.items));
                self.value(&at.collect::<Vec<_>>(), item, depth)
            } else if behind.is_empty() {
                break;
            } else {
                self.value(&behind, item, depth)
            };
        }
        is_changed
    }

    fn members(&self, nodes: &[&Node], members: &mut Map<String, Value>, depth: usize) -> bool {
        let rules: Vec<_> = nodes.iter().filter_map(|node| node.object.as_deref()).collect();
        let before = members.len();
        let excludes_null = |id: &Id| self.walk.borrow_mut().excludes(*id, &Value::Null);
        members.retain(|name, member| {
            let is_absent = member.is_null()
                && !rules.iter().any(|rules| rules.required.contains(name))
                && rules.iter().any(|rules| rules.properties.get(name).is_some_and(excludes_null));
            !is_absent
        });
        let mut is_changed = members.len() != before;
        for (name, member) in members {
            let ids: Vec<Id> = rules.iter().flat_map(|rules| self.schemas_of(rules, name)).collect();
            is_changed |= self.value(&ids, member, depth);
        }
        is_changed
    }

    /// Returns whether the value may be meant for a branch, by the value's type, member names and tags. The values of
    /// other members may be wrong.
    fn is_plausible(&self, id: Id, value: &Value, seen: &mut HashSet<Id>) -> bool {
        let node = self.node(id);
        if !node.all_of.is_empty() && !seen.insert(id) {
            return true;
        }
        if !self.model.types(id).contains(Types::of(value)) {
            return false;
        }
        // If the budget is spent, every branch is plausible, so none is the only one.
        let members = value.as_object().map_or(0, Map::len);
        if !self.budget.spend(STEP * (1 + members as u64)) {
            return true;
        }
        if let (Some(rules), Value::Object(members)) = (&node.object, value) {
            let is_complete = rules.required.iter().all(|name| members.contains_key(name));
            let is_marked = members.iter().all(|(name, member)| match rules.properties.get(name) {
                Some(id) => {
                    self.node(*id).allowed.as_ref().is_none_or(|options| self.is_option(options, member))
                }
                None => !matches!(rules.additional, Additional::Nothing),
            });
            if !is_complete || !is_marked {
                return false;
            }
        }
        node.all_of.iter().all(|part| self.is_plausible(*part, value, seen))
    }

    fn is_option(&self, options: &[Value], value: &Value) -> bool {
        !self.budget.spend(STEP * options.len() as u64)
            || options.iter().any(|option| number::are_equal(option, value))
    }

    /// Returns the schemas that an object has for one of its members.
    fn schemas_of(&self, rules: &ObjectRules, name: &str) -> Vec<Id> {
        let named = rules.properties.get(name);
        let matched =
            rules.patterns.iter().filter(|(pattern, _)| self.matches(pattern, name)).map(|(_, id)| id);
        let mut ids: Vec<Id> = named.into_iter().chain(matched).copied().collect();
        if let (true, Additional::Schema(id)) = (ids.is_empty(), &rules.additional) {
            ids.push(*id);
        }
        ids
    }

    fn matches(&self, pattern: &Pattern, name: &str) -> bool {
        pattern.compiled.as_ref().is_some_and(|compiled| {
            self.budget.spend(compiled.work(name.chars().count() as u64)) && compiled.is_match(name)
        })
    }

    fn node(&self, id: Id) -> &Node {
        self.model.node(id)
    }
}

/// Reads the value in a text, if it has one of the types.
fn parse_text(text: &str, types: Types) -> Option<Value> {
    match text {
        "true" | "false" => types.contains(Types::BOOLEAN).then(|| Value::Bool(text == "true")),
        _ if text.starts_with(|first: char| first == '-' || first.is_ascii_digit()) => {
            let value =
                serde_json::from_str::<Value>(text).ok().filter(|_| !text.ends_with(char::is_whitespace))?;
            if types.contains(Types::NUMBER) {
                return Some(value);
            }
            let is_integer = types.contains(Types::INTEGER) && Types::of(&value) == Types::INTEGER;
            is_integer.then(|| to_integer(&value).unwrap_or(value))
        }
        _ if text.trim_start().starts_with(['[', '{']) => {
            serde_json::from_str::<Value>(text).ok().filter(|value| types.contains(Types::of(value)))
        }
        _ => None,
    }
}

/// Returns the nesting depth of a value.
fn nesting_depth(value: &Value) -> usize {
    let highest = match value {
        Value::Array(items) => items.iter().map(nesting_depth).max(),
        Value::Object(members) => members.values().map(nesting_depth).max(),
        _ => return 0,
    };
    1 + highest.unwrap_or(0)
}

/// Returns 5.0 as 5, if it fits in a 64-bit integer.
fn to_integer(value: &Value) -> Option<Value> {
    let number = value.as_number().filter(|number| number.is_f64())?;
    let whole = number::whole(number)?;
    i64::try_from(whole).map(Value::from).or_else(|_| u64::try_from(whole).map(Value::from)).ok()
}

/// The maximum depth of a value. The parser refuses deeper values, and the recursion over a value relies on that.
/// Without this limit, a peer could nest JSON inside texts and so create a value of any depth.
const MAX_DEPTH: usize = 127;
