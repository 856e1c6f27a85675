//! How does a schema of any draft become one node, whichever keywords it uses?
//!
//! References are expanded in place. A recursive reference is expanded a few times and then cut. The total size is
//! limited, so that no schema can use too much memory, however it refers to itself.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use serde_json::Value;

use super::loss::{Effect, Losses};
use super::merge::{CopyBudget, intersect};
use super::node::{KeywordGroup, KeywordValue, Node, Rest, Union};
use crate::model::{self, Additional, CountLimits, Id, Model, NodeDetails, Schema};
use crate::terms::refs::MAX_DEPTH;
use crate::terms::types::Types;

/// Expands a schema, and reports the losses.
pub(crate) fn unfold(schema: &Schema, losses: &mut Losses) -> Rc<Node> {
    let (model, id) = schema.model_and_id();
    // A schema that refers to itself in many places grows fast. If it becomes too large, it is expanded fewer times.
    for deepest in (1..MAX_RECURSION).rev() {
        let mut tried = Losses::default();
        let mut unfolder = Unfolder { max_recursion: deepest + 1, ..Unfolder::new(model, &mut tried) };
        let node = unfolder.schema(id, 0);
        if unfolder.nodes <= MAX_NODES {
            losses.append(tried);
            return node;
        }
    }
    Unfolder::new(model, losses).schema(id, 0)
}

struct Unfolder<'m, 'l> {
    model: &'m Model,
    losses: &'l mut Losses,
    nodes: usize,
    copy_budget: CopyBudget,
    /// The number of open expansions of each definition.
    open_expansions: HashMap<Id, usize>,
    max_recursion: usize,
}

impl<'m, 'l> Unfolder<'m, 'l> {
    fn new(model: &'m Model, losses: &'l mut Losses) -> Self {
        Self {
            model,
            losses,
            nodes: 0,
            copy_budget: CopyBudget(MAX_NODES),
            open_expansions: HashMap::new(),
            max_recursion: 1,
        }
    }

    fn schema(&mut self, id: Id, depth: usize) -> Rc<Node> {
        let said = self.model.node(id);
        let more = said.details.as_deref().expect("it was read to be written");
        let at = &more.at;
        let was_too_large = self.nodes > MAX_NODES;
        if !was_too_large {
            self.nodes += weight(said, more);
        }
        if self.nodes > MAX_NODES || more.is_truncated {
            // The loss is reported only once, because very many nodes may be cut.
            if !was_too_large || more.is_truncated {
                return self
                    .truncated_node(at, "the schema is too large when its references are written out")
                    .into();
            }
            return Node { is_truncated: true, ..Node::any(at) }.into();
        }
        if depth > MAX_DEPTH {
            return self.truncated_node(at, "the schema is nested too deeply").into();
        }
        if said.is_never {
            return Node::never(at).into();
        }
        for mistake in &more.mistakes {
            let effect = if mistake.is_annotation { Effect::AnnotationOnly } else { Effect::Wider };
            self.losses.add(&mistake.at, &mistake.keyword, effect, &*mistake.why);
        }
        self.expand_keywords(said, more, depth).into()
    }

    /// Returns a node that allows any value, because its rules are unknown. A provider whose schemas cannot express
    /// this gets a narrower schema, so both effects are reported.
    fn truncated_node(&mut self, at: &str, why: &str) -> Node {
        self.losses.add(at, "schema", Effect::Wider, why);
        self.losses.add(at, "schema", Effect::Narrower, why);
        Node { is_truncated: true, ..Node::any(at) }
    }

    fn expand_keywords(&mut self, said: &model::Node, more: &NodeDetails, depth: usize) -> Node {
        let mut node = plain_node(said, more);
        self.inner(&mut node, said, more, depth);
        let (references, all_of) = said.all_of.split_at(more.references);
        for target in references {
            let target = self.reference(*target, depth);
            node = self.intersect(node, target);
        }
        for part in all_of {
            let part = self.schema(*part, depth + 1);
            node = self.intersect(node, part);
        }
        let any_of = said.any_of.iter().map(|branches| (branches, false));
        for (branches, is_exclusive) in any_of.chain([(&said.one_of, true)]) {
            if branches.is_empty() {
                continue;
            }
            let mut branches: Vec<_> =
                branches.iter().map(|branch| self.schema(*branch, depth + 1)).collect();
            // A branch that no value fits adds nothing.
            branches.retain(|branch| !branch.is_never());
            match branches.len() {
                0 => node.types = Types::NONE,
                1 => node = self.intersect(node, branches.remove(0)),
                _ => node.unions.push(Union { branches, is_exclusive }),
            }
        }
        self.conditions(&mut node, said, more, depth);
        self.unevaluated(&mut node, more, depth);
        node
    }

