//! Which code is generated for a marked function or struct?
//!
//! The result is the item itself, a type for `tools![…]` and the related macros, and a registration for
//! `ServerBuilder::discover`.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{format_ident, quote};
use syn::ext::IdentExt;
use syn::{Item, ItemFn, ItemStruct};

use super::complete::CompletionMethods;
use super::handler_type::HandlerType;
use super::{prompt, resource, tool};
use crate::attribute::Mistakes;
use crate::attribute::ScopeRewriter;
use crate::check::{self, FunctionLocation};
use crate::input::{Definition, Element, Kind, Options, Receiver, conditional};
use crate::package::package;

pub(crate) fn expand(kind: Kind, options: TokenStream, item: TokenStream) -> TokenStream {
    let name = kind.name();
    let error = match syn::parse2::<Item>(item.clone()) {
        Ok(Item::Fn(function)) => {
            return match conditional::split(&function.sig) {
                Some(parts) => conditional::generate_each(parts, |signature| {
                    let mark = format_ident!("{name}");
                    let function = ItemFn { sig: signature.clone(), ..function.clone() };
                    quote! { #[::toolway::#mark(#options)] #function }
                }),
                None => function_item(kind, options, function),
            };
        }
        Ok(Item::Struct(item)) => return struct_item(kind, options, &item),
        Ok(Item::Impl(_)) => {
            misplaced(&format!("write `#[{name}]` on each method, and `#[service]` on the `impl` block"))
        }
        Ok(_) => {
            misplaced(&format!("`#[{name}]` applies to a function, or to a struct that implements `Run`"))
        }
        Err(error) => error,
    };
    let error = error.into_compile_error();
    quote! { #item #error }
}

fn misplaced(message: &str) -> syn::Error {
    syn::Error::new(Span::call_site(), message)
}

fn function_item(kind: Kind, options: TokenStream, mut function: ItemFn) -> TokenStream {
    let mut mistakes = Mistakes::default();
    let outside = ScopeRewriter::default();
    let element = Element::read(kind, options, &function.attrs, &mut function.sig, &outside, &mut mistakes);
    check::signature(&element, &function.sig, FunctionLocation::Module, &mut mistakes);
    function.block.stmts.splice(0..0, element.function.unpack_statements.iter().cloned());
    let ident = &function.sig.ident;
    let visibility = &function.vis;
    let host = HandlerType::plain(ident);
    let methods = CompletionMethods::default();
    let handler = match kind {
        Kind::Tool => tool::of_function(&element, &host),
        Kind::Prompt => prompt::of_function(&element, &host, &methods, &mut mistakes),
        Kind::Resource => match resource::uri(&element.definition.options, &mut mistakes) {
            Some(uri) => {
                let handler = resource::of_function(&element, &uri, &host, &methods, &mut mistakes);
                let name = format_ident!("uri");
                let uri = resource::uri_function(&name, visibility, &uri, &TokenStream::new());
                let uri = host.implement(None, &uri);
                quote! { #handler #uri }
            }
            None => TokenStream::new(),
        },
    };
    let doc = format!("The function [`{}`](fn@{ident}) as a {}.", ident.unraw(), kind.name());
    let ty = quote! {
        #[doc = #doc]
        #[allow(non_camel_case_types)]
        #[derive(::core::fmt::Debug, ::core::default::Default)]
        #visibility struct #ident {}
    };
    if let Some(errors) = mistakes.into_errors() {
        // A function with a receiver is in an `impl` block, where a type cannot be generated.
        if !matches!(element.function.receiver, Receiver::None) {
            return quote! { #function #errors };
        }
        let offer = entry_impl(kind, ident, &quote! { ::core::unreachable!("it does not compile") });
        return quote! { #function #errors #ty #offer };
    }
    let entry = kind.entry();
    let offer = entry_impl(kind, ident, &quote! { ::toolway::__private::#entry::new(#ident {}) });
    let marked = registration(kind, ident);
    quote! { #function #ty #handler #offer #marked }
}

fn struct_item(kind: Kind, options: TokenStream, item: &ItemStruct) -> TokenStream {
    let mut mistakes = Mistakes::default();
    let options = Options::read(kind, options, &ScopeRewriter::default(), &mut mistakes);
    let ident = &item.ident;
    if let Some(span) = options.blocking {
        let message = "`blocking` is for functions; `run` is `async` and must not block";
        mistakes.report(span, message);
    }
    if !item.generics.params.is_empty() {
        let message =
            format!("a {} cannot be generic: its types must be known when the server is built", kind.name());
        mistakes.add(syn::Error::new_spanned(&item.generics.params, message));
    }
    let definition = Definition::of_struct(options, &item.attrs, snake_case(&ident.unraw().to_string()));
    let host = HandlerType::plain(&format_ident!("__Handler"));
    let handler = match kind {
        Kind::Tool => tool::of_struct(ident, &host, &definition),
        Kind::Prompt => prompt::of_struct(ident, &host, &definition),
        Kind::Resource => match resource::uri(&definition.options, &mut mistakes) {
            Some(uri) => resource::of_struct(item, &uri, &host, &definition, &mut mistakes),
            None => TokenStream::new(),
        },
    };
    if let Some(errors) = mistakes.into_errors() {
        let never = quote! { ::core::unreachable!("it does not compile") };
        let offer = item.generics.params.is_empty().then(|| entry_impl(kind, ident, &never));
        return quote! { #item #errors #offer };
    }
    let entry = kind.entry();
    let offer = entry_impl(kind, ident, &quote! { ::toolway::__private::#entry::new(__Handler) });
    let marked = registration(kind, ident);
    quote! {
        #item
        const _: () = {
            struct __Handler;
            #handler
            #offer
            #marked
        };
    }
}

fn entry_impl(kind: Kind, ident: &Ident, entry: &TokenStream) -> TokenStream {
    let ty = kind.entry();
    quote! {
        impl ::toolway::__private::MakeEntry for #ident {
            type Entry = ::toolway::__private::#ty;

            fn entry() -> ::toolway::__private::#ty {
                #entry
            }
        }
    }
}

/// Registers the element for `ServerBuilder::discover`.
fn registration(kind: Kind, ident: &Ident) -> TokenStream {
    let (package, name) = (package(), ident.unraw().to_string());
    let variant = kind.variant();
    quote! {
        ::toolway::__register! {
            ::toolway::__private::MarkedItem {
                module: ::core::module_path!(),
                package: #package,
                name: #name,
                element: || ::toolway::__private::AnyEntry::#variant(
                    <#ident as ::toolway::__private::MakeEntry>::entry()
                ),
            }
        }
    }
}

/// Converts a name to snake case: `SaveNote` becomes `save_note`, `HTTPGet` becomes `http_get`.
fn snake_case(name: &str) -> String {
    let letters: Vec<char> = name.chars().collect();
    let mut out = String::new();
    for (index, letter) in letters.iter().enumerate() {
        let follows_small = index > 0 && !letters[index - 1].is_uppercase() && letters[index - 1] != '_';
        let begins_word = index > 0
            && letters[index - 1].is_uppercase()
            && letters.get(index + 1).is_some_and(|next| next.is_lowercase());
        if letter.is_uppercase() && (follows_small || begins_word) {
            out.push('_');
        }
        out.extend(letter.to_lowercase());
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_types_become_names_of_tools() {
        let cases = [
            ("SaveNote", "save_note"),
            ("Save", "save"),
            ("HTTPGet", "http_get"),
            ("Get2", "get2"),
            ("A_B", "a_b"),
        ];
        for (ty, name) in cases {
            assert_eq!(snake_case(ty), name);
        }
    }
}
