//! Which code is written for a tool? The function as it was, a type of its name, and how to call it.

use proc_macro2::{Span, TokenStream};
use quote::{format_ident, quote, quote_spanned};
use syn::ext::IdentExt;
use syn::spanned::Spanned;
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
        quote_spanned! { parameter.span()=> mistakes.extend(<#ty as ::toolway::__private::Parameter>::check(states)); }
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
    let (returned, span) = returned(function);
    let output_schema =
        quote_spanned! { span=> <#returned as ::toolway::__private::IntoToolResult>::output_schema() };
    let described = parameters.iter().map(|parameter| {
        let Parameter { name, ty, description } = parameter;
        let ty = owned(ty);
        let name = name.unraw().to_string();
        quote_spanned! { parameter.span()=> .parameter::<#ty>(#name, #description) }
    });
    let hints = (!options.hints.is_empty()).then(|| {
        let hints = options
            .hints
            .iter()
            .map(|(field, value)| quote! { annotations.#field = ::core::option::Option::Some(#value); });
        quote! {
            let mut annotations = ::toolway::__private::ToolAnnotations::new();
            #(#hints)*
            let tool = tool.with_annotations(annotations);
        }
    });
    quote! {
        let schema = ::toolway::__private::InputSchema::default() #(#described)*;
        let tool = ::toolway::__private::Tool::new(#name, schema.finish()).with_description(#description);
        #(let tool = tool.with_title(#title);)*
        #hints
        match #output_schema {
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
    // Every use of a type stands where the author wrote it: what it lacks is shown there.
    let fills = parameters.iter().zip(&slots).zip(&types).map(|((parameter, slot), ty)| {
        quote_spanned! { parameter.span()=> ::toolway::__private::fill::<#ty, __Map>(&mut self.#slot, map) }
    });
    let pushes = parameters.iter().zip(&names).zip(&types).map(|((parameter, name), ty)| {
        quote_spanned! { parameter.span()=>
            if <#ty as ::toolway::__private::Parameter>::IS_ARGUMENT { names.push(#name); }
        }
    });
    let takes = parameters.iter().zip(&names).zip(&types).map(|((parameter, name), ty)| {
        quote_spanned! { parameter.span()=> collected.take::<#ty>(#name, sent, &scope) }
    });
    let lent = parameters.iter().zip(&slots).map(|(parameter, slot)| match &parameter.ty {
        Type::Reference(_) => quote! { ::core::borrow::Borrow::borrow(&#slot) },
        _ => quote! { #slot },
    });
    let (returned, span) = returned(function);
    let respond = quote_spanned! { span=> ::toolway::__private::respond::<#returned> };
    let wait = function.sig.asyncness.map(|_| quote! { .await });
    quote! {
        #[derive(::core::default::Default)]
        struct __Arguments {
            #(#slots: ::core::option::Option<#types>,)*
        }

        impl ::toolway::__private::Slots for __Arguments {
            fn read<'de, __Map: ::toolway::__private::serde::de::MapAccess<'de>>(
                &mut self,
                name: &str,
                map: &mut __Map,
            ) -> ::core::result::Result<bool, __Map::Error> {
                let _ = &map;
                match name {
                    #(#names => #fills,)*
                    _ => ::core::result::Result::Ok(false),
                }
            }

            fn names() -> ::std::vec::Vec<&'static str> {
                #[allow(unused_mut)]
                let mut names = ::std::vec::Vec::new();
                #(#pushes)*
                names
            }
        }

        ::std::boxed::Box::pin(async move {
            #[allow(unused_mut)]
            let mut collected = ::toolway::__private::read::<__Arguments>(arguments.as_ref())?;
            #(
                let sent = collected.slots.#slots.take();
                let #slots = #takes;
            )*
            if collected.is_wrong() {
                return ::core::result::Result::Err(collected.error());
            }
            let (#(::core::option::Option::Some(#slots),)*) = (#(#slots,)*) else {
                return ::core::result::Result::Err(collected.error());
            };
            let result = #respond(#ident(#(#lent),*) #wait);
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

/// What the function returns, and where it says so.
fn returned(function: &ItemFn) -> (TokenStream, Span) {
    match &function.sig.output {
        ReturnType::Default => (quote! { () }, Span::call_site()),
        ReturnType::Type(_, ty) => (quote! { #ty }, ty.span()),
    }
}
