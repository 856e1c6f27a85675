//! A JSON object whose values all have one type.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde::ser::{Serialize, Serializer};

use super::write::{Encode, Encoder};

/// Values by key, in the order of the object. A key that occurs twice is kept twice.
///
/// ```
/// use toolway_protocol::RawJson;
/// use toolway_protocol::json::OrderedMap;
///
/// let numbers: OrderedMap<u8> = RawJson::parse(r#"{"z":1,"a":2}"#)?.decode()?;
/// assert_eq!(numbers.get("a"), Some(&2));
/// assert_eq!(numbers.0, [("z".to_owned(), 1), ("a".to_owned(), 2)]);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct OrderedMap<T>(pub Vec<(String, T)>);

impl<T> Default for OrderedMap<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T> OrderedMap<T> {
    /// Returns the first value with this key.
    pub fn get(&self, key: &str) -> Option<&T> {
        self.0.iter().find(|(known, _)| known == key).map(|(_, value)| value)
    }
}

impl<T> From<Vec<(String, T)>> for OrderedMap<T> {
    fn from(entries: Vec<(String, T)>) -> Self {
        Self(entries)
    }
}

impl<T: Encode> Encode for OrderedMap<T> {
    fn encode(&self, to: &mut Encoder<'_>) {
        to.entries(&self.0);
    }
}

impl<T: Serialize> Serialize for OrderedMap<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(key, value)| (key, value)))
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for OrderedMap<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct EntriesVisitor<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for EntriesVisitor<T> {
            type Value = OrderedMap<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let entries = std::iter::from_fn(|| map.next_entry().transpose());
                entries.collect::<Result<_, _>>().map(OrderedMap)
            }
        }
        deserializer.deserialize_map(EntriesVisitor(PhantomData))
    }
}
