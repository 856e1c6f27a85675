//! Which properties are listed for every kind of element? Title, description, icons and `_meta`.

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
