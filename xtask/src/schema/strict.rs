//! Is this JSON, and has no object a duplicate member?
//!
//! `serde_json` silently keeps the last of two members with the same name; other parsers keep the first or refuse. Our
//! output must not depend on the reader.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

/// Parses text that our types wrote.
pub(super) fn parse(text: &[u8]) -> Result<Value, serde_json::Error> {
    serde_json::from_slice(text).map(|StrictValue(value)| value)
}

struct StrictValue(Value);

impl<'de> Deserialize<'de> for StrictValue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Reader).map(Self)
    }
}

struct Reader;

impl<'de> Visitor<'de> for Reader {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut array = Vec::new();
        while let Some(StrictValue(item)) = items.next_element()? {
            array.push(item);
        }
        Ok(Value::Array(array))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some((name, StrictValue(member))) = members.next_entry::<String, StrictValue>()? {
            if object.contains_key(&name) {
                return Err(A::Error::custom(format_args!("`{name}` occurs twice")));
            }
            object.insert(name, member);
        }
        Ok(Value::Object(object))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::parse;

    #[test]
    fn everything_reads_as_itself() {
        let value = json!({"a": [null, true, -1, 1, 0.5, "text", {}], "b": {"a": u64::MAX}});
        assert_eq!(parse(value.to_string().as_bytes()).unwrap(), value);
    }

    #[test]
    fn a_member_that_comes_twice_is_refused_at_any_depth() {
        let error = parse(br#"{"a": [{"b": 1, "c": 2, "b": 1}]}"#).unwrap_err().to_string();
        assert!(error.starts_with("`b` occurs twice"), "{error}");
        assert!(parse(br#"{"a": {"a": 1}, "b": {"a": 1}}"#).is_ok());
        assert!(parse(b"{").is_err());
    }
}
