//! Which choices can a form offer? The variants of an enum.

use serde_json::Value;
use toolway_protocol::types::{Choice, Choices, Field, FieldKind};

use crate::schema::{preview_with_type, truncate};

/// An enum whose variants are the choices of a field; the field takes one of them or several.
///
/// Derive [`Form`](derive@crate::Form) for an enum whose variants have no fields. A variant is sent as its name in the
/// source, or as `#[form(rename = "…")]` says. Users see the same text, or `#[form(title = "…")]`. Doc comments of
/// variants are not sent.
///
/// ```
/// use toolway::Form;
/// use toolway::prelude::*;
/// use toolway::server::ask::FormChoice;
///
/// #[derive(Form)]
/// enum Size {
///     #[form(rename = "s", title = "Small (up to 10 GB)")]
///     Small,
///     #[form(rename = "l", title = "Large")]
///     Large,
/// }
///
/// #[derive(Form)]
/// struct Order {
///     size: Size,
///     #[form(default = [Size::Small])]
///     also: Vec<Size>,
/// }
///
/// assert_eq!(Size::CHOICES[1], ("l", Some("Large")));
/// assert_eq!(Size::Large.value(), "l");
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a choice of a form",
    label = "not a choice",
    note = "derive `toolway::Form` for it; it must be an enum whose variants have no fields",
    note = "a list of texts is a `Vec<String>` with `#[form(choices = [\"a\", \"b\"])]`"
)]
pub trait FormChoice: Sized + Send + 'static {
    /// For each choice, in order: the value that is sent, and the title for users if it differs from the value.
    const CHOICES: &'static [(&'static str, Option<&'static str>)];

    /// Returns the choice for a received value.
    fn from_value(value: &str) -> Option<Self>;

    /// Returns the value that is sent for this choice.
    fn value(&self) -> &'static str;
}

/// Returns a field that takes one of the choices.
pub fn single_choice_field<E: FormChoice>() -> Field {
    let mut field = Field::new(FieldKind::String);
    set_choices(&mut field, E::CHOICES);
    field
}

/// Returns a field that takes several of the choices.
pub(crate) fn multiple_choice_field<E: FormChoice>() -> Field {
    let mut field = Field::new(FieldKind::Array);
    set_choices(&mut field, E::CHOICES);
    field
}

/// Adds choices to a field. If one choice has a title, all get one, because a field cannot mix choices with and without
/// titles.
pub fn set_choices(field: &mut Field, choices: &[(&str, Option<&str>)]) {
    let is_titled = choices.iter().any(|(_, title)| title.is_some());
    let titled = || -> Vec<Choice> {
        choices.iter().map(|(value, title)| Choice::new(*value, title.unwrap_or(value))).collect()
    };
    let plain = || -> Vec<String> { choices.iter().map(|(value, _)| (*value).to_owned()).collect() };
    match (&field.kind, is_titled) {
        (FieldKind::Array, true) => field.items = Some(Choices::new().with_any_of(titled())),
        (FieldKind::Array, false) => {
            field.items = Some(Choices::new().with_kind(FieldKind::String).with_choices(plain()));
        }
        (_, true) => field.one_of = Some(titled()),
        (_, false) => field.choices = Some(plain()),
    }
}

/// Reads one choice.
///
/// # Errors
///
/// A message with the value that was received.
pub fn read<E: FormChoice>(value: &Value) -> Result<E, String> {
    match value.as_str() {
        Some(text) => E::from_value(text).ok_or_else(|| format!("no such choice: `{}`", truncate(text))),
        None => Err(format!("expected a choice, got {}", preview_with_type(value))),
    }
}
