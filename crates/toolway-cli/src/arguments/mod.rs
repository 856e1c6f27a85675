//! How do words of the command line become the arguments of a tool?
//!
//! Arguments may come from files and from stdin, and reading them can block indefinitely. A command that can be
//! interrupted therefore builds the arguments in a call of [`run_on_thread`](crate::run_on_thread).
//!
//! | file | question |
//! |---|---|
//! | `mod.rs` | Which words name which arguments? |
//! | `coerce.rs` | Which JSON value does a text mean, if the schema requires a type? |
//! | `schema.rs` | How is the schema of one argument described in words? |
//! | `signature.rs` | How is the call of a tool described in words? |

pub(crate) mod coerce;
pub(crate) mod schema;
mod signature;

use std::fmt::Display;
use std::io::Read;

use serde::Serialize;
use toolway::RawJson;
use toolway::types::{OrderedMap, Prompt, Tool};
use toolway_schema::{Schema, Types};

use crate::closest::did_you_mean;
use crate::failure::{Failure, Result};
use crate::json;

use self::coerce::{coerce, join};
pub(crate) use self::schema::{allows_anything, allows_type, arguments, parse_schema};
pub(crate) use self::signature::{prompt_line, prompt_usage, tool_line, tool_usage};

/// The maximum size of a file that becomes an argument.
const MAX_FILE: u64 = 64 << 20;

/// Builds the arguments of a tool from words. A JSON object is sent unchanged and unchecked, because the user may want
/// to see how the server responds to invalid arguments.
pub(crate) fn for_tool(tool: &Tool, words: &[String], input_json: Option<&str>) -> Result<RawJson> {
    match (input_json, words) {
        (None, [object]) if object.trim_start().starts_with('{') => parse_object(object, "the arguments"),
        (None, words) => from_pairs(tool, words),
        (Some(text), []) => parse_object(&read_input_json(text)?, "--input-json"),
        (Some(_), [word, ..]) => Err(Failure::usage(format!(
            "`{word}` and --input-json cannot be used together: give the arguments in one way only"
        ))),
    }
}

/// Builds the arguments of a prompt: names and texts.
pub(crate) fn for_prompt(prompt: &Prompt, words: &[String]) -> Result<Vec<(String, String)>> {
    let known: Vec<_> = prompt.arguments.iter().flatten().map(|argument| argument.name.as_str()).collect();
    let fail = |message: String| Failure::usage(message).hint(prompt_usage(prompt));
    let pairs = match words {
        [object] if object.trim_start().starts_with('{') => object_texts(object)?,
        words => words.iter().map(|word| text_pair(word).map_err(&fail)).collect::<Result<_>>()?,
    };
    let mut named: Vec<(String, String)> = Vec::new();
    for (name, text) in pairs {
        if !known.contains(&&*name) {
            let meant = did_you_mean(&name, known.iter().copied());
            return Err(fail(format!("the prompt `{}` has no argument `{name}`{meant}", prompt.name)));
        }
        if named.iter().any(|(other, _)| *other == name) {
            return Err(fail(format!("the argument `{name}` is given twice")));
        }
        named.push((name, text));
    }
    let required = prompt.arguments.iter().flatten().filter(|argument| argument.required == Some(true));
    let missing: Vec<_> = required
        .map(|argument| argument.name.as_str())
        .filter(|name| named.iter().all(|(given, _)| given != name))
        .collect();
    if missing.is_empty() {
        Ok(named)
    } else {
        Err(fail(missing_message(&format!("the prompt `{}`", prompt.name), &missing)))
    }
}

/// Reads the names and texts that are already known when another argument is completed.
pub(crate) fn known_texts(words: &[String]) -> Result<Vec<(String, String)>> {
    words.iter().map(|word| text_pair(word).map_err(Failure::usage)).collect()
}

fn text_pair(word: &str) -> Result<(String, String), String> {
    let (name, text) = word.split_once('=').ok_or_else(|| not_a_pair(word))?;
    Ok((name.to_owned(), expand_at_file(text).map_err(|reason| format!("the argument `{name}`: {reason}"))?))
}

/// Returns the members of an object as texts. A value that is not a string is written as JSON.
fn object_texts(object: &str) -> Result<Vec<(String, String)>> {
    let members = parse_object(object, "the arguments")?.members().unwrap_or_default();
    Ok(members.into_iter().map(|(name, value)| (name, json::text(&value))).collect())
}

fn parse_object(text: &str, what: &str) -> Result<RawJson> {
    let object =
        RawJson::parse(text).map_err(|error| Failure::usage(format!("{what}: not valid JSON: {error}")))?;
    if object.is_object() {
        Ok(object)
    } else {
        Err(Failure::usage(format!("{what}: it must be a JSON object, such as {{\"a\": 1}}")))
    }
}

/// Reads the value of `--input-json`: a text, `@FILE` or `-`.
fn read_input_json(text: &str) -> Result<String> {
    let fail = |reason| Failure::usage(format!("--input-json: {reason}"));
    match text {
        "-" => read_file_or_stdin("-").map_err(fail),
        _ => expand_at_file(text).map_err(fail),
    }
}

/// Returns a text, or the content of `@FILE`. `@@` at the beginning is a literal `@`.
fn expand_at_file(text: &str) -> Result<String, String> {
    match text.strip_prefix('@') {
        Some(rest) if rest.starts_with('@') => Ok(rest.to_owned()),
        Some(name) => read_file_or_stdin(name),
        None => Ok(text.to_owned()),
    }
}

