//! What does a server demand in `WWW-Authenticate`?

use std::fmt::{self, Write as _};

use super::scope::Scopes;

/// One challenge: a scheme and its parameters (RFC 9110, section 11.6.1).
///
/// ```
/// use toolway_protocol::oauth::Challenge;
///
/// let lines = [r#"Basic realm="a, b", Bearer scope="notes:read", error="insufficient_scope""#, "DPoP algs=\"ES256\""];
/// let challenges = Challenge::read(lines);
/// let schemes: Vec<_> = challenges.iter().map(|challenge| challenge.scheme.as_str()).collect();
/// assert_eq!(schemes, ["Basic", "Bearer", "DPoP"]);
/// assert_eq!(challenges[1].get("Error"), Some("insufficient_scope"));
/// assert_eq!(challenges[1].scopes().unwrap().to_string(), "notes:read");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Challenge {
    /// The scheme, as written. Its case does not matter.
    pub scheme: String,
    parameters: Vec<(String, String)>,
}

impl Challenge {
    /// A challenge without parameters.
    pub fn new(scheme: impl Into<String>) -> Self {
        Self { scheme: scheme.into(), parameters: Vec::new() }
    }

    /// Adds a parameter. Characters that cannot be in a header are left out.
    #[must_use]
    pub fn with(mut self, name: &str, value: &str) -> Self {
        self.parameters.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Reads all lines of the header. What cannot be read ends its line.
    pub fn read<'a>(lines: impl IntoIterator<Item = &'a str>) -> Vec<Self> {
        let mut challenges = Vec::new();
        for line in lines {
            let mut reader = Reader { rest: line };
            reader.line(&mut challenges);
            challenges.truncate(MAX_CHALLENGES);
        }
        challenges
    }

    /// Returns whether the challenge has this scheme.
    pub fn is(&self, scheme: &str) -> bool {
        self.scheme.eq_ignore_ascii_case(scheme)
    }

    /// Returns a parameter. If it occurs more than once, the first one counts.
    pub fn get(&self, name: &str) -> Option<&str> {
        let mut parameters = self.parameters.iter();
        parameters.find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }

    /// Returns the scopes that the server demands.
    pub fn scopes(&self) -> Option<Scopes> {
        self.get("scope").map(Scopes::parse).filter(|scopes| !scopes.is_empty())
    }
}

/// Writes the value of a header line.
impl fmt::Display for Challenge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.scheme)?;
        for (number, (name, value)) in self.parameters.iter().enumerate() {
            write!(f, "{} {name}=\"", if number == 0 { "" } else { "," })?;
            for letter in value.chars().filter(|letter| matches!(letter, ' '..='~')) {
                if matches!(letter, '"' | '\\') {
                    f.write_char('\\')?;
                }
                f.write_char(letter)?;
            }
            f.write_char('"')?;
        }
        Ok(())
    }
}

/// The part after a word.
enum Value {
    Text(String),
    Absent,
    Unreadable,
}

/// The rest of a header line.
struct Reader<'a> {
    rest: &'a str,
}

impl<'a> Reader<'a> {
    fn line(&mut self, challenges: &mut Vec<Challenge>) {
        // Parameters before the first scheme of a line belong to no challenge.
        let first = challenges.len();
        loop {
            self.skip(|byte| matches!(byte, b' ' | b'\t' | b','));
            let word = self.take(is_token);
            if word.is_empty() || challenges.len() > MAX_CHALLENGES {
                return;
            }
            match self.value() {
                Value::Text(value) => {
                    let Some(challenge) = challenges[first..].last_mut() else { return };
                    if challenge.parameters.len() < MAX_PARAMETERS {
                        challenge.parameters.push((word.to_owned(), value));
                    }
                }
                Value::Unreadable => return,
                Value::Absent => {
                    challenges.push(Challenge::new(word));
                    self.skip_token68();
                }
            }
        }
    }

    /// Reads `= value`.
    fn value(&mut self) -> Value {
        let Some(rest) = self.rest.trim_start_matches([' ', '\t']).strip_prefix('=') else {
            return Value::Absent;
        };
        self.rest = rest.trim_start_matches([' ', '\t']);
        let value = match self.rest.strip_prefix('"') {
            Some(rest) => {
                self.rest = rest;
                self.quoted()
            }
            None => Some(self.take(is_token).to_owned()).filter(|value| !value.is_empty()),
        };
        value.map_or(Value::Unreadable, Value::Text)
    }

