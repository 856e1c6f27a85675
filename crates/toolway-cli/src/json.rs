//! How is JSON read and shown without changing the order of members or the spelling of numbers?

use serde::ser::{Error as _, Serialize, Serializer};
use toolway::RawJson;
use toolway::types::OrderedMap;

/// Returns the content of a string, or the JSON of any other value.
pub(crate) fn text(value: &RawJson) -> String {
    value.decode().unwrap_or_else(|_| value.as_str().to_owned())
}

/// Returns the value on several lines, for people.
pub(crate) fn pretty(value: &RawJson) -> String {
    serde_json::to_string_pretty(&Tree(value)).expect("a value is written as JSON")
}

/// A value that is serialized recursively; scalars keep their text.
struct Tree<'v>(&'v RawJson);

impl Serialize for Tree<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0.as_bytes().first() {
            Some(b'{') => {
                let OrderedMap(members) = self.0.decode::<OrderedMap<RawJson>>().map_err(S::Error::custom)?;
                serializer.collect_map(members.iter().map(|(name, value)| (name, Tree(value))))
            }
            Some(b'[') => {
                let items = self.0.decode::<Vec<RawJson>>().map_err(S::Error::custom)?;
                serializer.collect_seq(items.iter().map(Tree))
            }
            _ => self.0.serialize(serializer),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pretty_json_says_the_same() {
        let text = r#"{"z": 1e400, "a":[ ],"b":{},"c":["x\"{,}",{"d":12345678901234567890123}], "z":null}"#;
        let shown = pretty(&RawJson::parse(text).unwrap());
        let lines = "{\n  \"z\": 1e400,\n  \"a\": [],\n  \"b\": {},\n  \"c\": [\n    \"x\\\"{,}\",\n    {\n      \"d\": 12345678901234567890123\n    }\n  ],\n  \"z\": null\n}";
        assert_eq!(shown, lines);
    }

    #[test]
    fn strings_are_read_and_the_rest_is_kept() {
        for (json, expected) in [(r#""a\nb""#, "a\nb"), ("1e400", "1e400"), (r#"{"z": 1}"#, r#"{"z": 1}"#)] {
            assert_eq!(text(&RawJson::parse(json).unwrap()), expected);
        }
    }
}
