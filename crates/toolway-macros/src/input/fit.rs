//! Does `#[arg(…)]` fit the type of the parameter, as far as the type's name tells? The rest is checked with the
//! schema when the server is built.

use strsim::osa_distance;
use syn::Type;

use super::arg::{Arg, Group};
use super::shape::Shape;
use crate::attribute::Mistakes;

/// Reports rules that do not fit.
pub(super) fn check(arg: &Arg, name: &str, ty: &Type, mistakes: &mut Mistakes) {
    let shape = Shape::of(ty);
    for said in &arg.rules {
        let mut tell = |message: String| mistakes.report(said.span, message);
        let (group, owners) = match said.rule.group {
            Group::Numbers => (Shape::Number, "numbers"),
            Group::Texts => (Shape::Text, "strings"),
            Group::Lists => (Shape::List, "lists"),
            Group::Format => {
                let format = said.text.as_deref().unwrap_or_default();
                if CHECKED_FORMATS.contains(&format) && !matches!(shape, Shape::Text | Shape::Unknown) {
                    tell(format!("the format `{format}` is for strings, but `{name}` is {}", shape.noun()));
                } else if let Some(meant) = misspelt(format) {
                    tell(format!("unknown format `{format}`, did you mean `{meant}`?"));
                }
                continue;
            }
            Group::Anything => continue,
        };
        if shape != group && shape != Shape::Unknown {
            tell(format!("`{}` is for {owners}, but `{name}` is {}", said.rule.key, shape.noun()));
        }
    }
}

/// Returns the format that was probably meant: one typo away, or the same without punctuation. Any other format is
/// only an annotation, which JSON Schema allows.
fn misspelt(format: &str) -> Option<&'static str> {
    if CHECKED_FORMATS.contains(&format) || UNCHECKED_FORMATS.contains(&format) {
        return None;
    }
    let letters = |text: &str| text.to_lowercase().replace(|letter: char| !letter.is_alphanumeric(), "");
    let written = letters(format);
    CHECKED_FORMATS.into_iter().find(|known| osa_distance(&written, &letters(known)) <= 1)
}

/// The formats that are checked.
const CHECKED_FORMATS: [&str; 8] = ["email", "uri", "date", "time", "date-time", "uuid", "ipv4", "ipv6"];

/// A format of JSON Schema that is not checked, and whose name is similar to that of a checked format.
const UNCHECKED_FORMATS: [&str; 1] = ["iri"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_in_a_format_is_recognised_and_another_format_is_not() {
        let cases = [
            ("dat", Some("date")),
            ("datetime", Some("date-time")),
            ("date_time", Some("date-time")),
            ("url", Some("uri")),
            ("UUID", Some("uuid")),
            ("iri", None),
            ("hostname", None),
            ("timezone", None),
            ("int64", None),
            ("isbn", None),
            ("date", None),
        ];
        for (format, meant) in cases {
            assert_eq!(misspelt(format), meant, "{format}");
        }
    }
}
