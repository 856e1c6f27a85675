//! How do fields become a form, and how is each read? Derived code calls this.

use std::collections::BTreeMap;

use serde_json::{Number, Value};
use toolway_protocol::types::{Field, Fields, FormSchema};

pub use crate::server::ask::form::choice::{read as read_choice, set_choices, single_choice_field};
use crate::server::ask::form::field::FormField;

/// A form to which fields are added one by one.
#[derive(Debug, Default)]
pub struct FormSchemaBuilder {
    fields: Vec<(String, Field)>,
    required: Vec<String>,
}

impl FormSchemaBuilder {
    /// Adds a field. The field is required, unless its type is an `Option` or it has a default.
    pub fn add<T: FormField>(&mut self, name: &str, describe: impl FnOnce(&mut Field)) {
        let mut field = T::field();
        describe(&mut field);
        if field.default.is_none() && T::value_if_missing().is_none() {
            self.required.push(name.to_owned());
        }
        self.fields.push((name.to_owned(), field));
    }

    /// Returns the finished form.
    pub fn finish(self) -> FormSchema {
        let form = FormSchema::new(Fields(self.fields));
        if self.required.is_empty() { form } else { form.with_required(self.required) }
    }
}

/// Reads one field of the content.
///
/// # Errors
///
/// A message that the field is missing or has the wrong type.
pub fn read<T: FormField>(content: &mut BTreeMap<String, Value>, name: &str) -> Result<T, String> {
    match content.remove(name).filter(|value| !value.is_null()) {
        Some(value) => T::read(value).map_err(|told| format!("field `{name}`: {told}")),
        None => T::value_if_missing().ok_or_else(|| format!("field `{name}` is missing")),
    }
}

/// Returns the value if it is a number.
pub fn number(value: &Value) -> Option<Number> {
    value.as_number().cloned()
}

/// Returns the value if it is an integer, for a minimum or maximum count.
pub fn count(value: &Value) -> Option<i64> {
    value.as_i64()
}
