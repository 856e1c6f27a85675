//! Which JSON does a text stand for, where the schema wants some type?

use toolway::RawJson;

use super::schema::{Kind, Schema, shown};
use crate::closest::did_you_mean;
use crate::json;

/// How deep lists are read in lists.
const MAX_DEPTH: usize = 4;

/// Reads a text as the schema wants it. Where it wants a text, or does not say, the text is taken as it is.
pub(super) fn coerce(text: &str, schema: &Schema) -> Result<RawJson, String> {
    coerce_within(text, schema, 0)
}

fn coerce_within(text: &str, schema: &Schema, depth: usize) -> Result<RawJson, String> {
    if let Some(choices) = schema.choices() {
        return choose(text, &choices, schema);
    }
    let kinds = schema.kinds();
    let raw = || RawJson::parse(text).ok();
    if kinds.is_empty() {
        return Ok(raw().unwrap_or_else(|| string(text)));
    }
    let is = |kind: Kind| kinds.contains(&kind);
    if is(Kind::Object) && text.trim_start().starts_with('{')
        || is(Kind::Array) && text.trim_start().starts_with('[')
    {
        match RawJson::parse(text) {
            Ok(value) => return Ok(value),
            Err(error) if !is(Kind::String) => return Err(format!("no JSON: {error}")),
            Err(_) => {}
        }
    }
    if is(Kind::String) {
        return Ok(string(text));
    }
    let word = text.trim();
    if is(Kind::Null) && word == "null" {
        return Ok(literal("null"));
    }
    if is(Kind::Boolean)
        && let Some(value) = boolean(word)
    {
        return Ok(literal(value));
    }
    if (is(Kind::Integer) || is(Kind::Number))
        && let Some(value) = number(word, !is(Kind::Number))
    {
        return Ok(value);
    }
    if is(Kind::Array) && depth < MAX_DEPTH {
        return list(text, &schema.items(), depth);
    }
    let example = match kinds.first() {
        Some(Kind::Boolean) => "; write true or false",
        Some(Kind::Object) => r#"; write JSON, such as {"a": 1}, or name a member: a.b=1"#,
        _ => "",
    };
    Err(format!("expected {}, got `{text}`{example}", schema.words()))
}

/// One of the values that are counted.
fn choose(text: &str, choices: &[RawJson], schema: &Schema) -> Result<RawJson, String> {
    let same = |choice: &&RawJson| shown(choice) == text;
    let loosely = |choice: &&RawJson| shown(choice).eq_ignore_ascii_case(text.trim());
    if let Some(choice) = choices.iter().find(same).or_else(|| choices.iter().find(loosely)) {
        return Ok(choice.clone());
    }
    let kinds = schema.kinds();
    if kinds.contains(&Kind::Null) && text.trim() == "null" {
        return Ok(literal("null"));
    }
    let words: Vec<_> = choices.iter().map(shown).collect();
    let meant = did_you_mean(text, words.iter().map(String::as_str));
    Err(format!("expected one of {}, got `{text}`{meant}", words.join(", ")))
}

/// `a,b,c`; nothing at all is an empty list.
fn list(text: &str, items: &Schema, depth: usize) -> Result<RawJson, String> {
    let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
    let values: Result<Vec<_>, _> = parts.map(|part| coerce_within(part, items, depth + 1)).collect();
    Ok(array(&values?))
}

/// Two values of a list that was given piece by piece.
pub(super) fn join(before: &RawJson, value: &RawJson) -> Option<RawJson> {
    Some(array(&[json::items(before)?, json::items(value)?].concat()))
}

fn array(items: &[RawJson]) -> RawJson {
    let items: Vec<_> = items.iter().map(RawJson::as_str).collect();
    literal(&format!("[{}]", items.join(",")))
}

fn boolean(word: &str) -> Option<&'static str> {
    let is = |words: [&str; 5]| words.iter().any(|known| word.eq_ignore_ascii_case(known));
    match () {
        () if is(["true", "yes", "y", "on", "1"]) => Some("true"),
        () if is(["false", "no", "n", "off", "0"]) => Some("false"),
        () => None,
    }
}

/// A number as it is spelt, if JSON can have it: a program that reads it decides what it can hold.
fn number(word: &str, is_whole: bool) -> Option<RawJson> {
    let word = word.strip_prefix('+').unwrap_or(word);
    let is_number = |value: &RawJson| matches!(value.as_bytes().first(), Some(b'-' | b'0'..=b'9'));
    if is_whole && word.contains(['.', 'e', 'E']) {
        return None;
    }
    if let Some(value) = RawJson::parse(word).ok().filter(is_number) {
        return Some(value);
    }
    if is_whole {
        return None;
    }
    // `.5` and `5.` are numbers to people.
    let looks_like_one =
        word.starts_with(['-', '.']) || word.starts_with(|letter: char| letter.is_ascii_digit());
    let value = word.parse().ok().filter(|value: &f64| looks_like_one && value.is_finite())?;
    RawJson::from_value(&value).ok()
}

fn string(text: &str) -> RawJson {
    literal(&json::quoted(text))
}

fn literal(text: &str) -> RawJson {
    RawJson::parse(text).expect("it is written as JSON")
}
