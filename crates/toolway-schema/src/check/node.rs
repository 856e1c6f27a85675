//! What is a schema once it is read?
//!
//! A table of nodes that name one another by number: that makes recursion in a schema a plain cycle in the table.

use std::collections::BTreeMap;

use regex_lite::Regex;
use serde_json::{Number, Value};

use crate::format::Format;
use crate::number;

/// The number of a node.
pub(crate) type Id = usize;

/// A schema, read.
#[derive(Debug)]
pub(crate) struct Program {
    /// The first is the schema itself.
    pub(crate) nodes: Vec<Node>,
    /// What its own properties are when nobody sends them.
    pub(crate) defaults: Vec<(String, Value)>,
    /// What it says beyond this table, in sentences for the author.
    pub(crate) beyond: Vec<String>,
}

/// One schema: what it demands of a value.
#[derive(Debug, Default)]
pub(crate) struct Node {
    pub(crate) is_never: bool,
    /// Others refer to it: values may meet it on many ways, so what was found is remembered.
    pub(crate) is_shared: bool,
    pub(crate) types: Option<Types>,
    pub(crate) options: Option<Vec<Value>>,
    pub(crate) number: Option<Box<Numbers>>,
    pub(crate) text: Option<Box<Texts>>,
    pub(crate) array: Option<Box<Arrays>>,
    pub(crate) object: Option<Box<Objects>>,
    /// `allOf` and `$ref`.
    pub(crate) all_of: Vec<Id>,
    pub(crate) any_of: Vec<Vec<Id>>,
    pub(crate) one_of: Vec<Id>,
    pub(crate) not: Option<Id>,
}

#[derive(Debug, Default)]
pub(crate) struct Numbers {
    pub(crate) minimum: Option<Number>,
    pub(crate) maximum: Option<Number>,
    pub(crate) above: Option<Number>,
    pub(crate) below: Option<Number>,
    pub(crate) multiple_of: Option<Number>,
}

#[derive(Debug, Default)]
pub(crate) struct Texts {
    pub(crate) min: Option<u64>,
    pub(crate) max: Option<u64>,
    pub(crate) pattern: Option<(String, Regex)>,
    pub(crate) format: Option<&'static Format>,
}

#[derive(Debug, Default)]
pub(crate) struct Arrays {
    pub(crate) prefix: Vec<Id>,
    pub(crate) items: Option<Id>,
    pub(crate) min: Option<u64>,
    pub(crate) max: Option<u64>,
    pub(crate) is_unique: bool,
}

#[derive(Debug, Default)]
pub(crate) struct Objects {
    pub(crate) properties: BTreeMap<String, Id>,
    pub(crate) required: Vec<String>,
    pub(crate) patterns: Vec<(Regex, Id)>,
    pub(crate) additional: Additional,
    pub(crate) min: Option<u64>,
    pub(crate) max: Option<u64>,
}

/// What an object may hold besides what its schema names.
#[derive(Debug, Default)]
pub(crate) enum Additional {
    #[default]
    Anything,
    Nothing,
    Schema(Id),
}

/// A set of the seven types.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Types(u8);

impl Types {
    pub(crate) const NONE: Self = Self(0);
    pub(crate) const ALL: Self = Self(0x7f);
    pub(crate) const NULL: Self = Self(1);
    pub(crate) const BOOLEAN: Self = Self(2);
    pub(crate) const INTEGER: Self = Self(4);
    /// Numbers of either kind.
    pub(crate) const NUMBER: Self = Self(8 | 4);
    pub(crate) const STRING: Self = Self(16);
    pub(crate) const ARRAY: Self = Self(32);
    pub(crate) const OBJECT: Self = Self(64);

    pub(crate) fn named(name: &str) -> Option<Self> {
        NAMES.iter().find(|(known, ..)| *known == name).map(|(.., types)| *types)
    }

    /// The type of a value; 5.0 is an integer.
    pub(crate) fn of(value: &Value) -> Self {
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

    pub(crate) fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    pub(crate) fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    pub(crate) fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// `a string or null`
    pub(crate) fn in_words(self) -> String {
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
