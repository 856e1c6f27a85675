//! How does the object that a caller sent become the parameters of a function?
//!
//! In one pass: the text is walked once, and each value is read straight into the type of its parameter. What
//! is wrong is collected and told all at once, in words that let a model correct itself.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::{DeserializeOwned, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::{Map, Value};
use serde_path_to_error::{Path, Segment};
use toolway_protocol::RawJson;
use toolway_protocol::json::reason;

use crate::closest::closest;
use crate::schema::{Checker, MOST_PROBLEMS, Problem, cut, expected_texts};
use crate::server::failure::errors::ToolError;

/// One place for each parameter of a function. `#[tool]` writes it.
pub trait Slots: Default {
    /// Reads the value of `name` into its place; `false` if there is no argument of that name.
    fn read<'de, A: MapAccess<'de>>(&mut self, name: &str, map: &mut A) -> Result<bool, A::Error>;

    /// The names of the arguments.
    fn names() -> Vec<&'static str>;
}

/// What the arguments of a tool must be.
#[derive(Debug)]
pub(crate) struct Rules {
    pub(crate) checker: Checker,
    /// The types of the parameters enforce everything that the schema says.
    pub(crate) is_typed: bool,
    /// Whether `"5"` may stand for 5 where the schema leaves no doubt.
    pub(crate) coerces: bool,
}

/// The arguments of one call, as they were sent, the rules that they have to obey, and what is wrong with them.
///
/// They are read strictly first. Only if that fails, and only where the schema leaves no doubt, a value is taken for
/// another: `"5"` for 5, `"[1]"` for a list.
///
/// A [`ToolHandler`](crate::server::ToolHandler) gets them and reads them as what it wants:
///
/// ```
/// use toolway::server::{Arguments, CallFuture};
/// use toolway::types::CallToolResult;
///
/// fn call(arguments: Arguments) -> CallFuture {
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
    /// What is missing.
    pub(super) problems: Vec<String>,
    /// What the server lacks: no caller can send it, and none is told.
    pub(super) lacks: Vec<String>,
}

impl Arguments {
    pub(crate) fn new(text: Option<RawJson>, rules: Option<Arc<Rules>>) -> Self {
        Self { text, rules, ..Self::default() }
    }

    pub(crate) fn ruled_by(self, rules: Option<Arc<Rules>>) -> Self {
        Self { rules, ..self }
    }

    /// The object as it was sent; nothing was sent if there is none.
    pub fn json(&self) -> Option<&RawJson> {
        self.text.as_ref()
    }

    /// Reads the object as a `T`, after it was checked against the schema. Arguments that were not sent, or are null,
    /// get the defaults that the schema names.
    ///
    /// # Errors
    ///
    /// One text that names everything that is wrong, for the model.
    pub fn decode<T: DeserializeOwned>(&self) -> Result<T, ToolError> {
        self.accept().map(|Whole(value)| value)
    }

    /// Reads each argument into its place. `#[tool]` uses it.
    #[doc(hidden)]
    pub fn read<S: Slots>(&self) -> Result<S, ToolError> {
        self.accept()
    }

    /// Reads the text as it is if it keeps to the rules, else what it was probably meant to be.
    fn accept<T: Target>(&self) -> Result<T, ToolError> {
        let Some(rules) = &self.rules else { return self.strictly().map_err(ToolError::new) };
        let mut told = None;
        if T::enforces(rules) && !self.may_ask_for_defaults(rules) {
            match self.strictly() {
                Ok(target) => return Ok(target),
                Err(text) => told = Some(text),
            }
        } else {
            let mut value = self.value()?;
            if rules.checker.check(&value).is_empty() {
                // The text says more than the value where numbers are long.
                let target =
                    if fill_in(&mut value, &rules.checker) { T::of_value(value) } else { self.strictly() };
                match target {
                    Ok(target) => return Ok(target),
                    Err(text) => told = Some(text),
                }
            }
        }
        self.leniently(rules, told)
    }

    /// Reads the text as it is.
    fn strictly<T: Target>(&self) -> Result<T, String> {
        match &self.text {
            Some(text) => T::of_text(text.as_bytes()),
            None => T::of_value(Value::Object(Map::new())),
        }
    }

