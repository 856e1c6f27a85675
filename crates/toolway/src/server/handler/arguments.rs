//! How does the JSON object that a caller sent become the parameters of a function?
//!
//! In one pass: the text is read once, and each value goes directly into the type of its parameter. All problems are
//! collected and reported together, in words that let a model correct itself.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::{DeserializeOwned, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::{Map, Value};
use serde_path_to_error::{Path, Segment, Track};
use toolway_protocol::RawJson;
use toolway_protocol::json::message_without_position;

use crate::closest::closest;
use crate::schema::{Checker, MAX_PROBLEMS, Problem, Step, expected_field_text, truncate};
use crate::server::failure::errors::ToolError;

/// One slot for each parameter of a function. `#[tool]` generates the implementation.
pub trait Slots: Default {
    /// Reads the value of `name` into its slot. Returns `false` if no argument has that name.
    fn read<'de, A: MapAccess<'de>>(&mut self, name: &str, map: &mut A) -> Result<bool, A::Error>;

    /// Returns the names of the arguments.
    fn names() -> Vec<&'static str>;
}

/// The rules for the arguments of a tool.
#[derive(Debug)]
pub(crate) struct Rules {
    pub(crate) checker: Checker,
    /// `true` if the types of the parameters enforce everything that the schema requires.
    pub(crate) is_typed: bool,
    /// `true` if `"5"` may be read as 5 where the schema is unambiguous.
    pub(crate) coerces: bool,
}

/// The arguments of one call as they were sent, their rules, and the problems found in them.
///
/// The arguments are read strictly first. If that fails, values are coerced, but only where the schema is unambiguous:
/// `"5"` to 5, `"[1]"` to a list.
///
/// A [`ToolHandler`](crate::server::element::ToolHandler) gets the arguments and decodes them into its own type:
///
/// ```
/// use toolway::{BoxFuture, ToolError};
/// use toolway::server::parameter::Arguments;
/// use toolway::types::CallToolResult;
///
/// fn call(arguments: Arguments) -> BoxFuture<'static, Result<CallToolResult, ToolError>> {
///     Box::pin(async move {
///         let numbers: Vec<f64> = arguments.decode::<std::collections::BTreeMap<String, f64>>()?.into_values().collect();
///         Ok(CallToolResult::text(numbers.iter().sum::<f64>().to_string()))
///     })
/// }
/// ```
#[derive(Debug, Clone, Default)]
pub struct Arguments {
    text: Option<RawJson>,
    pub(super) rules: Option<Arc<Rules>>,
    /// Problems with the arguments, such as missing ones.
    pub(super) problems: Vec<String>,
    /// Parameters for which the server has no value. The caller cannot send such a value, so the caller is not told.
    pub(super) missing_values: Vec<String>,
}

impl Arguments {
    pub(crate) fn new(text: Option<RawJson>, rules: Option<Arc<Rules>>) -> Self {
        Self { text, rules, ..Self::default() }
    }

    pub(crate) fn with_rules(self, rules: Option<Arc<Rules>>) -> Self {
        Self { rules, ..self }
    }

    /// Returns the object as it was sent, or `None` if nothing was sent.
    pub fn json(&self) -> Option<&RawJson> {
        self.text.as_ref()
    }

    /// Checks the object against the schema and reads it as a `T`. Arguments that are missing or null get the defaults
    /// from the schema.
    ///
    /// # Errors
    ///
    /// One text with all problems, for the model.
    pub fn decode<T: DeserializeOwned>(&self) -> Result<T, ToolError> {
        let mut whole = Whole(None);
        self.read_by_rules(&mut whole)?;
        Ok(whole.0.expect("what was read without an error is there"))
    }

    /// Reads each argument into its slot. The code of `#[tool]` calls this.
    #[doc(hidden)]
    pub fn read<S: Slots>(&self) -> Result<S, ToolError> {
        let mut slots = S::default();
        self.read_by_rules(&mut slots)?;
        Ok(slots)
    }

    /// Reads the text strictly if it follows the rules, otherwise with coercions.
    fn read_by_rules(&self, target: &mut dyn Target) -> Result<(), ToolError> {
        let Some(rules) = &self.rules else { return self.read_strictly(target).map_err(ToolError::new) };
        let mut told = None;
        if target.enforces(rules) && !self.may_contain_null(rules) {
            match self.read_strictly(target) {
                Ok(()) => return Ok(()),
                Err(text) => told = Some(text),
            }
        } else {
            let mut value = self.value()?;
            if rules.checker.check(&value).is_empty() {
                // The text is more exact than the value for numbers with many digits.
                let read = if insert_defaults(&mut value, &rules.checker) {
                    target.read_value(value)
                } else {
                    self.read_strictly(target)
                };
                match read {
                    Ok(()) => return Ok(()),
                    Err(text) => told = Some(text),
                }
            }
        }
        self.read_leniently(target, rules, told)
    }

