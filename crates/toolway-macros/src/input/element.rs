//! What is there to know about a function that is to be a tool, a resource or a prompt?

use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use syn::ext::IdentExt;
use syn::{Attribute, LitStr, Signature};

use super::{Function, Kind, Options};
use crate::attribute::{Mistakes, Outside, doc_text};

/// What an author says about a tool, a resource or a prompt.
pub(crate) struct Definition {
    pub(crate) options: Options,
    /// What the protocol calls it.
    pub(crate) name: String,
    /// An expression: the option, else the doc comment, else a name, which is all there is then.
    pub(crate) description: TokenStream,
}

/// A function that is to be a tool, a resource or a prompt.
pub(crate) struct Element {
    pub(crate) kind: Kind,
    pub(crate) definition: Definition,
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
    /// Reads what is said about a struct, whose own name is `name`.
    pub(crate) fn of_struct(options: Options, attributes: &[Attribute], name: String) -> Self {
        let name = options.name.as_ref().map_or(name, LitStr::value);
        let description = description(&options, attributes, &name);
        Self { options, name, description }
    }
}

fn description(options: &Options, attributes: &[Attribute], name: &str) -> TokenStream {
    options.description.clone().or_else(|| doc_text(attributes)).unwrap_or_else(|| quote! { #name })
}

/// The attributes that decide whether an item is there at all.
pub(crate) fn conditions(attributes: &[Attribute]) -> TokenStream {
    attributes
        .iter()
        .filter(|attribute| attribute.path().is_ident("cfg"))
        .map(ToTokens::to_token_stream)
        .collect()
}
