//! Which types can be a field of a form? Texts, numbers, booleans, one choice, several choices, and an `Option` of
//! each.

use std::collections::{BTreeSet, HashSet};
use std::hash::{BuildHasher, Hash};

use serde_json::{Number, Value};
use toolway_protocol::types::{Choices, Field, FieldKind};

use crate::schema::{preview_with_type, whole};
use crate::server::ask::form::choice;
use crate::server::ask::form::choice::FormChoice;

/// A type that can be a field of a [`Form`](crate::server::ask::form::Form).
///
/// | type | what the user fills in |
/// |---|---|
/// | `String` | a text, or one of the choices in `#[form(choices = […])]` |
/// | `bool` | yes or no |
/// | `f64`, `f32` | a number |
/// | `u8`, `i32`, … | a whole number in the range of the type |
/// | an enum that derives [`Form`](derive@crate::Form) | one of its variants |
/// | `Vec`, `HashSet` or `BTreeSet` of such an enum | any of its variants |
/// | `Vec`, `HashSet` or `BTreeSet` of `String`, with `#[form(choices = […])]` | any of these texts |
/// | `Option` of any type above | the same, or nothing |
///
/// Every field except an `Option` is required, unless it has a default. A whole number of 64 bits or more must fit in
/// an `i64`, unless the field sets other bounds; JavaScript programs round numbers beyond 2^53.
///
/// Implement this trait for your own type to add a meaning to one of these types:
///
/// ```
/// use serde_json::Value;
/// use toolway::Form;
/// use toolway::prelude::*;
/// use toolway::server::ask::FormField;
/// use toolway::types::Field;
///
/// struct Email(String);
///
/// impl FormField for Email {
///     fn field() -> Field {
///         String::field().with_format("email")
///     }
///
///     fn read(value: Value) -> Result<Self, String> {
///         String::read(value).map(Self)
///     }
/// }
///
/// #[derive(Form)]
/// struct SignUp {
///     email: Email,
/// }
///
/// assert_eq!(SignUp::schema().properties.0[0].1.format.as_deref(), Some("email"));
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a field of a form",
    label = "not a field",
    note = "a field is a `String`, a `bool`, a number, an enum that derives `toolway::Form` (one choice), a `Vec` or set of such an \
            enum (several choices), or an `Option` of these: forms have no fields inside fields"
)]
pub trait FormField: Sized + Send + 'static {
    /// Returns the definition of the field that a client receives, before the form adds its description.
    fn field() -> Field;

    /// Reads a value that matches [`field`](Self::field).
    ///
    /// # Errors
    ///
    /// A message with the expected type and the received value.
    fn read(value: Value) -> Result<Self, String>;

    /// Returns the value of a field that was left out, or `None` if the field is required.
    fn value_if_missing() -> Option<Self> {
        None
    }
}

impl FormField for String {
    fn field() -> Field {
        Field::new(FieldKind::String)
    }

    fn read(value: Value) -> Result<Self, String> {
        match value {
            Value::String(text) => Ok(text),
            other => Err(type_mismatch("a string", &other)),
        }
    }
}

impl FormField for bool {
    fn field() -> Field {
        Field::new(FieldKind::Boolean)
    }

    fn read(value: Value) -> Result<Self, String> {
        value.as_bool().ok_or_else(|| type_mismatch("a boolean", &value))
    }
}

impl FormField for f64 {
    fn field() -> Field {
        Field::new(FieldKind::Number)
    }

    fn read(value: Value) -> Result<Self, String> {
        value.as_f64().filter(|number| number.is_finite()).ok_or_else(|| type_mismatch("a number", &value))
    }
}

impl FormField for f32 {
    fn field() -> Field {
        let mut field = f64::field();
        field.minimum = Number::from_f64(Self::MIN.into());
        field.maximum = Number::from_f64(Self::MAX.into());
        field
    }

    fn read(value: Value) -> Result<Self, String> {
        #[expect(clippy::cast_possible_truncation, reason = "fewer digits are what the author asked for")]
        let number = f64::read(value.clone())? as Self;
        if number.is_finite() { Ok(number) } else { Err(type_mismatch("a number that fits 32 bits", &value)) }
    }
}

/// Implements [`FormField`] for whole numbers, each with the bounds that are sent to the client.
macro_rules! whole_numbers {
    ($($type:ty: $minimum:expr, $maximum:expr;)*) => {$(
        impl FormField for $type {
            fn field() -> Field {
                let mut field = Field::new(FieldKind::Integer);
                let bounds: [Option<i64>; 2] = [$minimum, $maximum];
                [field.minimum, field.maximum] = bounds.map(|bound| bound.map(Number::from));
                field
            }

            fn read(value: Value) -> Result<Self, String> {
                let number = value.as_number().and_then(whole);
                number.and_then(|number| number.try_into().ok()).ok_or_else(|| {
                    type_mismatch(&format!("a whole number from {} to {}", Self::MIN, Self::MAX), &value)
                })
            }
        }
    )*};
}

whole_numbers! {
    i8: Some(i8::MIN.into()), Some(i8::MAX.into());
    u8: Some(0), Some(u8::MAX.into());
    i16: Some(i16::MIN.into()), Some(i16::MAX.into());
    u16: Some(0), Some(u16::MAX.into());
    i32: Some(i32::MIN.into()), Some(i32::MAX.into());
    u32: Some(0), Some(u32::MAX.into());
    // A client in JavaScript cannot read these bounds exactly, so they are left out.
    i64: None, None;
    u64: Some(0), None;
    isize: None, None;
    usize: Some(0), None;
    i128: None, None;
    u128: Some(0), None;
}

impl<T: FormField> FormField for Option<T> {
    fn field() -> Field {
        T::field()
    }

    fn read(value: Value) -> Result<Self, String> {
        if value.is_null() { Ok(None) } else { T::read(value).map(Some) }
    }

    fn value_if_missing() -> Option<Self> {
        Some(None)
    }
}

/// Implements [`FormField`] for collections of choices.
macro_rules! several_choices {
    ($([$($generics:tt)*] $collection:ty;)*) => {$(
        impl<$($generics)*> FormField for $collection {
            fn field() -> Field {
                choice::multiple_choice_field::<E>()
            }

            fn read(value: Value) -> Result<Self, String> {
                items(value)?.iter().map(choice::read).collect()
            }
        }
    )*};
}

several_choices! {
    [E: FormChoice] Vec<E>;
    [E: FormChoice + Ord] BTreeSet<E>;
    [E: FormChoice + Eq + Hash, S: BuildHasher + Default + Send + 'static] HashSet<E, S>;
}

/// Implements [`FormField`] for collections of texts; the form adds their choices.
macro_rules! several_texts {
    ($([$($generics:tt)*] $collection:ty;)*) => {$(
        impl<$($generics)*> FormField for $collection {
            fn field() -> Field {
                Field::new(FieldKind::Array).with_items(Choices::new().with_kind(FieldKind::String))
            }

            fn read(value: Value) -> Result<Self, String> {
                items(value)?.into_iter().map(String::read).collect()
            }
        }
    )*};
}

several_texts! {
    [] Vec<String>;
    [] BTreeSet<String>;
    [S: BuildHasher + Default + Send + 'static] HashSet<String, S>;
}

fn items(value: Value) -> Result<Vec<Value>, String> {
    match value {
        Value::Array(items) => Ok(items),
        other => Err(type_mismatch("an array", &other)),
    }
}

fn type_mismatch(expected: &str, value: &Value) -> String {
    format!("expected {expected}, got {}", preview_with_type(value))
}
