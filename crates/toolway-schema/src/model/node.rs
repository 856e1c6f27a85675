//! How is a schema stored once it is read?
//!
//! A schema is stored as a table of nodes that refer to each other by index. A recursive schema is a cycle in the
//! table.

use std::collections::BTreeMap;

use serde_json::{Number, Value};

use crate::terms::format::Format;
use crate::terms::pattern::CompiledPattern;
use crate::terms::types::Types;

/// The index of a node.
pub(crate) type Id = usize;

/// A schema that was read.
#[derive(Debug)]
pub(crate) struct Model {
    /// The nodes; the first one is the schema itself.
    pub(crate) nodes: Vec<Node>,
    /// The types that each node allows. Definitions can refer to each other so often that a search for the types,
    /// repeated for every value, would not end.
    types: Vec<Types>,
}

/// One schema: the rules for a value.
#[derive(Debug, Default)]
pub(crate) struct Node {
    pub(crate) is_never: bool,
    /// `true` if references lead to this node. A walk may reach it by several paths, so its results are cached.
    pub(crate) is_shared: bool,
    pub(crate) types: Option<Types>,
    /// The values of `enum` and `const`.
    pub(crate) allowed: Option<Vec<Value>>,
    pub(crate) number: Option<Box<NumberRules>>,
    pub(crate) text: Option<Box<TextRules>>,
    pub(crate) array: Option<Box<ArrayRules>>,
    pub(crate) object: Option<Box<ObjectRules>>,
    /// The targets of references, followed by `allOf`.
    pub(crate) all_of: Vec<Id>,
    pub(crate) any_of: Vec<Vec<Id>>,
    pub(crate) one_of: Vec<Id>,
    pub(crate) not: Option<Id>,
    /// Data that is not needed to check values; present only in models that [`Schema::of`](super::Schema::of) reads.
    pub(crate) details: Option<Box<NodeDetails>>,
}

/// Limits on the number of characters, items or members.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct CountLimits {
    pub(crate) min: Option<u64>,
    pub(crate) max: Option<u64>,
}

#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct NumberRules {
    pub(crate) minimum: Option<Number>,
    pub(crate) maximum: Option<Number>,
    pub(crate) exclusive_minimum: Option<Number>,
    pub(crate) exclusive_maximum: Option<Number>,
    pub(crate) multiple_of: Vec<Number>,
}

impl NumberRules {
    /// Returns the bounds with their keywords.
    pub(crate) fn bounds(&self) -> [(&'static str, &Option<Number>); 4] {
        [
            ("minimum", &self.minimum),
            ("maximum", &self.maximum),
            ("exclusiveMinimum", &self.exclusive_minimum),
            ("exclusiveMaximum", &self.exclusive_maximum),
        ]
    }
}

#[derive(Debug, Default)]
pub(crate) struct TextRules {
    pub(crate) count: CountLimits,
    pub(crate) pattern: Option<Pattern>,
    pub(crate) format: Option<&'static Format>,
    /// The name of a format that is not checked.
    pub(crate) other_format: Option<String>,
}

impl TextRules {
    /// Describes in words which text the format or the pattern expects.
    pub(crate) fn expected_text(&self) -> Option<String> {
        let known = self.format.map(|format| format.noun.to_owned());
        let other = || self.other_format.as_ref().map(|name| format!("text of the format `{name}`"));
        let pattern =
            || self.pattern.as_ref().map(|pattern| format!("text that matches `{}`", pattern.source));
        known.or_else(other).or_else(pattern)
    }
}

/// A regular expression. It is compiled only if values are checked.
#[derive(Debug)]
pub(crate) struct Pattern {
    pub(crate) source: String,
    pub(crate) compiled: Option<CompiledPattern>,
}

#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct ArrayRules<N = Id> {
    /// The schemas of the first items, one per position.
    pub(crate) prefix: Vec<N>,
    /// The schema of the other items.
    pub(crate) items: Option<N>,
    pub(crate) count: CountLimits,
    pub(crate) is_unique: bool,
}

#[derive(Debug, Default)]
pub(crate) struct ObjectRules {
    pub(crate) properties: BTreeMap<String, Id>,
    pub(crate) required: Vec<String>,
    pub(crate) patterns: Vec<(Pattern, Id)>,
    pub(crate) additional: Additional,
    pub(crate) count: CountLimits,
}

