//! Which code is generated for an `impl` block that is marked `#[service]`?
//!
//! The result is the block itself, one hidden type for each marked method, and an implementation of `Provide`. A hidden
//! type holds the service and implements the handler. `Provide` passes all elements to a server in source order.

use proc_macro2::TokenStream;
use quote::{ToTokens, format_ident, quote};
use syn::ext::IdentExt;
use syn::spanned::Spanned;
use syn::{Attribute, Generics, ImplItem, ImplItemFn, ItemImpl, Meta};

use super::complete::CompletionMethods;
use super::handler_type::HandlerType;
use super::{prompt, resource, tool};
use crate::attribute::Mistakes;
use crate::attribute::ScopeRewriter;
use crate::check::{self, FunctionLocation};
use crate::input::{self, Definition, Element, Function, Kind, conditional};

pub(crate) fn expand(options: &TokenStream, item: TokenStream) -> TokenStream {
    let mut block: ItemImpl = match syn::parse2(item.clone()) {
        Ok(block) => block,
        Err(error) => {
            let message = format!("`#[service]` applies to an `impl` block: {error}");
            let error = syn::Error::new(error.span(), message).into_compile_error();
            return quote! { #item #error };
        }
    };
    let mut mistakes = Mistakes::default();
    if !options.is_empty() {
        mistakes.report(options.span(), "`#[service]` has no options");
    }
    block.items = std::mem::take(&mut block.items).into_iter().flat_map(without_conditions).collect();
    let methods = methods(&block);
    let mut service = Service::new(&block);
    for item in &mut block.items {
        if let ImplItem::Fn(method) = item {
            service.method(method, &methods, &mut mistakes);
        }
    }
    if service.count == 0 && mistakes.is_empty() {
        let message = "no method of this block is marked `#[tool]`, `#[resource]` or `#[prompt]`";
        mistakes.report(block.self_ty.span(), message);
    }
    if let Some((path, _)) = &block.trait_ {
        let message = "`#[service]` applies to an `impl` block of a type, not of a trait";
        let error = syn::Error::new(path.span(), message).into_compile_error();
        return quote! { #block #error };
    }
    let provide = service.provide(mistakes.is_empty());
    let Service { handlers, uris, .. } = &service;
    match mistakes.into_errors() {
        Some(errors) => quote! { #block #errors #uris #provide },
        None => quote! {
            #block
            #uris
            const _: () = {
                #handlers
                #provide
            };
        },
    }
}

/// Splits a marked method that has parameters with `#[cfg(…)]` into methods without such parameters. Each of them has
/// its own `#[cfg(…)]`.
fn without_conditions(item: ImplItem) -> Vec<ImplItem> {
    if let ImplItem::Fn(method) = &item
        && method.attrs.iter().any(|attribute| marked_kind(attribute).is_some())
        && let Some(parts) = conditional::split(&method.sig)
    {
        let part = |(condition, sig)| {
            let mut method = ImplItemFn { sig, ..method.clone() };
            method.attrs.push(condition);
            ImplItem::Fn(method)
        };
        return parts.into_iter().map(part).flat_map(without_conditions).collect();
    }
    vec![item]
}

/// Returns the methods that may complete arguments: all methods without a mark.
fn methods(block: &ItemImpl) -> CompletionMethods {
    let outside = ScopeRewriter::of(&block.self_ty);
    let functions = block.items.iter().filter_map(|item| match item {
        // Mistakes in an unmarked method are reported where the method is used.
        ImplItem::Fn(method) if !method.attrs.iter().any(|attribute| marked_kind(attribute).is_some()) => {
            Some(Function::read(Kind::Prompt, &mut method.sig.clone(), &outside, &mut Mistakes::default()))
        }
        _ => None,
    });
    CompletionMethods { functions: functions.collect(), rewriter: outside.clone() }
}

/// The state while the methods of an `impl` block are read.
struct Service {
    self_type: TokenStream,
    generics: Generics,
    /// The number of marked methods so far.
    count: usize,
    /// The kinds of the marked methods so far, with their names and URIs.
    seen: Vec<(Kind, String)>,
    handlers: TokenStream,
    /// The statements that add the elements.
    elements: TokenStream,
    uris: TokenStream,
}

impl Service {
    fn new(block: &ItemImpl) -> Self {
        let self_type = block.self_ty.to_token_stream();
        let mut generics = block.generics.clone();
        if !generics.params.is_empty() {
            // A service that is not `Send + Sync + 'static` is refused when it is passed to a server.
            let bound = syn::parse_quote! {
                #self_type: ::core::marker::Send + ::core::marker::Sync + 'static
            };
            generics.make_where_clause().predicates.push(bound);
        }
        Self {
            self_type,
            generics,
            count: 0,
            seen: Vec::new(),
            handlers: TokenStream::new(),
            elements: TokenStream::new(),
            uris: TokenStream::new(),
        }
    }

    /// Reads one method, if it is marked.
    fn method(&mut self, method: &mut ImplItemFn, methods: &CompletionMethods, mistakes: &mut Mistakes) {
        let marks: Vec<_> =
            method.attrs.extract_if(.., |attribute| marked_kind(attribute).is_some()).collect();
        let Some(kind) = marks.first().and_then(marked_kind) else { return };
        for other in &marks[1..] {
            mistakes.report(
                other.span(),
                "a method can have only one of `#[tool]`, `#[resource]` and `#[prompt]`",
            );
        }
        let options = match &marks[0].meta {
            Meta::List(list) => list.tokens.clone(),
            _ => TokenStream::new(),
        };
        let conditions = input::conditions(&method.attrs);
        let outside = &methods.rewriter;
        let element = Element::read(kind, options, &method.attrs, &mut method.sig, outside, mistakes);
        check::signature(&element, &method.sig, FunctionLocation::Service, mistakes);
        method.block.stmts.splice(0..0, element.function.unpack_statements.iter().cloned());
        let host = HandlerType {
            ident: format_ident!("__Element{}", self.count),
            generics: self.generics.clone(),
            service: Some(self.self_type.clone()),
            conditions,
        };
        let handler = match kind {
            Kind::Tool => tool::of_function(&element, &host),
            Kind::Prompt => prompt::of_function(&element, &host, methods, mistakes),
            Kind::Resource => self.resource(&element, &host, method, methods, mistakes),
        };
        if host.conditions.is_empty() {
            self.check_unique(&element, mistakes);
        }
        self.add(kind, &host, &handler);
    }

    fn resource(
        &mut self,
        element: &Element,
        host: &HandlerType,
        method: &ImplItemFn,
        methods: &CompletionMethods,
        mistakes: &mut Mistakes,
    ) -> TokenStream {
        let Some(uri) = resource::uri(&element.definition.options, mistakes) else {
            return TokenStream::new();
        };
        let name = format_ident!("{}_uri", element.function.ident.unraw());
        let function = resource::uri_function(&name, &method.vis, &uri, &host.conditions);
        let Self { self_type, generics, .. } = self;
        let (impl_generics, _, bounds) = generics.split_for_impl();
        self.uris.extend(quote! {
            impl #impl_generics #self_type #bounds {
                #function
            }
        });
        resource::of_function(element, &uri, host, methods, mistakes)
    }

    /// Checks that two elements of one kind have different names and URIs. A conditional element may replace another,
    /// so it is not compared.
    fn check_unique(&mut self, element: &Element, mistakes: &mut Mistakes) {
        let Element { kind, definition: Definition { options, name, .. }, function } = element;
        let named = options.name.as_ref().map_or_else(|| function.ident.span(), syn::LitStr::span);
        let name = (name.clone(), named);
        let uri = options.uri.as_ref().map(|uri| (uri.value(), uri.span()));
        for (text, span) in [Some(name), uri].into_iter().flatten() {
            if self.seen.contains(&(*kind, text.clone())) {
                let message = format!("there is another {} `{text}` in this block", kind.name());
                mistakes.report(span, message);
            }
            self.seen.push((*kind, text));
        }
    }

    /// Adds the hidden type and its handler.
    fn add(&mut self, kind: Kind, host: &HandlerType, handler: &TokenStream) {
        self.count += 1;
        let HandlerType { ident, generics, conditions, .. } = host;
        let (impl_generics, _, bounds) = generics.split_for_impl();
        let self_type = &self.self_type;
        self.handlers.extend(quote! {
            #conditions
            struct #ident #impl_generics #bounds {
                #[allow(dead_code)]
                service: ::std::sync::Arc<#self_type>,
            }
            #handler
        });
        let (add, entry) = (format_ident!("{}", kind.name()), kind.entry());
        self.elements.extend(quote! {
            #conditions
            let __elements = __elements.#add(::toolway::__private::#entry::new(#ident {
                service: ::std::sync::Arc::clone(&self),
            }));
        });
    }

    fn provide(&self, is_right: bool) -> TokenStream {
        let Self { self_type, generics, .. } = self;
        let (impl_generics, _, bounds) = generics.split_for_impl();
        let elements = is_right.then_some(&self.elements);
        quote! {
            impl #impl_generics ::toolway::__private::Provide for #self_type #bounds {
                fn elements(self: ::std::sync::Arc<Self>) -> ::toolway::__private::Elements {
                    let __elements = ::toolway::__private::Elements::new();
                    #elements
                    __elements
                }
            }
        }
    }
}

/// Returns the kind of element that an attribute marks: `#[tool]`, `#[toolway::tool]` and so on.
fn marked_kind(attribute: &Attribute) -> Option<Kind> {
    let path = attribute.path();
    let mut names = path.segments.iter().map(|segment| segment.ident.to_string());
    let name = match (names.next(), names.next(), names.next()) {
        (Some(name), None, None) => name,
        (Some(first), Some(name), None) if first == "toolway" => name,
        _ => return None,
    };
    Kind::ALL.into_iter().find(|kind| kind.name() == name)
}
