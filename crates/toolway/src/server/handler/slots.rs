//! How does each parameter of a function marked with a macro get its value?

use serde::de::MapAccess;
use serde_json::Value;

use crate::schema::expected_text;
use crate::server::call::scope::Scope;
use crate::server::handler::arguments::{Arguments, duplicate_error, with_format};
use crate::server::handler::parameter::{Parameter, missing_description, missing_text};

/// Reads one argument into its slot.
pub fn fill<'de, P: Parameter, A: MapAccess<'de>>(
    slot: &mut Option<P>,
    map: &mut A,
) -> Result<bool, A::Error> {
    if !P::IS_ARGUMENT {
        return Ok(false);
    }
    let value = P::read(map).map_err(|error| with_format(&error, || expected_text(P::describe)))?;
    if slot.replace(value).is_some() {
        return Err(duplicate_error());
    }
    Ok(true)
}

#[doc(hidden)]
impl Arguments {
    /// Returns the parameter for `name`: the value that the caller sent, otherwise the default from the schema,
    /// otherwise the default from the author, otherwise the value of its type for a missing argument.
    pub fn take<P: Parameter>(
        &mut self,
        name: &str,
        sent: Option<P>,
        default: Option<fn() -> Value>,
        scope: &Scope,
    ) -> Option<P> {
        let value = sent.or_else(|| self.schema_default(name)).or_else(|| P::of_default(&default?()));
        if let Ok(value) = value.map_or_else(|| P::from_scope(scope), Ok) {
            return Some(value);
        }
        match missing_text::<P>(scope) {
            Some(text) => self.problems.push(text.to_owned()),
            None if !P::IS_ARGUMENT => {
                self.missing_values.push(format!("`{name}` ({})", missing_description::<P>()));
            }
            None => self.problems.push(format!("argument `{name}` is missing")),
        }
        None
    }

    fn schema_default<P: Parameter>(&self, name: &str) -> Option<P> {
        let (_, default) = self.rules.as_ref()?.checker.defaults().find(|(known, _)| *known == name)?;
        P::of_default(default)
    }
}
