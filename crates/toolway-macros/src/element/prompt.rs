//! Which code is generated for a prompt?

use proc_macro2::{Ident, Span, TokenStream};
use quote::{quote, quote_spanned};

use super::call::{self, ArgumentSource};
use super::complete::{CompletionMethods, completers};
use super::handler_type::HandlerType;
use super::metadata::{metadata_calls, scopes_method};
use crate::attribute::Mistakes;
use crate::diagnose::assert_parameters;
use crate::input::{Definition, Element, Parameter};

/// Returns the code that makes a function a prompt.
pub(crate) fn of_function(
    element: &Element,
    host: &HandlerType,
    methods: &CompletionMethods,
    mistakes: &mut Mistakes,
) -> TokenStream {
    let function = &element.function;
    let assertions = host.assertions(element).tokens;
    let arguments = function.parameters.iter().map(argument);
    let known = assert_parameters(&function.parameters);
    let arguments = quote! {
        #known
        #assertions
        #[allow(unused_mut)]
        let mut __arguments = ::std::vec::Vec::new();
        #(__arguments.extend(#arguments);)*
    };
    let completers = completers(function, |_| true, host, methods, mistakes);
    let respond = respond(&function.output, function.output_span);
    let call = call::of_function(element, host, &argument_source(), &respond);
    let check = call::check(&call::checks(function));
    let rest = quote! { #check #completers };
    implement(host, &element.definition, &arguments, &call, &rest)
}

/// Returns the code that makes a struct a prompt.
pub(crate) fn of_struct(ident: &Ident, host: &HandlerType, definition: &Definition) -> TokenStream {
    let arguments = quote_spanned! { ident.span()=> ::toolway::__private::prompt_arguments_of::<#ident>() };
    let arguments = quote! { let __arguments = #arguments; };
    let respond = respond(&call::output_of(ident), ident.span());
    let call = call::of_struct(ident, &argument_source(), &respond);
    implement(host, definition, &arguments, &call, &call::completers_of(ident))
}

fn argument_source() -> ArgumentSource {
    ArgumentSource::Texts { values: quote! { __values }, into_struct: quote! { read_described_struct } }
}

fn respond(output: &TokenStream, span: Span) -> TokenStream {
    let (value, lend) = call::hygienic_variable("__value", span);
    let respond =
        quote_spanned! { span=> <#output as ::toolway::__private::IntoPrompt>::into_prompt(#value) };
    quote! {{
        #lend
        #respond
    }}
}

fn argument(parameter: &Parameter) -> TokenStream {
    let Parameter { name, stored_type: ty, .. } = parameter;
    let (title, description) = (parameter.title_expr(), parameter.description_expr());
    let has_default = parameter.default().is_some();
    let make = quote_spanned! { parameter.type_span()=> ::toolway::__private::prompt_argument::<#ty> };
    quote! { #make(#name, #title, #description, #has_default) }
}

fn implement(
    host: &HandlerType,
    definition: &Definition,
    arguments: &TokenStream,
    call: &TokenStream,
    rest: &TokenStream,
) -> TokenStream {
    let (name, listed, scopes) = (&definition.name, metadata_calls(definition), scopes_method(definition));
    host.implement(
        Some("PromptHandler"),
        &quote! {
            fn definition(&self) -> ::toolway::__private::Prompt {
                #arguments
                let prompt = ::toolway::__private::Prompt::new(#name) #listed;
                if __arguments.is_empty() { prompt } else { prompt.with_arguments(__arguments) }
            }

            fn get(
                &self,
                __values: ::toolway::__private::values::Values,
                __scope: ::toolway::__private::Scope,
            ) -> ::toolway::__private::PromptFuture {
                #call
            }

            #scopes

            #rest
        },
    )
}
