//! Which JSON value does a text mean, if the schema requires a type?

use serde_json::Value;
use toolway::RawJson;
use toolway_schema::{Schema, Types};

use super::schema::{allows_type, describe_type, value_text};
use crate::closest::did_you_mean;

/// The maximum depth of nested lists.
const MAX_DEPTH: usize = 4;

/// Converts a text to the type that the schema requires. If the schema requires a string, the text is taken literally.
/// If the schema has no type, the text is read as JSON if possible.
pub(crate) fn coerce(text: &str, schema: &Schema) -> Result<RawJson, String> {
    coerce_within(text, schema, 0)
}

fn coerce_within(text: &str, schema: &Schema, depth: usize) -> Result<RawJson, String> {
    if let Some(choices) = schema.choices() {
        return choose(text, &choices, schema);
    }
    let Some(types) = schema.types() else {
        return Ok(RawJson::parse(text).unwrap_or_else(|_| Value::from(text).into()));
    };
    let is_text = types.intersects(Types::STRING);
    if types.intersects(Types::OBJECT) && text.trim_start().starts_with('{')
        || types.intersects(Types::ARRAY) && text.trim_start().starts_with('[')
    {
        match RawJson::parse(text) {
            Ok(value) => return Ok(value),
            Err(error) if !is_text => return Err(format!("not valid JSON: {error}")),
            Err(_) => {}
        }
    }
    if is_text {
        return Ok(Value::from(text).into());
    }
    let word = text.trim();
    if types.intersects(Types::NULL) && word == "null" {
        return Ok(literal("null"));
    }
    if types.intersects(Types::BOOLEAN)
        && let Some(value) = boolean(word)
    {
        return Ok(literal(value));
    }
    if types.intersects(Types::NUMBER)
        && let Some(value) = number(word, !types.contains(Types::NUMBER))
    {
        return Ok(value);
    }
    if types.intersects(Types::ARRAY) && depth < MAX_DEPTH {
        return list(text, &schema.items(), depth);
    }
    let example = match types.names().first() {
        Some(&"boolean") => "; write true or false",
        Some(&"object") => r#"; write JSON, such as {"a": 1}, or name a member: a.b=1"#,
        _ => "",
    };
    Err(format!("expected {}, got `{text}`{example}", describe_type(schema)))
}

/// Returns the listed value that the text means.
fn choose(text: &str, choices: &[Value], schema: &Schema) -> Result<RawJson, String> {
    let same = |choice: &&Value| value_text(choice) == text;
    let loosely = |choice: &&Value| value_text(choice).eq_ignore_ascii_case(text.trim());
    if let Some(choice) = choices.iter().find(same).or_else(|| choices.iter().find(loosely)) {
        return Ok(choice.clone().into());
    }
    if allows_type(schema, Types::NULL) && text.trim() == "null" {
        return Ok(literal("null"));
    }
    let words: Vec<_> = choices.iter().map(value_text).collect();
    let meant = did_you_mean(text, words.iter().map(String::as_str));
    Err(format!("expected one of {}, got `{text}`{meant}", words.join(", ")))
}

/// Reads a list such as `a,b,c`. An empty text is an empty list.
fn list(text: &str, items: &Schema, depth: usize) -> Result<RawJson, String> {
    let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
    let values: Result<Vec<_>, _> = parts.map(|part| coerce_within(part, items, depth + 1)).collect();
    Ok(array(&values?))
}

/// Joins two pieces of a list that was given in several arguments.
pub(super) fn join(before: &RawJson, value: &RawJson) -> Option<RawJson> {
    let items = |list: &RawJson| list.decode::<Vec<RawJson>>().ok();
    Some(array(&[items(before)?, items(value)?].concat()))
}

fn array(items: &[RawJson]) -> RawJson {
    RawJson::from_value(&items).expect("a list of JSON values is valid JSON")
}

fn boolean(word: &str) -> Option<&'static str> {
    let is = |words: [&str; 5]| words.iter().any(|known| word.eq_ignore_ascii_case(known));
    match () {
        () if is(["true", "yes", "y", "on", "1"]) => Some("true"),
        () if is(["false", "no", "n", "off", "0"]) => Some("false"),
        () => None,
    }
}

/// Parses a number. A number that is valid JSON keeps its spelling, because the server decides which numbers it can
/// represent.
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
    // People also write `.5` and `5.`, which are not JSON.
    let looks_like_one =
        word.starts_with(['-', '.']) || word.starts_with(|letter: char| letter.is_ascii_digit());
    let value = word.parse().ok().filter(|value: &f64| looks_like_one && value.is_finite())?;
    RawJson::from_value(&value).ok()
}

fn literal(text: &str) -> RawJson {
    RawJson::parse(text).expect("the literal is valid JSON")
}
