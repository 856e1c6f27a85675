//! Which values are known to be secret, and where do they occur?

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt::Write;

/// The minimum length in bytes of a value that is searched for everywhere. Shorter values occur in other words.
const MIN_SECRET: usize = 8;

/// The maximum number of different values in the table. Values that the application knows may take as many places again,
/// so that a server that sends many values cannot keep them out.
const MAX_SECRETS: usize = 10_000;

/// The maximum length in bytes of a value in the table.
const MAX_SECRET: usize = 64 << 10;

/// The number of leading bytes by which occurrences are found.
const PREFIX: usize = 4;

/// The table of secret values. Each value has a number, which takes its place: `«1»`.
#[derive(Default)]
pub(super) struct Secrets {
    /// The number of each value; zero if it has not been replaced yet.
    numbers: HashMap<String, u32>,
    /// How many values have been replaced.
    replaced: u32,
    /// One bit for each byte: set if a form begins with it.
    first_bytes: [u64; 4],
    /// The forms in which values occur, by their first bytes. Each has the value that it stands for.
    forms: HashMap<[u8; PREFIX], Vec<(String, String)>>,
}

impl Secrets {
    /// Returns how many different values have been replaced.
    pub(super) fn replaced(&self) -> u32 {
        self.replaced
    }

    /// Returns how many values are in the table.
    pub(super) fn known(&self) -> usize {
        self.numbers.len()
    }

    /// Returns the text that takes the place of a value. The same value always gets the same text.
    pub(super) fn mark(&mut self, value: &str) -> String {
        if let Some(number) = self.number(value) { format!("«{number}»") } else { "«…»".to_owned() }
    }

    fn number(&mut self, value: &str) -> Option<u32> {
        if value.len() > MAX_SECRET {
            return None;
        }
        match self.numbers.get_mut(value) {
            Some(number @ 1..) => Some(*number),
            Some(number) => {
                self.replaced += 1;
                *number = self.replaced;
                Some(*number)
            }
            None => {
                if self.numbers.len() >= MAX_SECRETS {
                    return None;
                }
                self.replaced += 1;
                self.numbers.insert(value.to_owned(), self.replaced);
                Some(self.replaced)
            }
        }
    }

    /// Adds a value that the application knows. It is searched for in everything that is recorded from now on. Values that
    /// are too short are ignored.
    pub(super) fn learn_own(&mut self, value: &str) {
        self.learn_within(value, 2 * MAX_SECRETS);
    }

    /// Adds a value that was found in a frame.
    pub(super) fn learn(&mut self, value: &str) {
        self.learn_within(value, MAX_SECRETS);
    }

    fn learn_within(&mut self, value: &str, max: usize) {
        if !(MIN_SECRET..=MAX_SECRET).contains(&value.len()) || is_mark(value) {
            return;
        }
        if !self.numbers.contains_key(value) {
            if self.numbers.len() >= max {
                return;
            }
            self.numbers.insert(value.to_owned(), 0);
        }
        for form in forms(value) {
            let Some(prefix) = form.as_bytes().first_chunk::<PREFIX>() else { continue };
            self.first_bytes[usize::from(prefix[0] >> 6)] |= 1 << (prefix[0] & 63);
            let same = self.forms.entry(*prefix).or_default();
            if !same.iter().any(|(known, _)| *known == form) {
                same.push((form, value.to_owned()));
                // The longest form is the right one where several begin at one place.
                same.sort_by_key(|(form, _)| std::cmp::Reverse(form.len()));
            }
        }
    }

