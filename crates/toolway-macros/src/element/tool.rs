//! Which code is generated for a tool?

use proc_macro2::{Ident, Span, TokenStream};
use quote::{quote, quote_spanned};

use super::call::{self, ArgumentSource};
use super::handler_type::HandlerType;
use super::metadata::{metadata_calls, scopes_method};
use crate::attribute::values::option_expr;
use crate::diagnose::assert_parameters;
use crate::input::{Definition, Element, KeywordSetting, Options, Parameter};

/// Returns the code that makes a function a tool.
pub(crate) fn of_function(element: &Element, host: &HandlerType) -> TokenStream {
    let assertions = host.assertions(element).tokens;
    let described = element.function.parameters.iter().map(parameter);
    let known = assert_parameters(&element.function.parameters);
    let schema =
        quote! { #known #assertions ::toolway::__private::InputSchemaBuilder::default() #(#described)* };
    let output = Output { ty: &element.function.output, span: element.function.output_span };
    let call = call::of_function(element, host, &ArgumentSource::Json, &output.respond());
    let checks = call::checks(&element.function);
    implement(host, &element.definition, &schema, &output, &call, &checks)
}

/// Returns the code that makes a struct a tool.
pub(crate) fn of_struct(ident: &Ident, host: &HandlerType, definition: &Definition) -> TokenStream {
    let schema = quote_spanned! { ident.span()=> ::toolway::__private::input_schema_of::<#ident>() };
    let output = call::output_of(ident);
    let output = Output { ty: &output, span: ident.span() };
    let call = call::of_struct(ident, &ArgumentSource::Json, &output.respond());
    implement(host, definition, &schema, &output, &call, &TokenStream::new())
}

/// The return type of a call.
struct Output<'a> {
    ty: &'a TokenStream,
    span: Span,
}

impl Output<'_> {
    /// Returns the probe with nine references, one for each rank that a type can have as a result: see `anything.rs`
    /// of the server.
    fn probe(&self) -> TokenStream {
        let ty = self.ty;
        quote_spanned! { self.span=> (&&&&&&&&&::toolway::__private::Probe::<#ty>::new()) }
    }

    fn respond(&self) -> TokenStream {
        let (probe, ranks) = (self.probe(), rank_imports());
        let (value, lend) = call::hygienic_variable("__value", self.span);
        let respond = quote_spanned! { self.span=> #probe.respond(#value) };
        quote! {{
            #ranks
            #lend
            #respond
        }}
    }

    fn schema(&self) -> TokenStream {
        let (probe, ranks) = (self.probe(), rank_imports());
        let schema = quote_spanned! { self.span=> #probe.output_schema() };
        quote! {{
            #ranks
            #schema
        }}
    }
}

/// Returns the import of the traits of the probe's methods. They are imported without names, because the author may
/// use the same names.
fn rank_imports() -> TokenStream {
    quote! {
        #[allow(unused_imports)]
        use ::toolway::__private::serialize_fallback::{
            Checked as _, DescribedOrOther as _, Fallible as _, Optional as _, Own as _, OwnOrOther as _, Plain as _,
            Undescribed as _, UndescribedOrOther as _, Unfit as _,
        };
    }
}

fn parameter(parameter: &Parameter) -> TokenStream {
    let Parameter { name, stored_type: ty, arg, .. } = parameter;
    let (title, description) = (parameter.title_expr(), parameter.description_expr());
    let default = option_expr(parameter.default());
    let rules = arg.iter().flat_map(|arg| &arg.rules).map(|KeywordSetting { rule, value, .. }| {
        let keyword = rule.keyword;
        quote! { #keyword: #value }
    });
    let rules: Vec<_> = rules.collect();
    let rules = (!rules.is_empty()).then(|| quote! { ::toolway::__private::json!({ #(#rules),* }) });
    let rules = option_expr(rules);
    // Every use of a type has the span of the author's type, so that errors are reported there.
    let add = quote_spanned! { parameter.type_span()=> .parameter::<#ty> };
    quote! {
        #add(#name, ::toolway::__private::Arg {
            title: #title,
            description: #description,
            default: #default,
            rules: #rules,
        })
    }
}

fn implement(
    host: &HandlerType,
    definition: &Definition,
    schema: &TokenStream,
    output: &Output<'_>,
    call: &TokenStream,
    checks: &TokenStream,
) -> TokenStream {
    let Definition { options, name, .. } = definition;
    let merged = options.schema.iter();
    let replaced = options.input_schema.iter();
    let input = host.implement(
        None,
        &quote! {
            fn __input() -> ::toolway::__private::FinishedSchema {
                let schema = { #schema };
                #(let schema = schema.merge_patch(#merged);)*
                #(let schema = schema.replace_with(#replaced);)*
                schema.finish()
            }
        },
    );
    let listed = metadata_calls(definition);
    let hints = hints(options);
    let output_schema = match &options.output_schema {
        Some(schema) => quote! { tool.with_output_schema(#schema) },
        None => {
            let schema = output.schema();
            quote! {
                match #schema {
                    ::core::option::Option::Some(schema) => tool.with_output_schema(schema),
                    ::core::option::Option::None => tool,
                }
            }
        }
    };
    let single_use = options.single_use.then(|| {
        quote! {
            fn is_single_use(&self) -> bool {
                true
            }
        }
    });
    let deadline = options.deadline.iter().map(|deadline| {
        quote! {
            fn deadline(&self) -> ::core::option::Option<::core::time::Duration> {
                ::core::option::Option::Some(#deadline)
            }
        }
    });
    let scopes = scopes_method(definition);
    let check = call::check(checks);
    let handler = host.implement(
        Some("ToolHandler"),
        &quote! {
            fn definition(&self) -> ::toolway::__private::Tool {
                ::toolway::__private::ToolHandler::declaration(self).definition
            }

            fn declaration(&self) -> ::toolway::__private::ToolDeclaration {
                let input = Self::__input();
                let tool = ::toolway::__private::Tool::new(#name, input.schema) #listed #hints;
                ::toolway::__private::ToolDeclaration {
                    definition: #output_schema,
                    is_typed: input.is_typed,
                    mistakes: input.mistakes,
                }
            }

            fn call(
                &self,
                __arguments: ::toolway::__private::Arguments,
                __scope: ::toolway::__private::Scope,
            ) -> ::toolway::__private::CallFuture {
                #call
            }

            #check

            #single_use

            #(#deadline)*

            #scopes
        },
    );
    quote! { #input #handler }
}

fn hints(options: &Options) -> Option<TokenStream> {
    let hints = options.hints.iter().map(|(set, value)| quote! { .#set(#value) });
    let annotations = quote! { ::toolway::__private::ToolAnnotations::new() #(#hints)* };
    (!options.hints.is_empty()).then(|| quote! { .with_annotations(#annotations) })
}
