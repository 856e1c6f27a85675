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
    Whole(&'static str, RangeInclusive<i128>),
    Fraction,
    /// A list of values.
    Several(Box<Shape>),
    /// An enum, an alias or a type of the author: only rustc knows.
    Other,
}

impl Shape {
    pub(super) fn of(ty: &Type) -> Self {
        let Type::Path(path) = ungrouped(ty) else { return Self::Other };
        let Some(last) = path.path.segments.last() else { return Self::Other };
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
            ("f32" | "f64", None) => Self::Fraction,
            ("Option", Some(inner)) => Self::of(inner),
            ("Vec" | "HashSet" | "BTreeSet", Some(inner)) => Self::Several(Box::new(Self::of(inner))),
            (name, None) => WHOLE
                .iter()
                .find(|(known, ..)| *known == name)
                .map_or(Self::Other, |(name, least, most)| Self::Whole(name, *least..=*most)),
            _ => Self::Other,
        }
    }

    pub(super) fn noun(&self) -> &'static str {
        match self {
            Self::Text => "a string",
            Self::Flag => "a boolean",
            Self::Whole(..) => "a whole number",
            Self::Fraction => "a number",
            Self::Several(_) => "a list",
            Self::Other => "something else",
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
    pub(super) fn has(self, shape: &Shape) -> bool {
        matches!(
            (self, shape),
            (_, Shape::Other)
                | (Self::Texts, Shape::Text)
                | (Self::Numbers, Shape::Whole(..) | Shape::Fraction)
                | (Self::Lists, Shape::Several(_))
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
const WHOLE: [(&str, i128, i128); 12] = [
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
