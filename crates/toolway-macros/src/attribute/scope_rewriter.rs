//! How is code from an `impl` block or a signature rewritten for use outside of it?
//!
//! Outside, `Self` is a different type, and the lifetimes of the signature do not exist.

use proc_macro2::{Group, Ident, Spacing, TokenStream, TokenTree};
use quote::{ToTokens, quote};
use syn::{Signature, Type};

/// The names that must be replaced: `Self`, and the lifetimes of the signature.
#[derive(Default, Clone)]
pub(crate) struct ScopeRewriter {
    self_type: Option<TokenStream>,
    lifetimes: Vec<Ident>,
}

impl ScopeRewriter {
    /// Creates the rules for code in an `impl` block of this type.
    pub(crate) fn of(self_type: &Type) -> Self {
        Self { self_type: Some(self_type.to_token_stream()), lifetimes: Vec::new() }
    }

    /// Creates the rules for code in this signature.
    pub(crate) fn with_signature(&self, signature: &Signature) -> Self {
        let lifetimes = signature.generics.lifetimes().map(|lifetime| lifetime.lifetime.ident.clone());
        Self { self_type: self.self_type.clone(), lifetimes: lifetimes.collect() }
    }

    /// Rewrites the tokens so that they have the same meaning outside of the `impl` block and the signature.
    pub(crate) fn rewrite(&self, written: impl ToTokens) -> TokenStream {
        if self.self_type.is_none() && self.lifetimes.is_empty() {
            return written.to_token_stream();
        }
        self.rewrite_tokens(written.to_token_stream())
    }

    fn rewrite_tokens(&self, tokens: TokenStream) -> TokenStream {
        let mut out = TokenStream::new();
        let mut trees = tokens.into_iter().peekable();
        while let Some(tree) = trees.next() {
            match tree {
                TokenTree::Group(group) => {
                    let mut inner = Group::new(group.delimiter(), self.rewrite_tokens(group.stream()));
                    inner.set_span(group.span());
                    out.extend([TokenTree::Group(inner)]);
                }
                TokenTree::Ident(ident) if ident == "Self" => {
                    let is_path = matches!(trees.peek(), Some(TokenTree::Punct(next)) if next.as_char() == ':' && next.spacing() == Spacing::Joint);
                    match &self.self_type {
                        Some(self_type) if is_path => out.extend(quote! { <#self_type> }),
                        Some(self_type) => out.extend(quote! { #self_type }),
                        None => out.extend([TokenTree::Ident(ident)]),
                    }
                }
                TokenTree::Punct(quote_sign) if quote_sign.as_char() == '\'' => {
                    out.extend([TokenTree::Punct(quote_sign)]);
                    if let Some(TokenTree::Ident(name)) = trees.next() {
                        let is_erased = self.lifetimes.contains(&name);
                        let name = if is_erased { Ident::new("_", name.span()) } else { name };
                        out.extend([TokenTree::Ident(name)]);
                    }
                }
                other => out.extend([other]),
            }
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn self_becomes_the_type_and_lifetimes_of_the_signature_are_left_to_the_compiler() {
        let signature: Signature = syn::parse_quote! { fn f<'a>(&'a self) };
        let outside = ScopeRewriter::of(&syn::parse_quote! { Notes<D> }).with_signature(&signature);
        let cases = [
            (quote! { Option<Self> }, quote! { Option<Notes<D>> }),
            (quote! { Self::MAX }, quote! { <Notes<D>>::MAX }),
            (quote! { Cow<'a, [Self; 2]> }, quote! { Cow<'_, [Notes<D>; 2]> }),
            (quote! { &'static str }, quote! { &'static str }),
        ];
        for (inside, expected) in cases {
            let text = |tokens: TokenStream| tokens.to_string().replace(' ', "");
            assert_eq!(text(outside.rewrite(inside)), text(expected));
        }
    }
}
