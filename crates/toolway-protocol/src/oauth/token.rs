//! What does the token endpoint answer?

use std::fmt;

use super::document::Document;
use super::form;
use super::scope::Scopes;

/// A token, and what is known about it.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct TokenReply {
    /// The token for requests.
    pub access_token: String,
    /// The way in which the token is sent.
    pub token_type: TokenType,
    /// The token with which a new one can be had. The server may send none.
    pub refresh_token: Option<String>,
    /// The life of the token in seconds, if the server says it.
    pub expires_in: Option<u64>,
    /// The scopes that were granted, if they differ from those that were asked for.
    pub scopes: Option<Scopes>,
    /// The kind of token, in a token exchange.
    pub issued_token_type: Option<String>,
}

/// The ways to send a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum TokenType {
    /// The token is all that is needed.
    Bearer,
    /// Each request proves that the client has the key of the token.
    Dpop,
    /// The token is not sent to servers: it is exchanged for another one.
    NotApplicable,
}

/// The reasons why there is no token.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum TokenError {
    /// The server refuses. The code is one of OAuth, such as `invalid_grant`.
    Refused {
        /// The code of the error, with letters that OAuth allows.
        code: String,
    },
    /// The reply cannot be understood.
    Unreadable,
    /// The token must be sent in a way that is not known.
    UnknownType,
}

impl TokenReply {
    /// Reads a reply: JSON, or a form as some servers send. An error counts whatever the status of the reply was.
    ///
    /// ```
    /// use toolway_protocol::oauth::{TokenError, TokenReply, TokenType};
    ///
    /// let reply = TokenReply::read(br#"{"access_token": "t", "token_type": "bearer", "expires_in": "3600"}"#).unwrap();
    /// assert_eq!((reply.token_type, reply.expires_in), (TokenType::Bearer, Some(3600)));
    /// let refused = TokenReply::read(br#"{"error": "invalid_grant"}"#);
    /// assert_eq!(refused, Err(TokenError::Refused { code: "invalid_grant".to_owned() }));
    /// ```
    ///
    /// # Errors
    ///
    /// If the reply has an error, or no token that can be used.
    pub fn read(reply: &[u8]) -> Result<Self, TokenError> {
        let reply = Document::read(reply).or_else(|| read_form(reply)).ok_or(TokenError::Unreadable)?;
        if let Some(error) = reply.get("error") {
            // What a server writes is shown to users and logged, so only the letters of a code are kept.
            let letters = |letter: &char| letter.is_ascii_alphanumeric() || "_-.".contains(*letter);
            let code: String = error.as_str().unwrap_or_default().chars().filter(letters).take(64).collect();
            return Err(TokenError::Refused { code });
        }
        let token_type = match reply.text("token_type").map(|name| name.to_ascii_lowercase()).as_deref() {
            Some("bearer") => TokenType::Bearer,
            Some("dpop") => TokenType::Dpop,
            Some("n_a") => TokenType::NotApplicable,
            Some(_) => return Err(TokenError::UnknownType),
            None => return Err(TokenError::Unreadable),
        };
        let access_token = reply.text("access_token").ok_or(TokenError::Unreadable)?;
        // It is sent in a header.
        if !access_token.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(TokenError::Unreadable);
        }
        Ok(Self {
            access_token,
            token_type,
            refresh_token: reply.text("refresh_token"),
            expires_in: reply.seconds("expires_in"),
            scopes: reply.scopes("scope"),
            issued_token_type: reply.text("issued_token_type"),
        })
    }
}

fn read_form(reply: &[u8]) -> Option<Document> {
    let text = std::str::from_utf8(reply).ok()?;
    let pairs = form::decode(text.trim())?;
    let is_reply = pairs.iter().any(|(name, _)| name == "access_token" || name == "error");
    is_reply.then(|| Document::of_pairs(pairs)).flatten()
}

/// Shows no token.
impl fmt::Debug for TokenReply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TokenReply")
            .field("token_type", &self.token_type)
            .field("expires_in", &self.expires_in)
            .field("scopes", &self.scopes)
            .finish_non_exhaustive()
    }
}

impl fmt::Display for TokenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused { code } if code.is_empty() => {
                f.write_str("the authorization server refuses the token")
            }
            Self::Refused { code } => write!(f, "the authorization server refuses the token: {code}"),
            Self::Unreadable => f.write_str("the reply of the token endpoint cannot be read"),
            Self::UnknownType => f.write_str("the authorization server gives a token of an unknown type"),
        }
    }
}

impl std::error::Error for TokenError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replies_of_the_field_are_read() {
        for reply in [
            &br#"{"access_token":"t","token_type":"Bearer","scope":"a b"}"#[..],
            br#"{"access_token":"t","token_type":"BEARER","scope":["a","b"],"expires_in":0}"#,
            b"access_token=t&scope=a%2Cb&token_type=bearer",
        ] {
            let token = TokenReply::read(reply).unwrap();
            assert_eq!((token.access_token.as_str(), token.token_type), ("t", TokenType::Bearer));
            assert_eq!(token.scopes.unwrap().to_string(), "a b");
        }
    }

    #[test]
    fn errors_are_found_and_nothing_of_the_server_is_shown() {
        let refused = |code: &str| Err(TokenError::Refused { code: code.to_owned() });
        assert_eq!(
            TokenReply::read(b"error=bad_verification_code&error_description=x"),
            refused("bad_verification_code")
        );
        let both = br#"{"access_token":"t","token_type":"bearer","error":"invalid <b>grant\u001b[31m"}"#;
        assert_eq!(TokenReply::read(both), refused("invalidbgrant31m"));
        for reply in [
            &b"<html>access_token=1</html>"[..],
            b"",
            b"{}",
            br#"{"access_token":"t"}"#,
            br#"{"access_token":"a b","token_type":"bearer"}"#,
            br#"{"access_token":"a\r\nb","token_type":"bearer"}"#,
            br#"{"access_token":"t","access_token":"u","token_type":"bearer"}"#,
            b"access_token=t&access_token=u&token_type=bearer",
        ] {
            assert_eq!(
                TokenReply::read(reply),
                Err(TokenError::Unreadable),
                "{:?}",
                String::from_utf8_lossy(reply)
            );
        }
        let unknown = TokenReply::read(br#"{"access_token":"t","token_type":"mac"}"#);
        assert_eq!(unknown, Err(TokenError::UnknownType));
        let token = br#"{"access_token":"hidden","refresh_token":"hidden","token_type":"bearer"}"#;
        assert!(!format!("{:?}", TokenReply::read(token)).contains("hidden"));
    }
}