    /// Reads the arguments after what can be taken for something else was, or says everything that is wrong.
    fn leniently<T: Target>(&self, rules: &Rules, told: Option<String>) -> Result<T, ToolError> {
        let mut value = self.value()?;
        let mut is_changed = rules.coerces && rules.checker.coerce(&mut value);
        let problems = rules.checker.check(&value);
        if !problems.is_empty() {
            return Err(ToolError::new(Problem::join(&problems)));
        }
        is_changed |= fill_in(&mut value, &rules.checker);
        // The schema finds nothing wrong: what the type itself says is all there is to say.
        match told {
            Some(text) if !is_changed => Err(ToolError::new(text)),
            _ => T::of_value(value).map_err(ToolError::new),
        }
    }

    /// Whether a null may stand beside a default, and so mean it. Absent arguments are no matter: places are given their
    /// defaults later.
    fn may_ask_for_defaults(&self, rules: &Rules) -> bool {
        rules.checker.defaults().next().is_some()
            && self.text.as_ref().is_some_and(|text| text.as_str().contains("null"))
    }

    /// What was sent, as a value. A name that comes twice is refused, since the value could keep only one of the two.
    fn value(&self) -> Result<Value, ToolError> {
        let Some(text) = &self.text else { return Ok(Value::Object(Map::new())) };
        if text.is_object() {
            members(text.as_bytes()).map(Value::Object).map_err(ToolError::new)
        } else {
            text.decode().map_err(|error| ToolError::new(reason(&error)))
        }
    }
}

/// Puts the defaults in for what was not sent; whether there was anything to put in.
fn fill_in(value: &mut Value, checker: &Checker) -> bool {
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

/// What arguments are read into. What is wrong comes back as one text.
trait Target: Sized {
    /// Reads the text of an object.
    fn of_text(text: &[u8]) -> Result<Self, String>;

    /// Reads an object that was made of the text.
    fn of_value(object: Value) -> Result<Self, String>;

    /// Whether reading enforces every word of the schema.
    fn enforces(rules: &Rules) -> bool;
}

impl<S: Slots> Target for S {
    fn of_text(text: &[u8]) -> Result<Self, String> {
        walk(&mut serde_json::Deserializer::from_slice(text))
    }

    fn of_value(object: Value) -> Result<Self, String> {
        walk(object)
    }

    fn enforces(rules: &Rules) -> bool {
        rules.is_typed
    }
}

/// Reads an object as a whole; what is wrong names the argument it is about.
pub(crate) fn whole<'de, T: DeserializeOwned, D>(object: D) -> Result<T, String>
where
    D: Deserializer<'de, Error: fmt::Display>,
{
    serde_path_to_error::deserialize(object).map_err(|error| placed(argument(error.path()), error.inner()))
}

/// Reads an object of texts as a whole; an error names the argument and the format that it must have.
pub(crate) fn whole_of_texts<'de, T: DeserializeOwned + JsonSchema, D: Deserializer<'de>>(
    object: D,
) -> Result<T, String> {
    serde_path_to_error::deserialize(object).map_err(|error| {
        let argument = argument(error.path());
        placed(argument, &with_format(error.inner(), || expected_texts::<T>(argument?)))
    })
}

/// The argument that a way into an object begins with.
fn argument(path: &Path) -> Option<&str> {
    match path.iter().next()? {
        Segment::Map { key } => Some(key),
        _ => None,
    }
}

/// One type for all arguments together. Nearly all that come fit it, so the way to a mistake is kept track of only when they
/// are read a second time.
struct Whole<T>(T);

impl<T: DeserializeOwned> Target for Whole<T> {
    fn of_text(text: &[u8]) -> Result<Self, String> {
        serde_json::from_slice(text)
            .or_else(|_| whole(&mut serde_json::Deserializer::from_slice(text)))
            .map(Self)
    }

    fn of_value(object: Value) -> Result<Self, String> {
        T::deserialize(&object).or_else(|_| whole(&object)).map(Self)
    }

    fn enforces(_: &Rules) -> bool {
        false
    }
}

/// Reads the text of any object.
fn members(text: &[u8]) -> Result<Map<String, Value>, String> {
    struct Unique<'c>(&'c mut Option<String>);

    impl<'de> Visitor<'de> for Unique<'_> {
        type Value = Map<String, Value>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object of arguments")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            let mut members = Map::new();
            while let Some((name, value)) = map.next_entry::<String, Value>()? {
                if members.contains_key(&name) {
                    *self.0 = Some(name);
                    return Err(twice());
                }
                members.insert(name, value);
            }
            Ok(members)
        }
    }

    let mut current = None;
    let read = serde_json::Deserializer::from_slice(text).deserialize_map(Unique(&mut current));
    read.map_err(|error| placed(current.as_deref(), &error))
}

