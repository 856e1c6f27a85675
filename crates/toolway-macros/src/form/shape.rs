//! What kind of field is it, as far as the name of its type shows?

use std::ops::RangeInclusive;

use syn::{GenericArgument, PathArguments, Type};

use crate::input::ungrouped;

/// The kind of a field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Shape {
    Text,
    Flag,
    /// An integer, with the name of its type and the range of its values.
    Integer(&'static str, RangeInclusive<i128>),
    Float,
    /// A list of values.
    List(Box<Shape>),
    /// An enum, an alias or a type of the author: only rustc knows.
    Unknown,
}

impl Shape {
    pub(super) fn of(ty: &Type) -> Self {
        let Type::Path(path) = ungrouped(ty) else { return Self::Unknown };
        let Some(last) = path.path.segments.last() else { return Self::Unknown };
        let inner = match &last.arguments {
            PathArguments::AngleBracketed(given) => given.args.iter().find_map(|argument| match argument {
                GenericArgument::Type(ty) => Some(ty),
                _ => None,
            }),
            _ => None,
        };
        let name = last.ident.to_string();
        match (name.as_str(), inner) {
            ("String", None) => Self::Text,
            ("bool", None) => Self::Flag,
            ("f32" | "f64", None) => Self::Float,
            ("Option", Some(inner)) => Self::of(inner),
            ("Vec" | "HashSet" | "BTreeSet", Some(inner)) => Self::List(Box::new(Self::of(inner))),
            (name, None) => INTEGER_TYPES
                .iter()
                .find(|(known, ..)| *known == name)
                .map_or(Self::Unknown, |(name, least, most)| Self::Integer(name, *least..=*most)),
            _ => Self::Unknown,
        }
    }

    pub(super) fn noun(&self) -> &'static str {
        match self {
            Self::Text => "a string",
            Self::Flag => "a boolean",
            Self::Integer(..) => "a whole number",
            Self::Float => "a number",
            Self::List(_) => "a list",
            Self::Unknown => "something else",
        }
    }
}

/// The fields that a rule applies to.
#[derive(Clone, Copy)]
pub(super) enum Group {
    Texts,
    Numbers,
    Lists,
}

impl Group {
    /// Returns whether the rule may apply to a field of this shape.
    pub(super) fn includes(self, shape: &Shape) -> bool {
        matches!(
            (self, shape),
            (_, Shape::Unknown)
                | (Self::Texts, Shape::Text)
                | (Self::Numbers, Shape::Integer(..) | Shape::Float)
                | (Self::Lists, Shape::List(_))
        )
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Texts => "strings",
            Self::Numbers => "numbers",
            Self::Lists => "lists",
        }
    }
}

/// The integer types, and the range of each that can be read from JSON.
const INTEGER_TYPES: [(&str, i128, i128); 12] = [
    ("i8", i8::MIN as i128, i8::MAX as i128),
    ("u8", 0, u8::MAX as i128),
    ("i16", i16::MIN as i128, i16::MAX as i128),
    ("u16", 0, u16::MAX as i128),
    ("i32", i32::MIN as i128, i32::MAX as i128),
    ("u32", 0, u32::MAX as i128),
    ("i64", i64::MIN as i128, i64::MAX as i128),
    ("u64", 0, u64::MAX as i128),
    ("isize", i64::MIN as i128, i64::MAX as i128),
    ("usize", 0, u64::MAX as i128),
    ("i128", i64::MIN as i128, u64::MAX as i128),
    ("u128", 0, u64::MAX as i128),
];