/// The members that an object may have besides the named ones.
#[derive(Debug, Default)]
pub(crate) enum Additional {
    #[default]
    Unspecified,
    Anything,
    Nothing,
    Schema(Id),
}

/// The other data of a schema: its position, its annotations and its conditions.
#[derive(Debug, Default)]
pub(crate) struct NodeDetails {
    /// The position, as a JSON pointer.
    pub(crate) at: String,
    /// `true` if this schema was not read, because the whole schema is too large.
    pub(crate) is_truncated: bool,
    /// The number of references in `all_of`.
    pub(crate) references: usize,
    /// `true` if `nullable` of `OpenAPI` 3.0 allows null.
    pub(crate) is_nullable: bool,
    pub(crate) title: Option<String>,
    pub(crate) description: Option<String>,
    /// The annotations: `default`, `examples`, …
    pub(crate) annotations: Vec<(&'static str, Value)>,
    /// The format, known or not.
    pub(crate) format: Option<String>,
    /// The names of properties, in their order.
    pub(crate) names: Vec<String>,
    /// Keywords that few providers support.
    pub(crate) parts: Vec<(&'static str, KeywordValue<Id>)>,
    pub(crate) mistakes: Vec<Mistake>,
}

/// The value of a keyword that few providers support.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum KeywordValue<N> {
    Schema(N),
    Named(Vec<(String, N)>),
    Json(Value),
}

/// A part of a schema that makes no sense and is ignored.
#[derive(Debug)]
pub(crate) struct Mistake {
    pub(crate) at: String,
    pub(crate) keyword: String,
    pub(crate) why: String,
    /// `true` if the ignored part is only an annotation, which restricts no value.
    pub(crate) is_annotation: bool,
}

impl Model {
    pub(crate) fn new(nodes: Vec<Node>) -> Self {
        let mut search = TypeSearch { nodes: &nodes, known: vec![None; nodes.len()] };
        let types = (0..nodes.len()).map(|id| search.types(id, 0)).collect();
        Self { nodes, types }
    }

    pub(crate) fn node(&self, id: Id) -> &Node {
        &self.nodes[id]
    }

    /// Returns the types that a value may have, as far as the schema says.
    pub(crate) fn types(&self, id: Id) -> Types {
        self.types[id]
    }
}

/// A search for the types that nodes allow, which visits each node once.
struct TypeSearch<'n> {
    nodes: &'n [Node],
    /// The types of the nodes that were visited. While the types of a node are searched, any type is possible: the node
    /// may refer to itself.
    known: Vec<Option<Types>>,
}

impl TypeSearch<'_> {
    fn types(&mut self, id: Id, depth: usize) -> Types {
        if let Some(types) = self.known[id] {
            return types;
        }
        if depth > MAX_SEARCH_DEPTH {
            return Types::ANY;
        }
        self.known[id] = Some(Types::ANY);
        let types = self.types_of_node(&self.nodes[id], depth);
        self.known[id] = Some(types);
        types
    }

    fn types_of_node(&mut self, node: &Node, depth: usize) -> Types {
        if node.is_never {
            return Types::NONE;
        }
        let mut types = node.types.unwrap_or(Types::ANY);
        if node.details.as_ref().is_some_and(|more| more.is_nullable) {
            types = types.or(Types::NULL);
        }
        if let Some(options) = &node.allowed {
            types = types.and(options.iter().map(Types::of).fold(Types::NONE, Types::or));
        }
        for part in &node.all_of {
            types = types.and(self.types(*part, depth + 1));
        }
        for branches in node.branches() {
            let each = branches.iter().map(|branch| self.types(*branch, depth + 1));
            types = types.and(each.fold(Types::NONE, Types::or));
        }
        types
    }
}

impl Node {
    /// Returns the `anyOf` and `oneOf` lists. A value must fit a branch of each list.
    pub(crate) fn branches(&self) -> impl Iterator<Item = &Vec<Id>> {
        self.any_of.iter().chain([&self.one_of]).filter(|branches| !branches.is_empty())
    }
}

/// The maximum depth of a search for the allowed types. A schema from a peer can refer from definition to definition
/// without end; deeper types are considered possible.
const MAX_SEARCH_DEPTH: usize = 256;
