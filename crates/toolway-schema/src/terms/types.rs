//! Which JSON types may a value have?

use serde_json::Value;

use crate::terms::number;

/// A set of types. Integers and other numbers have separate bits; `number` has both.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct Types(u8);

impl Types {
    /// No type.
    pub const NONE: Self = Self(0);
    /// `null`.
    pub const NULL: Self = Self(1);
    /// `boolean`.
    pub const BOOLEAN: Self = Self(2);
    /// `string`.
    pub const STRING: Self = Self(4);
    /// `integer`.
    pub const INTEGER: Self = Self(8);
    /// `number`, with or without a fraction.
    pub const NUMBER: Self = Self(8 | 16);
    /// `array`.
    pub const ARRAY: Self = Self(32);
    /// `object`.
    pub const OBJECT: Self = Self(64);
    /// Every type.
    pub const ANY: Self = Self(127);

    /// Returns the type of a value; 5.0 is an integer.
    pub fn of(value: &Value) -> Self {
        match value {
            Value::Null => Self::NULL,
            Value::Bool(_) => Self::BOOLEAN,
            Value::Number(number) if number::is_integer(number) => Self::INTEGER,
            Value::Number(_) => Self(16),
            Value::String(_) => Self::STRING,
            Value::Array(_) => Self::ARRAY,
            Value::Object(_) => Self::OBJECT,
        }
    }

    /// Returns the type with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        NAMES.iter().find(|(known, ..)| *known == name).map(|(.., types)| *types)
    }

    /// Returns the names of all types in the set.
    pub fn names(self) -> Vec<&'static str> {
        self.each().map(|(name, ..)| name).collect()
    }

    /// Describes the set in words, as in `a string or null`.
    pub(crate) fn describe(self) -> String {
        self.each().map(|(_, noun, _)| noun).collect::<Vec<_>>().join(" or ")
    }

    fn each(self) -> impl Iterator<Item = (&'static str, &'static str, Self)> {
        let mut left = self;
        NAMES.into_iter().filter(move |(name, _, types)| {
            let is_in = left.contains(*types) || (*name == "number" && left.intersects(Self(16)));
            left = if is_in { left.without(*types) } else { left };
            is_in
        })
    }

    /// Returns the types that are in both sets.
    pub fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// Returns the types that are in either set.
    pub fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(crate) fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// Returns whether the set contains all types of the other one.
    pub fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Returns whether the two sets have a type in common.
    pub fn intersects(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// Returns whether the set is empty.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }
}

impl std::fmt::Debug for Types {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.names()).finish()
    }
}

/// The names of the types. `number` is before `integer`, so that a set with both gets one name.
const NAMES: [(&str, &str, Types); 7] = [
    ("string", "a string", Types::STRING),
    ("number", "a number", Types::NUMBER),
    ("integer", "an integer", Types::INTEGER),
    ("boolean", "a boolean", Types::BOOLEAN),
    ("array", "an array", Types::ARRAY),
    ("object", "an object", Types::OBJECT),
    ("null", "null", Types::NULL),
];

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn types_have_the_names_that_json_schema_gives_them() {
        assert_eq!(Types::ANY.names(), ["string", "number", "boolean", "array", "object", "null"]);
        assert_eq!(Types::INTEGER.or(Types::NULL).names(), ["integer", "null"]);
        assert_eq!(Types::of(&json!(0.5)).names(), ["number"]);
        assert_eq!(Types::of(&json!(2.0)).names(), ["integer"]);
        assert_eq!(Types::NUMBER.and(Types::INTEGER).names(), ["integer"]);
        assert!(Types::NONE.names().is_empty());
        assert_eq!(Types::from_name("number"), Some(Types::NUMBER));
        assert_eq!(Types::from_name("float"), None);
    }
}
