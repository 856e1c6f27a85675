//! What is known about a function that is marked as a tool, a resource or a prompt?

use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use syn::ext::IdentExt;
use syn::{Attribute, LitStr, Signature};

use super::{Function, Kind, Options};
use crate::attribute::{Mistakes, ScopeRewriter, doc_text};

/// The author's description of a tool, a resource or a prompt.
pub(crate) struct Definition {
    pub(crate) options: Options,
    /// The name in the protocol.
    pub(crate) name: String,
    /// An expression: the option, otherwise the doc comment, otherwise the name.
    pub(crate) description: TokenStream,
}

/// A function that is marked as a tool, a resource or a prompt.
pub(crate) struct Element {
    pub(crate) kind: Kind,
    pub(crate) definition: Definition,
    pub(crate) function: Function,
}

impl Element {
    /// Reads a function, and removes the parts of its signature that rustc would not accept.
    pub(crate) fn read(
        kind: Kind,
        options: TokenStream,
        attributes: &[Attribute],
        signature: &mut Signature,
        outside: &ScopeRewriter,
        mistakes: &mut Mistakes,
    ) -> Self {
        let options = Options::read(kind, options, outside, mistakes);
        let ident = signature.ident.unraw().to_string();
        let description = description(&options, attributes, &ident);
        let name = options.name.as_ref().map_or(ident, LitStr::value);
        let function = Function::read(kind, signature, outside, mistakes);
        Self { kind, definition: Definition { options, name, description }, function }
    }
}

impl Definition {
    /// Reads the definition of a struct, whose own name is `name`.
    pub(crate) fn of_struct(options: Options, attributes: &[Attribute], name: String) -> Self {
        let name = options.name.as_ref().map_or(name, LitStr::value);
        let description = description(&options, attributes, &name);
        Self { options, name, description }
    }
}

fn description(options: &Options, attributes: &[Attribute], name: &str) -> TokenStream {
    options.description.clone().or_else(|| doc_text(attributes)).unwrap_or_else(|| quote! { #name })
}

/// Returns the `#[cfg(…)]` attributes.
pub(crate) fn conditions(attributes: &[Attribute]) -> TokenStream {
    attributes
        .iter()
        .filter(|attribute| attribute.path().is_ident("cfg"))
        .map(ToTokens::to_token_stream)
        .collect()
}
