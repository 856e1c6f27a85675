//! Which code is generated for a resource or a resource template?

use proc_macro2::{Ident, Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::ItemStruct;

use super::bind;
use super::call::{self, ArgumentSource};
use super::complete::{CompletionMethods, completers};
use super::handler_type::HandlerType;
use super::metadata::{metadata_calls, scopes_method};
use super::uri::{ExpressionKind, Uri};
use crate::attribute::Mistakes;
use crate::diagnose::assert_parameters;
use crate::input::{Definition, Element, Options};

/// Reads the URI in the options.
pub(crate) fn uri(options: &Options, mistakes: &mut Mistakes) -> Option<Uri> {
    let Some(text) = &options.uri else {
        let message = "a resource needs a URI: `#[resource(uri = \"notes://index\")]`";
        mistakes.report(Span::call_site(), message);
        return None;
    };
    let uri = mistakes
        .ok_or_report(Uri::parse(&text.value()).map_err(|message| syn::Error::new(text.span(), message)))?;
    if let (Some(size), true) = (&options.size, uri.is_template()) {
        mistakes.report(size.span(), "a template describes many resources of different sizes: remove `size`");
    }
    Some(uri)
}

/// Returns the code that makes a function a resource or a resource template.
pub(crate) fn of_function(
    element: &Element,
    uri: &Uri,
    host: &HandlerType,
    methods: &CompletionMethods,
    mistakes: &mut Mistakes,
) -> TokenStream {
    let function = &element.function;
    let mut assertions = host.assertions(element);
    bind::check_parameters(element, uri, &mut assertions, mistakes);
    let assertions = assertions.tokens;
    let is_variable = |name: &str| uri.variables.iter().any(|variable| variable.name == name);
    let completers = completers(function, is_variable, host, methods, mistakes);
    let respond = respond(&function.output, function.output_span);
    let call = call::of_function(element, host, &argument_source(), &respond);
    let check = call::check(&call::checks(function));
    let scopes = scopes_method(&element.definition);
    let rest = quote! { #check #completers #scopes };
    let definition = definition(&element.definition, uri);
    let known = assert_parameters(&function.parameters);
    implement(host, &quote! { #known #assertions #definition }, &call, &rest)
}

/// Returns the code that makes a struct a resource template.
pub(crate) fn of_struct(
    item: &ItemStruct,
    uri: &Uri,
    host: &HandlerType,
    written: &Definition,
    mistakes: &mut Mistakes,
) -> TokenStream {
    let ident = &item.ident;
    bind::check_fields(item, uri, &written.options, mistakes);
    let respond = respond(&call::output_of(ident), ident.span());
    let call = call::of_struct(ident, &argument_source(), &respond);
    implement(host, &definition(written, uri), &call, &scopes_method(written).unwrap_or_default())
}

fn argument_source() -> ArgumentSource {
    ArgumentSource::Texts { values: quote! { __reading.variables }, into_struct: quote! { read_struct } }
}

fn respond(output: &TokenStream, span: Span) -> TokenStream {
    let [(value, lend_value), (about, lend_about)] =
        ["__value", "__about"].map(|name| call::hygienic_variable(name, span));
    let respond = quote_spanned! { span=>
        <#output as ::toolway::__private::IntoResource>::into_resource(#value, #about).await
    };
    quote! {{
        #lend_value
        #lend_about
        #respond
    }}
}

fn definition(written: &Definition, uri: &Uri) -> TokenStream {
    let Definition { options, name, .. } = written;
    let mut listed = metadata_calls(written);
    if let Some(mime) = &options.mime {
        listed.extend(quote! { .with_mime_type(#mime) });
    }
    if let Some(size) = &options.size {
        // Without a type, the literal would be an `i32`.
        listed.extend(quote! { .with_size(::core::convert::identity::<i64>(#size)) });
    }
    if let Some(annotations) = &options.annotations {
        listed.extend(quote! { .with_annotations(::std::boxed::Box::new(#annotations)) });
    }
    let text = &uri.text;
    if uri.is_template() {
        quote! {
            ::toolway::__private::ResourceDefinition::Template(
                ::toolway::__private::ResourceTemplate::new(#text, #name) #listed
            )
        }
    } else {
        quote! {
            ::toolway::__private::ResourceDefinition::Resource(
                ::toolway::__private::Resource::new(#text, #name) #listed
            )
        }
    }
}

fn implement(
    host: &HandlerType,
    definition: &TokenStream,
    call: &TokenStream,
    rest: &TokenStream,
) -> TokenStream {
    host.implement(
        Some("ResourceHandler"),
        &quote! {
            fn definition(&self) -> ::toolway::__private::ResourceDefinition {
                #definition
            }

            fn read(
                &self,
                __reading: ::toolway::__private::ReadRequest,
                __scope: ::toolway::__private::Scope,
            ) -> ::toolway::__private::ReadFuture {
                let __about = __reading.resource_info();
                #call
            }

            #rest
        },
    )
}

/// Returns a function that builds the URI, with one parameter for each variable.
pub(crate) fn uri_function(
    name: &Ident,
    visibility: &syn::Visibility,
    uri: &Uri,
    conditions: &TokenStream,
) -> TokenStream {
    let text = &uri.text;
    let doc = format!("The URI `{text}`, with these values.");
    let mut parameters = TokenStream::new();
    let mut inserts = TokenStream::new();
    for variable in &uri.variables {
        let key = &variable.name;
        // A parameter with this name exists, so the name is a valid identifier, perhaps a raw one.
        let ident = syn::parse_str(key).unwrap_or_else(|_| Ident::new_raw(key, Span::call_site()));
        match (variable.is_list, variable.kind) {
            (true, _) => {
                parameters.extend(
                    quote! { #ident: impl ::core::convert::Into<::toolway::__private::values::Value>, },
                );
                inserts.extend(quote! { __values.insert(#key, #ident); });
            }
            (false, ExpressionKind::Query) => {
                parameters.extend(quote! { #ident: ::core::option::Option<&str>, });
                inserts.extend(quote! {
                    if let ::core::option::Option::Some(value) = #ident {
                        __values.insert(#key, value);
                    }
                });
            }
            (false, ExpressionKind::Simple | ExpressionKind::Other) => {
                parameters.extend(quote! { #ident: impl ::core::fmt::Display, });
                inserts
                    .extend(quote! { __values.insert(#key, ::std::string::ToString::to_string(&#ident)); });
            }
        }
    }
    let body = if uri.is_template() {
        quote! {
            let mut __values = ::toolway::__private::values::Values::new();
            #inserts
            ::toolway::__private::expand(#text, &__values)
        }
    } else {
        quote! { ::std::string::String::from(#text) }
    };
    quote! {
        #conditions
        #[doc = #doc]
        #[allow(dead_code)]
        #visibility fn #name(#parameters) -> ::std::string::String {
            #body
        }
    }
}
