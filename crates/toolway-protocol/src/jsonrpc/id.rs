//! Request ids: the number 7 and the string "7" are two different ids.

use std::fmt;
use std::sync::Arc;

use serde::de::{self, Deserialize, Deserializer, Visitor};

use crate::json::{Encode, Encoder};

/// A request id or a progress token: a string or an integer, kept as received.
///
/// The parser refuses fractions, `null` and integers that do not fit in 64 bits.
///
/// ```
/// use toolway_protocol::Id;
///
/// assert_ne!(Id::from(7), Id::from("7"));
/// assert_eq!(Id::from(7).to_string(), "7");
/// assert_eq!(Id::from("7").to_string(), "\"7\"");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Id {
    /// An integer.
    Number(i64),
    /// A string.
    String(Arc<str>),
}

impl From<i64> for Id {
    fn from(number: i64) -> Self {
        Self::Number(number)
    }
}

impl From<&str> for Id {
    fn from(string: &str) -> Self {
        Self::String(string.into())
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => write!(f, "{number}"),
            Self::String(string) => write!(f, "{string:?}"),
        }
    }
}

impl Encode for Id {
    fn encode(&self, to: &mut Encoder<'_>) {
        match self {
            Self::Number(number) => to.serde(number),
            Self::String(string) => to.serde(&**string),
        }
    }
}

impl<'de> Deserialize<'de> for Id {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(IdVisitor)
    }
}

struct IdVisitor;

impl Visitor<'_> for IdVisitor {
    type Value = Id;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string or an integer")
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<Id, E> {
        Ok(Id::Number(number))
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<Id, E> {
        i64::try_from(number).map(Id::Number).map_err(|_| {
            E::invalid_value(de::Unexpected::Unsigned(number), &"an integer of at most 64 bits, signed")
        })
    }

    fn visit_str<E: de::Error>(self, string: &str) -> Result<Id, E> {
        Ok(Id::from(string))
    }
}
