//! Which parts of a text are secret? Known values, the user and the query of URLs, tokens after the name of a scheme such
//! as `Bearer`, and values after a name such as `password=`.

use std::borrow::Cow;

use crate::client::record::secrets::{Secrets, is_mark};

/// The parts of names that mark a value as secret, in lower case.
const SECRET_WORDS: [&str; 4] = ["token", "secret", "password", "key"];

/// The names of headers, in lower case, whose values are secret. Names with a word of [`SECRET_WORDS`] are secret too.
const SECRET_HEADERS: [&str; 8] = [
    "authorization",
    "proxy-authorization",
    "cookie",
    "set-cookie",
    "dpop",
    "dpop-nonce",
    "x-amz-signature",
    // A peer that knows it can continue the conversation of the client.
    SESSION_HEADER,
];

/// The header that names a conversation of the handshake era.
const SESSION_HEADER: &str = concat!("mcp-", "session", "-id");

/// The minimum length of a value after a name in a text.
const MIN_TEXT_VALUE: usize = 8;

/// Members of the protocol whose names look like those of secrets.
const PROTOCOL_NAMES: [&str; 2] = ["progressToken", "maxTokens"];

/// Returns whether a member with this name holds a secret.
pub(super) fn is_secret_name(name: &str) -> bool {
    !PROTOCOL_NAMES.contains(&name) && has_secret_word(name)
}

fn has_secret_word(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    SECRET_WORDS.iter().any(|word| name.contains(word))
}

/// Returns whether the value of a header is secret.
pub(super) fn is_secret_header(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    SECRET_HEADERS.contains(&&*name)
        || has_secret_word(&name)
        || name.contains("auth-")
        || name.ends_with("-auth")
}

/// Returns the parts of a header's value that are secret: a token without its scheme, or the values of cookies.
pub(super) fn header_secrets(name: &str, value: &str) -> Vec<String> {
    let name = name.to_ascii_lowercase();
    if name.contains("cookie") {
        let values = value.split(';').filter_map(|pair| pair.split_once('=')).map(|(_, value)| value.trim());
        return values.map(str::to_owned).collect();
    }
    match value.trim().split_once(' ') {
        Some((scheme, token)) if name.contains("authorization") && is_scheme(scheme) => {
            vec![token.trim().to_owned()]
        }
        _ => vec![value.trim().to_owned()],
    }
}

fn is_scheme(word: &str) -> bool {
    !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

/// Returns the text without secrets.
pub(super) fn redact_text<'t>(text: &'t str, secrets: &mut Secrets) -> Cow<'t, str> {
    let text = secrets.replace(text);
    let text = then(text, |text| redact_urls(text, secrets));
    let text = then(text, |text| redact_schemes(text, secrets));
    then(text, |text| redact_named(text, secrets))
}

/// Applies another step to a text that may have been changed already.
fn then(text: Cow<'_, str>, step: impl FnOnce(&str) -> Option<String>) -> Cow<'_, str> {
    match step(&text) {
        Some(changed) => Cow::Owned(changed),
        None => text,
    }
}

/// The parts of a text that are replaced, in order.
#[derive(Default)]
pub(super) struct Edits {
    changed: String,
    copied: usize,
}

impl Edits {
    /// Replaces `text[from..to]` by the mark of this part.
    fn replace(&mut self, text: &str, from: usize, to: usize, secrets: &mut Secrets) {
        let value = &text[from..to];
        if value.is_empty() || is_mark(value) || from < self.copied {
            return;
        }
        self.changed.push_str(&text[self.copied..from]);
        self.changed.push_str(&secrets.mark(value));
        self.copied = to;
    }

    pub(super) fn finish(mut self, text: &str) -> Option<String> {
        if self.copied == 0 {
            return None;
        }
        self.changed.push_str(&text[self.copied..]);
        Some(self.changed)
    }
}

/// Replaces the user of each URL, and the values of the query of each URL of a web page.
fn redact_urls(text: &str, secrets: &mut Secrets) -> Option<String> {
    let mut edits = Edits::default();
    for (at, _) in text.match_indices("://") {
        let scheme = &text[..at];
        let letters = scheme
            .bytes()
            .rev()
            .take_while(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(byte))
            .count();
        let scheme = scheme[at - letters..].to_ascii_lowercase();
        if scheme.is_empty() {
            continue;
        }
        let start = at + 3;
        let end = start + text[start..].find(ends_url).unwrap_or(text.len() - start);
        let authority_end = start + text[start..end].find(['/', '?', '#']).unwrap_or(end - start);
        if let Some(user) = text[start..authority_end].rfind('@') {
            if let Some((_, password)) = text[start..start + user].split_once(':') {
                secrets.learn(password);
            }
            edits.replace(text, start, start + user, secrets);
        }
        let is_web = matches!(&*scheme, "http" | "https" | "ws" | "wss");
        if let Some(query) = text[authority_end..end].find('?').filter(|_| is_web) {
            redact_query(text, authority_end + query + 1, end, &mut edits, secrets);
        }
    }
    edits.finish(text)
}

/// Returns whether a character ends a URL within a text.
fn ends_url(letter: char) -> bool {
    letter.is_whitespace()
        || matches!(letter, '"' | '\'' | '<' | '>' | '`' | '\\' | '{' | '}' | '|' | ')' | ']')
}

/// Replaces the values of a query, which ends at `#` or at `end`.
pub(super) fn redact_query(text: &str, start: usize, end: usize, edits: &mut Edits, secrets: &mut Secrets) {
    let end = start + text[start..end].find('#').unwrap_or(end - start);
    let mut at = start;
    for parameter in text[start..end].split('&') {
        let value = parameter.find('=').map_or(0, |equals| equals + 1);
        if is_secret_name(&parameter[..value]) {
            secrets.learn(&parameter[value..]);
        }
        edits.replace(text, at + value, at + parameter.len(), secrets);
        at += parameter.len() + 1;
    }
}

/// Replaces what follows the name of an authentication scheme.
fn redact_schemes(text: &str, secrets: &mut Secrets) -> Option<String> {
    let mut edits = Edits::default();
    for scheme in ["bearer ", "basic ", "dpop "] {
        // ASCII has the same length in either case, so the positions are those of the text.
        let lower = text.to_ascii_lowercase();
        let mut found: Vec<_> = lower.match_indices(scheme).map(|(at, _)| at + scheme.len()).collect();
        found.retain(|at| *at >= edits.copied);
        for from in found {
            let length = text[from..].bytes().take_while(|byte| is_token_byte(*byte)).count();
            let token = &text[from..from + length];
            if token.len() >= MIN_TEXT_VALUE
                && (token.len() >= 20 || token.bytes().any(|byte| byte.is_ascii_digit()))
            {
                edits.replace(text, from, from + length, secrets);
            }
        }
        if edits.copied > 0 {
            break;
        }
    }
    let changed = edits.finish(text)?;
    // Another scheme may occur too.
    Some(redact_schemes(&changed, secrets).unwrap_or(changed))
}

fn is_token_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~+/=".contains(&byte)
}