    fn intersect(&mut self, node: Node, other: Rc<Node>) -> Node {
        Rc::unwrap_or_clone(intersect(node.into(), other, &mut self.copy_budget))
    }

    /// Expands the target of a reference.
    fn reference(&mut self, target: Id, depth: usize) -> Rc<Node> {
        let open = self.open_expansions.entry(target).or_default();
        if *open >= self.max_recursion {
            let said = self.model.node(target);
            let at = said.details.as_deref().map(|more| &*more.at).unwrap_or_default();
            let mut node =
                self.truncated_node(at, "the schema contains itself, and is written out only a few times");
            // The innermost expansion keeps only its type.
            node.description = Some("The nesting continues in the same way.".to_owned());
            if let Some(types) = said.types.filter(|types| types.names().len() == 1) {
                node.types = types;
            }
            return node.into();
        }
        *open += 1;
        let node = self.schema(target, depth + 1);
        if let Some(open) = self.open_expansions.get_mut(&target) {
            *open -= 1;
        }
        node
    }

    /// Expands keywords with schemas for inner values.
    fn inner(&mut self, node: &mut Node, said: &model::Node, more: &NodeDetails, depth: usize) {
        if let Some(object) = &said.object {
            let named = more.names.iter().filter_map(|name| Some((name, object.properties.get(name)?)));
            node.object.properties =
                named.map(|(name, id)| (name.clone(), self.schema(*id, depth + 1))).collect();
            let patterns = object.patterns.iter();
            node.object.patterns =
                patterns.map(|(pattern, id)| (pattern.source.clone(), self.schema(*id, depth + 1))).collect();
            node.object.rest = match object.additional {
                Additional::Unspecified => Rest::Unspecified,
                Additional::Nothing => Rest::Closed,
                Additional::Anything => {
                    self.nodes += 1;
                    Rest::Schema(Node::any(&format!("{}/additionalProperties", more.at)).into())
                }
                Additional::Schema(id) => Rest::Schema(self.schema(id, depth + 1)),
            };
        }
        if let Some(array) = &said.array {
            node.array.prefix = array.prefix.iter().map(|id| self.schema(*id, depth + 1)).collect();
            node.array.items = array.items.map(|id| self.schema(id, depth + 1));
        }
    }

    /// Expands keywords that few providers support.
    fn conditions(&mut self, node: &mut Node, said: &model::Node, more: &NodeDetails, depth: usize) {
        let not = said.not.map(model::KeywordValue::Schema);
        for (group, is_turned) in GROUPS {
            let parts = group.iter().filter_map(|word| {
                let part = match *word {
                    "not" => not.as_ref()?,
                    word => more.parts.iter().find(|(known, _)| *known == word).map(|(_, part)| part)?,
                };
                Some((*word, self.part(part, is_turned, depth)))
            });
            let parts: Vec<_> = parts.collect();
            if let [("not", KeywordValue::Schema(inner))] = parts.as_slice()
                && let Some(types) = types_left_by(node.types, inner)
            {
                node.types = types;
                node.reconcile();
            } else if !parts.is_empty() {
                node.keyword_groups.push(KeywordGroup { members: parts, is_unevaluated: false });
            }
        }
    }

    /// Expands the value of a keyword. If `is_turned` is `true`, a loss inside the value may have the opposite effect.
    fn part(&mut self, part: &model::KeywordValue<Id>, is_turned: bool, depth: usize) -> KeywordValue {
        self.losses.negations += usize::from(is_turned);
        let part = match part {
            model::KeywordValue::Schema(id) => KeywordValue::Schema(self.schema(*id, depth + 1)),
            model::KeywordValue::Named(named) => {
                let named = named.iter().map(|(name, id)| (name.clone(), self.schema(*id, depth + 1)));
                KeywordValue::Named(named.collect())
            }
            model::KeywordValue::Json(value) => KeywordValue::Json(value.clone()),
        };
        self.losses.negations -= usize::from(is_turned);
        part
    }

