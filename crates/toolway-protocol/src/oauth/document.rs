//! Which members does a document of a server have?
//!
//! Servers write these documents by hand. A member of the wrong type is as if it were absent.

use serde_json::{Map, Value};

use super::scope::Scopes;
use crate::json::duplicates::find_duplicate;

/// A JSON object.
#[derive(Debug)]
pub(super) struct Document(Map<String, Value>);

impl Document {
    /// Reads an object. Returns `None` if the bytes are something else, or if a key occurs twice: another reader could
    /// use the other value.
    pub(super) fn read(bytes: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(bytes).ok()?;
        match serde_json::from_str(text) {
            Ok(Value::Object(members)) if find_duplicate(text, 0).is_none() => Some(Self(members)),
            _ => None,
        }
    }

    /// The pairs of a form. Returns `None` if a name occurs twice.
    pub(super) fn of_pairs(pairs: Vec<(String, String)>) -> Option<Self> {
        let count = pairs.len();
        let members: Map<_, _> =
            pairs.into_iter().map(|(name, value)| (name, Value::String(value))).collect();
        (members.len() == count).then_some(Self(members))
    }

    /// Returns all members.
    pub(super) fn into_members(self) -> Map<String, Value> {
        self.0
    }

    pub(super) fn get(&self, name: &str) -> Option<&Value> {
        self.0.get(name)
    }

    /// Returns a text that is not empty.
    pub(super) fn text(&self, name: &str) -> Option<String> {
        self.get(name)?.as_str().filter(|text| !text.is_empty()).map(str::to_owned)
    }

    pub(super) fn flag(&self, name: &str) -> bool {
        self.get(name).and_then(Value::as_bool).unwrap_or_default()
    }

    pub(super) fn list(&self, name: &str) -> Option<Vec<String>> {
        let items = self.get(name)?.as_array()?;
        Some(items.iter().filter_map(Value::as_str).map(str::to_owned).collect())
    }

    pub(super) fn scopes(&self, name: &str) -> Option<Scopes> {
        Scopes::from_json(self.get(name)?)
    }

    /// Returns a number that is not negative. Some servers write it as a text.
    pub(super) fn seconds(&self, name: &str) -> Option<u64> {
        match self.get(name)? {
            Value::String(text) => text.trim().parse().ok(),
            Value::Number(number) => number.as_u64().or_else(|| whole_seconds(number.as_f64()?)),
            _ => None,
        }
    }
}

/// Returns the whole seconds of a number such as `3599.5`.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the range is checked")]
fn whole_seconds(number: f64) -> Option<u64> {
    (0.0..=1e15).contains(&number).then_some(number as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_objects_without_doubled_keys_are_read() {
        for bytes in [
            &b"[]"[..],
            b"1",
            b"",
            b"<html>",
            b"{\"a\":1,\"a\":1}",
            b"{\"a\":{\"b\":1,\"b\":2}}",
            b"{\"a\":\"\xff\"}",
        ] {
            assert!(Document::read(bytes).is_none(), "{bytes:?}");
        }
        let document =
            Document::read(br#"{"a":"x","b":[1,"y"],"c":"","d":true,"e":"60","f":59.9,"g":-1}"#).unwrap();
        assert_eq!(document.text("a").as_deref(), Some("x"));
        assert_eq!((document.text("c"), document.text("b"), document.text("z")), (None, None, None));
        assert_eq!(document.list("b").unwrap(), ["y"]);
        assert!(document.flag("d") && !document.flag("a"));
        let seconds = ["e", "f", "g", "a"].map(|name| document.seconds(name));
        assert_eq!(seconds, [Some(60), Some(59), None, None]);
    }
}