/// Returns the text of a file, or of stdin.
fn read_file_or_stdin(name: &str) -> Result<String, String> {
    let mut text = String::new();
    let read = match name {
        "-" => std::io::stdin().lock().take(MAX_FILE + 1).read_to_string(&mut text),
        _ => std::fs::File::open(name).and_then(|file| file.take(MAX_FILE + 1).read_to_string(&mut text)),
    };
    match read {
        Ok(length) if length as u64 > MAX_FILE => {
            Err(format!("`{name}` is longer than {} MiB", MAX_FILE >> 20))
        }
        Ok(_) => Ok(text),
        Err(error) => Err(format!(
            "`{name}` cannot be read: {error}; to pass a text that begins with @, double the @: @@{name}"
        )),
    }
}

fn not_a_pair(word: &str) -> String {
    format!("`{word}` is not an argument: write arguments as key=value")
}

pub(crate) fn missing_message(what: &str, missing: &[impl Display]) -> String {
    let names: Vec<_> = missing.iter().map(|name| format!("`{name}`")).collect();
    let (noun, names) = (if names.len() == 1 { "argument" } else { "arguments" }, names.join(", "));
    format!("{what} needs the {noun} {names}")
}

/// An object that is being built.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(crate) enum ArgumentNode {
    Leaf(RawJson),
    Object(OrderedMap<ArgumentNode>),
}

fn from_pairs(tool: &Tool, words: &[String]) -> Result<RawJson> {
    let fail = |message: String| Failure::usage(message).hint(tool_usage(tool));
    let schema = parse_schema(&tool.input_schema);
    let mut arguments = OrderedMap::default();
    for word in words {
        add_argument(&mut arguments, &schema, &tool.name, word).map_err(&fail)?;
    }
    let missing: Vec<_> =
        schema.required().into_iter().filter(|name| arguments.get(name).is_none()).collect();
    if !missing.is_empty() {
        return Err(fail(missing_message(&format!("the tool `{}`", tool.name), &missing)));
    }
    RawJson::from_value(&arguments)
        .map_err(|error| fail(format!("the arguments are not valid JSON: {error}")))
}

/// Adds one argument, `key=value` or `key:=JSON`.
fn add_argument(
    arguments: &mut OrderedMap<ArgumentNode>,
    schema: &Schema,
    tool: &str,
    word: &str,
) -> Result<(), String> {
    let (key, text) = word.split_once('=').ok_or_else(|| not_a_pair(word))?;
    // A schema may have an argument whose name ends in a colon; that name takes precedence.
    let (key, is_raw) = match key.strip_suffix(':') {
        Some(name) if schema.property(key).is_none() => (name, true),
        _ => (key, false),
    };
    let wrong = |reason: String| format!("the argument `{key}`: {reason}");
    let text = expand_at_file(text).map_err(wrong)?;
    let path = path(schema, key);
    let at = find_property(schema, &path, tool)?;
    let value = if is_raw {
        RawJson::parse(&text).map_err(|error| format!("`{text}` is not valid JSON: {error}"))
    } else {
        coerce(&text, &at)
    };
    let is_list = allows_type(&at, Types::ARRAY);
    insert(arguments, &path, value.map_err(wrong)?, is_list).map_err(wrong)
}

/// Returns the path of names to an argument. If the schema has an argument with the whole key as its name, the dots in
/// the key do not separate names.
fn path<'k>(schema: &Schema, key: &'k str) -> Vec<&'k str> {
    match schema.property(key) {
        Some(_) => vec![key],
        None => key.split('.').collect(),
    }
}

pub(crate) fn find_property(schema: &Schema, path: &[&str], tool: &str) -> Result<Schema, String> {
    let mut at = schema.clone();
    for (depth, name) in path.iter().enumerate() {
        at = match at.property(name).or_else(|| at.additional_properties()) {
            Some(member) => member,
            None => {
                let names: Vec<_> = at.properties().into_iter().map(|(name, _)| name).collect();
                let meant = did_you_mean(name, names.iter().map(String::as_str));
                let place = match depth {
                    0 => format!("the tool `{tool}`"),
                    _ => format!("`{}`", path[..depth].join(".")),
                };
                return Err(format!("{place} has no argument `{name}`{meant}"));
            }
        };
    }
    Ok(at)
}

pub(crate) fn insert(
    members: &mut OrderedMap<ArgumentNode>,
    path: &[&str],
    value: RawJson,
    is_list: bool,
) -> Result<(), String> {
    let (name, rest) = path.split_first().expect("a key has at least one name");
    let found = members.0.iter_mut().find(|(given, _)| given == name);
    match (found, rest) {
        (None, []) => members.0.push(((*name).to_owned(), ArgumentNode::Leaf(value))),
        (None, rest) => {
            let mut inner = OrderedMap::default();
            insert(&mut inner, rest, value, is_list)?;
            members.0.push(((*name).to_owned(), ArgumentNode::Object(inner)));
        }
        (Some((_, ArgumentNode::Object(inner))), rest @ [_, ..]) => insert(inner, rest, value, is_list)?,
        (Some((_, ArgumentNode::Leaf(before))), []) if is_list => match join(before, &value) {
            Some(both) => *before = both,
            None => return Err("it is given twice".to_owned()),
        },
        _ => return Err("it is given twice".to_owned()),
    }
    Ok(())
}

#[cfg(test)]
mod tests;
