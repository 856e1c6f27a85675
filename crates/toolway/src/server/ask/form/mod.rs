//! Forms: what can a user be asked to fill in, and how does the answer become a value?
//!
//! | file | question |
//! |---|---|
//! | `field.rs` | Which types can be a field? |
//! | `choice.rs` | Which choices can a form offer? |
//! | `schema_builder.rs` | How do fields become a form? Derived code calls this. |
//! | `check.rs` | Does the user's answer match the form, and is the form itself valid? |

pub(crate) mod check;
pub(crate) mod choice;
pub(crate) mod field;
pub mod schema_builder;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use serde_json::Value;
use toolway_protocol::types::FormSchema;

pub(crate) use crate::server::ask::form::check::check;

/// A form that a user can be asked to fill in.
///
/// Derive it for a struct: each field of the struct becomes a field of the form, in the same order, and its doc comment
/// is the description. [`FormField`](crate::server::ask::FormField) lists the types that a field can have; the macro
/// [`Form`](derive@crate::Form) lists the attributes.
///
/// ```
/// use std::collections::BTreeMap;
/// use serde_json::json;
/// use toolway::Form;
/// use toolway::prelude::*;
///
/// #[derive(Form)]
/// struct Confirm {
///     /// Type the name to confirm.
///     name: String,
///     #[form(default = true)]
///     backup: bool,
/// }
///
/// assert_eq!(Confirm::name(), "Confirm");
/// assert_eq!(Confirm::schema().required, Some(vec!["name".to_owned()]));
///
/// let filled = BTreeMap::from([("name".to_owned(), json!("production"))]);
/// let Confirm { name, backup } = Confirm::fill_in(filled)?;
/// assert_eq!(name, "production");
/// assert!(backup);
/// # Ok::<(), String>(())
/// ```
///
/// For a form that is known only at run time, build a [`FormSchema`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a form",
    label = "not a form",
    note = "derive `toolway::Form` for it; it must be a struct with named fields"
)]
pub trait Form: Sized + Send + 'static {
    /// The name of the form: the type's name, unless the author sets another one.
    fn name() -> &'static str;

    /// The fields, as the client receives them.
    fn schema() -> FormSchema;

    /// Reads content that was checked against [`schema`](Self::schema) and whose missing fields have their defaults.
    /// [`fill_in`](Self::fill_in) does both and then calls this.
    ///
    /// # Errors
    ///
    /// The first field that is missing or has the wrong type.
    fn read(content: BTreeMap<String, Value>) -> Result<Self, String>;

    /// Checks the content of a form and reads it, as a server does with the answer of a client. For unit tests.
    ///
    /// ```
    /// use std::collections::BTreeMap;
    /// use serde_json::json;
    /// use toolway::Form;
    ///
    /// #[derive(Form)]
    /// struct Person {
    ///     #[form(max = 150)]
    ///     age: u8,
    /// }
    ///
    /// let told = Person::fill_in(BTreeMap::from([("age".to_owned(), json!(-3))])).err();
    /// assert_eq!(told.unwrap(), "field `age`: expected at least 0, got -3");
    /// ```
    ///
    /// # Errors
    ///
    /// The first ten problems, in one line.
    fn fill_in(content: BTreeMap<String, Value>) -> Result<Self, String> {
        Self::read(check(&Self::schema(), content)?)
    }

    /// Returns the mistakes in the form itself that the macro cannot see at compile time, such as a default that is not
    /// one of the choices. For unit tests.
    ///
    /// ```
    /// use toolway::Form;
    ///
    /// #[derive(Form)]
    /// enum Colour {
    ///     Red,
    ///     Green,
    /// }
    ///
    /// #[derive(Form)]
    /// struct Paint {
    ///     #[form(default = "Blue")]
    ///     colour: Colour,
    /// }
    ///
    /// let mistake = r#"the default of field `colour`: expected one of "Red", "Green", got "Blue""#;
    /// assert_eq!(Paint::mistakes(), [mistake]);
    /// ```
    fn mistakes() -> Vec<String> {
        check::mistakes(&Self::schema())
    }
}