    /// Reads the text without coercions.
    fn read_strictly(&self, target: &mut dyn Target) -> Result<(), String> {
        match &self.text {
            Some(text) => target.read_text(text),
            None => target.read_value(Value::Object(Map::new())),
        }
    }

    /// Reads the arguments after coercing what can be coerced, or reports all problems.
    fn read_leniently(
        &self,
        target: &mut dyn Target,
        rules: &Rules,
        told: Option<String>,
    ) -> Result<(), ToolError> {
        let mut value = self.value()?;
        let mut is_changed = rules.coerces && rules.checker.coerce(&mut value);
        let problems = rules.checker.check(&value);
        if !problems.is_empty() {
            return Err(ToolError::new(Problem::join(&problems)));
        }
        is_changed |= insert_defaults(&mut value, &rules.checker);
        // The schema finds no problem, so the error of the type itself is all that can be reported.
        let told = match told {
            Some(text) if !is_changed => text,
            _ => match target.read_value(value.clone()) {
                Ok(()) => return Ok(()),
                Err(text) => text,
            },
        };
        Err(ToolError::new(target.find_error(&value, &rules.checker).unwrap_or(told)))
    }

    /// Returns whether the text may contain a null that stands for a default. Missing arguments do not matter here:
    /// slots get their defaults later.
    fn may_contain_null(&self, rules: &Rules) -> bool {
        rules.checker.defaults().next().is_some()
            && self.text.as_ref().is_some_and(|text| text.as_str().contains("null"))
    }

    /// Returns the sent text as a value. A duplicate name is refused, since the value could keep only one of the two.
    fn value(&self) -> Result<Value, ToolError> {
        let Some(text) = &self.text else { return Ok(Value::Object(Map::new())) };
        if text.is_object() {
            read_members(text.as_bytes()).map(Value::Object).map_err(ToolError::new)
        } else {
            text.decode().map_err(|error| ToolError::new(message_without_position(&error)))
        }
    }
}

/// Inserts the defaults of arguments that are missing or null. Returns whether a default was inserted.
fn insert_defaults(value: &mut Value, checker: &Checker) -> bool {
    let Value::Object(members) = value else { return false };
    let mut is_changed = false;
    for (name, default) in checker.defaults() {
        if members.get(name).is_none_or(Value::is_null) {
            members.insert(name.to_owned(), default.clone());
            is_changed = true;
        }
    }
    is_changed
}

/// A place for arguments that are read. All problems are returned as one text.
///
/// A trait of values, so that the code that reads by rules is compiled once, and not for each tool.
trait Target {
    /// Reads the text of an object.
    fn read_text(&mut self, text: &RawJson) -> Result<(), String>;

    /// Reads an object that was parsed from the text.
    fn read_value(&mut self, object: Value) -> Result<(), String>;

    /// Returns whether reading enforces everything that the schema requires.
    fn enforces(&self, rules: &Rules) -> bool;

    /// Reads an object whose types refuse it once more. Returns the error with its exact path, and with the format that
    /// the schema expects there.
    fn find_error(&self, object: &Value, checker: &Checker) -> Option<String>;
}

impl<S: Slots> Target for S {
    fn read_text(&mut self, text: &RawJson) -> Result<(), String> {
        *self = match text.flat_object() {
            Some(object) => read_slots(object)?,
            None => read_slots(&mut serde_json::Deserializer::from_slice(text.as_bytes()))?,
        };
        Ok(())
    }

    fn read_value(&mut self, object: Value) -> Result<(), String> {
        *self = read_slots(object)?;
        Ok(())
    }

    fn enforces(&self, rules: &Rules) -> bool {
        rules.is_typed
    }

    fn find_error(&self, object: &Value, checker: &Checker) -> Option<String> {
        let mut track = Track::new();
        let tracked = serde_path_to_error::Deserializer::new(object, &mut track);
        let mut walk = SlotsVisitor { slots: S::default(), problems: Vec::new(), current: None };
        let error = tracked.deserialize_map(&mut walk).err().filter(|_| walk.problems.is_empty())?;
        Some(with_path_and_format(&track.path(), &error, checker))
    }
}

/// Reads a complete object; an error names the argument.
pub(crate) fn read_whole<'de, T: DeserializeOwned, D>(object: D) -> Result<T, String>
where
    D: Deserializer<'de, Error: fmt::Display>,
{
    serde_path_to_error::deserialize(object)
        .map_err(|error| with_argument_name(argument(error.path()), error.inner()))
}