    /// Expands `unevaluated…` keywords. Without choices they mean the same as `additionalProperties` and `items`.
    fn unevaluated(&mut self, node: &mut Node, more: &NodeDetails, depth: usize) {
        let is_flat = node.unions.is_empty() && node.keyword_groups.is_empty() && node.all_of.is_empty();
        let mut parts = Vec::new();
        for (word, part) in &more.parts {
            let (true, model::KeywordValue::Schema(id)) = (word.starts_with("unevaluated"), part) else {
                continue;
            };
            let inner = self.schema(*id, depth + 1);
            if *word == "unevaluatedProperties" && is_flat {
                if node.object.rest == Rest::Unspecified {
                    node.object.rest = if inner.is_never() { Rest::Closed } else { Rest::Schema(inner) };
                }
            } else if is_flat {
                node.array.items.get_or_insert(inner);
            } else if !inner.is_any() {
                parts.push((*word, KeywordValue::Schema(inner)));
            }
        }
        if !parts.is_empty() {
            node.keyword_groups.push(KeywordGroup { members: parts, is_unevaluated: true });
        }
    }
}

/// Returns how many nodes a node counts as. A definition is copied for each reference, with its texts and values.
fn weight(said: &model::Node, more: &NodeDetails) -> usize {
    let texts = more.title.iter().chain(&more.description).map(String::len).sum::<usize>();
    let annotations = more.annotations.iter().map(|(_, value)| value_size(value)).sum::<usize>();
    let allowed = said.allowed.iter().flatten().map(value_size).sum::<usize>();
    let required =
        said.object.iter().flat_map(|object| &object.required).map(|name| name_size(name)).sum::<usize>();
    let pattern =
        said.text.iter().filter_map(|text| text.pattern.as_ref()).map(|pattern| pattern.source.len());
    1 + (texts + annotations + allowed + required + pattern.sum::<usize>()) / NODE_SIZE
}

/// Returns the approximate size of a value in bytes.
fn value_size(value: &Value) -> usize {
    match value {
        Value::String(text) => name_size(text),
        Value::Array(items) => VALUE_OVERHEAD + items.iter().map(value_size).sum::<usize>(),
        Value::Object(members) => {
            let members = members.iter().map(|(name, value)| name_size(name) + value_size(value));
            VALUE_OVERHEAD + members.sum::<usize>()
        }
        _ => VALUE_OVERHEAD,
    }
}

fn name_size(name: &str) -> usize {
    VALUE_OVERHEAD + name.len()
}

/// The size in bytes of the texts and values that count as one node.
const NODE_SIZE: usize = 256;

/// The size in bytes that a value takes besides its text.
const VALUE_OVERHEAD: usize = 8;

/// Converts keywords without inner schemas.
fn plain_node(said: &model::Node, more: &NodeDetails) -> Node {
    // A minimum of 0 has no effect.
    let said_by = |count: CountLimits| CountLimits { min: count.min.filter(|min| *min > 0), ..count };
    let mut node = Node::any(&more.at);
    node.title.clone_from(&more.title);
    node.description.clone_from(&more.description);
    node.annotations.clone_from(&more.annotations);
    if let Some(types) = said.types {
        node.types = if more.is_nullable { types.or(Types::NULL) } else { types };
    }
    if let Some(options) = &said.allowed {
        node.restrict_to(options.clone());
    }
    node.text.formats.extend(more.format.clone());
    if let Some(text) = &said.text {
        node.text.count = said_by(text.count);
        node.text.patterns.extend(text.pattern.as_ref().map(|pattern| pattern.source.clone()));
    }
    if let Some(number) = &said.number {
        node.number.clone_from(number);
    }
    if let Some(array) = &said.array {
        node.array.count = said_by(array.count);
        node.array.is_unique = array.is_unique;
    }
    if let Some(object) = &said.object {
        let mut known = HashSet::new();
        let required = object.required.iter().filter(|name| known.insert(*name));
        node.object.required = required.cloned().collect();
        node.object.count = said_by(object.count);
    }
    node
}

/// Returns the types that are left if `not` excludes some, or `None` if the result cannot be expressed by types.
fn types_left_by(types: Types, not: &Node) -> Option<Types> {
    let left = types.without(not.types);
    let is_sayable = left.intersects(Types::INTEGER) || !left.intersects(Types::NUMBER);
    let is_all = not.allowed.is_none() && not.has_no_other_rules();
    (is_all && is_sayable).then_some(left)
}

/// Groups of related keywords, and whether a loss inside their values may have the opposite effect.
const GROUPS: [(&[&str], bool); 6] = [
    (&["if", "then", "else"], true),
    (&["contains", "minContains", "maxContains"], true),
    (&["not"], true),
    (&["propertyNames"], true),
    (&["dependentRequired"], false),
    (&["dependentSchemas"], false),
];

/// The maximum number of nodes in an expanded schema.
pub(crate) const MAX_NODES: usize = 10_000;

/// The maximum number of times that a definition is expanded inside itself, if the size allows.
const MAX_RECURSION: usize = 3;
