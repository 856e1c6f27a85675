//! What did the author write? Everything as plain values, before any code is made from it.
//!
//! | file | question |
//! |---|---|
//! | `settings.rs` | What stands in the parentheses of an attribute? |
//! | `options.rs` | What does `#[tool(…)]`, `#[resource(…)]` or `#[prompt(…)]` say? |
//! | `arg.rs`, `fit.rs` | What does `#[arg(…)]` say, and does it fit the type? |
//! | `owned.rs` | Which type is the same without anything borrowed? |
//! | `conditional.rs` | Which functions are there when parameters are there only sometimes? |
//! | `doc.rs` | What does a doc comment say? |
//! | `signature.rs` | Which parameters are there, and what comes back? |

mod arg;
pub(crate) mod conditional;
mod doc;
mod fit;
mod options;
mod owned;
mod settings;
mod signature;

use proc_macro2::{Ident, TokenStream};
use quote::{ToTokens, format_ident, quote};
use syn::ext::IdentExt;
use syn::{Attribute, Signature};

pub(crate) use arg::{Arg, Said};
pub(crate) use doc::text as doc_text;
pub(crate) use options::Options;
pub(crate) use owned::borrowed;
pub(crate) use settings::{Given, Keys, Setting, literal, settings, without_groups};
pub(crate) use signature::{Function, Parameter, Receiver, inside};

use crate::outside::Outside;

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

/// A function that is to be a tool, a resource or a prompt.
pub(crate) struct Element {
    pub(crate) kind: Kind,
    pub(crate) options: Options,
    pub(crate) description: TokenStream,
    pub(crate) function: Function,
}

impl Element {
    /// Reads all there is to a function, and takes out of its signature what rustc would not understand.
    pub(crate) fn read(
        kind: Kind,
        options: TokenStream,
        attributes: &[Attribute],
        signature: &mut Signature,
        outside: &Outside,
        mistakes: &mut Vec<syn::Error>,
    ) -> Self {
        let options = Options::read(kind, options, outside, mistakes);
        let description = description(&options, attributes, &signature.ident.unraw().to_string());
        let function = Function::read(kind, signature, outside, mistakes);
        Self { kind, options, description, function }
    }

    /// What the protocol calls it.
    pub(crate) fn name(&self) -> String {
        self.options.name.as_ref().map_or_else(|| self.function.ident.unraw().to_string(), syn::LitStr::value)
    }
}

/// What an element says about itself: the option, else the doc comment, else its name, which is all there is then.
pub(crate) fn description(options: &Options, attributes: &[Attribute], name: &str) -> TokenStream {
    if let Some(description) = &options.description {
        return description.clone();
    }
    doc::text(attributes).unwrap_or_else(|| quote! { #name })
}

/// The attributes that decide whether an item is there at all.
pub(crate) fn conditions(attributes: &[Attribute]) -> TokenStream {
    attributes
        .iter()
        .filter(|attribute| attribute.path().is_ident("cfg"))
        .map(ToTokens::to_token_stream)
        .collect()
}
