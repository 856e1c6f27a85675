//! How are parameters with `#[cfg(…)]` handled? The function is split into one with the parameter and one without. So
//! conditions of parameters become conditions of whole functions, which the rest of the code supports.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Attribute, FnArg, Meta, Signature};

/// Splits a signature at the first condition of a parameter. Returns both signatures, each with its `#[cfg(…)]`
/// attribute, or `None` if no parameter has a condition.
pub(crate) fn split(signature: &Signature) -> Option<[(Attribute, Signature); 2]> {
    let mut inputs = signature.inputs.clone();
    let condition = inputs.iter_mut().find_map(|input| attributes(input).iter().find_map(condition))?;
    let with = |is_kept: bool| {
        let inputs = signature.inputs.iter().cloned().filter_map(|mut input| {
            let attributes = attributes(&mut input);
            let count = attributes.len();
            attributes.retain(|attribute| !has_condition(attribute, &condition));
            let is_meant = attributes.len() < count;
            (is_kept || !is_meant).then_some(input)
        });
        Signature { inputs: inputs.collect(), ..signature.clone() }
    };
    Some([
        (syn::parse_quote! { #[cfg(#condition)] }, with(true)),
        (syn::parse_quote! { #[cfg(not(#condition))] }, with(false)),
    ])
}

fn attributes(input: &mut FnArg) -> &mut Vec<Attribute> {
    match input {
        FnArg::Receiver(receiver) => &mut receiver.attrs,
        FnArg::Typed(input) => &mut input.attrs,
    }
}

/// Returns the content of `#[cfg(…)]`.
fn condition(attribute: &Attribute) -> Option<TokenStream> {
    match &attribute.meta {
        Meta::List(list) if list.path.is_ident("cfg") => Some(list.tokens.clone()),
        _ => None,
    }
}

fn has_condition(attribute: &Attribute, wanted: &TokenStream) -> bool {
    condition(attribute).is_some_and(|found| found.to_string() == wanted.to_string())
}

/// Returns the code that `make` generates for each signature, under its condition.
pub(crate) fn generate_each(
    parts: [(Attribute, Signature); 2],
    make: impl Fn(&Signature) -> TokenStream,
) -> TokenStream {
    let [with, without] = parts.map(|(condition, signature)| {
        let item = make(&signature);
        quote! { #condition #item }
    });
    quote! { #with #without }
}
