//! What are the parts of a template?

use std::fmt;

use super::percent::AllowedCharacters;

/// A parsed template.
#[derive(Clone)]
pub(super) struct ParsedTemplate {
    /// The text in the syntax of RFC 6570.
    pub(super) text: String,
    pub(super) parts: Vec<Part>,
}

#[derive(Clone)]
pub(super) enum Part {
    /// Literal text as written: reserved and unreserved characters, complete `%XX` triplets, and non-ASCII
    /// characters.
    Literal(String),
    Expression(Expression),
}

#[derive(Clone)]
pub(super) struct Expression {
    /// The position in the author's text.
    pub(super) offset: usize,
    pub(super) operator: Operator,
    pub(super) variables: Vec<Variable>,
}

#[derive(Clone)]
pub(super) struct Variable {
    pub(super) name: String,
    pub(super) modifier: Modifier,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Modifier {
    None,
    /// `*`: each item of a list separately.
    Explode,
    /// `:n`: the first n characters.
    Prefix(usize),
}

impl fmt::Display for Modifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => Ok(()),
            Self::Explode => f.write_str("*"),
            Self::Prefix(length) => write!(f, ":{length}"),
        }
    }
}

/// An operator from the table of RFC 6570, appendix A.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Operator {
    Simple,
    Reserved,
    Fragment,
    Label,
    Path,
    Parameter,
    Query,
    Continuation,
}

impl Operator {
    pub(super) fn from_sign(sign: char) -> Option<Self> {
        Some(match sign {
            '+' => Self::Reserved,
            '#' => Self::Fragment,
            '.' => Self::Label,
            '/' => Self::Path,
            ';' => Self::Parameter,
            '?' => Self::Query,
            '&' => Self::Continuation,
            _ => return None,
        })
    }

    /// Returns the sign before the first variable.
    pub(super) fn leading_sign(self) -> &'static str {
        match self {
            Self::Simple | Self::Reserved => "",
            Self::Fragment => "#",
            Self::Label => ".",
            Self::Path => "/",
            Self::Parameter => ";",
            Self::Query => "?",
            Self::Continuation => "&",
        }
    }

    /// Returns the separator between variables, and between the items of an exploded list.
    pub(super) fn separator(self) -> char {
        match self {
            Self::Simple | Self::Reserved | Self::Fragment => ',',
            Self::Label => '.',
            Self::Path => '/',
            Self::Parameter => ';',
            Self::Query | Self::Continuation => '&',
        }
    }

    /// Returns whether variables are written as `name=value`.
    pub(super) fn is_named(self) -> bool {
        matches!(self, Self::Parameter | Self::Query | Self::Continuation)
    }

    /// Returns the set of characters that values keep unencoded.
    pub(super) fn allowed_characters(self) -> AllowedCharacters {
        match self {
            Self::Reserved | Self::Fragment => AllowedCharacters::Reserved,
            _ => AllowedCharacters::Unreserved,
        }
    }

    /// Returns whether the value of a variable may have several path segments.
    pub(super) fn spans_segments(self, modifier: Modifier) -> bool {
        self.allowed_characters() == AllowedCharacters::Reserved
            || self == Self::Path && modifier == Modifier::Explode
    }
}
