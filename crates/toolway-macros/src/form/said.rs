//! What do all `#[form(…)]` of one thing say, and what is its name?

use proc_macro2::{Ident, TokenStream, TokenTree};
use quote::{ToTokens, quote};
use syn::ext::IdentExt;
use syn::spanned::Spanned;
use syn::{Attribute, LitStr, Meta};

use crate::attribute::{Keys, Setting, settings};

/// What all `#[form(…)]` of one thing say.
pub(super) fn said(attributes: &[Attribute], keys: &Keys, mistakes: &mut Vec<syn::Error>) -> Vec<Setting> {
    let mut all = TokenStream::new();
    for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("form")) {
        let Meta::List(list) = &attribute.meta else {
            mistakes.push(syn::Error::new(attribute.meta.span(), "write `#[form(…)]`"));
            continue;
        };
        let ends_in_comma = matches!(
            list.tokens.clone().into_iter().last(),
            Some(TokenTree::Punct(sign)) if sign.as_char() == ','
        );
        all.extend(list.tokens.to_token_stream());
        if !ends_in_comma && !list.tokens.is_empty() {
            all.extend(quote! { , });
        }
    }
    settings(all, keys, mistakes)
}

/// A name on the wire, and where it was written.
pub(super) struct Name {
    pub(super) text: String,
    pub(super) span: proc_macro2::Span,
}

impl Name {
    pub(super) fn new(ident: &Ident, rename: Option<&LitStr>) -> Self {
        match rename {
            Some(text) => Self { text: text.value(), span: text.span() },
            None => Self { text: ident.unraw().to_string(), span: ident.span() },
        }
    }
}

pub(super) fn tell_twice<'n>(
    names: impl Iterator<Item = &'n Name>,
    noun: &str,
    mistakes: &mut Vec<syn::Error>,
) {
    let mut seen: Vec<&str> = Vec::new();
    for name in names {
        if seen.contains(&name.text.as_str()) {
            let message = format!("there is another {noun} with the name `{}`", name.text);
            mistakes.push(syn::Error::new(name.span, message));
        }
        seen.push(&name.text);
    }
}