    /// Reads a text up to its closing quotation mark.
    fn quoted(&mut self) -> Option<String> {
        let mut value = String::new();
        let mut letters = self.rest.char_indices();
        while let Some((position, letter)) = letters.next() {
            match letter {
                '"' => {
                    self.rest = &self.rest[position + 1..];
                    return Some(value);
                }
                '\\' => value.push(letters.next()?.1),
                _ => value.push(letter),
            }
        }
        None
    }

    /// Skips a text in Base64, which some schemes have instead of parameters.
    fn skip_token68(&mut self) {
        let text = self.rest.trim_start_matches(' ');
        let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~+/".contains(&byte);
        let end = text.bytes().position(|byte| !is_letter(byte)).unwrap_or(text.len());
        let padded = text[end..].trim_start_matches('=');
        let after = padded.trim_start_matches([' ', '\t']);
        // `realm="x"` continues after the sign.
        if end > 0 && text.len() < self.rest.len() && (after.is_empty() || after.starts_with(',')) {
            self.rest = after;
        }
    }

    fn skip(&mut self, is_skipped: impl Fn(u8) -> bool) {
        self.take(is_skipped);
    }

    fn take(&mut self, is_taken: impl Fn(u8) -> bool) -> &'a str {
        let end = self.rest.bytes().position(|byte| !is_taken(byte)).unwrap_or(self.rest.len());
        let (taken, rest) = self.rest.split_at(end);
        self.rest = rest;
        taken
    }
}

fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

/// The largest number of challenges that are read.
const MAX_CHALLENGES: usize = 16;
/// The largest number of parameters of a challenge that are read.
const MAX_PARAMETERS: usize = 32;

#[cfg(test)]
mod tests {
    use super::*;

    /// Shows what was read in one line.
    fn read(line: &str) -> String {
        let challenges: Vec<_> = Challenge::read([line]).iter().map(ToString::to_string).collect();
        challenges.join(" | ")
    }

    #[test]
    fn schemes_and_parameters_are_told_apart() {
        for (line, expected) in [
            ("Bearer", "Bearer"),
            ("bearer,DPOP", "bearer | DPOP"),
            ("Bearer a=1", "Bearer a=\"1\""),
            ("Bearer a=1,b = \"2\" , c=3", "Bearer a=\"1\", b=\"2\", c=\"3\""),
            ("Bearer a=1, Basic realm=x, Digest", "Bearer a=\"1\" | Basic realm=\"x\" | Digest"),
            ("Negotiate YWJj==, Bearer a=1", "Negotiate | Bearer a=\"1\""),
            ("Negotiate YWJj", "Negotiate"),
            (",, Bearer ,, a=1,,", "Bearer a=\"1\""),
            (r#"Bearer a="x\"y\\z, Basic b=1""#, r#"Bearer a="x\"y\\z, Basic b=1""#),
            // What cannot be read ends the line.
            ("Bearer a=1, b=\"open", "Bearer a=\"1\""),
            ("Bearer a=1, @, c=3", "Bearer a=\"1\""),
            ("a=1, Bearer b=2", ""),
            ("", ""),
            ("\u{e4}", ""),
        ] {
            assert_eq!(read(line), expected, "{line}");
        }
    }

    #[test]
    fn a_line_has_its_own_challenges() {
        let challenges = Challenge::read(["Bearer a=1", "b=2", "DPoP c=3"]);
        assert_eq!(challenges.len(), 2);
        assert_eq!(challenges[0].get("b"), None);
        assert_eq!(challenges[1].get("c"), Some("3"));
    }

    #[test]
    fn what_is_written_is_read_and_cannot_leave_its_line() {
        let challenge = Challenge::new("Bearer")
            .with("error_description", "a \"quoted\" \\ text\r\nSet-Cookie: x\u{e4}")
            .with("scope", "a b");
        let line = challenge.to_string();
        assert!(!line.contains(['\r', '\n']), "{line}");
        let again = Challenge::read([line.as_str()]);
        assert_eq!(again[0].get("error_description"), Some("a \"quoted\" \\ textSet-Cookie: x"));
        assert_eq!(again[0].scopes().unwrap().to_string(), "a b");
        assert_eq!(again.len(), 1);
    }

    #[test]
    fn a_flood_is_cut() {
        let challenges = Challenge::read(["Bearer, ".repeat(1000).as_str(), "DPoP"]);
        assert_eq!(challenges.len(), MAX_CHALLENGES);
        let parameters = Challenge::read([format!("Bearer {}", "a=1,".repeat(1000)).as_str()]);
        assert_eq!(parameters[0].parameters.len(), MAX_PARAMETERS);
    }
}
