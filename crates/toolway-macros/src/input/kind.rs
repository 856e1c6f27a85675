//! What can a function be?

use proc_macro2::Ident;
use quote::format_ident;

/// What a function can be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Tool,
    Resource,
    Prompt,
}

impl Kind {
    pub(crate) const ALL: [Self; 3] = [Self::Tool, Self::Resource, Self::Prompt];

    /// As the attribute is called, and as sentences call it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Tool => "tool",
            Self::Resource => "resource",
            Self::Prompt => "prompt",
        }
    }

    /// `ToolEntry` and the like.
    pub(crate) fn entry(self) -> Ident {
        format_ident!("{}Entry", self.variant())
    }

    /// As `Element` calls it.
    pub(crate) fn variant(self) -> Ident {
        match self {
            Self::Tool => format_ident!("Tool"),
            Self::Resource => format_ident!("Resource"),
            Self::Prompt => format_ident!("Prompt"),
        }
    }
}
