//! Which parts of a frame are secret? The text of a frame is changed only where a secret is: the order of members, the
//! white space and the spelling of numbers stay as they went by.

use std::borrow::Cow;

use serde::de::IgnoredAny;

use crate::client::record::secrets::{Secrets, is_mark};
use crate::client::record::text_secrets::{is_secret_name, redact_text};

/// The members whose values are schemas. A schema describes names like `password`; it does not contain passwords.
const SCHEMA_NAMES: [&str; 3] = ["inputSchema", "outputSchema", "requestedSchema"];

/// Members of a message that never contain a secret. A server must not be able to change them in a recording by
/// declaring their values to be secret.
const PLAIN_NAMES: [&str; 2] = ["jsonrpc", "method"];

/// Returns the JSON text of a frame without secrets, on one line; `None` if it is not JSON.
pub(super) fn redact_json(text: &str, secrets: &mut Secrets) -> Option<String> {
    serde_json::from_str::<IgnoredAny>(text).ok()?;
    let known = secrets.known();
    let redacted = Walk::new(text).run(secrets);
    // A value may have occurred before the name that says that it is secret.
    Some(if secrets.known() == known { redacted } else { Walk::new(text).run(secrets) })
}

/// An object or a list that is open.
#[derive(Clone, Copy)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
struct Level {
    is_object: bool,
    /// `true` if the next string is the name of a member.
    expects_name: bool,
    is_schema: bool,
    /// `true` if all strings below are secret.
    is_secret: bool,
    /// The kind of the current member.
    member: Member,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Member {
    Ordinary,
    Secret,
    Schema,
    Plain,
}

/// A walk through JSON text that is known to be valid.
struct Walk<'t> {
    text: &'t str,
    at: usize,
    copied: usize,
    out: String,
    levels: Vec<Level>,
}

impl<'t> Walk<'t> {
    fn new(text: &'t str) -> Self {
        Self { text, at: 0, copied: 0, out: String::with_capacity(text.len()), levels: Vec::new() }
    }

    fn run(mut self, secrets: &mut Secrets) -> String {
        let bytes = self.text.as_bytes();
        while let Some(byte) = bytes.get(self.at) {
            match byte {
                b'"' => {
                    let end = string_end(bytes, self.at);
                    self.visit_string(end, secrets);
                    self.at = end;
                    continue;
                }
                b'{' | b'[' => self.open(*byte == b'{'),
                b'}' | b']' => {
                    self.levels.pop();
                }
                b',' => {
                    if let Some(level) = self.levels.last_mut() {
                        level.expects_name = level.is_object;
                    }
                }
                b':' => {
                    if let Some(level) = self.levels.last_mut() {
                        level.expects_name = false;
                    }
                }
                b'\n' | b'\r' => self.put(self.at + 1, " "),
                _ => {}
            }
            self.at += 1;
        }
        self.put(self.text.len(), "");
        self.out
    }

    /// Copies the text up to the current place, then writes `instead` for the text up to `end`.
    fn put(&mut self, end: usize, instead: &str) {
        let up_to = self.at.min(end);
        self.out.push_str(&self.text[self.copied..up_to]);
        self.out.push_str(instead);
        self.copied = end;
    }

    fn open(&mut self, is_object: bool) {
        let (member, is_schema, is_secret) = match self.levels.last() {
            Some(level) => (level.member, level.is_schema, level.is_secret),
            None => (Member::Ordinary, false, false),
        };
        let is_schema = is_schema || member == Member::Schema;
        self.levels.push(Level {
            is_object,
            expects_name: is_object,
            is_schema,
            is_secret: !is_schema && (is_secret || member == Member::Secret),
            // The elements of a list are what the list is.
            member: if is_object { Member::Ordinary } else { member },
        });
    }

