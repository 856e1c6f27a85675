//! A schema in one form, whatever words it was said in: no references, no lists of types, no second way to say a thing.
//!
//! Everything in a node holds at once. What JSON Schema can say but cannot be put together in one place is kept beside, in
//! `others` and `all_of`, for those who can take it as it is.

use std::rc::Rc;

use serde_json::Value;

use crate::model::{self, Arrays, Counts, Numbers};
use crate::terms::types::Types;

/// What a value must be like. What is inside is shared, as the same is often put together with several things.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Node {
    pub(crate) at: Place,
    /// None: there is no such value.
    pub(crate) types: Types,
    /// Nothing more is known, because the schema went on for too long.
    pub(crate) is_cut: bool,
    pub(crate) title: Option<String>,
    pub(crate) description: Option<String>,
    /// Remarks that are passed on as they are: `default`, `examples`, …
    pub(crate) remarks: Vec<(&'static str, Value)>,
    /// The only values.
    pub(crate) allowed: Option<Vec<Value>>,
    pub(crate) text: Text,
    pub(crate) number: Numbers,
    pub(crate) array: Arrays<Rc<Node>>,
    pub(crate) object: Members,
    /// Of each, one branch must hold.
    pub(crate) unions: Vec<Union>,
    /// These hold too.
    pub(crate) all_of: Vec<Rc<Node>>,
    pub(crate) others: Vec<Other>,
}

/// Where something stands in the tool's schema. The same in two places is the same.
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

/// Properties that are not named.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) enum Rest {
    /// Nothing is said, so there may be some. Few authors mean it.
    #[default]
    Unsaid,
    /// There are none.
    Closed,
    /// There may be some like this.
    Like(Rc<Node>),
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Union {
    pub(crate) branches: Vec<Rc<Node>>,
    /// Whether not more than one may hold.
    pub(crate) is_exclusive: bool,
}

/// Keywords that belong together and that only few understand.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Other {
    pub(crate) members: Vec<(&'static str, Part)>,
    /// Whether they speak about everything that stands beside them: `unevaluatedProperties`, `unevaluatedItems`.
    pub(crate) is_about_all: bool,
}

pub(crate) type Part = model::Part<Rc<Node>>;

impl Node {
    /// Anything.
    pub(crate) fn any(at: &str) -> Self {
        Self { at: at.into(), types: Types::ANY, ..Self::default() }
    }

    /// Any value of some types.
    pub(crate) fn of_types(at: &str, types: Types) -> Self {
        Self { types, ..Self::any(at) }
    }

    /// One of these values.
    pub(crate) fn of_values(at: &str, values: Vec<Value>) -> Self {
        let mut node = Self::any(at);
        node.allow(values);
        node
    }

    /// Nothing.
    pub(crate) fn never(at: &str) -> Self {
        Self::of_types(at, Types::NONE)
    }

    pub(crate) fn is_never(&self) -> bool {
        self.types.is_none()
    }

    /// Whether it says nothing, apart from remarks.
    pub(crate) fn is_any(&self) -> bool {
        self.types == Types::ANY && self.allowed.is_none() && self.says_no_more()
    }

    /// Whether it says no more than which types or which values there are, apart from remarks.
    pub(crate) fn says_no_more(&self) -> bool {
        let Self { unions, all_of, others, .. } = self;
        !self.is_cut
            && self.subjects().is_none()
            && unions.is_empty()
            && all_of.is_empty()
            && others.is_empty()
    }

    /// How many nodes it is made of.
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

    /// Says that only these values are left. Types and values are made to agree.
    pub(crate) fn allow(&mut self, values: Vec<Value>) {
        self.allowed = Some(values);
        self.agree();
    }

    /// Takes values that have no allowed type, and types that have no allowed value.
    pub(crate) fn agree(&mut self) {
        let Some(values) = &mut self.allowed else { return };
        let types = self.types;
        values.retain(|value| types.has(Types::of(value)));
        let of_values = values.iter().fold(Types::NONE, |types, value| types.or(Types::of(value)));
        self.types = self.types.and(of_values);
    }

    /// Whether keywords are there that speak about everything beside them.
    pub(crate) fn is_about_all(&self) -> bool {
        self.others.iter().any(|other| other.is_about_all)
    }

    /// Whether it says more than types, and about values of which types.
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

    /// The same without what is only for readers.
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
