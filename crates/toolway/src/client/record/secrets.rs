//! Which values are known to be secret, and where do they occur?

use std::borrow::Cow;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt::Write;
use std::ops::Bound;

/// The minimum length in bytes of a value that is searched for everywhere. Shorter values occur in other words.
const MIN_SECRET: usize = 8;

/// The maximum number of different values in the table. Values that the application knows may take as many places again,
/// so that a server that sends many values cannot keep them out.
const MAX_SECRETS: usize = 10_000;

/// The maximum total length in bytes of the forms in the table, with the same addition.
const MAX_TABLE: usize = 16 << 20;

/// The maximum length in bytes of a value in the table.
const MAX_SECRET: usize = 16 << 10;

/// How many short forms may be compared for each byte of a text. A text that needs more is removed as a whole: a server
/// could send values and texts that take very long to compare.
const MAX_COMPARED: usize = 8;

/// The number of leading bytes by which occurrences are found.
const PREFIX: usize = 8;

/// The length of the longest form: percent-encoding makes a byte three times as long, and JSON at most six times.
const MAX_FORM: usize = 96 << 10;

/// How many places at the end of a text may be the beginning of a value, before all from there on is removed.
const MAX_LOOKED_UP: usize = 1000;

/// The table of secret values. Each value has a number, which takes its place: `«1»`.
#[derive(Default)]
pub(super) struct Secrets {
    /// The number of each value; zero if it has not been replaced yet.
    numbers: HashMap<String, u32>,
    /// How many values have been replaced.
    replaced: u32,
    /// The first bytes of all forms.
    prefixes: HashSet<[u8; PREFIX]>,
    /// The forms in which values occur, in order, with the value that each stands for.
    forms: BTreeMap<String, String>,
    /// The total length of the forms.
    bytes: usize,
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
        self.learn_within(value, 2);
    }

    /// Adds a value that was found in a frame.
    pub(super) fn learn(&mut self, value: &str) {
        self.learn_within(value, 1);
    }

    /// Adds a value if the table has room for it, which is so many times as large.
    fn learn_within(&mut self, value: &str, times: usize) {
        if !(MIN_SECRET..=MAX_SECRET).contains(&value.len()) || is_mark(value) {
            return;
        }
        if !self.numbers.contains_key(value) {
            if self.numbers.len() >= times * MAX_SECRETS || self.bytes >= times * MAX_TABLE {
                return;
            }
            self.numbers.insert(value.to_owned(), 0);
        }
        for form in forms(value) {
            let Some(prefix) = form.as_bytes().first_chunk::<PREFIX>() else { continue };
            self.prefixes.insert(*prefix);
            let length = form.len();
            // Two values may have the same form: the first one keeps it.
            if let Entry::Vacant(place) = self.forms.entry(form) {
                place.insert(value.to_owned());
                self.bytes += length;
            }
        }
    }

    /// Replaces all known values in a text. The longest value counts where several begin at one place.
    pub(super) fn replace<'t>(&mut self, text: &'t str) -> Cow<'t, str> {
        if self.forms.is_empty() {
            return Cow::Borrowed(text);
        }
        let mut changed = String::new();
        let (mut copied, mut at, mut compared) = (0, 0, 0);
        let bytes = text.as_bytes();
        while let Some(prefix) = bytes[at..].first_chunk::<PREFIX>() {
            if !self.prefixes.contains(prefix) || !text.is_char_boundary(at) {
                at += 1;
                continue;
            }
            let known = self.find(&text[at..], &mut compared);
            if compared > MAX_COMPARED * (text.len() + 1024) {
                return Cow::Borrowed("«…»");
            }
            match known {
                Some((length, value)) => {
                    changed.push_str(&text[copied..at]);
                    changed.push_str(&self.mark(&value));
                    at += length;
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

    /// Returns the length of the longest form with which a text begins, and its value. Adds the work that this took.
    fn find(&self, text: &str, compared: &mut usize) -> Option<(usize, String)> {
        let mut rest = text;
        loop {
            // A form with which the text begins is not after the text, and what is between them begins with the form.
            let (form, value) =
                self.forms.range::<str, _>((Bound::Unbounded, Bound::Included(rest))).next_back()?;
            *compared += 1 + form.len() / 64;
            if rest.starts_with(form.as_str()) {
                return Some((form.len(), value.clone()));
            }
            let same = rest.bytes().zip(form.bytes()).take_while(|(one, other)| one == other).count();
            if same < PREFIX {
                return None;
            }
            let end = (0..=same).rev().find(|end| rest.is_char_boundary(*end)).unwrap_or(0);
            rest = &rest[..end];
        }
    }

    /// Removes the beginning of a known value from the end of a text that was cut off.
    pub(super) fn trim_cut_end<'t>(&self, text: &'t str) -> &'t str {
        let begins_form = |start: usize| {
            let end = &text[start..];
            let next = self.forms.range::<str, _>((Bound::Excluded(end), Bound::Unbounded)).next();
            next.is_some_and(|(form, _)| form.starts_with(end))
        };
        let longest = MAX_FORM.min(text.len());
        let starts = (text.len() - longest..text.len()).filter(|start| text.is_char_boundary(*start));
        let mut looked_up = 0;
        for start in starts {
            // Most beginnings are recognized by their first bytes.
            let prefix = text.as_bytes()[start..].first_chunk::<PREFIX>();
            if prefix.is_some_and(|prefix| !self.prefixes.contains(prefix)) {
                continue;
            }
            looked_up += 1;
            if looked_up > MAX_LOOKED_UP || begins_form(start) {
                return &text[..start];
            }
        }
        text
    }
}

