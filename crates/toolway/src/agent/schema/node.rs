//! A schema in one form, whatever words it was said in: no references, no lists of types, no second way to say a thing.
//!
//! Everything in a node holds at once. What JSON Schema can say but cannot be put together in one place is kept beside, in
//! `others` and `all_of`, for those who can take it as it is.

use std::rc::Rc;

use serde_json::{Number, Value};

use super::types::Types;

/// What a value must be like. What is inside is shared, as the same is often put together with several things.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Node {
    pub(super) at: Place,
    /// None: there is no such value.
    pub(super) types: Types,
    /// Nothing more is known, because the schema went on for too long.
    pub(super) is_cut: bool,
    pub(super) title: Option<String>,
    pub(super) description: Option<String>,
    /// Remarks that are passed on as they are: `default`, `examples`, …
    pub(super) remarks: Vec<(&'static str, Value)>,
    /// The only values.
    pub(super) allowed: Option<Vec<Value>>,
    pub(super) text: Text,
    pub(super) number: Range,
    pub(super) array: List,
    pub(super) object: Members,
    /// Of each, one branch must hold.
    pub(super) unions: Vec<Union>,
    /// These hold too.
    pub(super) all_of: Vec<Rc<Node>>,
    pub(super) others: Vec<Other>,
}

/// Where something stands in the tool's schema. The same in two places is the same.
#[derive(Debug, Clone, Default)]
pub(super) struct Place(pub(super) Rc<str>);

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

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<&str> for Place {
    fn from(at: &str) -> Self {
        Self(at.into())
    }
}

#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Text {
    pub(super) shortest: Option<u64>,
    pub(super) longest: Option<u64>,
    pub(super) patterns: Vec<String>,
    pub(super) formats: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Range {
    pub(super) least: Option<Number>,
    pub(super) most: Option<Number>,
    pub(super) above: Option<Number>,
    pub(super) below: Option<Number>,
    pub(super) multiples: Vec<Number>,
}

#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct List {
    /// The first items, each with a schema of its own.
    pub(super) first: Vec<Rc<Node>>,
    /// The others.
    pub(super) items: Option<Rc<Node>>,
    pub(super) fewest: Option<u64>,
    pub(super) most: Option<u64>,
    pub(super) is_unique: bool,
}

#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Members {
    pub(super) properties: Vec<(String, Rc<Node>)>,
    pub(super) patterns: Vec<(String, Rc<Node>)>,
    pub(super) rest: Rest,
    pub(super) required: Vec<String>,
    pub(super) fewest: Option<u64>,
    pub(super) most: Option<u64>,
}

/// Properties that are not named.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) enum Rest {
    /// Nobody said anything, so there may be some. Few authors mean it.
    #[default]
    Unsaid,
    /// There are none.
    Closed,
    /// There may be some like this.
    Like(Rc<Node>),
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Union {
    pub(super) branches: Vec<Rc<Node>>,
    /// Whether not more than one may hold.
    pub(super) is_exclusive: bool,
}

/// Keywords that belong together and that only few understand.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Other {
    pub(super) members: Vec<(&'static str, Part)>,
    /// Whether they speak about everything that stands beside them: `unevaluatedProperties`, `unevaluatedItems`.
    pub(super) is_about_all: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Part {
    Schema(Rc<Node>),
    Named(Vec<(String, Rc<Node>)>),
    Json(Value),
}

impl Node {
    /// Anything.
    pub(super) fn any(at: &str) -> Self {
        Self {
            at: at.into(),
            types: Types::ANY,
            is_cut: false,
            title: None,
            description: None,
            remarks: Vec::new(),
            allowed: None,
            text: Text::default(),
            number: Range::default(),
            array: List::default(),
            object: Members::default(),
            unions: Vec::new(),
            all_of: Vec::new(),
            others: Vec::new(),
        }
    }

    /// Any value of some types.
    pub(super) fn of_types(at: &str, types: Types) -> Self {
        Self { types, ..Self::any(at) }
    }

    /// One of these values.
    pub(super) fn of_values(at: &str, values: Vec<Value>) -> Self {
        let mut node = Self::any(at);
        node.allow(values);
        node
    }

    /// Nothing.
    pub(super) fn never(at: &str) -> Self {
        Self::of_types(at, Types::NONE)
    }

    pub(super) fn is_never(&self) -> bool {
        self.types.is_none()
    }

    /// Whether it says nothing, apart from remarks.
    pub(super) fn is_any(&self) -> bool {
        self.types == Types::ANY && self.allowed.is_none() && self.says_no_more()
    }

    /// Whether it says no more than which types or which values there are, apart from remarks.
    pub(super) fn says_no_more(&self) -> bool {
        let Self { unions, all_of, others, .. } = self;
        !self.is_cut
            && self.subjects().is_none()
            && unions.is_empty()
            && all_of.is_empty()
            && others.is_empty()
    }

    /// How many nodes it is made of.
    pub(super) fn size(&self) -> usize {
        let Self { array, object, unions, all_of, others, .. } = self;
        let rest = match &object.rest {
            Rest::Like(node) => Some(node),
            Rest::Unsaid | Rest::Closed => None,
        };
        let named = object.properties.iter().chain(&object.patterns).map(|(_, node)| node);
        let inner = array.first.iter().chain(&array.items).chain(named).chain(rest).chain(all_of);
        let parts = others.iter().flat_map(|other| &other.members).map(|(_, part)| part.size());
        let branches = unions.iter().flat_map(|union| &union.branches);
        1 + inner.chain(branches).map(|node| node.size()).sum::<usize>() + parts.sum::<usize>()
    }

    /// Says that only these values are left. Types and values are made to agree.
    pub(super) fn allow(&mut self, values: Vec<Value>) {
        self.allowed = Some(values);
        self.agree();
    }

    /// Takes values that have no allowed type, and types that have no allowed value.
    pub(super) fn agree(&mut self) {
        let Some(values) = &mut self.allowed else { return };
        let types = self.types;
        values.retain(|value| types.has(Types::of(value)));
        let of_values = values.iter().fold(Types::NONE, |types, value| types.or(Types::of(value)));
        self.types = self.types.and(of_values);
    }

    /// Whether keywords are there that speak about everything beside them.
    pub(super) fn is_about_all(&self) -> bool {
        self.others.iter().any(|other| other.is_about_all)
    }

    /// Whether it says more than types, and about values of which types.
    pub(super) fn subjects(&self) -> Types {
        let Self { text, number, array, object, .. } = self;
        let mut subjects = Types::NONE;
        if *text != Text::default() {
            subjects = subjects.or(Types::STRING);
        }
        if *number != Range::default() {
            subjects = subjects.or(Types::NUMBER);
        }
        if *array != List::default() {
            subjects = subjects.or(Types::ARRAY);
        }
        if *object != Members::default() {
            subjects = subjects.or(Types::OBJECT);
        }
        subjects
    }

    /// The same without what is only for readers.
    pub(super) fn without_remarks(&self) -> Self {
        Self { title: None, description: None, remarks: Vec::new(), ..self.clone() }
    }
}

impl Part {
    fn size(&self) -> usize {
        match self {
            Self::Schema(node) => node.size(),
            Self::Named(named) => named.iter().map(|(_, node)| node.size()).sum(),
            Self::Json(_) => 1,
        }
    }
}

impl Members {
    pub(super) fn get(&self, name: &str) -> Option<&Node> {
        self.properties.iter().find(|(known, _)| known == name).map(|(_, node)| &**node)
    }

    pub(super) fn requires(&self, name: &str) -> bool {
        self.required.iter().any(|required| required == name)
    }
}
