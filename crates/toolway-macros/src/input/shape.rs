//! What is a value of a type in JSON, as far as the name of the type tells?

use syn::{Type, TypeReference};

use super::types::{type_argument, ungrouped};

/// The JSON form of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    Text,
    Number,
    Flag,
    List,
    /// An enum, an alias or a type of the author: only rustc knows.
    Unknown,
}

impl Shape {
    /// Returns the shape by the name of the type. An `Option` has the shape of its content.
    pub(super) fn of(ty: &Type) -> Self {
        let ty = ungrouped(ty);
        if let Some(inner) = type_argument(ty, &["Option", "Box", "Arc"]) {
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
                    _ => Self::Unknown,
                }
            }
            _ => Self::Unknown,
        }
    }

    pub(super) fn noun(self) -> &'static str {
        match self {
            Self::Text => "a string",
            Self::Number => "a number",
            Self::Flag => "`true` or `false`",
            Self::List => "a list",
            Self::Unknown => "something else",
        }
    }

    /// Returns an example of a default for this shape.
    pub(super) fn example(self) -> &'static str {
        match self {
            Self::Text => "\"\"",
            Self::Number => "0",
            Self::Flag => "false",
            Self::List => "[]",
            Self::Unknown => "…",
        }
    }
}
