//! Which code completes an argument or a variable?

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Expr, ExprPath};

use super::call;
use super::handler_type::HandlerType;
use crate::attribute::{Mistakes, ScopeRewriter, without_groups};
use crate::diagnose::assert_parameters;
use crate::input::{Function, Parameter, Receiver};

/// The methods of a service that may complete arguments, and the rules for rewriting their code outside the `impl`
/// block.
#[derive(Default)]
pub(crate) struct CompletionMethods {
    pub(crate) functions: Vec<Function>,
    pub(crate) rewriter: ScopeRewriter,
}

/// Returns the function `completers` of a handler.
pub(crate) fn completers(
    function: &Function,
    is_completed: impl Fn(&str) -> bool,
    host: &HandlerType,
    methods: &CompletionMethods,
    mistakes: &mut Mistakes,
) -> TokenStream {
    let mut calls = TokenStream::new();
    let is_completed = |parameter: &&Parameter| parameter.has_name() && is_completed(&parameter.name);
    for parameter in function.parameters.iter().filter(is_completed) {
        let Parameter { name, stored_type: ty, arg, .. } = parameter;
        let Some(complete) = arg.as_ref().and_then(|arg| arg.complete.as_ref()) else {
            let of_type = quote_spanned! { parameter.type_span()=> .with_variants_of::<#ty> };
            calls.extend(quote! { #of_type(#name) });
            continue;
        };
        if let Some(completer) = mistakes.ok_or_report(completer(complete, host, methods)) {
            calls.extend(quote! { .with(#name, #completer) });
        }
    }
    let known = assert_parameters(&function.parameters);
    quote! {
        fn completers(&self) -> ::toolway::__private::Completers {
            #known
            ::toolway::__private::Completers::default() #calls
        }
    }
}

fn completer(complete: &Expr, host: &HandlerType, methods: &CompletionMethods) -> syn::Result<TokenStream> {
    let span = complete.span();
    let outside = methods.rewriter.rewrite(complete);
    Ok(match without_groups(complete) {
        Expr::Array(_) => quote_spanned! { span=> ::toolway::__private::Completer::list(#outside) },
        Expr::Path(path) if is_of_self(path) => method_completer(path, host, methods)?,
        Expr::Path(path) if is_function(path) => {
            quote_spanned! { span=> ::toolway::__private::Completer::function(#outside) }
        }
        Expr::Closure(_) => quote_spanned! { span=> ::toolway::__private::Completer::function(#outside) },
        _ => quote_spanned! { span=> ::toolway::__private::Completer::provider(#outside) },
    })
}

fn is_of_self(path: &ExprPath) -> bool {
    path.qself.is_none()
        && path.path.segments.first().is_some_and(|first| first.ident == "Self")
        && is_function(path)
}

/// Returns whether a path names a function, by convention: functions begin with a lower-case letter, types with an
/// upper-case one.
fn is_function(path: &ExprPath) -> bool {
    let name = path.path.segments.last().map(|last| last.ident.to_string()).unwrap_or_default();
    name.starts_with(|first: char| first.is_lowercase() || first == '_')
}

/// Turns a method of the same block into a closure that takes the method's parameters and captures the service.
fn method_completer(
    path: &ExprPath,
    host: &HandlerType,
    methods: &CompletionMethods,
) -> syn::Result<TokenStream> {
    let last = path.path.segments.last().map(|last| &last.ident);
    let method = methods.functions.iter().find(|method| Some(&method.ident) == last);
    let method = match (method, &host.service) {
        (Some(method), Some(_)) if path.path.segments.len() == 2 => method,
        (_, Some(_)) => {
            let message =
                "this `impl` block has no such method: `Self::…` must name a method of the same block";
            return Err(syn::Error::new(path.span(), message));
        }
        (_, None) => {
            let message = "there is no `Self` here: name a function, or a value that implements `Complete`";
            return Err(syn::Error::new(path.span(), message));
        }
    };
    if let Receiver::Owned(span) = method.receiver {
        return Err(syn::Error::new(span, "a service is shared by all calls; take `&self`"));
    }
    let slots = method.slots();
    let types = method.parameters.iter().map(|parameter| &parameter.stored_type);
    let value = call::invoke(method, host, &slots);
    let (held, cloned) = match method.receiver {
        Receiver::None => (None, None),
        Receiver::Shared(_) | Receiver::Owned(_) => (
            Some(quote! { let __service = ::std::sync::Arc::clone(&self.service); }),
            Some(quote! { let __service = ::std::sync::Arc::clone(&__service); }),
        ),
    };
    let made = quote_spanned! { method.output_span=> ::toolway::__private::IntoCompletion::into_completion };
    Ok(quote! {{
        #held
        ::toolway::__private::Completer::function(move |#(#slots: #types),*| {
            #cloned
            async move { #made(#value) }
        })
    }})
}
