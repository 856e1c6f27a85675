//! Which entry belongs to a name in `tools![…]`, `resources![…]` and `prompts![…]`?
//!
//! A marked function has a type of the same name beside it; an unmarked function does not. So the name is imported as
//! `__Named`, together with a glob import of a type `__Named` that cannot be listed. An import by name takes precedence
//! over a glob import, separately for types and for functions. If the function is not marked, `__Named` is therefore
//! the type that cannot be listed, and rustc reports the error at the name.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::Path;
use syn::parse::{ParseStream, Parser};

/// Reads the trait, the type of the entry, and the path.
pub(crate) fn expand(input: TokenStream) -> TokenStream {
    let read = |input: ParseStream<'_>| {
        let (interface, entry, path): (Ident, Ident, Path) = (input.parse()?, input.parse()?, input.parse()?);
        Ok(entry_of(&interface, &entry, path))
    };
    read.parse2(input).unwrap_or_else(syn::Error::into_compile_error)
}

fn entry_of(interface: &Ident, entry: &Ident, mut path: Path) -> TokenStream {
    let Some(name) = path.segments.last().map(|last| last.ident.clone()) else { return TokenStream::new() };
    // A local variable of the same name is not meant, and an import must not resolve to it.
    for segment in &mut path.segments {
        segment.ident.set_span(segment.ident.span().resolved_at(Span::mixed_site()));
    }
    let made = quote_spanned! { name.span().resolved_at(Span::call_site())=>
        <__Named as ::toolway::__private::#interface<#name>>::entry()
    };
    // In error messages, rustc shows a generic parameter of a function by its name alone, without a path.
    quote! {{
        #[allow(unused_imports)]
        use #path as __Named;
        #[allow(unused_imports)]
        use ::toolway::__private::unmarked::*;
        #[allow(non_camel_case_types)]
        fn __entry<#name>() -> ::toolway::__private::#entry {
            #made
        }
        __entry::<()>()
    }}
}
