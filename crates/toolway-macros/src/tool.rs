//! Which code is written for a tool? The function as it was, a type of its name, and how to call it.

use proc_macro2::TokenStream;
use quote::{format_ident, quote, quote_spanned};
use syn::ext::IdentExt;
use syn::{ItemFn, ReturnType, Type, TypeReference};

use crate::check;
use crate::input::{self, Options, Parameter};

pub(crate) fn expand(options: TokenStream, item: TokenStream) -> syn::Result<TokenStream> {
    let mut function: ItemFn = syn::parse2(item)
        .map_err(|error| syn::Error::new(error.span(), format!("`#[tool]` stands on a function: {error}")))?;
    let mut mistakes = Vec::new();
    let options = Options::read(options, &mut mistakes);
    let parameters = input::parameters(&mut function, &mut mistakes);
    check::check(&function, &parameters, &mut mistakes);
    if let Err(error) = check::all(mistakes) {
        // The function stays, so that its callers do not add errors of their own.
        let error = error.into_compile_error();
        return Ok(quote! { #function #error });
    }
    let handler = handler(&function, &options, &parameters);
    Ok(quote! { #function #handler })
}

fn handler(function: &ItemFn, options: &Options, parameters: &[Parameter]) -> TokenStream {
    let ident = &function.sig.ident;
    let visibility = &function.vis;
    let type_doc = format!("The function [`{}`](fn@{ident}) as a tool.", ident.unraw());
    let definition = definition(function, options, parameters);
    let call = call(function, parameters);
    let checks = parameters.iter().map(|parameter| {
        let ty = owned(&parameter.ty);
        quote! { mistakes.extend(<#ty as ::toolway::__private::Parameter>::check(states)); }
    });
    quote! {
        #[doc = #type_doc]
        #[allow(non_camel_case_types)]
        #[derive(::core::fmt::Debug, ::core::default::Default)]
        #visibility struct #ident {}

        impl ::toolway::__private::ToolHandler for #ident {
            fn definition(&self) -> ::toolway::__private::Tool {
                #definition
            }

            fn call(
                &self,
                arguments: ::core::option::Option<::toolway::__private::RawJson>,
                scope: ::toolway::__private::Scope,
            ) -> ::toolway::__private::CallFuture {
                #call
            }

            fn check(&self, states: &::toolway::__private::States) -> ::std::vec::Vec<::std::string::String> {
                let _ = states;
                #[allow(unused_mut)]
                let mut mistakes = ::std::vec::Vec::new();
                #(#checks)*
                mistakes
            }
        }
    }
}

fn definition(function: &ItemFn, options: &Options, parameters: &[Parameter]) -> TokenStream {
    let own_name = function.sig.ident.unraw().to_string();
    let name = options.name.as_ref().map_or_else(|| own_name.clone(), syn::LitStr::value);
    let description = options.description.as_ref().map(syn::LitStr::value);
    let description = description.unwrap_or_else(|| input::doc(&function.attrs));
    // Nothing said: the name is all there is.
    let description = if description.is_empty() { own_name } else { description };
    let title = options.title.iter();
    let returned = returned(function);
    let described = parameters.iter().map(|Parameter { name, ty, description, .. }| {
        let ty_owned = owned(ty);
        let name = name.unraw().to_string();
        // The bound is asked for where the type stands, so that its lack is shown there.
        quote_spanned! { syn::spanned::Spanned::span(ty)=> .parameter::<#ty_owned>(#name, #description) }
    });
    let hints = (!options.hints.is_empty()).then(|| {
        let hints = options.hints.iter().map(|(field, value)| quote! { annotations.#field = ::core::option::Option::Some(#value); });
        quote! {
            let mut annotations = ::toolway::__private::ToolAnnotations::default();
            #(#hints)*
            let tool = tool.with_annotations(annotations);
        }
    });
    quote! {
        let schema = ::toolway::__private::InputSchema::default() #(#described)*;
        let tool = ::toolway::__private::Tool::new(#name, schema.finish()).with_description(#description);
        #(let tool = tool.with_title(#title);)*
        #hints
        match <#returned as ::toolway::__private::IntoToolResult>::output_schema() {
            ::core::option::Option::Some(schema) => tool.with_output_schema(schema),
            ::core::option::Option::None => tool,
        }
    }
}

fn call(function: &ItemFn, parameters: &[Parameter]) -> TokenStream {
    let ident = &function.sig.ident;
    let slots: Vec<_> = (0..parameters.len()).map(|index| format_ident!("slot_{index}")).collect();
    let types: Vec<_> = parameters.iter().map(|parameter| owned(&parameter.ty)).collect();
    let names: Vec<_> = parameters.iter().map(|parameter| parameter.name.unraw().to_string()).collect();
    let lent = parameters.iter().zip(&slots).map(|(parameter, slot)| match &parameter.ty {
        Type::Reference(_) => quote! { ::core::borrow::Borrow::borrow(&#slot) },
        _ => quote! { #slot },
    });
    let wait = function.sig.asyncness.map(|_| quote! { .await });
    quote! {
        #[derive(::core::default::Default)]
        struct Arguments {
            #(#slots: ::core::option::Option<#types>,)*
        }

        impl ::toolway::__private::Slots for Arguments {
            fn read<'de, A: ::toolway::__private::serde::de::MapAccess<'de>>(
                &mut self,
                name: &str,
                map: &mut A,
            ) -> ::core::result::Result<bool, A::Error> {
                let _ = &map;
                match name {
                    #(#names => ::toolway::__private::fill(&mut self.#slots, map),)*
                    _ => ::core::result::Result::Ok(false),
                }
            }

            fn names() -> ::std::vec::Vec<&'static str> {
                #[allow(unused_mut)]
                let mut names = ::std::vec::Vec::new();
                #(if <#types as ::toolway::__private::Parameter>::IS_ARGUMENT { names.push(#names); })*
                names
            }
        }

        ::std::boxed::Box::pin(async move {
            #[allow(unused_mut)]
            let mut collected = ::toolway::__private::read::<Arguments>(arguments.as_ref())?;
            #(
                let sent = collected.slots.#slots.take();
                let #slots = collected.take(#names, sent, &scope);
            )*
            if collected.is_wrong() {
                return ::core::result::Result::Err(collected.error());
            }
            let (#(::core::option::Option::Some(#slots),)*) = (#(#slots,)*) else {
                return ::core::result::Result::Err(collected.error());
            };
            let result = ::toolway::__private::respond(#ident(#(#lent),*) #wait);
            // The scope lives as long as the call; dropping it is what tells others that the call has ended.
            ::core::mem::drop(scope);
            result
        })
    }
}

/// The type of the value that is kept for a parameter: `&str` is lent from a `String`.
fn owned(ty: &Type) -> TokenStream {
    match ty {
        Type::Reference(TypeReference { elem, .. }) => quote! { <#elem as ::std::borrow::ToOwned>::Owned },
        _ => quote! { #ty },
    }
}

fn returned(function: &ItemFn) -> TokenStream {
    match &function.sig.output {
        ReturnType::Default => quote! { () },
        ReturnType::Type(_, ty) => quote! { #ty },
    }
}
