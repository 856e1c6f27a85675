//! Which scopes must the token of a caller have?

use std::sync::Arc;

/// The scopes that an element needs. Most elements need none.
#[derive(Debug, Clone, Default)]
pub(crate) struct RequiredScopes(Option<Arc<[String]>>);

impl RequiredScopes {
    pub(crate) fn add(&mut self, scopes: impl IntoIterator<Item = impl Into<String>>) {
        let mut all: Vec<String> = self.iter().map(str::to_owned).collect();
        for scope in scopes.into_iter().map(Into::into) {
            if !all.contains(&scope) {
                all.push(scope);
            }
        }
        self.0 = (!all.is_empty()).then(|| all.into());
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().flat_map(|scopes| scopes.iter()).map(String::as_str)
    }

    /// Returns a sentence for the author if a scope cannot be written in a token.
    pub(crate) fn mistake(&self) -> Option<String> {
        let is_letter = |byte: u8| byte.is_ascii_graphic() && byte != b'"' && byte != b'\\' && byte != b',';
        let wrong = self.iter().find(|scope| scope.is_empty() || !scope.bytes().all(is_letter))?;
        Some(format!(
            "the scope {wrong:?} is not valid: a scope has no spaces, commas, quotes or backslashes"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_scope_is_named_once_and_checked() {
        let mut scopes = RequiredScopes::default();
        assert!(scopes.is_empty());
        scopes.add(["notes:read", "notes:write"]);
        scopes.add(["notes:read"]);
        assert_eq!(scopes.iter().collect::<Vec<_>>(), ["notes:read", "notes:write"]);
        assert_eq!(scopes.mistake(), None);
        for wrong in ["", "two scopes", "a,b", "a\"b", "\u{e4}"] {
            let mut scopes = scopes.clone();
            scopes.add([wrong]);
            assert!(scopes.mistake().is_some(), "{wrong:?}");
        }
    }
}
