//! Does a value fit a schema, and if not, what is wrong with it?
//!
//! There are two engines. Our own engine knows the keywords that derived schemas and most authors use, is cheap, and
//! reports problems in words for a model. The feature `full-schema` adds a second engine that knows all keywords. It is
//! used only for schemas with keywords that our own engine does not know.
//!
//! | file | question |
//! |---|---|
//! | `walk.rs` | How does our own engine check a value? |
//! | `coerce.rs` | How is a value of the wrong type converted, if its content is right? |
//! | `expected.rs` | Which text does a schema expect at a path? |
//! | `full.rs`, `without_full.rs` | What happens to keywords that our own engine does not know? |
//! | `full_pattern.rs` | How does the full engine match a `pattern`? |

mod coerce;
mod expected;
#[cfg(feature = "full")]
mod full;
#[cfg(feature = "full")]
mod full_pattern;
mod walk;
#[cfg(not(feature = "full"))]
mod without_full;

#[cfg(test)]
mod agreement_tests;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod work_tests;

use std::borrow::Cow;

use serde_json::{Map, Value};

use self::walk::Walk;
use crate::model::{Id, Model, max_paths};
use crate::texts::problem::{Path, Problem};
pub use expected::Step;
#[cfg(feature = "full")]
pub(crate) use full::Engine;
pub use walk::MAX_PROBLEMS;
#[cfg(not(feature = "full"))]
pub(crate) use without_full::Engine;

/// A compiled schema that checks values.
#[derive(Debug)]
pub struct Checker {
    model: Model,
    /// The defaults of the schema's own properties.
    defaults: Vec<(String, Value)>,
    /// The full engine, if the schema needs it. In this case the engine checks values, and the model is used only to
    /// convert values and to remove nulls.
    engine: Option<Engine>,
}

impl Checker {
    /// Compiles a schema.
    ///
    /// # Errors
    ///
    /// The mistakes in the schema, as sentences for its author.
    pub fn compile(schema: &Value) -> Result<Self, Vec<String>> {
        let (model, beyond) = Model::for_checking(schema)?;
        let engine = if beyond.is_empty() { None } else { Some(Engine::compile(schema, &beyond)?) };
        if engine.is_some() && max_paths(&model.nodes) > MAX_ENGINE_PATHS {
            return Err(vec![format!(
                "its references lead to the same schemas too often to be checked together with {}",
                beyond.join("; ")
            )]);
        }
        let properties = schema.get("properties").and_then(Value::as_object).into_iter().flatten();
        let defaults = properties
            .filter_map(|(name, property)| Some((name.clone(), property.get("default")?.clone())))
            .collect();
        Ok(Self { model, defaults, engine })
    }

    /// Returns the problems of a value, at most [`MAX_PROBLEMS`].
    #[inline]
    pub fn check(&self, value: &Value) -> Vec<Problem> {
        match &self.engine {
            Some(engine) => {
                let mut value = Cow::Borrowed(value);
                // The full engine treats a `null` as a value; our own treats some nulls as absent, see `walk.rs`.
                if coerce::has_null(&value) {
                    coerce::drop_nulls(&self.model, value.to_mut());
                }
                engine.check(&value, MAX_PROBLEMS)
            }
            None => self.check_from(0, value, &Path::Root),
        }
    }

    /// Returns the problems of a value for one of the schema's own properties.
    pub(crate) fn check_property(&self, name: &str, value: &Value) -> Vec<Problem> {
        if self.engine.is_some() {
            let mut whole = Map::new();
            whole.insert(name.to_owned(), value.clone());
            let whole = Value::Object(whole);
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
        // Fast path: nearly every value fits, and that check builds no text.
        if walk.fits(id, value, path) {
            return Vec::new();
        }
        walk.problems(id, value, path)
    }

    /// Converts values to the types that the schema requires, where the result is unambiguous. Returns whether
    /// anything changed.
    ///
    /// A text that contains a number, a boolean, an array or an object becomes that value, a number becomes a text,
    /// 5.0 becomes 5, and a `null` that counts as absent is removed.
    #[inline]
    pub fn coerce(&self, value: &mut Value) -> bool {
        coerce::coerce(&self.model, value)
    }

    /// Describes in words which text a format or a pattern expects at a path, or returns `None` if there is neither.
    ///
    /// ```
    /// use serde_json::json;
    /// use toolway_schema::{Checker, Step};
    ///
    /// let schema = json!({"properties": {"days": {"items": {"format": "date"}}}});
    /// let checker = Checker::compile(&schema).unwrap();
    /// let expected = checker.expected_text([Step::Member("days"), Step::Item(2)]);
    /// assert_eq!(expected.unwrap(), "a date such as 2024-02-29");
    /// ```
    pub fn expected_text<'s>(&self, path: impl IntoIterator<Item = Step<'s>>) -> Option<String> {
        expected::expected_text(&self.model, path)
    }

    /// Returns the defaults of the schema's own properties.
    #[inline]
    pub fn defaults(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.defaults.iter().map(|(name, value)| (name.as_str(), value))
    }
}

/// The maximum number of paths through the schemas that apply to the same value, if the full engine checks them: it
/// takes every path. Our own engine visits each schema once.
const MAX_ENGINE_PATHS: u64 = 100_000;