pub(super) fn twice<E: serde::de::Error>() -> E {
    E::custom("it comes twice")
}

/// Adds the format that a type expects: the errors of foreign types often name none.
pub(super) fn with_format<E: serde::de::Error>(error: &E, expected: impl FnOnce() -> Option<String>) -> E {
    let text = error.to_string();
    let text = without_place(&text);
    match expected() {
        Some(expected) if !text.contains(&*expected) => {
            E::custom(format_args!("{text}; expected {expected}"))
        }
        _ => E::custom(text),
    }
}

/// Removes line and column: they count inside one member and mean nothing to the sender of the whole message.
fn without_place(text: &str) -> &str {
    text.rfind(" at line ").map_or(text, |end| &text[..end])
}

/// What a decoder complained about, with the argument that it was at.
fn placed(argument: Option<&str>, error: &impl fmt::Display) -> String {
    let text = error.to_string();
    let text = without_place(&text);
    match argument {
        Some(name) => format!("argument `{}`: {text}", cut(name)),
        None => text.to_owned(),
    }
}

/// Reads an object into places.
pub(crate) fn walk<'de, S: Slots, D: Deserializer<'de>>(object: D) -> Result<S, String>
where
    D::Error: fmt::Display,
{
    let mut walk = Walk { slots: S::default(), problems: Vec::new(), current: None };
    if let Err(error) = object.deserialize_map(&mut walk) {
        walk.problems.push(placed(walk.current.as_deref(), &error));
    }
    if walk.problems.is_empty() { Ok(walk.slots) } else { Err(walk.problems.join("; ")) }
}

/// What `#[tool]` asks for when each value has been looked for.
#[doc(hidden)]
impl Arguments {
    /// Whether anything was wrong.
    pub fn is_wrong(&self) -> bool {
        !self.problems.is_empty() || !self.lacks.is_empty()
    }

    /// Everything that was wrong, as the error of a tool.
    pub fn error(&self) -> ToolError {
        match self.refusal() {
            Refusal::Sent(text) => ToolError::new(text),
            Refusal::Lacking(lacking) => lacking.into(),
        }
    }

    /// Everything that was wrong, and whose fault it is.
    pub fn refusal(&self) -> Refusal {
        if self.lacks.is_empty() {
            Refusal::Sent(self.problems.join("; "))
        } else {
            Refusal::Lacking(Lacking(self.lacks.join(", ")))
        }
    }
}

/// Why a handler cannot begin.
#[derive(Debug)]
pub enum Refusal {
    /// What was sent is wrong, and its sender may know why.
    Sent(String),
    /// The server has not all that the handler takes, which is nothing that a caller can mend or need know.
    Lacking(Lacking),
}

/// What a handler takes and a call came without.
#[derive(Debug)]
pub struct Lacking(String);

impl Lacking {
    /// This is missing.
    pub fn new(what: impl Into<String>) -> Self {
        Self(what.into())
    }
}

impl fmt::Display for Lacking {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the call came without what its handler takes: {}", self.0)
    }
}

/// As any error that is not made for peers, it stays hidden from them.
impl std::error::Error for Lacking {}

struct Walk<S> {
    slots: S,
    problems: Vec<String>,
    /// The argument that could not be read.
    current: Option<String>,
}

impl<'de, S: Slots> Visitor<'de> for &mut Walk<S> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object of arguments")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(Name(name)) = map.next_key()? {
            match self.slots.read(&name, &mut map) {
                Ok(true) => {}
                Ok(false) => {
                    map.next_value::<IgnoredAny>()?;
                    self.problems.push(unknown::<S>(&name));
                    if self.problems.len() >= MOST_PROBLEMS {
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

fn unknown<S: Slots>(name: &str) -> String {
    let names = S::names();
    let meant = closest(name, names.iter().copied());
    let name = cut(name);
    if let Some(meant) = meant {
        return format!("unknown argument `{name}`, did you mean `{meant}`?");
    }
    match names.as_slice() {
        [] => format!("unknown argument `{name}`: this tool takes none"),
        names => format!("unknown argument `{name}`, known are `{}`", names.join("`, `")),
    }
}

/// A key that is not copied, unless it holds escapes.
#[derive(Deserialize)]
#[serde(transparent)]
struct Name<'n>(#[serde(borrow)] Cow<'n, str>);
