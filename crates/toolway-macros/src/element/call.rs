//! Which code reads the arguments of a call, calls the function and answers?

use proc_macro2::{Ident, Span, TokenStream};
use quote::{format_ident, quote, quote_spanned};

use super::handler_type::HandlerType;
use crate::attribute::values::option_expr;
use crate::diagnose::{as_parameter, assert_parameters};
use crate::input::{Element, Function, Parameter, Receiver};

/// The form in which the arguments are sent.
pub(crate) enum ArgumentSource {
    /// As JSON, in `__arguments`.
    Json,
    /// As texts by name: the expression that holds them, and the function that reads them into a struct.
    Texts { values: TokenStream, into_struct: TokenStream },
}

impl ArgumentSource {
    /// Returns the expression that holds the arguments, its type, and the type of the error.
    fn types(&self) -> [TokenStream; 3] {
        match self {
            Self::Json => [
                quote! { __arguments },
                quote! { ::toolway::__private::Arguments },
                quote! { ::toolway::ToolError },
            ],
            Self::Texts { values, .. } => [
                quote! { &#values },
                quote! { &::toolway::__private::values::Values },
                quote! { ::toolway::__private::StartError },
            ],
        }
    }

    /// Returns three expressions: one that reads the arguments into slots, one that creates the `Arguments` that
    /// collect the mistakes, and one that turns the mistakes into an error.
    fn slot_expressions(&self, places: &TokenStream) -> [TokenStream; 3] {
        match self {
            Self::Json => {
                [quote! { __sent.read::<#places>() }, quote! { __sent }, quote! { __arguments.error() }]
            }
            Self::Texts { .. } => [
                quote! { ::toolway::__private::read_texts::<#places>(__sent.iter()) },
                quote! { <::toolway::__private::Arguments as ::core::default::Default>::default() },
                quote! { __arguments.start_error() },
            ],
        }
    }

    /// Returns the expression that reads the arguments into a struct.
    fn struct_expression(&self, ty: &Ident) -> TokenStream {
        match self {
            Self::Json => quote! { __arguments.decode::<#ty>() },
            Self::Texts { values, into_struct } => {
                quote! { ::toolway::__private::#into_struct::<#ty>(&#values) }
            }
        }
    }

    /// Returns the function that turns an error of reading into an error of the handler.
    fn error_conversion(&self) -> TokenStream {
        match self {
            Self::Json => quote! { ::core::convert::identity },
            Self::Texts { .. } => quote! { ::toolway::__private::bad_arguments },
        }
    }
}

/// Returns the future of a call of a function. `respond` turns the returned `__value` into the result.
pub(crate) fn of_function(
    element: &Element,
    host: &HandlerType,
    sent: &ArgumentSource,
    respond: &TokenStream,
) -> TokenStream {
    let function = &element.function;
    let slots = function.slots();
    let collect = collect(function, &slots, sent);
    let known = assert_parameters(&function.parameters);
    let is_method = matches!(function.receiver, Receiver::Shared(_));
    let service = is_method.then(|| quote! { let __service = ::std::sync::Arc::clone(&self.service); });
    let value = invoke(function, host, &slots);
    let value = match element.definition.options.blocking {
        Some(_) => quote! { ::toolway::__private::blocking(move || #value).await },
        None => value,
    };
    let failure = sent.error_conversion();
    let [all, ..] = sent.types();
    let types = function.parameters.iter().map(|parameter| &parameter.stored_type);
    let defaults = function.parameters.iter().map(Parameter::default);
    let defaults = defaults.map(|default| option_expr(default.map(|default| quote! { || #default })));
    quote! {
        #known
        #collect
        #service
        ::std::boxed::Box::pin(async move {
            let (#(#slots,)*) = match __collect::<#(#types),*>(#all, &__scope, [#(#defaults),*]) {
                ::core::result::Result::Ok(values) => values,
                ::core::result::Result::Err(error) => return ::core::result::Result::Err(#failure(error)),
            };
            ::core::mem::drop(__scope);
            let __value = #value;
            #respond
        })
    }
}

/// Returns the future of a call of a struct that implements `Run`.
pub(crate) fn of_struct(ident: &Ident, sent: &ArgumentSource, respond: &TokenStream) -> TokenStream {
    let read = sent.struct_expression(ident);
    let [(run, lend_run), (context, lend_context)] =
        ["__run", "__context"].map(|name| hygienic_variable(name, ident.span()));
    let run = quote_spanned! { ident.span()=>
        <#ident as ::toolway::__private::Run>::run(#run, #context).await
    };
    let failure = sent.error_conversion();
    quote! {
        ::std::boxed::Box::pin(async move {
            let __run = match #read {
                ::core::result::Result::Ok(run) => run,
                ::core::result::Result::Err(error) => return ::core::result::Result::Err(#failure(error)),
            };
            let __context =
                match <::toolway::__private::Ctx as ::toolway::__private::Parameter>::from_scope(&__scope) {
                    ::core::result::Result::Ok(context) => context,
                    ::core::result::Result::Err(_) => {
                        let lacking = ::toolway::__private::MissingParameters::new("the context of a call");
                        return ::core::result::Result::Err(::core::convert::From::from(lacking));
                    }
                };
            #lend_run
            #lend_context
            ::core::mem::drop(__scope);
            let __value = #run;
            #respond
        })
    }
}

/// Returns a variable of the generated code that can be used at the author's span, and the statement that defines it.
/// Code from `macro_rules!` cannot see generated variables by name, and rustc reports errors at the span of use.
pub(crate) fn hygienic_variable(name: &str, span: Span) -> (Ident, TokenStream) {
    let ours = Ident::new(name, Span::call_site());
    let lent = format_ident!("{name}_lent", span = span);
    let statement = quote! { let #lent = #ours; };
    (lent, statement)
}

/// Returns the output type of a struct that implements `Run`.
pub(crate) fn output_of(ident: &Ident) -> TokenStream {
    quote_spanned! { ident.span()=> <#ident as ::toolway::__private::Run>::Output }
}

/// Returns a function that reads the arguments into one value for each parameter. It is generic over their types,
/// because these may contain type parameters of an `impl` block, which an item inside a function cannot use.
fn collect(function: &Function, slots: &[Ident], sent: &ArgumentSource) -> TokenStream {
    let types: Vec<_> = (0..slots.len()).map(|index| format_ident!("__T{index}")).collect();
    let names: Vec<_> = function.parameters.iter().map(|parameter| &parameter.name).collect();
    let count = slots.len();
    let [_, sent_type, error] = sent.types();
    let [read, arguments, wrong] = sent.slot_expressions(&quote! { __Arguments<#(#types),*> });
    let indices = 0..count;
    quote! {
        struct __Arguments<#(#types),*> {
            #(#slots: ::core::option::Option<#types>,)*
        }

        impl<#(#types),*> ::core::default::Default for __Arguments<#(#types),*> {
            fn default() -> Self {
                Self { #(#slots: ::core::option::Option::None,)* }
            }
        }

        impl<#(#types: ::toolway::__private::Parameter),*> ::toolway::__private::Slots
            for __Arguments<#(#types),*>
        {
            fn read<'de, __Map: ::toolway::__private::serde::de::MapAccess<'de>>(
                &mut self,
                name: &str,
                map: &mut __Map,
            ) -> ::core::result::Result<bool, __Map::Error> {
                let _ = &map;
                match name {
                    #(#names => ::toolway::__private::fill::<#types, __Map>(&mut self.#slots, map),)*
                    _ => ::core::result::Result::Ok(false),
                }
            }

            fn names() -> ::std::vec::Vec<&'static str> {
                #[allow(unused_mut)]
                let mut names = ::std::vec::Vec::new();
                #(if #types::IS_ARGUMENT { names.push(#names); })*
                names
            }
        }

        fn __collect<#(#types: ::toolway::__private::Parameter),*>(
            __sent: #sent_type,
            __scope: &::toolway::__private::Scope,
            __defaults: [::core::option::Option<fn() -> ::toolway::__private::serde_json::Value>; #count],
        ) -> ::core::result::Result<(#(#types,)*), #error> {
            let __slots = #read?;
            #[allow(unused_mut)]
            let mut __arguments = #arguments;
            let _ = (&__slots, __scope, __defaults);
            #(
                let #slots = __arguments.take::<#types>(#names, __slots.#slots, __defaults[#indices], __scope);
            )*
            match (#(#slots,)*) {
                (#(::core::option::Option::Some(#slots),)*) if !__arguments.has_problems() => {
                    ::core::result::Result::Ok((#(#slots,)*))
                }
                _ => ::core::result::Result::Err(#wrong),
            }
        }
    }
}

/// Returns the call itself.
pub(crate) fn invoke(function: &Function, host: &HandlerType, slots: &[Ident]) -> TokenStream {
    let ident = &function.ident;
    let path = match &host.service {
        Some(service) => quote! { <#service>::#ident },
        None => quote! { #ident },
    };
    let receiver = match function.receiver {
        Receiver::None => None,
        Receiver::Shared(_) | Receiver::Owned(_) => Some(quote! { &*__service, }),
    };
    let lent = function.parameters.iter().zip(slots).map(|(parameter, slot)| {
        if parameter.is_reference() {
            quote! { ::core::borrow::Borrow::borrow(&#slot) }
        } else {
            quote! { #slot }
        }
    });
    let wait = function.is_async.then(|| quote! { .await });
    quote! { #path(#receiver #(#lent),*) #wait }
}

/// Returns statements that push to `__mistakes`: state that the server lacks for the parameters, and defaults of the
/// wrong type.
pub(crate) fn checks(function: &Function) -> TokenStream {
    let checks = function.parameters.iter().map(|parameter| {
        let (name, ty) = (&parameter.name, as_parameter(parameter));
        let span = parameter.type_span();
        let lacks = quote_spanned! { span=> #ty::check };
        let default = parameter.default().map(|default| {
            let read = quote_spanned! { span=> #ty::of_default };
            quote! {
                if #read(&#default).is_none() {
                    __mistakes.push(::toolway::__private::wrong_default_message(#name));
                }
            }
        });
        quote! {
            __mistakes.extend(#lacks(__states));
            #default
        }
    });
    checks.collect()
}

/// Returns the function `check` of every kind of handler.
pub(crate) fn check(checks: &TokenStream) -> TokenStream {
    quote! {
        fn check(&self, __states: &::toolway::__private::States) -> ::std::vec::Vec<::std::string::String> {
            let _ = __states;
            #[allow(unused_mut)]
            let mut __mistakes = ::std::vec::Vec::new();
            #checks
            __mistakes
        }
    }
}

/// Returns the function `completers` of a struct. Fields that are enums complete themselves.
pub(crate) fn completers_of(ident: &Ident) -> TokenStream {
    quote! {
        fn completers(&self) -> ::toolway::__private::Completers {
            ::toolway::__private::completers_of::<#ident>()
        }
    }
}
