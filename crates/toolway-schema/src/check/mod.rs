//! Does a value fit a schema, and if not, what is wrong with it?
//!
//! Two engines answer. Our own knows the keywords that types and most authors use, costs little, and tells what
//! is wrong in words for a model. The feature `full-schema` adds one that knows all keywords; it is asked only
//! about schemas that need it.
//!
//! | file | question |
//! |---|---|
//! | `walk.rs` | What happens when a value meets it? |
//! | `coerce.rs` | What did a caller mean who sent the right thing in the wrong type? |
//! | `full.rs`, `without_full.rs` | What about keywords that few schemas use? |

mod coerce;
#[cfg(feature = "full")]
mod full;
mod walk;
#[cfg(not(feature = "full"))]
mod without_full;

#[cfg(test)]
mod agreement_tests;
#[cfg(test)]
mod tests;

use std::borrow::Cow;

use serde_json::{Map, Value};

use self::walk::Walk;
use crate::model::{Id, Model};
use crate::texts::problem::{Path, Problem};
#[cfg(feature = "full")]
pub(crate) use full::Engine;
pub use walk::MOST_PROBLEMS;
#[cfg(not(feature = "full"))]
pub(crate) use without_full::Engine;

/// A schema, ready to be asked.
#[derive(Debug)]
pub struct Checker {
    model: Model,
    /// The defaults of its own properties.
    defaults: Vec<(String, Value)>,
    /// Decides, if there is one; the model is then only good for coercion.
    engine: Option<Engine>,
}

impl Checker {
    /// Reads a schema.
    ///
    /// # Errors
    ///
    /// What is wrong with it, in sentences for its author.
    pub fn compile(schema: &Value) -> Result<Self, Vec<String>> {
        let (model, beyond) = Model::to_check(schema)?;
        let engine = if beyond.is_empty() { None } else { Some(Engine::compile(schema, &beyond)?) };
        let properties = schema.get("properties").and_then(Value::as_object).into_iter().flatten();
        let defaults = properties
            .filter_map(|(name, property)| Some((name.clone(), property.get("default")?.clone())))
            .collect();
        Ok(Self { model, defaults, engine })
    }

    /// What is wrong with a value, up to [`MOST_PROBLEMS`].
    #[inline]
    pub fn check(&self, value: &Value) -> Vec<Problem> {
        match &self.engine {
            Some(engine) => {
                let mut value = Cow::Borrowed(value);
                // The engine takes a null for a value; ours does not, see `walk.rs`.
                if coerce::has_null(&value) {
                    coerce::drop_nulls(&self.model, value.to_mut());
                }
                engine.check(&value, MOST_PROBLEMS)
            }
            None => self.check_from(0, value, &Path::Root),
        }
    }

    /// What is wrong with a value for one of the schema's own properties.
    pub(crate) fn check_property(&self, name: &str, value: &Value) -> Vec<Problem> {
        if self.engine.is_some() {
            let whole = Value::Object(Map::from_iter([(name.to_owned(), value.clone())]));
            let places = ["`", ".", "["].map(|end| format!("argument `{name}{end}"));
            let is_here = |problem: &Problem| {
                let text = problem.to_string();
                places.iter().any(|place| text.starts_with(place))
            };
            return self.check(&whole).into_iter().filter(is_here).collect();
        }
        let property = self.model.nodes[0].object.as_ref().and_then(|object| object.properties.get(name));
        property.map(|id| self.check_from(*id, value, &Path::Root.member(name))).unwrap_or_default()
    }

    fn check_from(&self, id: Id, value: &Value, path: &Path<'_>) -> Vec<Problem> {
        let mut walk = Walk::new(&self.model);
        // Nearly every value fits, and that is told without writing a word.
        if walk.fits(id, value) {
            return Vec::new();
        }
        walk.problems(id, value, path)
    }

    /// Turns values into what the schema asks for where only one thing can be meant; whether anything changed.
    ///
    /// A text with a number, a truth value, an array or an object in it becomes that, a number becomes a text, 5.0
    /// becomes 5, and a null that counts as absent goes.
    #[inline]
    pub fn coerce(&self, value: &mut Value) -> bool {
        coerce::coerce(&self.model, value)
    }

    /// What the schema's own properties are when they are not sent.
    #[inline]
    pub fn defaults(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.defaults.iter().map(|(name, value)| (name.as_str(), value))
    }
}
