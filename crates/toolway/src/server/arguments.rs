//! How does the object that a caller sent become the parameters of a function?
//!
//! In one pass: the text is walked once, and each value is read straight into the type of its parameter. What
//! is wrong is collected and told all at once, in words that let a model correct itself.

use std::borrow::Cow;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor};
use toolway_protocol::RawJson;
use toolway_protocol::json::reason;

use super::context::Scope;
use super::parameter::Parameter;
use super::tool_error::ToolError;

/// One place for each parameter of a function. `#[tool]` writes it.
pub trait Slots: Default {
    /// Reads the value of `name` into its place; `false` if there is no argument of that name.
    fn read<'de, A: MapAccess<'de>>(&mut self, name: &str, map: &mut A) -> Result<bool, A::Error>;

    /// The names of the arguments.
    fn names() -> Vec<&'static str>;
}

/// Reads one argument into its place.
pub fn fill<'de, P: Parameter, A: MapAccess<'de>>(
    slot: &mut Option<P>,
    map: &mut A,
) -> Result<bool, A::Error> {
    if !P::IS_ARGUMENT {
        return Ok(false);
    }
    if slot.replace(P::read(map)?).is_some() {
        return Err(serde::de::Error::custom("it comes twice"));
    }
    Ok(true)
}

/// Reads the arguments of a call.
pub fn read<S: Slots>(arguments: Option<&RawJson>) -> Result<Collected<S>, ToolError> {
    let mut collected = Collected { slots: S::default(), problems: Vec::new() };
    let Some(text) = arguments else { return Ok(collected) };
    let mut walk = Walk { into: &mut collected, current: None };
    let outcome = serde_json::Deserializer::from_slice(text.as_bytes()).deserialize_map(&mut walk);
    if let Err(error) = outcome {
        let place = walk.current.take().map(|name| format!("argument `{name}`: ")).unwrap_or_default();
        collected.problems.push(format!("{place}{}", reason(&error)));
        return Err(collected.error());
    }
    Ok(collected)
}

/// The places, filled, and what was wrong on the way.
#[derive(Debug)]
pub struct Collected<S> {
    /// The places.
    pub slots: S,
    problems: Vec<String>,
}

impl<S: Slots> Collected<S> {
    /// The parameter for `name`: what the caller sent, or what its type has for nobody sent anything.
    pub fn take<P: Parameter>(&mut self, name: &str, sent: Option<P>, scope: &Scope) -> Option<P> {
        match sent.map_or_else(|| P::absent(scope), Ok) {
            Ok(value) => Some(value),
            Err(_) => {
                self.problems.push(format!("argument `{name}` is missing"));
                None
            }
        }
    }

    /// Whether anything was wrong.
    pub fn is_wrong(&self) -> bool {
        !self.problems.is_empty()
    }

    /// Everything that was wrong.
    pub fn error(&self) -> ToolError {
        ToolError::new(self.problems.join("; "))
    }
}

struct Walk<'w, S> {
    into: &'w mut Collected<S>,
    current: Option<String>,
}

impl<'de, S: Slots> Visitor<'de> for &mut Walk<'_, S> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object of arguments")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(name) = map.next_key_seed(Name)? {
            match self.into.slots.read(&name, &mut map) {
                Ok(true) => {}
                Ok(false) => {
                    map.next_value::<IgnoredAny>()?;
                    self.into.problems.push(unknown::<S>(&name));
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
    if let Some(name_meant) = closest(name, names.iter().copied()) {
        return format!("unknown argument `{name}`, did you mean `{name_meant}`?");
    }
    match names.as_slice() {
        [] => format!("unknown argument `{name}`: this tool takes none"),
        names => format!("unknown argument `{name}`, known are `{}`", names.join("`, `")),
    }
}

/// Reads a key without copying it, unless it holds escapes.
struct Name;

impl<'de> DeserializeSeed<'de> for Name {
    type Value = Cow<'de, str>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'de> Visitor<'de> for Name {
    type Value = Cow<'de, str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a name")
    }

    fn visit_borrowed_str<E>(self, name: &'de str) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(name))
    }

    fn visit_str<E>(self, name: &str) -> Result<Self::Value, E> {
        Ok(Cow::Owned(name.to_owned()))
    }
}

/// The known name that somebody who wrote `name` probably meant.
pub(super) fn closest<'n>(name: &str, known: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    // A peer may send megabytes as a name; nobody misspells that much.
    if name.len() > 64 {
        return None;
    }
    known
        .map(|candidate| (distance(name, candidate), candidate))
        .filter(|(distance, candidate)| *distance <= 1 + candidate.len().min(name.len()) / 4)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// Edits between two names, letter case for free.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.to_lowercase().chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, left) in a.to_lowercase().chars().enumerate() {
        let mut diagonal = i;
        row[0] = i + 1;
        for (j, right) in b.iter().enumerate() {
            let substituted = diagonal + usize::from(left != *right);
            diagonal = row[j + 1];
            row[j + 1] = substituted.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_of_the_pen_is_recognised_and_another_word_is_not() {
        let known = || ["add", "subtract", "city"].into_iter();
        assert_eq!(closest("ad", known()), Some("add"));
        assert_eq!(closest("Add", known()), Some("add"));
        assert_eq!(closest("substract", known()), Some("subtract"));
        assert_eq!(closest("weather", known()), None);
        assert_eq!(closest(&"a".repeat(1 << 20), known()), None);
    }
}
