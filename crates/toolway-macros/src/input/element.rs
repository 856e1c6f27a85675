//! What is there to know about a function that is to be a tool, a resource or a prompt?

use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use syn::ext::IdentExt;
use syn::{Attribute, Signature};

use super::{Function, Kind, Options};
use crate::attribute::{Outside, doc_text};
use crate::mistakes::Mistakes;

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
        mistakes: &mut Mistakes,
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
    doc_text(attributes).unwrap_or_else(|| quote! { #name })
}

/// The attributes that decide whether an item is there at all.
pub(crate) fn conditions(attributes: &[Attribute]) -> TokenStream {
    attributes
        .iter()
        .filter(|attribute| attribute.path().is_ident("cfg"))
        .map(ToTokens::to_token_stream)
        .collect()
}
