//! Which properties does every kind of element have? Title, description, icons, `_meta` and scopes.

use proc_macro2::TokenStream;
use quote::quote;

use crate::input::Definition;

/// Returns the method calls that add title, description, icons and `_meta` to a definition.
pub(crate) fn metadata_calls(definition: &Definition) -> TokenStream {
    let Definition { options, description, .. } = definition;
    let mut calls = quote! { .with_description(#description) };
    if let Some(title) = &options.title {
        calls.extend(quote! { .with_title(#title) });
    }
    let icons = &options.icons;
    if !icons.is_empty() {
        calls.extend(quote! { .with_icons(::std::vec![#(#icons),*]) });
    }
    if let Some(meta) = &options.meta {
        calls.extend(quote! { .with_meta(#meta.as_object().cloned().unwrap_or_default()) });
    }
    calls
}

/// Returns the method of a handler that names the scopes which its callers need.
pub(crate) fn scopes_method(definition: &Definition) -> Option<TokenStream> {
    let scopes = &definition.options.scopes;
    (!scopes.is_empty()).then(|| {
        quote! {
            fn scopes(&self) -> &'static [&'static str] {
                &[#(#scopes),*]
            }
        }
    })
}