    fn visit_string(&mut self, end: usize, secrets: &mut Secrets) {
        let Ok(string) = serde_json::from_str::<Cow<'_, str>>(&self.text[self.at..end]) else { return };
        let depth = self.levels.len();
        if let Some(level) = self.levels.last_mut().filter(|level| level.expects_name) {
            level.member = match &*string {
                name if depth == 1 && PLAIN_NAMES.contains(&name) => Member::Plain,
                _ if level.is_schema => Member::Ordinary,
                name if SCHEMA_NAMES.contains(&name) => Member::Schema,
                name if is_secret_name(name) => Member::Secret,
                _ => Member::Ordinary,
            };
            if let Cow::Owned(changed) = secrets.replace(&string) {
                self.put_string(end, &changed);
            }
            return;
        }
        let level = self.levels.last();
        let (member, is_schema, is_secret) = match level {
            Some(level) => (level.member, level.is_schema || level.member == Member::Schema, level.is_secret),
            None => (Member::Ordinary, false, false),
        };
        if member == Member::Plain {
            return;
        }
        if !is_schema && (is_secret || member == Member::Secret) {
            if !string.is_empty() && !is_mark(&string) {
                secrets.learn(&string);
                let mark = secrets.mark(&string);
                self.put_string(end, &mark);
            }
            return;
        }
        let changed = if is_schema { secrets.replace(&string) } else { redact_text(&string, secrets) };
        if let Cow::Owned(changed) = changed {
            self.put_string(end, &changed);
        }
    }

    fn put_string(&mut self, end: usize, string: &str) {
        let quoted = serde_json::to_string(string).unwrap_or_default();
        self.put(end, &quoted);
    }
}

/// Returns the place after a string that begins at `start`.
fn string_end(bytes: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    loop {
        match memchr::memchr2(b'"', b'\\', &bytes[at.min(bytes.len())..]) {
            Some(offset) if bytes[at + offset] == b'"' => return at + offset + 1,
            Some(offset) => at += offset + 2,
            None => return bytes.len(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_found_by_name_and_by_value_and_the_rest_stays_as_it_was() {
        let mut secrets = Secrets::default();
        for (text, expected) in [
            (r#"{ "a" : 1.50, "b":[true ,null] }"#, r#"{ "a" : 1.50, "b":[true ,null] }"#),
            (r#"{"password":"hunter2hunter2","x":"hunter2hunter2!"}"#, r#"{"password":"«1»","x":"«1»!"}"#),
            (r#"{"x":"hunter2\u0068unter2"}"#, r#"{"x":"«1»"}"#),
            (
                r#"{"apiKey":["a","b"],"tokens":{"a":{"b":"c"}},"z":"c"}"#,
                r#"{"apiKey":["«2»","«3»"],"tokens":{"a":{"b":"«4»"}},"z":"c"}"#,
            ),
            (r#"{"token":7,"secret":null,"key":""}"#, r#"{"token":7,"secret":null,"key":""}"#),
            (
                r#"{"progressToken":"abcdefghij","text":"abcdefghij"}"#,
                r#"{"progressToken":"abcdefghij","text":"abcdefghij"}"#,
            ),
            (
                r#"{"inputSchema":{"properties":{"password":{"type":"string","default":"x-password-x"}}},"a":[{"outputSchema":{"required":["token"]}}]}"#,
                r#"{"inputSchema":{"properties":{"password":{"type":"string","default":"x-password-x"}}},"a":[{"outputSchema":{"required":["token"]}}]}"#,
            ),
            (r#"{"inputSchema":{"default":"hunter2hunter2"}}"#, r#"{"inputSchema":{"default":"«1»"}}"#),
            (r#"{"a":"later-secret","token":"later-secret"}"#, r#"{"a":"«5»","token":"«5»"}"#),
            (r#"{"hunter2hunter2":1}"#, r#"{"«1»":1}"#),
            ("{\n\"a\":\r\n1}", "{ \"a\":  1}"),
            (r#""password=abcdefgh""#, r#""password=«6»""#),
            (
                r#"{"password":"tools/call","method":"tools/call"}"#,
                r#"{"password":"«7»","method":"tools/call"}"#,
            ),
            (r#"{"method":"tools/call","x":"tools/call"}"#, r#"{"method":"tools/call","x":"«7»"}"#),
            (r#"{"params":{"method":"tools/call"}}"#, r#"{"params":{"method":"«7»"}}"#),
        ] {
            assert_eq!(redact_json(text, &mut secrets).as_deref(), Some(expected), "{text}");
            assert!(serde_json::from_str::<serde_json::Value>(expected).is_ok());
        }
        for text in ["", "{", "{\"a\":}", "hello"] {
            assert_eq!(redact_json(text, &mut secrets), None);
        }
    }

    #[test]
    fn a_deep_frame_is_walked_without_recursion() {
        let text = "[".repeat(100_000) + &"]".repeat(100_000);
        let mut secrets = Secrets::default();
        // Whether such a text counts as JSON is up to the parser; it must not end the process.
        let _ = redact_json(&text, &mut secrets);
    }
}
