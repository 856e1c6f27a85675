//! Which types of JSON may a value have?

use serde_json::Value;

/// A set of types. Whole numbers and others are apart, as `number` is both.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Types(u8);

impl Types {
    pub(crate) const NONE: Self = Self(0);
    pub(crate) const NULL: Self = Self(1);
    pub(crate) const BOOLEAN: Self = Self(2);
    pub(crate) const STRING: Self = Self(4);
    pub(crate) const INTEGER: Self = Self(8);
    pub(crate) const NUMBER: Self = Self(8 | 16);
    pub(crate) const ARRAY: Self = Self(32);
    pub(crate) const OBJECT: Self = Self(64);
    pub(crate) const ANY: Self = Self(127);

    /// The type of a value.
    pub(crate) fn of(value: &Value) -> Self {
        match value {
            Value::Null => Self::NULL,
            Value::Bool(_) => Self::BOOLEAN,
            Value::String(_) => Self::STRING,
            Value::Array(_) => Self::ARRAY,
            Value::Object(_) => Self::OBJECT,
            Value::Number(number) => {
                let is_whole = number.is_i64()
                    || number.is_u64()
                    || number.as_f64().is_some_and(|float| float.fract() == 0.0);
                if is_whole { Self::INTEGER } else { Self(16) }
            }
        }
    }

    /// The type of this name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        NAMES.into_iter().find(|(known, _)| *known == name).map(|(_, types)| types)
    }

    /// The names of all types in it.
    pub(crate) fn names(self) -> Vec<&'static str> {
        let mut left = self;
        let mut names = Vec::new();
        for (name, types) in NAMES {
            let is_number = name == "number" && left.has(Self(16));
            if is_number || (!left.is_none() && left.0 & types.0 == types.0) {
                names.push(name);
                left = Self(left.0 & !types.0);
            }
        }
        names
    }

    pub(crate) fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    pub(crate) fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(crate) fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// Whether both have something in common.
    pub(crate) fn has(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    pub(crate) fn is_none(self) -> bool {
        self.0 == 0
    }
}

impl std::fmt::Debug for Types {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.names()).finish()
    }
}

/// Numbers before whole ones: what is both has one name.
const NAMES: [(&str, Types); 7] = [
    ("string", Types::STRING),
    ("number", Types::NUMBER),
    ("integer", Types::INTEGER),
    ("boolean", Types::BOOLEAN),
    ("array", Types::ARRAY),
    ("object", Types::OBJECT),
    ("null", Types::NULL),
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
        assert_eq!(Types::named("number"), Some(Types::NUMBER));
        assert_eq!(Types::named("float"), None);
    }
}