/// Replaces the values of `name=value`, `name: value` and `"name": "value"` if the name is that of a secret.
fn redact_named(text: &str, secrets: &mut Secrets) -> Option<String> {
    let mut edits = Edits::default();
    let bytes = text.as_bytes();
    for sign in memchr::memchr2_iter(b'=', b':', bytes) {
        if sign < edits.copied {
            continue;
        }
        let before = text[..sign].trim_end_matches([' ', '"', '\'', '\\']);
        let name = before.rsplit(|letter: char| !(letter.is_alphanumeric() || "_-.".contains(letter))).next();
        let Some(name) = name.filter(|name| is_secret_name(name) || is_secret_header(name)) else { continue };
        let after = &text[sign + 1..];
        let rest = after.trim_start_matches([' ', '\\', '"', '\'']);
        let from = sign + 1 + (after.len() - rest.len());
        let is_quoted = after[..after.len() - rest.len()].contains(['"', '\'']);
        let ends = |letter: char| {
            letter.is_control()
                || matches!(letter, '"' | '\'' | '\\' | '«')
                || (!is_quoted && (letter.is_whitespace() || ",;&})>]".contains(letter)))
        };
        let value = &rest[..rest.find(ends).unwrap_or(rest.len())];
        let looks_secret =
            is_quoted || bytes[sign] == b'=' || value.bytes().any(|byte| byte.is_ascii_digit());
        if value.len() >= MIN_TEXT_VALUE && looks_secret && !name.is_empty() {
            edits.replace(text, from, from + value.len(), secrets);
        }
    }
    edits.finish(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_of_a_text_are_replaced_and_the_rest_stays() {
        for (text, expected) in [
            ("nothing to see: a = b", "nothing to see: a = b"),
            (
                "see https://ada:hunter2@example.com/x?a=1&b=2#c now",
                "see https://«1»@example.com/x?a=«2»&b=«3»#c now",
            ),
            ("redis://:pw@host/0?x=1", "redis://«1»@host/0?x=1"),
            (
                "https://example.com/docs, and notes://list?page=2",
                "https://example.com/docs, and notes://list?page=2",
            ),
            ("<https://example.com?x>", "<https://example.com?«1»>"),
            ("://x@y", "://x@y"),
            ("Authorization: Bearer abc123def456", "Authorization: Bearer «1»"),
            ("a bearer of good news, basic understanding", "a bearer of good news, basic understanding"),
            ("BEARER abc123def and Basic dXNlcjpwYXNzd29yZA==", "BEARER «1» and Basic «2»"),
            ("API_KEY=abcdefgh next", "API_KEY=«1» next"),
            ("my-password: hunter2hunter2, x", "my-password: «1», x"),
            ("the key: description of it", "the key: description of it"),
            (r#"{"apiToken": "abc def ghi"}"#, r#"{"apiToken": "«1»"}"#),
            (r#"{\"apiToken\":\"abcdefgh\"}"#, r#"{\"apiToken\":\"«1»\"}"#),
            ("token=short", "token=short"),
            ("monday=abcdefgh", "monday=abcdefgh"),
            ("größe=ü token=ü¥ünicode9", "größe=ü token=«1»"),
        ] {
            assert_eq!(redact_text(text, &mut Secrets::default()), expected, "{text}");
        }
    }

    #[test]
    fn secret_headers_are_known_by_name() {
        for name in
            ["Authorization", "cookie", "X-Api-Key", "x-auth-user", "Mcp-Session-Id", "mcp-param-Password"]
        {
            assert!(is_secret_header(name), "{name}");
        }
        for name in ["accept", "content-type", "mcp-method", "www-authenticate"] {
            assert!(!is_secret_header(name), "{name}");
        }
        assert_eq!(header_secrets("authorization", "Bearer abc"), ["abc"]);
        assert_eq!(header_secrets("cookie", "a=b; c=d"), ["b", "d"]);
        assert_eq!(header_secrets("x-api-key", "a b"), ["a b"]);
    }
}
