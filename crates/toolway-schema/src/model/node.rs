//! What is a schema once it is read?
//!
//! A table of nodes that name one another by number: that makes recursion in a schema a plain cycle in the table.

use std::cell::Cell;
use std::collections::BTreeMap;

use regex_lite::Regex;
use serde_json::{Number, Value};

use crate::terms::format::Format;
use crate::terms::types::Types;

/// The number of a node.
pub(crate) type Id = usize;

/// A schema, read.
#[derive(Debug)]
pub(crate) struct Model {
    /// The first is the schema itself.
    pub(crate) nodes: Vec<Node>,
}

/// One schema: what it demands of a value.
#[derive(Debug, Default)]
pub(crate) struct Node {
    pub(crate) is_never: bool,
    /// Others refer to it: values may meet it on many ways, so what was found is remembered.
    pub(crate) is_shared: bool,
    pub(crate) types: Option<Types>,
    /// `enum` and `const`.
    pub(crate) options: Option<Vec<Value>>,
    pub(crate) number: Option<Box<Numbers>>,
    pub(crate) text: Option<Box<Texts>>,
    pub(crate) array: Option<Box<Arrays>>,
    pub(crate) object: Option<Box<Objects>>,
    /// References, and then `allOf`.
    pub(crate) all_of: Vec<Id>,
    pub(crate) any_of: Vec<Vec<Id>>,
    pub(crate) one_of: Vec<Id>,
    pub(crate) not: Option<Id>,
    /// What is of no use for checking values; there only in what [`Model::of`] reads.
    pub(crate) more: Option<Box<More>>,
}

/// How many characters, items or members there may be.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Counts {
    pub(crate) min: Option<u64>,
    pub(crate) max: Option<u64>,
}

#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Numbers {
    pub(crate) minimum: Option<Number>,
    pub(crate) maximum: Option<Number>,
    pub(crate) above: Option<Number>,
    pub(crate) below: Option<Number>,
    pub(crate) multiples: Vec<Number>,
}

impl Numbers {
    /// The bounds, by their keywords.
    pub(crate) fn bounds(&self) -> [(&'static str, &Option<Number>); 4] {
        [
            ("minimum", &self.minimum),
            ("maximum", &self.maximum),
            ("exclusiveMinimum", &self.above),
            ("exclusiveMaximum", &self.below),
        ]
    }
}

#[derive(Debug, Default)]
pub(crate) struct Texts {
    pub(crate) count: Counts,
    pub(crate) pattern: Option<Pattern>,
    pub(crate) format: Option<&'static Format>,
}

/// A regular expression, ready to be asked where values are checked.
#[derive(Debug)]
pub(crate) struct Pattern {
    pub(crate) source: String,
    pub(crate) regex: Option<Regex>,
}

impl Pattern {
    pub(crate) fn is_match(&self, text: &str) -> bool {
        self.regex.as_ref().is_some_and(|regex| regex.is_match(text))
    }
}

#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Arrays<N = Id> {
    /// The first items, each with a schema of its own.
    pub(crate) prefix: Vec<N>,
    /// The others.
    pub(crate) items: Option<N>,
    pub(crate) count: Counts,
    pub(crate) is_unique: bool,
}

#[derive(Debug, Default)]
pub(crate) struct Objects {
    pub(crate) properties: BTreeMap<String, Id>,
    pub(crate) required: Vec<String>,
    pub(crate) patterns: Vec<(Pattern, Id)>,
    pub(crate) additional: Additional,
    pub(crate) count: Counts,
}

/// What an object may hold besides what its schema names.
#[derive(Debug, Default)]
pub(crate) enum Additional {
    #[default]
    Unsaid,
    Anything,
    Nothing,
    Schema(Id),
}

/// What a schema says besides: where it stands, what is for readers, and conditions.
#[derive(Debug, Default)]
pub(crate) struct More {
    /// A JSON pointer.
    pub(crate) at: String,
    /// There is more than is read.
    pub(crate) is_cut: bool,
    /// How many of `all_of` are references.
    pub(crate) references: usize,
    /// As `OpenAPI` 3.0 says that null is allowed.
    pub(crate) is_nullable: bool,
    pub(crate) title: Option<String>,
    pub(crate) description: Option<String>,
    /// `default`, `examples`, …
    pub(crate) remarks: Vec<(&'static str, Value)>,
    /// Whatever its name.
    pub(crate) format: Option<String>,
    /// The names of properties, in their order.
    pub(crate) names: Vec<String>,
    /// Keywords that few understand.
    pub(crate) parts: Vec<(&'static str, Part<Id>)>,
    pub(crate) mistakes: Vec<Mistake>,
}

/// What such a keyword says.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Part<N> {
    Schema(N),
    Named(Vec<(String, N)>),
    Json(Value),
}

/// Something in a schema that cannot be meant, and is taken to say nothing.
#[derive(Debug)]
pub(crate) struct Mistake {
    pub(crate) at: String,
    pub(crate) word: String,
    pub(crate) why: String,
    /// Whether no value depends on it.
    pub(crate) is_remark: bool,
}

impl Model {
    pub(crate) fn node(&self, id: Id) -> &Node {
        &self.nodes[id]
    }

    /// The types that a value may have, as far as the schema says and as far as it is looked.
    pub(crate) fn types(&self, id: Id, look: &Look, depth: usize) -> Types {
        let node = self.node(id);
        if node.is_never {
            return Types::NONE;
        }
        if !look.goes_on(depth) {
            return Types::ANY;
        }
        let mut types = node.types.unwrap_or(Types::ANY);
        if node.more.as_ref().is_some_and(|more| more.is_nullable) {
            types = types.or(Types::NULL);
        }
        if let Some(options) = &node.options {
            types = types.and(options.iter().map(Types::of).fold(Types::NONE, Types::or));
        }
        for part in &node.all_of {
            types = types.and(self.types(*part, look, depth + 1));
        }
        for branches in node.branches() {
            let each = branches.iter().map(|branch| self.types(*branch, look, depth + 1));
            types = types.and(each.fold(Types::NONE, Types::or));
        }
        types
    }
}

impl Node {
    /// The lists of which one has to fit.
    pub(crate) fn branches(&self) -> impl Iterator<Item = &Vec<Id>> {
        self.any_of.iter().chain([&self.one_of]).filter(|branches| !branches.is_empty())
    }
}

/// How far it is looked which types a schema allows: what a stranger wrote may unfold without end.
#[derive(Debug)]
pub(crate) struct Look {
    deepest: usize,
    left: Cell<usize>,
}

impl Look {
    /// For a schema that has been found to end.
    pub(crate) fn everywhere() -> Self {
        Self { deepest: usize::MAX, left: Cell::new(usize::MAX) }
    }

    pub(crate) fn new() -> Self {
        Self { deepest: MAX_LOOK, left: Cell::new(MAX_LOOKS) }
    }

    fn goes_on(&self, depth: usize) -> bool {
        let left = self.left.get().saturating_sub(1);
        self.left.set(left);
        depth < self.deepest && left > 0
    }
}

/// How far it is looked which types a schema allows.
const MAX_LOOK: usize = 16;

/// How often, for one question. Then nothing more is known.
const MAX_LOOKS: usize = 100_000;
