//! A schema in one normal form: no references, no lists of types, only one way to express each rule.
//!
//! All rules of a node hold together. Rules of JSON Schema that cannot be merged into one node are kept separately in
//! `others` and `all_of`, for providers that accept them unchanged.

use std::rc::Rc;

use serde_json::Value;

use crate::model::{self, ArrayRules, CountLimits, NumberRules};
use crate::terms::types::Types;

/// The rules for a value. Inner nodes are shared, because the same node is often merged with several others.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Node {
    pub(crate) at: SourcePointer,
    /// An empty set means that no value is allowed.
    pub(crate) types: Types,
    /// `true` if the rest is unknown, because the schema was too large.
    pub(crate) is_truncated: bool,
    pub(crate) title: Option<String>,
    pub(crate) description: Option<String>,
    /// Annotations that are passed on unchanged: `default`, `examples`, …
    pub(crate) annotations: Vec<(&'static str, Value)>,
    /// The only allowed values.
    pub(crate) allowed: Option<Vec<Value>>,
    pub(crate) text: TextRules,
    pub(crate) number: NumberRules,
    pub(crate) array: ArrayRules<Rc<Node>>,
    pub(crate) object: ObjectRules,
    /// Choices; one branch of each must hold.
    pub(crate) unions: Vec<Union>,
    /// Further nodes that must hold.
    pub(crate) all_of: Vec<Rc<Node>>,
    pub(crate) keyword_groups: Vec<KeywordGroup>,
}

/// The position in the tool's schema. It is ignored in comparisons: equal nodes at two positions are equal.
#[derive(Debug, Clone, Default)]
pub(crate) struct SourcePointer(pub(super) Rc<str>);

impl PartialEq for SourcePointer {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl std::ops::Deref for SourcePointer {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl From<&str> for SourcePointer {
    fn from(at: &str) -> Self {
        Self(at.into())
    }
}

#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct TextRules {
    pub(crate) count: CountLimits,
    pub(crate) patterns: Vec<String>,
    pub(crate) formats: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct ObjectRules {
    pub(crate) properties: Vec<(String, Rc<Node>)>,
    pub(crate) patterns: Vec<(String, Rc<Node>)>,
    pub(crate) rest: Rest,
    pub(crate) required: Vec<String>,
    pub(crate) count: CountLimits,
}

/// The properties that are not named.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) enum Rest {
    /// The schema does not mention other properties, so they are allowed. Few authors intend this.
    #[default]
    Unspecified,
    /// Properties that are not named are not allowed.
    Closed,
    /// Properties that are not named are allowed if their values fit this node.
    Schema(Rc<Node>),
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Union {
    pub(crate) branches: Vec<Rc<Node>>,
    /// `true` if at most one branch may hold.
    pub(crate) is_exclusive: bool,
}

/// A group of related keywords that few providers support.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct KeywordGroup {
    pub(crate) members: Vec<(&'static str, KeywordValue)>,
    /// `true` for `unevaluatedProperties` and `unevaluatedItems`, which depend on all other keywords of the schema.
    pub(crate) is_unevaluated: bool,
}

pub(crate) type KeywordValue = model::KeywordValue<Rc<Node>>;

impl Node {
    /// Creates a node that allows any value.
    pub(crate) fn any(at: &str) -> Self {
        Self { at: at.into(), types: Types::ANY, ..Self::default() }
    }

    /// Creates a node that allows any value of some types.
    pub(crate) fn of_types(at: &str, types: Types) -> Self {
        Self { types, ..Self::any(at) }
    }

    /// Creates a node that allows these values.
    pub(crate) fn of_values(at: &str, values: Vec<Value>) -> Self {
        let mut node = Self::any(at);
        node.restrict_to(values);
        node
    }

    /// Creates a node that allows no value.
    pub(crate) fn never(at: &str) -> Self {
        Self::of_types(at, Types::NONE)
    }

    pub(crate) fn is_never(&self) -> bool {
        self.types.is_empty()
    }

    /// Returns whether the node allows any value. Annotations are ignored.
    pub(crate) fn is_any(&self) -> bool {
        self.types == Types::ANY && self.allowed.is_none() && self.has_no_other_rules()
    }

    /// Returns whether the node has no rules beyond its types and values. Annotations are ignored.
    pub(crate) fn has_no_other_rules(&self) -> bool {
        let Self { unions, all_of, keyword_groups: others, .. } = self;
        !self.is_truncated
            && self.constrained_types().is_empty()
            && unions.is_empty()
            && all_of.is_empty()
            && others.is_empty()
    }

    /// Returns the number of nodes in this node, including itself.
    pub(crate) fn size(&self) -> usize {
        let Self { array, object, unions, all_of, keyword_groups: others, .. } = self;
        let rest = match &object.rest {
            Rest::Schema(node) => Some(node),
            Rest::Unspecified | Rest::Closed => None,
        };
        let named = object.properties.iter().chain(&object.patterns).map(|(_, node)| node);
        let inner = array.prefix.iter().chain(&array.items).chain(named).chain(rest).chain(all_of);
        let parts = others.iter().flat_map(|other| &other.members).map(|(_, part)| match part {
            KeywordValue::Schema(node) => node.size(),
            KeywordValue::Named(named) => named.iter().map(|(_, node)| node.size()).sum(),
            KeywordValue::Json(_) => 1,
        });
        let branches = unions.iter().flat_map(|union| &union.branches);
        1 + inner.chain(branches).map(|node| node.size()).sum::<usize>() + parts.sum::<usize>()
    }

    /// Restricts the node to these values, and makes types and values consistent.
    pub(crate) fn restrict_to(&mut self, values: Vec<Value>) {
        self.allowed = Some(values);
        self.reconcile();
    }

    /// Removes values without an allowed type, and types without an allowed value.
    pub(crate) fn reconcile(&mut self) {
        let Some(values) = &mut self.allowed else { return };
        let types = self.types;
        values.retain(|value| types.intersects(Types::of(value)));
        let of_values = values.iter().fold(Types::NONE, |types, value| types.or(Types::of(value)));
        self.types = self.types.and(of_values);
    }

    /// Returns whether the node has a keyword that depends on all other keywords of the schema.
    pub(crate) fn has_unevaluated(&self) -> bool {
        self.keyword_groups.iter().any(|other| other.is_unevaluated)
    }

    /// Returns the types that the rules beyond `type` apply to.
    pub(crate) fn constrained_types(&self) -> Types {
        let Self { text, number, array, object, .. } = self;
        let spoken = [
            (*text != TextRules::default(), Types::STRING),
            (*number != NumberRules::default(), Types::NUMBER),
            (*array != ArrayRules::default(), Types::ARRAY),
            (*object != ObjectRules::default(), Types::OBJECT),
        ];
        spoken.into_iter().filter(|(is_said, _)| *is_said).fold(Types::NONE, |all, (_, types)| all.or(types))
    }

    /// Returns a copy without annotations.
    pub(crate) fn without_annotations(&self) -> Self {
        Self { title: None, description: None, annotations: Vec::new(), ..self.clone() }
    }
}

impl ObjectRules {
    pub(crate) fn get(&self, name: &str) -> Option<&Node> {
        self.properties.iter().find(|(known, _)| known == name).map(|(_, node)| &**node)
    }

    pub(crate) fn requires(&self, name: &str) -> bool {
        self.required.iter().any(|required| required == name)
    }
}
