//! Does what `#[arg(…)]` says fit the type of the parameter, as far as its name tells? What it does not tell, the schema does
//! when the server is built.

use syn::{Type, TypeReference};

use super::arg::{Arg, Group};
use super::signature::{inside, ungrouped};
use crate::closest::distance;

/// What a value of a type is in JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    Text,
    Number,
    Flag,
    List,
    /// An enum, an alias, a type of the author's: only rustc knows.
    Other,
}

impl Shape {
    /// By the name of the type; an `Option` is what is in it.
    pub(super) fn of(ty: &Type) -> Self {
        let ty = ungrouped(ty);
        if let Some(inner) = inside(ty, &["Option", "Box", "Arc"]) {
            return Self::of(inner);
        }
        match ty {
            Type::Reference(TypeReference { elem, .. }) => Self::of(elem),
            Type::Slice(_) | Type::Array(_) => Self::List,
            Type::Path(path) => {
                let name = path.path.segments.last().map(|last| last.ident.to_string()).unwrap_or_default();
                match name.as_str() {
                    "String" | "str" | "char" | "PathBuf" | "Path" => Self::Text,
                    "bool" => Self::Flag,
                    "u8" | "u16" | "u32" | "u64" | "u128" | "usize" | "i8" | "i16" | "i32" | "i64"
                    | "i128" | "isize" | "f32" | "f64" => Self::Number,
                    "Vec" | "VecDeque" | "HashSet" | "BTreeSet" => Self::List,
                    _ => Self::Other,
                }
            }
            _ => Self::Other,
        }
    }

    fn noun(self) -> &'static str {
        match self {
            Self::Text => "a text",
            Self::Number => "a number",
            Self::Flag => "`true` or `false`",
            Self::List => "a list",
            Self::Other => "something else",
        }
    }

    /// A default that a value of this shape may have.
    pub(super) fn example(self) -> &'static str {
        match self {
            Self::Text => "\"\"",
            Self::Number => "0",
            Self::Flag => "false",
            Self::List => "[]",
            Self::Other => "…",
        }
    }
}

/// Finds what does not fit.
pub(super) fn check(arg: &Arg, name: &str, ty: &Type, mistakes: &mut Vec<syn::Error>) {
    let shape = Shape::of(ty);
    for rule in &arg.rules {
        let mut tell = |message: String| mistakes.push(syn::Error::new(rule.span, message));
        let (group, owners) = match rule.group {
            Group::Numbers => (Shape::Number, "numbers"),
            Group::Texts => (Shape::Text, "texts"),
            Group::Lists => (Shape::List, "lists"),
            Group::Format => {
                let format = rule.text.as_deref().unwrap_or_default();
                if ASSERTED.contains(&format) && !matches!(shape, Shape::Text | Shape::Other) {
                    tell(format!("the format `{format}` is for texts, and `{name}` is {}", shape.noun()));
                } else if let Some(meant) = misspelt(format) {
                    tell(format!("unknown format `{format}`, did you mean `{meant}`?"));
                }
                continue;
            }
            Group::Anything => continue,
        };
        if shape != group && shape != Shape::Other {
            tell(format!("`{}` is for {owners}, and `{name}` is {}", rule.key, shape.noun()));
        }
    }
}

/// The format that was probably meant: one slip of the finger away, or the same without its signs. Any other is a remark for
/// readers, which JSON Schema allows.
fn misspelt(format: &str) -> Option<&'static str> {
    if ASSERTED.contains(&format) || KNOWN.contains(&format) {
        return None;
    }
    let letters = |text: &str| text.to_lowercase().replace(|letter: char| !letter.is_alphanumeric(), "");
    let written = letters(format);
    ASSERTED.into_iter().find(|known| distance(&written, &letters(known)) <= 1)
}

/// The formats that are checked.
const ASSERTED: [&str; 8] = ["email", "uri", "date", "time", "date-time", "uuid", "ipv4", "ipv6"];

/// One that JSON Schema has besides, and that is written like one of them.
const KNOWN: [&str; 1] = ["iri"];

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
