//! A schema in one normal form: no references, no lists of types, only one way to express each rule.
//!
//! All rules of a node hold together. Rules of JSON Schema that cannot be merged into one node are kept separately in
//! `others` and `all_of`, for providers that accept them unchanged.

use std::rc::Rc;

use serde_json::Value;

use crate::model::{self, Arrays, Counts, Numbers};
use crate::terms::types::Types;

/// The rules for a value. Inner nodes are shared, because the same node is often merged with several others.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Node {
    pub(crate) at: Place,
    /// An empty set means that no value is allowed.
    pub(crate) types: Types,
    /// `true` if the rest is unknown, because the schema was too large.
    pub(crate) is_cut: bool,
    pub(crate) title: Option<String>,
    pub(crate) description: Option<String>,
    /// Annotations that are passed on unchanged: `default`, `examples`, …
    pub(crate) remarks: Vec<(&'static str, Value)>,
    /// The only allowed values.
    pub(crate) allowed: Option<Vec<Value>>,
    pub(crate) text: Text,
    pub(crate) number: Numbers,
    pub(crate) array: Arrays<Rc<Node>>,
    pub(crate) object: Members,
    /// Choices; one branch of each must hold.
    pub(crate) unions: Vec<Union>,
    /// Further nodes that must hold.
    pub(crate) all_of: Vec<Rc<Node>>,
    pub(crate) others: Vec<Other>,
}

/// The position in the tool's schema. It is ignored in comparisons: equal nodes at two positions are equal.
#[derive(Debug, Clone, Default)]
pub(crate) struct Place(pub(super) Rc<str>);

impl PartialEq for Place {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl std::ops::Deref for Place {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl From<&str> for Place {
    fn from(at: &str) -> Self {
        Self(at.into())
    }
}

#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Text {
    pub(crate) count: Counts,
    pub(crate) patterns: Vec<String>,
    pub(crate) formats: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Members {
    pub(crate) properties: Vec<(String, Rc<Node>)>,
    pub(crate) patterns: Vec<(String, Rc<Node>)>,
    pub(crate) rest: Rest,
    pub(crate) required: Vec<String>,
    pub(crate) count: Counts,
}

/// The properties that are not named.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) enum Rest {
    /// The schema does not mention other properties, so they are allowed. Few authors intend this.
    #[default]
    Unsaid,
    /// Properties that are not named are not allowed.
    Closed,
    /// Properties that are not named are allowed if their values fit this node.
    Like(Rc<Node>),
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Union {
    pub(crate) branches: Vec<Rc<Node>>,
    /// `true` if at most one branch may hold.
    pub(crate) is_exclusive: bool,
}

/// A group of related keywords that few providers support.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Other {
    pub(crate) members: Vec<(&'static str, Part)>,
    /// `true` for `unevaluatedProperties` and `unevaluatedItems`, which depend on all other keywords of the schema.
    pub(crate) is_about_all: bool,
}

pub(crate) type Part = model::Part<Rc<Node>>;

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
        node.allow(values);
        node
    }

    /// Creates a node that allows no value.
    pub(crate) fn never(at: &str) -> Self {
        Self::of_types(at, Types::NONE)
    }

    pub(crate) fn is_never(&self) -> bool {
        self.types.is_none()
    }

    /// Returns whether the node allows any value. Annotations are ignored.
    pub(crate) fn is_any(&self) -> bool {
        self.types == Types::ANY && self.allowed.is_none() && self.says_no_more()
    }

    /// Returns whether the node has no rules beyond its types and values. Annotations are ignored.
    pub(crate) fn says_no_more(&self) -> bool {
        let Self { unions, all_of, others, .. } = self;
        !self.is_cut
            && self.subjects().is_none()
            && unions.is_empty()
            && all_of.is_empty()
            && others.is_empty()
    }

    /// Returns the number of nodes in this node, including itself.
    pub(crate) fn size(&self) -> usize {
        let Self { array, object, unions, all_of, others, .. } = self;
        let rest = match &object.rest {
            Rest::Like(node) => Some(node),
            Rest::Unsaid | Rest::Closed => None,
        };
        let named = object.properties.iter().chain(&object.patterns).map(|(_, node)| node);
        let inner = array.prefix.iter().chain(&array.items).chain(named).chain(rest).chain(all_of);
        let parts = others.iter().flat_map(|other| &other.members).map(|(_, part)| match part {
            Part::Schema(node) => node.size(),
            Part::Named(named) => named.iter().map(|(_, node)| node.size()).sum(),
            Part::Json(_) => 1,
        });
        let branches = unions.iter().flat_map(|union| &union.branches);
        1 + inner.chain(branches).map(|node| node.size()).sum::<usize>() + parts.sum::<usize>()
    }

    /// Restricts the node to these values, and makes types and values consistent.
    pub(crate) fn allow(&mut self, values: Vec<Value>) {
        self.allowed = Some(values);
        self.agree();
    }

    /// Removes values without an allowed type, and types without an allowed value.
    pub(crate) fn agree(&mut self) {
        let Some(values) = &mut self.allowed else { return };
        let types = self.types;
        values.retain(|value| types.has(Types::of(value)));
        let of_values = values.iter().fold(Types::NONE, |types, value| types.or(Types::of(value)));
        self.types = self.types.and(of_values);
    }

    /// Returns whether the node has a keyword that depends on all other keywords of the schema.
    pub(crate) fn is_about_all(&self) -> bool {
        self.others.iter().any(|other| other.is_about_all)
    }

    /// Returns the types that the rules beyond `type` apply to.
    pub(crate) fn subjects(&self) -> Types {
        let Self { text, number, array, object, .. } = self;
        let spoken = [
            (*text != Text::default(), Types::STRING),
            (*number != Numbers::default(), Types::NUMBER),
            (*array != Arrays::default(), Types::ARRAY),
            (*object != Members::default(), Types::OBJECT),
        ];
        spoken.into_iter().filter(|(is_said, _)| *is_said).fold(Types::NONE, |all, (_, types)| all.or(types))
    }

    /// Returns a copy without annotations.
    pub(crate) fn without_remarks(&self) -> Self {
        Self { title: None, description: None, remarks: Vec::new(), ..self.clone() }
    }
}

impl Members {
    pub(crate) fn get(&self, name: &str) -> Option<&Node> {
        self.properties.iter().find(|(known, _)| known == name).map(|(_, node)| &**node)
    }

    pub(crate) fn requires(&self, name: &str) -> bool {
        self.required.iter().any(|required| required == name)
    }
}
