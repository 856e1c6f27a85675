//! Which kinds of elements can a function be?

use proc_macro2::Ident;
use quote::format_ident;

/// The kind of an element.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Tool,
    Resource,
    Prompt,
}

impl Kind {
    pub(crate) const ALL: [Self; 3] = [Self::Tool, Self::Resource, Self::Prompt];

    /// Returns the name of the attribute, which is also the noun in messages.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Tool => "tool",
            Self::Resource => "resource",
            Self::Prompt => "prompt",
        }
    }

    /// Returns the name of the entry type, such as `ToolEntry`.
    pub(crate) fn entry(self) -> Ident {
        format_ident!("{}Entry", self.variant())
    }

    /// Returns the variant of `AnyEntry`.
    pub(crate) fn variant(self) -> Ident {
        match self {
            Self::Tool => format_ident!("Tool"),
            Self::Resource => format_ident!("Resource"),
            Self::Prompt => format_ident!("Prompt"),
        }
    }
}
