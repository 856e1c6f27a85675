//! Which scopes are named?

use std::fmt;

use serde_json::Value;

/// A set of scopes, in the order in which they were named.
///
/// ```
/// use toolway_protocol::oauth::Scopes;
///
/// let granted = Scopes::parse("notes:read profile");
/// let wanted = granted.union(&Scopes::parse("notes:write notes:read"));
/// assert_eq!(wanted.to_string(), "notes:read profile notes:write");
/// assert!(wanted.contains_all(&granted));
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Scopes(Vec<String>);

impl Scopes {
    /// Reads a list that is separated by spaces. Some servers separate it by commas. A scope with characters that OAuth
    /// does not allow is left out.
    pub fn parse(text: &str) -> Self {
        text.split([' ', ',']).collect()
    }

    /// Reads a text or an array of texts.
    pub fn from_json(value: &Value) -> Option<Self> {
        match value {
            Value::String(text) => Some(Self::parse(text)),
            Value::Array(items) => Some(items.iter().filter_map(Value::as_str).collect()),
            _ => None,
        }
    }

    /// Returns whether the set is empty.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the scopes.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }

    /// Returns whether the set has a scope.
    pub fn contains(&self, scope: &str) -> bool {
        self.0.iter().any(|known| known == scope)
    }

    /// Returns whether the set has all scopes of another one.
    pub fn contains_all(&self, others: &Self) -> bool {
        others.iter().all(|scope| self.contains(scope))
    }

    /// Returns the scopes of both sets.
    #[must_use]
    pub fn union(&self, others: &Self) -> Self {
        self.iter().chain(others.iter()).collect()
    }
}

impl<'a> FromIterator<&'a str> for Scopes {
    fn from_iter<I: IntoIterator<Item = &'a str>>(scopes: I) -> Self {
        let mut set = Self::default();
        for scope in scopes {
            if is_scope(scope) && set.0.len() < MAX_SCOPES && !set.contains(scope) {
                set.0.push(scope.to_owned());
            }
        }
        set
    }
}

impl fmt::Display for Scopes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join(" "))
    }
}

fn is_scope(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'"' && byte != b'\\')
}

/// The largest number of scopes of a set. Further ones are left out.
const MAX_SCOPES: usize = 1000;

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn spaces_commas_and_arrays_are_read() {
        let expected = Scopes::parse("a b");
        for value in [json!("a b"), json!("a,b"), json!(" a,  b a"), json!(["a", "b", 1, "b"])] {
            assert_eq!(Scopes::from_json(&value).unwrap(), expected, "{value}");
        }
        assert_eq!(Scopes::from_json(&json!({})), None);
        assert!(Scopes::parse("").is_empty());
        assert_eq!(Scopes::parse("ok one\"quote back\\slash \u{e4}").to_string(), "ok");
    }
}
