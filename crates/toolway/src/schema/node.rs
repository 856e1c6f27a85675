//! What is a schema once it is read?
//!
//! A table of nodes that name one another by number: that makes recursion in a schema a plain cycle in the table.

use std::collections::BTreeMap;

use regex_lite::Regex;
use serde_json::{Number, Value};

use super::format::Format;
use super::number;

/// The number of a node.
pub(super) type Id = usize;

/// A schema, read.
#[derive(Debug)]
pub(super) struct Program {
    /// The first is the schema itself.
    pub(super) nodes: Vec<Node>,
    /// What its own properties are when nobody sends them.
    pub(super) defaults: Vec<(String, Value)>,
    /// What it says beyond this table, in sentences for the author.
    pub(super) beyond: Vec<String>,
}

/// One schema: what it demands of a value.
#[derive(Debug, Default)]
pub(super) struct Node {
    pub(super) is_never: bool,
    /// Others refer to it: values may meet it on many ways, so what was found is remembered.
    pub(super) is_shared: bool,
    pub(super) types: Option<Types>,
    pub(super) options: Option<Vec<Value>>,
    pub(super) number: Option<Box<Numbers>>,
    pub(super) text: Option<Box<Texts>>,
    pub(super) array: Option<Box<Arrays>>,
    pub(super) object: Option<Box<Objects>>,
    /// `allOf` and `$ref`.
    pub(super) all_of: Vec<Id>,
    pub(super) any_of: Vec<Vec<Id>>,
    pub(super) one_of: Vec<Id>,
    pub(super) not: Option<Id>,
}

#[derive(Debug, Default)]
pub(super) struct Numbers {
    pub(super) minimum: Option<Number>,
    pub(super) maximum: Option<Number>,
    pub(super) above: Option<Number>,
    pub(super) below: Option<Number>,
    pub(super) multiple_of: Option<Number>,
}

#[derive(Debug, Default)]
pub(super) struct Texts {
    pub(super) min: Option<u64>,
    pub(super) max: Option<u64>,
    pub(super) pattern: Option<(String, Regex)>,
    pub(super) format: Option<&'static Format>,
}

#[derive(Debug, Default)]
pub(super) struct Arrays {
    pub(super) prefix: Vec<Id>,
    pub(super) items: Option<Id>,
    pub(super) min: Option<u64>,
    pub(super) max: Option<u64>,
    pub(super) is_unique: bool,
}

#[derive(Debug, Default)]
pub(super) struct Objects {
    pub(super) properties: BTreeMap<String, Id>,
    pub(super) required: Vec<String>,
    pub(super) patterns: Vec<(Regex, Id)>,
    pub(super) additional: Additional,
    pub(super) min: Option<u64>,
    pub(super) max: Option<u64>,
}

/// What an object may hold besides what its schema names.
#[derive(Debug, Default)]
pub(super) enum Additional {
    #[default]
    Anything,
    Nothing,
    Schema(Id),
}

/// A set of the seven types.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Types(u8);

impl Types {
    pub(super) const NONE: Self = Self(0);
    pub(super) const ALL: Self = Self(0x7f);
    pub(super) const NULL: Self = Self(1);
    pub(super) const BOOLEAN: Self = Self(2);
    pub(super) const INTEGER: Self = Self(4);
    /// Numbers of either kind.
    pub(super) const NUMBER: Self = Self(8 | 4);
    pub(super) const STRING: Self = Self(16);
    pub(super) const ARRAY: Self = Self(32);
    pub(super) const OBJECT: Self = Self(64);

    pub(super) fn named(name: &str) -> Option<Self> {
        NAMES.iter().find(|(known, ..)| *known == name).map(|(.., types)| *types)
    }

    /// The type of a value; 5.0 is an integer.
    pub(super) fn of(value: &Value) -> Self {
        match value {
            Value::Null => Self::NULL,
            Value::Bool(_) => Self::BOOLEAN,
            Value::Number(number) if number::is_integer(number) => Self::INTEGER,
            Value::Number(_) => Self(8),
            Value::String(_) => Self::STRING,
            Value::Array(_) => Self::ARRAY,
            Value::Object(_) => Self::OBJECT,
        }
    }

    pub(super) fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    pub(super) fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    pub(super) fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// `a string or null`
    pub(super) fn in_words(self) -> String {
        let mut left = self;
        let mut words = Vec::new();
        for (_, noun, types) in NAMES {
            if left.contains(types) {
                words.push(noun);
                left.0 &= !types.0;
            }
        }
        words.join(" or ")
    }
}

/// The names of types, the wider before the narrower.
const NAMES: [(&str, &str, Types); 7] = [
    ("string", "a string", Types::STRING),
    ("number", "a number", Types::NUMBER),
    ("integer", "an integer", Types::INTEGER),
    ("boolean", "a boolean", Types::BOOLEAN),
    ("array", "an array", Types::ARRAY),
    ("object", "an object", Types::OBJECT),
    ("null", "null", Types::NULL),
];