/// Reads a complete object of texts; an error names the argument and its expected format.
pub(crate) fn read_whole_texts<'de, T: DeserializeOwned + JsonSchema, D: Deserializer<'de>>(
    object: D,
) -> Result<T, String> {
    serde_path_to_error::deserialize(object).map_err(|error| {
        let argument = argument(error.path());
        with_argument_name(argument, &with_format(error.inner(), || expected_field_text::<T>(argument?)))
    })
}

/// Returns the argument at the start of a path.
fn argument(path: &Path) -> Option<&str> {
    match path.iter().next()? {
        Segment::Map { key } => Some(key),
        _ => None,
    }
}

/// One type for all arguments together, after they were read. Most arguments fit, so the path to a mistake is tracked only in
/// a second pass.
struct Whole<T>(Option<T>);

impl<T: DeserializeOwned> Target for Whole<T> {
    fn read_text(&mut self, text: &RawJson) -> Result<(), String> {
        let text = text.as_bytes();
        let read = serde_json::from_slice(text)
            .or_else(|_| read_whole(&mut serde_json::Deserializer::from_slice(text)));
        self.0 = Some(read?);
        Ok(())
    }

    fn read_value(&mut self, object: Value) -> Result<(), String> {
        self.0 = Some(T::deserialize(&object).or_else(|_| read_whole(&object))?);
        Ok(())
    }

    fn enforces(&self, _: &Rules) -> bool {
        false
    }

    fn find_error(&self, object: &Value, checker: &Checker) -> Option<String> {
        let error = serde_path_to_error::deserialize::<_, T>(object).err()?;
        Some(with_path_and_format(error.path(), error.inner(), checker))
    }
}

/// Returns the error of a type with its path, and with the format that the schema expects there.
fn with_path_and_format(path: &Path, error: &serde_json::Error, checker: &Checker) -> String {
    let steps = path.iter().filter_map(|segment| match segment {
        Segment::Map { key } => Some(Step::Member(key)),
        Segment::Seq { index } => Some(Step::Item(*index)),
        Segment::Enum { .. } | Segment::Unknown => None,
    });
    let error = with_format(error, || checker.expected_text(steps));
    let path = path.iter().next().map(|_| path.to_string());
    with_argument_name(path.as_deref(), &error)
}

/// Reads the text of any object; a duplicate name is an error.
fn read_members(text: &[u8]) -> Result<Map<String, Value>, String> {
    struct UniqueMembers<'c>(&'c mut Option<String>);

    impl<'de> Visitor<'de> for UniqueMembers<'_> {
        type Value = Map<String, Value>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object of arguments")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            let mut members = Map::new();
            while let Some((name, value)) = map.next_entry::<String, Value>()? {
                if members.contains_key(&name) {
                    *self.0 = Some(name);
                    return Err(duplicate_error());
                }
                members.insert(name, value);
            }
            Ok(members)
        }
    }

    let mut current = None;
    let read = serde_json::Deserializer::from_slice(text).deserialize_map(UniqueMembers(&mut current));
    read.map_err(|error| with_argument_name(current.as_deref(), &error))
}

pub(super) fn duplicate_error<E: serde::de::Error>() -> E {
    E::custom("it occurs twice")
}

/// Adds the format that a type expects to an error, because the errors of types from other crates often lack it.
pub(super) fn with_format<E: serde::de::Error>(error: &E, expected: impl FnOnce() -> Option<String>) -> E {
    let text = error.to_string();
    let text = without_position(&text);
    match expected() {
        Some(expected) if !text.contains(&*expected) => {
            E::custom(format_args!("{text}; expected {expected}"))
        }
        _ => E::custom(text),
    }
}

/// Removes the line and column from an error text. They count inside one member, so they are useless to the sender of
/// the whole message.
fn without_position(text: &str) -> &str {
    text.rfind(" at line ").map_or(text, |end| &text[..end])
}

/// Returns the text of a decoder's error, with the name of the argument in which it occurred.
fn with_argument_name(argument: Option<&str>, error: &impl fmt::Display) -> String {
    let text = error.to_string();
    let text = in_terms_of_json(without_position(&text));
    match argument {
        Some(name) => format!("argument `{}`: {text}", truncate(name)),
        None => text.into_owned(),
    }
}

