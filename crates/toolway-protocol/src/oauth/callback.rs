//! What did the browser bring back, and may it be used?

use std::fmt;

use super::form;

/// The query with which an authorization server sends the browser back.
#[derive(Clone, PartialEq, Eq)]
pub struct Callback {
    state: String,
    issuer: Option<String>,
    outcome: Result<String, String>,
}

/// The reasons why a callback is not used. None of them shows anything of the callback.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum CallbackError {
    /// It is not a form, has a parameter twice, or lacks one.
    Malformed,
    /// It comes from another authorization server than the one that was asked.
    WrongIssuer,
    /// The authorization server says that it always names itself, and has not.
    NoIssuer,
}

impl Callback {
    /// Reads a query.
    ///
    /// ```
    /// use toolway_protocol::oauth::{Callback, CallbackError};
    ///
    /// let callback = Callback::read("code=x&state=s1&iss=https%3A%2F%2Fid.example").unwrap();
    /// assert_eq!(callback.state(), "s1");
    /// assert_eq!(callback.clone().outcome("https://id.example", true), Ok(Ok("x".to_owned())));
    /// assert_eq!(callback.outcome("https://id.example/", true), Err(CallbackError::WrongIssuer));
    /// ```
    ///
    /// # Errors
    ///
    /// [`CallbackError::Malformed`].
    pub fn read(query: &str) -> Result<Self, CallbackError> {
        let mut pairs = form::decode(query).ok_or(CallbackError::Malformed)?;
        let mut take = |name: &str| -> Result<Option<String>, CallbackError> {
            let mut found = None;
            for (_, value) in pairs.iter_mut().filter(|(known, _)| known == name) {
                if found.replace(std::mem::take(value)).is_some() {
                    return Err(CallbackError::Malformed);
                }
            }
            Ok(found)
        };
        let (code, error) = (take("code")?, take("error")?);
        let (state, issuer) = (take("state")?, take("iss")?);
        let outcome = match (code, error) {
            (Some(code), None) if !code.is_empty() => Ok(code),
            (None, Some(error)) if !error.is_empty() => Err(error),
            _ => return Err(CallbackError::Malformed),
        };
        Ok(Self { state: state.ok_or(CallbackError::Malformed)?, issuer, outcome })
    }

    /// Returns the state, which says for which login this is.
    pub fn state(&self) -> &str {
        &self.state
    }

    /// Returns the code, or the error of the authorization server, if the callback comes from `issuer` (RFC 9207).
    /// `names_itself` says whether this server always names itself. Issuers are compared as they are written.
    ///
    /// # Errors
    ///
    /// [`CallbackError::WrongIssuer`] and [`CallbackError::NoIssuer`].
    pub fn outcome(self, issuer: &str, names_itself: bool) -> Result<Result<String, String>, CallbackError> {
        match self.issuer {
            Some(named) if named != issuer => Err(CallbackError::WrongIssuer),
            None if names_itself => Err(CallbackError::NoIssuer),
            _ => Ok(self.outcome),
        }
    }
}

/// Shows nothing: a code is a secret.
impl fmt::Debug for Callback {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Callback").finish_non_exhaustive()
    }
}

impl fmt::Display for CallbackError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Malformed => "the authorization server sent the browser back with parameters that cannot be read",
            Self::WrongIssuer => {
                "the browser came back from another authorization server than the one that was asked: the login was \
                 stopped, and nothing was used"
            }
            Self::NoIssuer => {
                "the authorization server promises to name itself when it sends the browser back, and has not: the \
                 login was stopped, and nothing was used"
            }
        })
    }
}

impl std::error::Error for CallbackError {}

#[cfg(test)]
mod tests {
    use super::*;

    const ISSUER: &str = "https://id.example";

    fn outcome(query: &str, names_itself: bool) -> Result<Result<String, String>, CallbackError> {
        Callback::read(query)?.outcome(ISSUER, names_itself)
    }

    #[test]
    fn the_issuer_decides_before_anything_else_is_looked_at() {
        let code = Ok(Ok("x".to_owned()));
        let named = "code=x&state=s&iss=https%3A%2F%2Fid.example";
        assert_eq!(outcome(named, true), code);
        assert_eq!(outcome(named, false), code);
        assert_eq!(outcome("code=x&state=s", false), code);
        assert_eq!(outcome("code=x&state=s", true), Err(CallbackError::NoIssuer));
        for other in [
            "https://id.example/",
            "https://ID.example",
            "https://id.example:443",
            "https%3A//evil.example",
            "",
        ] {
            for names_itself in [false, true] {
                for query in ["code=x", "error=access_denied"] {
                    let query = format!("{query}&state=s&iss={other}");
                    assert_eq!(outcome(&query, names_itself), Err(CallbackError::WrongIssuer), "{query}");
                }
            }
        }
        assert_eq!(outcome("error=access_denied&state=s", false), Ok(Err("access_denied".to_owned())));
    }

    #[test]
    fn a_parameter_that_is_doubled_or_missing_is_refused() {
        for query in [
            "",
            "code=x",
            "state=s",
            "code=x&code=x&state=s",
            "code=x&state=s&state=s",
            "code=x&error=y&state=s",
            "code=&state=s",
            "code=x&state=s&iss=a&iss=a",
            "code=%ff&state=s",
            "code=x&state=s&%zz",
        ] {
            assert_eq!(Callback::read(query), Err(CallbackError::Malformed), "{query}");
        }
        let debug = format!("{:?}", Callback::read("code=hidden&state=s").unwrap());
        assert!(!debug.contains("hidden"), "{debug}");
    }
}
