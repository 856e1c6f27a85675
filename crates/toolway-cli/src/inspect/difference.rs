//! Where do two JSON values differ? Members are compared by name, whatever their order; numbers by their spelling.

use serde_json::Value;
use toolway::RawJson;
use toolway::types::OrderedMap;

use super::object::object;

/// How many differences are listed.
const MAX_DIFFERENCES: usize = 200;

/// The maximum depth to which values are compared member by member. Deeper values are compared as texts.
const MAX_DEPTH: usize = 64;

/// One difference.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Difference {
    /// A JSON pointer.
    pub(super) path: String,
    /// The value on each side; `None` if there is none.
    pub(super) was: Option<String>,
    pub(super) is: Option<String>,
}

impl Difference {
    pub(super) fn to_json(&self) -> Value {
        object! {"path": self.path, "was": self.was, "is": self.is}
    }
}

/// Returns the differences between two values, of which each may be missing.
pub(super) fn differences(was: Option<&RawJson>, is: Option<&RawJson>) -> Vec<Difference> {
    let mut found = Vec::new();
    compare(String::new(), was, is, 0, &mut found);
    found
}

fn compare(
    path: String,
    was: Option<&RawJson>,
    is: Option<&RawJson>,
    depth: usize,
    found: &mut Vec<Difference>,
) {
    if found.len() >= MAX_DIFFERENCES || was == is {
        return;
    }
    if let (Some(left), Some(right)) = (was, is) {
        if depth < MAX_DEPTH
            && let (Some(left), Some(right)) = (members(left), members(right))
        {
            for (name, value) in &left {
                let other = right.iter().rev().find(|(known, _)| known == name).map(|(_, value)| value);
                compare(format!("{path}/{}", escape(name)), Some(value), other, depth + 1, found);
            }
            for (name, value) in right.iter().filter(|(name, _)| left.iter().all(|(known, _)| known != name))
            {
                compare(format!("{path}/{}", escape(name)), None, Some(value), depth + 1, found);
            }
            return;
        }
        if depth < MAX_DEPTH
            && let (Some(left), Some(right)) = (items(left), items(right))
        {
            for index in 0..left.len().max(right.len()) {
                compare(format!("{path}/{index}"), left.get(index), right.get(index), depth + 1, found);
            }
            return;
        }
        // The same string may be written with and without escapes.
        if let (Ok(left), Ok(right)) = (left.decode::<String>(), right.decode::<String>())
            && left == right
        {
            return;
        }
        if left.as_str().trim() == right.as_str().trim() {
            return;
        }
    }
    let text = |value: Option<&RawJson>| value.map(|value| value.as_str().to_owned());
    found.push(Difference { path, was: text(was), is: text(is) });
}

fn members(value: &RawJson) -> Option<Vec<(String, RawJson)>> {
    if !value.is_object() {
        return None;
    }
    value.decode::<OrderedMap<RawJson>>().ok().map(|OrderedMap(members)| members)
}

fn items(value: &RawJson) -> Option<Vec<RawJson>> {
    value.as_str().trim_start().starts_with('[').then(|| value.decode().ok())?
}

fn escape(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(was: &str, is: &str) -> Vec<String> {
        let (was, is) = (RawJson::parse(was).unwrap(), RawJson::parse(is).unwrap());
        differences(Some(&was), Some(&is)).into_iter().map(|difference| difference.path).collect()
    }

    #[test]
    fn equal_values_have_no_differences() {
        assert_eq!(paths(r#"{"a": 1, "b": [true]}"#, r#"{"b":[true],"a":1}"#), [""; 0]);
        assert_eq!(paths(r#""é""#, r#""\u00e9""#), [""; 0]);
    }

    #[test]
    fn each_difference_has_its_place() {
        assert_eq!(
            paths(r#"{"a":{"b":[1,2]},"c":1}"#, r#"{"a":{"b":[1,3,4]},"d/e":1}"#),
            ["/a/b/1", "/a/b/2", "/c", "/d~1e"]
        );
        assert_eq!(paths("1", "1.0"), [""]);
        assert_eq!(paths(r#"[""]"#, r#"{"0":""}"#), [""]);
    }
}