/// Replaces the name of a Rust type in an error of `serde`. The schemas of most integers have no bounds, because few
/// models understand them.
fn in_terms_of_json(text: &str) -> Cow<'_, str> {
    let Some((found, name)) = text.rsplit_once(", expected ") else { return text.into() };
    let expected = match name {
        "i8" => integer_range(i8::MIN, i8::MAX),
        "i16" => integer_range(i16::MIN, i16::MAX),
        "i32" => integer_range(i32::MIN, i32::MAX),
        "i64" | "isize" => integer_range(i64::MIN, i64::MAX),
        "u8" => integer_range(u8::MIN, u8::MAX),
        "u16" => integer_range(u16::MIN, u16::MAX),
        "u32" => integer_range(u32::MIN, u32::MAX),
        "u64" | "usize" => integer_range(u64::MIN, u64::MAX),
        "i128" | "u128" => "an integer".to_owned(),
        "f32" | "f64" => "a number".to_owned(),
        _ => return text.into(),
    };
    let number = found.strip_prefix("invalid value: integer `").and_then(|rest| rest.strip_suffix('`'));
    match number {
        Some(number) => format!("expected {expected}, got {number}").into(),
        None => format!("{found}, expected {expected}").into(),
    }
}

fn integer_range(least: impl fmt::Display, most: impl fmt::Display) -> String {
    format!("an integer from {least} to {most}")
}

/// Reads an object into slots.
pub(crate) fn read_slots<'de, S: Slots, D: Deserializer<'de>>(object: D) -> Result<S, String>
where
    D::Error: fmt::Display,
{
    let mut walk = SlotsVisitor { slots: S::default(), problems: Vec::new(), current: None };
    if let Err(error) = object.deserialize_map(&mut walk) {
        walk.problems.push(with_argument_name(walk.current.as_deref(), &error));
    }
    if walk.problems.is_empty() { Ok(walk.slots) } else { Err(walk.problems.join("; ")) }
}

/// Used by the code of `#[tool]` after it has looked for each value.
#[doc(hidden)]
impl Arguments {
    /// Returns whether any problem was found.
    pub fn has_problems(&self) -> bool {
        !self.problems.is_empty() || !self.missing_values.is_empty()
    }

    /// Returns all problems as the error of a tool.
    pub fn error(&self) -> ToolError {
        match self.start_error() {
            StartError::BadArguments(text) => ToolError::new(text),
            StartError::MissingParameters(lacking) => lacking.into(),
        }
    }

    /// Returns all problems, and whether the caller or the server caused them.
    pub fn start_error(&self) -> StartError {
        if self.missing_values.is_empty() {
            StartError::BadArguments(self.problems.join("; "))
        } else {
            StartError::MissingParameters(MissingParameters(self.missing_values.join(", ")))
        }
    }
}

/// The reason why a handler cannot start.
#[derive(Debug)]
pub enum StartError {
    /// The arguments are wrong, and the caller may read why.
    BadArguments(String),
    /// The server lacks a value that the handler needs. The caller cannot fix this and is not told.
    MissingParameters(MissingParameters),
}

/// The parameters of a handler for which the call had no value.
#[derive(Debug)]
pub struct MissingParameters(String);

impl MissingParameters {
    /// Creates the error from the names of the missing parameters.
    pub fn new(what: impl Into<String>) -> Self {
        Self(what.into())
    }
}

impl fmt::Display for MissingParameters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the call lacks a value that its handler takes: {}", self.0)
    }
}

/// Stays hidden from clients, like every error that is not written for them.
impl std::error::Error for MissingParameters {}

struct SlotsVisitor<S> {
    slots: S,
    problems: Vec<String>,
    /// The argument that could not be read.
    current: Option<String>,
}

impl<'de, S: Slots> Visitor<'de> for &mut SlotsVisitor<S> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object of arguments")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(BorrowedKey(name)) = map.next_key()? {
            match self.slots.read(&name, &mut map) {
                Ok(true) => {}
                Ok(false) => {
                    map.next_value::<IgnoredAny>()?;
                    self.problems.push(unknown_argument(&name, &S::names()));
                    if self.problems.len() >= MAX_PROBLEMS {
                        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
                        return Ok(());
                    }
                }
                Err(error) => {
                    self.current = Some(name.into_owned());
                    return Err(error);
                }
            }
        }
        Ok(())
    }
}

fn unknown_argument(name: &str, names: &[&str]) -> String {
    let meant = closest(name, names.iter().copied());
    let name = truncate(name);
    if let Some(meant) = meant {
        return format!("unknown argument `{name}`, did you mean `{meant}`?");
    }
    match names {
        [] => format!("unknown argument `{name}`: this tool takes none"),
        names => format!("unknown argument `{name}`, known are `{}`", names.join("`, `")),
    }
}

/// A key that is borrowed unless it contains escapes.
#[derive(Deserialize)]
#[serde(transparent)]
struct BorrowedKey<'n>(#[serde(borrow)] Cow<'n, str>);
