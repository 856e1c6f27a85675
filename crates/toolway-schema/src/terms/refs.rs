//! What does a reference refer to? Only to parts of the same schema; nothing is fetched.

use std::cell::OnceCell;
use std::collections::BTreeMap;

use serde_json::Value;

/// A schema that contains references.
#[derive(Debug)]
pub(crate) struct RefResolver<'s> {
    root: &'s Value,
    /// The schemas with an anchor or an id, collected at the first lookup.
    named: OnceCell<BTreeMap<String, (String, &'s Value)>>,
}

impl<'s> RefResolver<'s> {
    pub(crate) fn of(root: &'s Value) -> Self {
        Self { root, named: OnceCell::new() }
    }

    /// Returns the target of a reference, and its position.
    pub(crate) fn resolve(&self, reference: &str) -> Option<(String, &'s Value)> {
        if let Some(pointer) = pointer(reference) {
            let value = self.root.pointer(&pointer)?;
            return Some((pointer, value));
        }
        let named = self.named.get_or_init(|| {
            let mut named = BTreeMap::new();
            collect(self.root, "", 0, &mut named);
            named
        });
        named.get(reference).cloned()
    }
}

/// Returns the JSON pointer of a reference into the same document. References are URIs, so the pointer may be
/// percent-encoded.
pub(crate) fn pointer(reference: &str) -> Option<String> {
    reference
        .strip_prefix('#')
        .filter(|rest| rest.is_empty() || rest.starts_with('/'))
        .and_then(percent_decode)
}

/// Escapes a step of a JSON pointer.
pub(crate) fn escape_step(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

/// Collects the schemas that have an anchor (`#name`) or an `$id`. If a name occurs twice, the first one counts.
fn collect<'v>(value: &'v Value, at: &str, depth: usize, named: &mut BTreeMap<String, (String, &'v Value)>) {
    if depth > MAX_DEPTH {
        return;
    }
    match value {
        Value::Object(members) => {
            for (word, prefix) in [("$anchor", "#"), ("$dynamicAnchor", "#"), ("$id", "")] {
                if let Some(Value::String(name)) = members.get(word) {
                    named.entry(format!("{prefix}{name}")).or_insert_with(|| (at.to_owned(), value));
                }
            }
            for (name, inner) in members {
                collect(inner, &format!("{at}/{}", escape_step(name)), depth + 1, named);
            }
        }
        Value::Array(items) => {
            for (index, inner) in items.iter().enumerate() {
                collect(inner, &format!("{at}/{index}"), depth + 1, named);
            }
        }
        _ => {}
    }
}

fn percent_decode(pointer: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(pointer.len());
    let mut rest = pointer.as_bytes();
    while let Some((byte, after)) = rest.split_first() {
        rest = after;
        if *byte != b'%' {
            bytes.push(*byte);
            continue;
        }
        let (digits, after) = rest.split_at_checked(2)?;
        let digit = |index: usize| char::from(digits[index]).to_digit(16);
        bytes.push(u8::try_from(digit(0)? * 16 + digit(1)?).ok()?);
        rest = after;
    }
    String::from_utf8(bytes).ok()
}

/// The maximum depth of the search in a schema.
pub(crate) const MAX_DEPTH: usize = 64;

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn references_stay_inside() {
        let root = json!({"$defs": {
            "a": {"type": "string"},
            "b/c~d e": {"type": "number"},
            "with an anchor": {"$anchor": "here", "type": "null"},
            "bundled": {"$id": "https://example.com/bundled", "type": "boolean"},
        }});
        let resolved =
            |reference| RefResolver::of(&root).resolve(reference).map(|(_, value)| value["type"].clone());
        assert_eq!(resolved("#/$defs/a"), Some(json!("string")));
        assert_eq!(resolved("#/%24defs/b~1c~0d%20e"), Some(json!("number")));
        assert_eq!(resolved("#here"), Some(json!("null")));
        assert_eq!(resolved("https://example.com/bundled"), Some(json!("boolean")));
        assert_eq!(RefResolver::of(&root).resolve("#").unwrap().1, &root);
        for nowhere in [
            "#/$defs/x",
            "#nowhere",
            "https://example.com/other",
            "other.json#/a",
            "file:///etc/passwd",
            "#/%2",
            "#/%+f",
            "#/%zz",
            "#/%ff",
            "",
        ] {
            assert_eq!(resolved(nowhere), None, "{nowhere}");
        }
    }
}