    /// Replaces all known values in a text.
    pub(super) fn replace<'t>(&mut self, text: &'t str) -> Cow<'t, str> {
        if self.forms.is_empty() {
            return Cow::Borrowed(text);
        }
        let mut changed = String::new();
        let (mut copied, mut at) = (0, 0);
        let bytes = text.as_bytes();
        while let Some(prefix) = bytes[at..].first_chunk::<PREFIX>() {
            if self.first_bytes[usize::from(prefix[0] >> 6)] & (1 << (prefix[0] & 63)) == 0 {
                at += 1;
                continue;
            }
            let known = self.forms.get(prefix).and_then(|forms| {
                forms.iter().find(|(form, _)| bytes[at..].starts_with(form.as_bytes())).cloned()
            });
            match known {
                Some((form, value)) => {
                    changed.push_str(&text[copied..at]);
                    changed.push_str(&self.mark(&value));
                    at += form.len();
                    copied = at;
                }
                None => at += 1,
            }
        }
        if copied == 0 && changed.is_empty() {
            return Cow::Borrowed(text);
        }
        changed.push_str(&text[copied..]);
        Cow::Owned(changed)
    }

    /// Removes the beginning of a known value from the end of a text that was cut off.
    pub(super) fn trim_cut_end<'t>(&self, text: &'t str) -> &'t str {
        let forms = self.forms.values().flatten().map(|(form, _)| form.as_bytes());
        let longest = |form: &[u8]| {
            (1..form.len()).rev().find(|length| text.as_bytes().ends_with(&form[..*length])).unwrap_or(0)
        };
        let cut = forms.map(longest).max().unwrap_or(0);
        // A form may begin within a character only if the text does too, so this is a boundary or the nearest one.
        let mut end = text.len() - cut;
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        &text[..end]
    }
}

/// Returns whether a text is the mark of a value that was replaced.
pub(super) fn is_mark(text: &str) -> bool {
    text.strip_prefix('«').and_then(|rest| rest.strip_suffix('»')).is_some_and(|number| {
        number == "…" || (!number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
    })
}

/// Returns the forms in which a value occurs: as it is, inside a JSON string, and inside a URL.
fn forms(value: &str) -> Vec<String> {
    let json = serde_json::to_string(value).unwrap_or_default();
    let json = json.get(1..json.len().saturating_sub(1)).unwrap_or_default().to_owned();
    let mut forms = vec![value.to_owned(), json];
    for (is_upper, space) in [(true, "%20"), (false, "%20"), (true, "+"), (false, "+")] {
        forms.push(percent_encoded(value, is_upper, space));
    }
    let mut distinct: Vec<String> = Vec::new();
    for form in forms {
        if !distinct.contains(&form) {
            distinct.push(form);
        }
    }
    distinct
}

fn percent_encoded(value: &str, is_upper: bool, space: &str) -> String {
    let mut encoded = String::with_capacity(value.len());
    for byte in value.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => {
                encoded.push(char::from(byte));
            }
            b' ' => encoded.push_str(space),
            _ if is_upper => {
                let _ = write!(encoded, "%{byte:02X}");
            }
            _ => {
                let _ = write!(encoded, "%{byte:02x}");
            }
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_has_the_same_mark_in_every_form() {
        let mut secrets = Secrets::default();
        secrets.learn("pass\"word/ö 1");
        secrets.learn("pass\"word");
        for (text, expected) in [
            ("it is pass\"word/ö 1!", "it is «1»!"),
            (r#"{"a":"pass\"word/ö 1"}"#, r#"{"a":"«1»"}"#),
            ("/x?pass%22word%2F%C3%B6%201", "/x?«1»"),
            ("/x?pass%22word%2f%c3%b6+1", "/x?«1»"),
            ("pass\"wordpass\"word/", "«2»«2»/"),
            ("pass", "pass"),
            ("", ""),
        ] {
            assert_eq!(secrets.replace(text), expected);
        }
        assert_eq!(secrets.replaced(), 2);
        assert_eq!(secrets.mark("short"), "«3»");
        assert_eq!(secrets.replace("short"), "short");
    }

    #[test]
    fn a_text_that_was_cut_off_does_not_end_with_a_part_of_a_secret() {
        let mut secrets = Secrets::default();
        secrets.learn("abcdefghij");
        for (text, expected) in
            [("x abcdefghi", "x "), ("x abc", "x "), ("x abd", "x abd"), ("ö", "ö"), ("", "")]
        {
            assert_eq!(secrets.trim_cut_end(text), expected);
        }
    }

    #[test]
    fn the_table_is_bounded() {
        let mut secrets = Secrets::default();
        for number in 0..MAX_SECRETS + 10 {
            secrets.learn(&format!("secret number {number}"));
        }
        assert_eq!(secrets.numbers.len(), MAX_SECRETS);
        secrets.learn_own("a token of the application");
        assert_eq!(secrets.replace("a token of the application"), "«1»");
        assert_eq!(secrets.mark("one more"), "«…»");
        assert_eq!(secrets.mark(&"x".repeat(MAX_SECRET + 1)), "«…»");
        assert_eq!(secrets.replace("secret number 7"), "«2»");
    }
}
