//! Forms: what can a user be asked to fill in, and how does the answer become a value?
//!
//! | file | question |
//! |---|---|
//! | `field.rs` | What may be a field? |
//! | `choice.rs` | What may be chosen from? |
//! | `outline.rs` | How do fields become a form? What derived code calls. |
//! | `check.rs` | Does what came back fit the form, and does the form make sense? |

pub(crate) mod check;
pub(crate) mod choice;
pub(crate) mod field;
pub mod outline;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use serde_json::Value;
use toolway_protocol::types::FormSchema;

pub(crate) use crate::server::ask::form::check::check;

/// A form that a user can be asked to fill in.
///
/// Derive it for a struct: each field is something to fill in, in the order in which they stand, and its doc comment tells what
/// it is for. What may be a field is said by [`FormField`](crate::server::FormField), what can be said about one by the macro
/// [`Form`](derive@crate::Form).
///
/// ```
/// use std::collections::BTreeMap;
/// use serde_json::json;
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
/// A form that is known only at run time is a [`FormSchema`] made by hand.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no form",
    label = "not a form",
    note = "derive `toolway::Form` for it; it must be a struct with named fields"
)]
pub trait Form: Sized + Send + 'static {
    /// What it is called: the type's name, unless the author gives another.
    fn name() -> &'static str;

    /// The fields, as a client is told of them.
    fn schema() -> FormSchema;

    /// Reads what was filled in. It was checked against [`schema`](Self::schema) before, and what was left out was replaced by
    /// its default; [`fill_in`](Self::fill_in) does both.
    ///
    /// # Errors
    ///
    /// The first thing that is missing or of another kind.
    fn read(content: BTreeMap<String, Value>) -> Result<Self, String>;

    /// Checks what was filled in, as a server does with the answer of a client, and reads it. For unit tests.
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
    /// Everything that is wrong, in one line.
    fn fill_in(content: BTreeMap<String, Value>) -> Result<Self, String> {
        Self::read(check(&Self::schema(), content)?)
    }

    /// What is wrong with the form itself, and only shows when it runs: a default that is no choice, say. For unit tests; the
    /// macro tells what it can see.
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