/// Returns whether a text is the mark of a value that was replaced.
pub(super) fn is_mark(text: &str) -> bool {
    text.strip_prefix('«').and_then(|rest| rest.strip_suffix('»')).is_some_and(|number| {
        number == "…" || (!number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
    })
}

/// Returns the forms in which a value occurs: as it is, inside a JSON string, inside JSON that is itself a string, and inside
/// a URL.
fn forms(value: &str) -> Vec<String> {
    let json = escaped(value);
    let twice = escaped(&json);
    let mut forms = vec![value.to_owned(), json];
    forms.extend(Some(twice).filter(|form| form.len() <= MAX_FORM));
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

/// Returns a text as it is written inside a JSON string.
fn escaped(text: &str) -> String {
    let json = serde_json::to_string(text).unwrap_or_default();
    json.get(1..json.len().saturating_sub(1)).unwrap_or_default().to_owned()
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
    fn a_value_is_found_in_json_that_is_itself_a_string() {
        let mut secrets = Secrets::default();
        secrets.learn_own("my \"quoted\" secret");
        let text =
            serde_json::to_string(&serde_json::json!({"a": "my \"quoted\" secret"}).to_string()).unwrap();
        assert_eq!(secrets.replace(&text), r#""{\"a\":\"«1»\"}""#);
    }

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
            [("x abcdefghi", "x "), ("x abc", "x "), ("x abx", "x abx"), ("ö", "ö"), ("", "")]
        {
            assert_eq!(secrets.trim_cut_end(text), expected);
        }
    }

    #[test]
    fn values_and_texts_that_take_long_to_compare_are_removed_as_a_whole() {
        let mut secrets = Secrets::default();
        for length in 8..2000 {
            secrets.learn(&format!("{}!", "a".repeat(length)));
        }
        assert_eq!(secrets.replace(&"a".repeat(100_000)), "«…»");
        assert_eq!(secrets.replace("x aaaaaaaaa! aaaaaaaa~"), "x «1» aaaaaaaa~");
        assert!(secrets.trim_cut_end(&"a".repeat(100_000)).len() <= 100_000 - 1999);
    }

    #[test]
    fn the_longest_value_counts_where_several_begin() {
        let mut secrets = Secrets::default();
        for value in ["abcdefgh", "abcdefghij", "abcdefghijkl"] {
            secrets.learn(value);
        }
        assert_eq!(secrets.replace("abcdefghijk abcdefghijkl abcdefgh abcdefg"), "«1»k «2» «3» abcdefg");
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
