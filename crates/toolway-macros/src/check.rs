//! What is wrong with a function that is to be a tool?

use syn::spanned::Spanned;
use syn::visit_mut::VisitMut;
use syn::{ItemFn, Safety, Type, TypeImplTrait};

use crate::input::Parameter;

/// Finds every mistake that can be seen without knowing types.
pub(crate) fn check(function: &ItemFn, parameters: &[Parameter], mistakes: &mut Vec<syn::Error>) {
    let signature = &function.sig;
    if !signature.generics.params.is_empty() {
        let message = "a tool cannot be generic: its schema is made from concrete types";
        mistakes.push(syn::Error::new(signature.generics.span(), message));
    }
    if let Some(variadic) = &signature.variadic {
        mistakes.push(syn::Error::new(variadic.span(), "a tool has a fixed number of parameters"));
    }
    if let Safety::Unsafe(unsafety) = &signature.safety {
        mistakes
            .push(syn::Error::new(unsafety.span(), "a tool is called by strangers; it cannot be `unsafe`"));
    }
    for parameter in parameters {
        let mut finder = FindImplTrait(false);
        finder.visit_type_mut(&mut parameter.ty.clone());
        if finder.0 {
            let message = "a tool cannot be generic: write the type instead of `impl …`";
            mistakes.push(syn::Error::new(parameter.span(), message));
        }
        if let Type::Reference(reference) = &parameter.ty
            && reference.mutability.is_some()
        {
            let message = "arguments are made for this call; take the value itself instead of `&mut`";
            mistakes.push(syn::Error::new(parameter.span(), message));
        }
    }
}

struct FindImplTrait(bool);

impl VisitMut for FindImplTrait {
    fn visit_type_impl_trait_mut(&mut self, _: &mut TypeImplTrait) {
        self.0 = true;
    }
}

/// Several mistakes as one error.
pub(crate) fn all(mistakes: Vec<syn::Error>) -> syn::Result<()> {
    let combined = mistakes.into_iter().reduce(|mut all, mistake| {
        all.combine(mistake);
        all
    });
    combined.map_or(Ok(()), Err)
}
