//! How is the problem of an argument described, so that the next attempt of the model is right?
//!
//! Each text names the position, the expected value, the received value, and if possible the value that was probably
//! meant.

use std::fmt;

use serde_json::Value;

use crate::texts::closest::closest;

/// A description of one problem.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem(String);

impl Problem {
    /// Joins all problems in one line.
    pub fn join(problems: &[Self]) -> String {
        let texts: Vec<_> = problems.iter().map(|problem| &*problem.0).collect();
        texts.join("; ")
    }

    /// Joins all problems in one line, with `noun` instead of the word `argument`.
    pub fn join_about(noun: &str, problems: &[Self]) -> String {
        let told = |problem: &Self| match problem.0.strip_prefix("argument `") {
            Some(rest) => format!("{noun} `{rest}"),
            None => problem.0.clone(),
        };
        problems.iter().map(told).collect::<Vec<_>>().join("; ")
    }

    pub(crate) fn at(path: &Path<'_>, complaint: &str) -> Self {
        match path {
            Path::Root => Self(format!("the arguments: {complaint}")),
            path => Self(format!("argument `{path}`: {complaint}")),
        }
    }

    pub(crate) fn missing(path: &Path<'_>) -> Self {
        Self(format!("argument `{path}` is missing"))
    }

    /// Creates the problem of a member that the object at `parent` must not have.
    pub(crate) fn unknown<'n>(
        parent: &Path<'_>,
        name: &str,
        known: impl Iterator<Item = &'n str> + Clone,
    ) -> Self {
        let path = parent.member(name);
        if let Some(meant) = closest(name, known.clone()) {
            let meant = parent.member(meant);
            return Self(format!("unknown argument `{path}`, did you mean `{meant}`?"));
        }
        let names: Vec<_> = known.collect();
        match (names.as_slice(), parent) {
            ([], Path::Root) => Self(format!("unknown argument `{path}`: this tool takes none")),
            ([], _) => Self(format!("unknown argument `{path}`: `{parent}` has no members")),
            (names, _) => Self(format!(
                "unknown argument `{path}`, known are {}",
                join_first(names, |name| format!("`{}`", parent.member(name)))
            )),
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The path from the arguments to a value: `user.name`, `items[2].age`. It is formatted only if there is a problem.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Path<'p> {
    Root,
    Member(&'p Path<'p>, &'p str),
    Item(&'p Path<'p>, usize),
}

impl<'p> Path<'p> {
    pub(crate) fn member(&'p self, name: &'p str) -> Path<'p> {
        Path::Member(self, name)
    }

    pub(crate) fn item(&'p self, index: usize) -> Path<'p> {
        Path::Item(self, index)
    }
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Path::Root => Ok(()),
            Path::Member(Path::Root, name) => f.write_str(&truncate(name)),
            Path::Member(parent, name) => write!(f, "{parent}.{}", truncate(name)),
            Path::Item(parent, index) => write!(f, "{parent}[{index}]"),
        }
    }
}

/// Returns the beginning of a value as JSON.
pub(crate) fn preview(value: &Value) -> String {
    // A large value is not serialized completely. The only possible error is that the buffer is full.
    let mut beginning = [0; 4 * MAX_SHOWN + 4];
    let mut room = &mut beginning[..];
    let _ = serde_json::to_writer(&mut room, value);
    let left = room.len();
    truncate(&String::from_utf8_lossy(&beginning[..beginning.len() - left]))
}

/// Returns the beginning of a text.
pub fn truncate(text: &str) -> String {
    match text.char_indices().nth(MAX_SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// Returns the beginning of a value with its type, for a value of the wrong type.
pub fn preview_with_type(value: &Value) -> String {
    let kind = match value {
        Value::Null => "",
        Value::Bool(_) => "the boolean ",
        Value::Number(_) => "the number ",
        Value::String(_) => "the string ",
        Value::Array(_) => "the array ",
        Value::Object(_) => "the object ",
    };
    format!("{kind}{}", preview(value))
}

/// Returns a text such as `expected one of "free", "pro", got "prp", did you mean "pro"?`
pub fn not_one_of(options: &[&Value], value: &Value) -> String {
    let expected = match options {
        [only] => preview(only),
        many => format!("one of {}", join_first(many, |option| preview(option))),
    };
    let texts = || options.iter().filter_map(|option| option.as_str());
    let meant = value.as_str().filter(|_| options.len() > 1).and_then(|text| closest(text, texts()));
    let hint = meant.map(|meant| format!(", did you mean {}?", preview(&meant.into()))).unwrap_or_default();
    format!("expected {expected}, got {}{hint}", preview(value))
}

/// Returns a text such as `expected at least 1 character, got none`
pub(crate) fn wrong_count(bound: &str, limit: u64, unit: [&str; 2], count: usize) -> String {
    let [one, many] = unit;
    let unit = if limit == 1 { one } else { many };
    match count {
        0 => format!("expected {bound} {limit} {unit}, got none"),
        count => format!("expected {bound} {limit} {unit}, got {count}"),
    }
}

pub(crate) const CHARACTERS: [&str; 2] = ["character", "characters"];
pub(crate) const ITEMS: [&str; 2] = ["item", "items"];
pub(crate) const MEMBERS: [&str; 2] = ["member", "members"];

/// Joins the first items with commas.
pub(crate) fn join_first<T>(items: &[T], show: impl Fn(&T) -> String) -> String {
    let mut texts: Vec<_> = items.iter().take(MAX_LISTED).map(show).collect();
    if items.len() > MAX_LISTED {
        texts.push("…".to_owned());
    }
    texts.join(", ")
}

/// The number of characters of a value that are shown.
const MAX_SHOWN: usize = 60;

/// The maximum number of names or options that are listed: enough for all country codes. A longer list does not help a
/// model.
const MAX_LISTED: usize = 250;

/// Describes the problems of a tool's result, with the word `member` instead of `argument`.
pub fn describe_output_problems(problems: &[Problem]) -> String {
    let text = Problem::join(problems).replace("argument `", "member `");
    format!("the result does not fit the output schema: {text}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_values_are_cut_between_characters() {
        assert_eq!(preview(&"é".repeat(1 << 20).into()), format!("\"{}…", "é".repeat(59)));
        assert_eq!(preview(&"😀".repeat(70).into()), format!("\"{}…", "😀".repeat(59)));
        assert_eq!(preview(&"a".repeat(58).into()), format!("\"{}\"", "a".repeat(58)));
    }

    #[test]
    fn paths_read_like_code() {
        let items = Path::Root.member("items");
        let second = items.item(2);
        assert_eq!(second.member("age").to_string(), "items[2].age");
        assert_eq!(Path::Root.item(0).to_string(), "[0]");
    }
}
