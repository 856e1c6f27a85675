//! Which code reads what a caller sent, calls the function and answers?

use proc_macro2::{Ident, Span, TokenStream};
use quote::{format_ident, quote, quote_spanned};

use super::host::Host;
use crate::attribute::values::option;
use crate::input::{Element, Function, Parameter, Receiver};
use crate::suspect::{as_parameter, known};

/// In which form the arguments come.
pub(crate) enum Sent {
    /// As JSON, in `__arguments`.
    Json,
    /// As texts by name: the expression that holds them, and the function that reads them into a struct.
    Texts { values: TokenStream, into_struct: TokenStream },
}

impl Sent {
    /// The expression that holds them, its type, and the type of what is wrong with them.
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
                quote! { ::toolway::__private::Refusal },
            ],
        }
    }

    /// Reads them into places, makes the `Arguments` that keep what is wrong, and says it in the end.
    fn places(&self, places: &TokenStream) -> [TokenStream; 3] {
        match self {
            Self::Json => {
                [quote! { __sent.read::<#places>() }, quote! { __sent }, quote! { __arguments.error() }]
            }
            Self::Texts { .. } => [
                quote! { ::toolway::__private::read_texts::<#places>(__sent.iter()) },
                quote! { <::toolway::__private::Arguments as ::core::default::Default>::default() },
                quote! { __arguments.refusal() },
            ],
        }
    }

    /// Reads them into a struct.
    fn fields(&self, ty: &Ident) -> TokenStream {
        match self {
            Self::Json => quote! { __arguments.decode::<#ty>() },
            Self::Texts { values, into_struct } => {
                quote! { ::toolway::__private::#into_struct::<#ty>(&#values) }
            }
        }
    }

    /// Makes what reading says an error of the handler.
    fn failure(&self) -> TokenStream {
        match self {
            Self::Json => quote! { ::core::convert::identity },
            Self::Texts { .. } => quote! { ::toolway::__private::bad_arguments },
        }
    }
}

/// The future of a call of a function: what comes back is `__value`, of which `respond` makes the result.
pub(crate) fn of_function(element: &Element, host: &Host, sent: &Sent, respond: &TokenStream) -> TokenStream {
    let function = &element.function;
    let slots = function.slots();
    let collect = collect(function, &slots, sent);
    let known = known(&function.parameters);
    let is_method = matches!(function.receiver, Receiver::Shared(_));
    let service = is_method.then(|| quote! { let __service = ::std::sync::Arc::clone(&self.service); });
    let value = invoke(function, host, &slots);
    let value = match element.definition.options.blocking {
        Some(_) => quote! { ::toolway::__private::blocking(move || #value).await },
        None => value,
    };
    let failure = sent.failure();
    let [all, ..] = sent.types();
    let types = function.parameters.iter().map(|parameter| &parameter.kept);
    let defaults = function.parameters.iter().map(Parameter::default);
    let defaults = defaults.map(|default| option(default.map(|default| quote! { || #default })));
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

/// The future of a call of a struct that runs.
pub(crate) fn of_struct(ident: &Ident, sent: &Sent, respond: &TokenStream) -> TokenStream {
    let read = sent.fields(ident);
    let [(run, lend_run), (context, lend_context)] =
        ["__run", "__context"].map(|name| lend(name, ident.span()));
    let run = quote_spanned! { ident.span()=>
        <#ident as ::toolway::__private::Run>::run(#run, #context).await
    };
    let failure = sent.failure();
    quote! {
        ::std::boxed::Box::pin(async move {
            let __run = match #read {
                ::core::result::Result::Ok(run) => run,
                ::core::result::Result::Err(error) => return ::core::result::Result::Err(#failure(error)),
            };
            let __context =
                match <::toolway::__private::Ctx as ::toolway::__private::Parameter>::absent(&__scope) {
                    ::core::result::Result::Ok(context) => context,
                    ::core::result::Result::Err(_) => {
                        let lacking = ::toolway::__private::Lacking::new("the context of a call");
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

/// A variable of ours, to be used where the author wrote something, and the statement that makes it. What came through
/// `macro_rules!` cannot see our variables by their names, and rustc shows what is wrong with one where it is used.
pub(crate) fn lend(name: &str, span: Span) -> (Ident, TokenStream) {
    let ours = Ident::new(name, Span::call_site());
    let lent = format_ident!("{name}_lent", span = span);
    let statement = quote! { let #lent = #ours; };
    (lent, statement)
}

/// What a struct that runs returns.
pub(crate) fn output_of(ident: &Ident) -> TokenStream {
    quote_spanned! { ident.span()=> <#ident as ::toolway::__private::Run>::Output }
}

/// A function that reads what was sent into one value for each parameter. It knows nothing of their types, which may hold
/// type parameters of an `impl` block that an item inside a function cannot see.
fn collect(function: &Function, slots: &[Ident], sent: &Sent) -> TokenStream {
    let types: Vec<_> = (0..slots.len()).map(|index| format_ident!("__T{index}")).collect();
    let names: Vec<_> = function.parameters.iter().map(|parameter| &parameter.name).collect();
    let count = slots.len();
    let [_, sent_type, error] = sent.types();
    let [read, arguments, wrong] = sent.places(&quote! { __Arguments<#(#types),*> });
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
                (#(::core::option::Option::Some(#slots),)*) if !__arguments.is_wrong() => {
                    ::core::result::Result::Ok((#(#slots,)*))
                }
                _ => ::core::result::Result::Err(#wrong),
            }
        }
    }
}

/// The call itself.
pub(crate) fn invoke(function: &Function, host: &Host, slots: &[Ident]) -> TokenStream {
    let ident = &function.ident;
    let path = match &host.service {
        Some(service) => quote! { <#service>::#ident },
        None => quote! { #ident },
    };
    let receiver = match function.receiver {
        Receiver::Nobody => None,
        Receiver::Shared(_) | Receiver::Owned(_) => Some(quote! { &*__service, }),
    };
    let lent = function.parameters.iter().zip(slots).map(|(parameter, slot)| {
        if parameter.is_lent() {
            quote! { ::core::borrow::Borrow::borrow(&#slot) }
        } else {
            quote! { #slot }
        }
    });
    let wait = function.is_async.then(|| quote! { .await });
    quote! { #path(#receiver #(#lent),*) #wait }
}

/// What a server lacks for the parameters, and defaults that are none; pushed to `__mistakes`.
pub(crate) fn checks(function: &Function) -> TokenStream {
    let checks = function.parameters.iter().map(|parameter| {
        let (name, ty) = (&parameter.name, as_parameter(parameter));
        let span = parameter.type_span();
        let lacks = quote_spanned! { span=> #ty::check };
        let default = parameter.default().map(|default| {
            let read = quote_spanned! { span=> #ty::of_default };
            quote! {
                if #read(&#default).is_none() {
                    __mistakes.push(::toolway::__private::misfit(#name));
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

/// The function `check` of every kind of handler.
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

/// Fields that are enums complete by themselves.
pub(crate) fn completers_of(ident: &Ident) -> TokenStream {
    quote! {
        fn completers(&self) -> ::toolway::__private::Completers {
            ::toolway::__private::completers_of::<#ident>()
        }
    }
}
