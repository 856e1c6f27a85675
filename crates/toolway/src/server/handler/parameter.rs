//! What can be a parameter of a handler? The type of each parameter decides, never its name.

use std::any::type_name;
use std::sync::atomic::{AtomicBool, Ordering};

use schemars::JsonSchema;
use serde::de::value::Error as ValueError;
use serde::de::{DeserializeOwned, Deserializer, Error as _, MapAccess, Visitor};
use serde::forward_to_deserialize_any;

use crate::schema::{Arg, Generator, InputSchemaBuilder, input_schema_of};
use crate::server::call::scope::Scope;
use crate::server::call::state::States;
use crate::server::failure::errors::ToolError;
use crate::server::handler::arguments::{Arguments, MissingParameters};

/// A type that can be a parameter of a tool, a prompt, a resource, or any other handler.
///
/// There are two kinds. Types that can be read from JSON and have a schema (`Deserialize` and `JsonSchema`) are
/// *arguments*: they appear in the tool's schema and the caller sends them. Types that implement this trait directly,
/// such as [`Ctx`](crate::server::Ctx) and [`State`](crate::server::State), are taken from the call and do not appear
/// in the schema.
///
/// ```
/// use toolway::prelude::*;
/// use toolway::server::parameter::{Missing, Parameter, Scope};
///
/// struct Config {
///     unit: &'static str,
/// }
///
/// /// The unit to answer in, taken from the server's configuration.
/// struct Unit(&'static str);
///
/// impl Parameter for Unit {
///     fn from_scope(scope: &Scope) -> Result<Self, Missing> {
///         scope.states().get::<Config>().map(|config| Unit(config.unit)).ok_or(Missing)
///     }
/// }
///
/// /// How long something is.
/// #[tool]
/// fn length(metres: f64, unit: Unit) -> String {
///     format!("{metres} {}", unit.0)
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a parameter of a tool",
    label = "not a parameter",
    note = "an argument needs `#[derive(serde::Deserialize, schemars::JsonSchema)]`",
    note = "anything else implements `toolway::server::parameter::Parameter`, as `Ctx` and `State<T>` do"
)]
pub trait Parameter: Sized {
    /// Returns the value of a parameter that the caller did not send. Parameters that are not arguments always get
    /// their value from here.
    fn from_scope(scope: &Scope) -> Result<Self, Missing>;

    /// Returns what the server lacks for this parameter, in a sentence for its author.
    fn check(states: &States) -> Option<String> {
        let _ = states;
        None
    }

    #[doc(hidden)]
    const IS_ARGUMENT: bool = false;

    /// The text for the caller if the value is missing and the caller can do something about it. Otherwise the caller
    /// is not told.
    #[doc(hidden)]
    const MISSING_TEXT: Option<&'static str> = None;

    /// The sources of this value, for the end of a sentence in the log.
    #[doc(hidden)]
    const GIVEN_BY: Option<&'static str> = None;

    #[doc(hidden)]
    fn describe(generator: &mut Generator) -> serde_json::Value {
        let _ = generator;
        serde_json::Value::Bool(false)
    }

    /// Returns whether the caller may leave out the argument.
    #[doc(hidden)]
    fn is_optional() -> bool {
        true
    }

    #[doc(hidden)]
    fn read<'de, A: MapAccess<'de>>(map: &mut A) -> Result<Self, A::Error> {
        let _ = map;
        Err(A::Error::custom("this parameter is not an argument"))
    }

    /// Reads a default.
    #[doc(hidden)]
    fn of_default(default: &serde_json::Value) -> Option<Self> {
        let _ = default;
        None
    }

    /// Returns the schema of an argument that receives all arguments together.
    #[doc(hidden)]
    fn whole_schema() -> InputSchemaBuilder {
        InputSchemaBuilder::default()
    }

    /// Returns a parameter of a handler that has at most one argument, which then receives all arguments together.
    #[doc(hidden)]
    fn from_all_arguments(arguments: &Arguments, scope: &Scope) -> Result<Self, ToolError> {
        let _ = arguments;
        Self::from_scope(scope).map_err(|Missing| match missing_text::<Self>(scope) {
            Some(text) => ToolError::new(text),
            None => MissingParameters::new(missing_description::<Self>()).into(),
        })
    }
}

impl InputSchemaBuilder {
    /// Adds a parameter to the schema, if it is an argument.
    pub fn parameter<P: Parameter>(self, name: &'static str, arg: Arg) -> Self {
        if P::IS_ARGUMENT { self.argument(name, arg, P::is_optional(), P::describe) } else { self }
    }
}

/// The error for a parameter without a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Missing;

#[diagnostic::do_not_recommend]
impl<T: DeserializeOwned + JsonSchema + Send> Parameter for T {
    const IS_ARGUMENT: bool = true;

    fn from_scope(_: &Scope) -> Result<Self, Missing> {
        T::deserialize(MissingDeserializer).map_err(|_| Missing)
    }

    fn describe(generator: &mut Generator) -> serde_json::Value {
        generator.describe::<T>()
    }

    fn is_optional() -> bool {
        T::deserialize(MissingDeserializer).is_ok()
    }

    fn read<'de, A: MapAccess<'de>>(map: &mut A) -> Result<Self, A::Error> {
        map.next_value()
    }

    fn of_default(default: &serde_json::Value) -> Option<Self> {
        serde_json::from_value(default.clone()).ok()
    }

    fn whole_schema() -> InputSchemaBuilder {
        input_schema_of::<T>()
    }

    fn from_all_arguments(arguments: &Arguments, _: &Scope) -> Result<Self, ToolError> {
        arguments.decode()
    }
}

/// Remembers whether the log already has the warning that callers have no principal.
#[derive(Debug, Default)]
pub(crate) struct WarnedOnce(AtomicBool);

/// Returns the text for the caller, if the caller can do something about a missing `P`. If the server has no
/// `on_connect`, the first such call logs a warning that says how a call gets a `P`.
pub(crate) fn missing_text<P: Parameter>(scope: &Scope) -> Option<&'static str> {
    let text = P::MISSING_TEXT?;
    let inner = &scope.server().inner;
    if !scope.server().checks_callers() && !inner.warned_no_principal.0.swap(true, Ordering::Relaxed) {
        let (kind, given) = (type_name::<P>(), P::GIVEN_BY.unwrap_or_default());
        tracing::warn!("a call came without the `{kind}` that its handler takes{given}");
    }
    Some(text)
}

/// Describes a missing parameter for the log.
pub(crate) fn missing_description<P: Parameter>() -> String {
    format!("{}{}", type_name::<P>(), P::GIVEN_BY.unwrap_or_default())
}

/// A missing value: an `Option` reads it as `None`, all other types refuse it.
struct MissingDeserializer;

impl<'de> Deserializer<'de> for MissingDeserializer {
    type Error = ValueError;

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, ValueError> {
        Err(ValueError::custom("missing"))
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ValueError> {
        visitor.visit_none()
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct
        newtype_struct seq tuple tuple_struct map struct enum identifier ignored_any
    }
}
