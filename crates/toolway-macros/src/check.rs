//! What is wrong with a function that is marked as a tool, a resource or a prompt? This file reports the mistakes that
//! can be seen without type information.

use proc_macro2::{Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::spanned::Spanned;
use syn::visit_mut::VisitMut;
use syn::{Generics, Safety, Signature, Type, TypeImplTrait};

use crate::attribute::Mistakes;
use crate::diagnose::as_parameter;
use crate::input::{Element, Kind, Parameter, Receiver, owned_replacement};

/// The place where a function is defined.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum FunctionLocation {
    Module,
    Service,
}

/// Reports every mistake of a signature.
pub(crate) fn signature(
    element: &Element,
    signature: &Signature,
    place: FunctionLocation,
    mistakes: &mut Mistakes,
) {
    let kind = element.kind.name();
    match (element.function.receiver, place) {
        (Receiver::Shared(span) | Receiver::Owned(span), FunctionLocation::Module) => mistakes.report(
            span,
            format!("a method can be a {kind} only inside an `impl` block that is marked `#[service]`"),
        ),
        (Receiver::Owned(span), FunctionLocation::Service) => {
            mistakes.report(span, "a service is shared by all calls; take `&self`");
        }
        (Receiver::Shared(_), FunctionLocation::Service) | (Receiver::None, _) => {}
    }
    if has_type_parameters(&signature.generics) {
        let message = format!("a {kind} cannot be generic: its types must be known when the server is built");
        mistakes.report(signature.generics.params.span(), message);
    }
    if let Some(variadic) = &signature.variadic {
        mistakes.report(variadic.span(), format!("a {kind} has a fixed number of parameters"));
    }
    if let Safety::Unsafe(unsafety) = &signature.safety {
        mistakes.report(
            unsafety.span(),
            format!("a {kind} cannot be `unsafe`: clients call it with any arguments"),
        );
    }
    if let (Some(blocking), true) = (element.definition.options.blocking, element.function.is_async) {
        let message = "an `async` function must not block: remove `async`, or remove `blocking` if the function only \
                       awaits";
        mistakes.report(blocking, message);
    }
    for parameter in &element.function.parameters {
        let (written, span) = (&parameter.declared_type, parameter.type_span());
        if has_impl_trait(written) {
            mistakes.report(span, format!("a {kind} cannot be generic: write the type instead of `impl …`"));
        }
        if matches!(written, Type::Reference(reference) if reference.mutability.is_some()) {
            let message = "an argument belongs to one call: take the value itself instead of `&mut`";
            mistakes.report(span, message);
        }
        if let Some(instead) = owned_replacement(written) {
            mistakes.report(span, format!("an argument must own its data: {instead}"));
        }
    }
    if let syn::ReturnType::Type(_, ty) = &signature.output
        && has_impl_trait(ty)
    {
        let message =
            format!("the return type of a {kind} must have a name: write the type instead of `impl …`");
        mistakes.report(ty.span(), message);
    }
}

/// Returns whether there are type or const parameters. Lifetimes are allowed, because callers do not choose them.
pub(crate) fn has_type_parameters(generics: &Generics) -> bool {
    generics.params.iter().any(|parameter| !matches!(parameter, syn::GenericParam::Lifetime(_)))
}

fn has_impl_trait(ty: &Type) -> bool {
    let mut finder = FindImplTrait(false);
    finder.visit_type_mut(&mut ty.clone());
    finder.0
}

struct FindImplTrait(bool);

impl VisitMut for FindImplTrait {
    fn visit_type_impl_trait_mut(&mut self, _: &mut TypeImplTrait) {
        self.0 = true;
    }
}

/// Assertions that only rustc can evaluate, because it knows the types.
pub(crate) struct Assertions {
    /// `true` if the `impl` block has type parameters. A constant item cannot use them, but an inline constant can.
    is_generic: bool,
    pub(crate) tokens: TokenStream,
}

impl Assertions {
    /// Creates the assertions about the parameters of any kind of element.
    pub(crate) fn of(element: &Element, is_generic: bool) -> Self {
        let mut assertions = Self { is_generic, tokens: TokenStream::new() };
        for parameter in &element.function.parameters {
            if !parameter.has_name() {
                let message = "a parameter without a name cannot be an argument: write `name: Type`";
                assertions.assert_argument(parameter.span, parameter, false, message);
            } else if let (Some(arg), true) = (&parameter.arg, element.kind != Kind::Resource) {
                let message = format!(
                    "`{}` is not an argument: the server provides it, so `#[arg(…)]` does not apply to it",
                    parameter.name
                );
                assertions.assert_argument(arg.span, parameter, true, &message);
            }
        }
        assertions
    }

    pub(crate) fn add(&mut self, span: Span, condition: &TokenStream, message: &str) {
        // `assert!` reads the message as a format string.
        let message = message.replace('{', "{{").replace('}', "}}");
        self.tokens.extend(if self.is_generic {
            quote_spanned! { span=> const { ::core::assert!(#condition, #message) }; }
        } else {
            quote_spanned! { span=> const _: () = ::core::assert!(#condition, #message); }
        });
    }

    /// Asserts that a parameter is an argument, or that it is not an argument, as `expected` says.
    pub(crate) fn assert_argument(
        &mut self,
        span: Span,
        parameter: &Parameter,
        expected: bool,
        message: &str,
    ) {
        let ty = as_parameter(parameter);
        let is_argument = quote_spanned! { parameter.type_span()=> #ty::IS_ARGUMENT };
        self.add(span, &quote! { #is_argument == #expected }, message);
    }

    /// Asserts that a type is an `Option`, or that it is not, as `expected` says. This also works for an alias: for an
    /// `Option`, an inherent constant takes precedence over the constant of the trait.
    pub(crate) fn assert_option(&mut self, span: Span, ty: &TokenStream, expected: bool, message: &str) {
        let condition = quote_spanned! { span=> {
            struct __Type<T>(::core::marker::PhantomData<T>);
            #[allow(dead_code)]
            impl<T> __Type<::core::option::Option<T>> {
                const IS_OPTION: bool = true;
            }
            #[allow(dead_code)]
            trait __Other {
                const IS_OPTION: bool = false;
            }
            impl<T> __Other for __Type<T> {}
            __Type::<#ty>::IS_OPTION == #expected
        }};
        self.add(span, &condition, message);
    }
}
