//! Which parameters does a function have, and what does it return?

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, format_ident, quote};
use syn::ext::IdentExt;
use syn::spanned::Spanned;
use syn::{FnArg, Pat, PatType, ReceiverKind, ReturnType, Signature, Stmt, Type, TypeReference};

use super::types::ungrouped;
use super::{Arg, Kind, fit};
use crate::attribute::{Mistakes, ScopeRewriter, doc_text, values};

/// The signature of a function or a method, as far as its callers need it.
pub(crate) struct Function {
    pub(crate) ident: Ident,
    pub(crate) receiver: Receiver,
    pub(crate) is_async: bool,
    pub(crate) parameters: Vec<Parameter>,
    /// The statements at the beginning of the function that destructure parameters: `State(db): State<Db>`.
    pub(crate) unpack_statements: Vec<Stmt>,
    /// The return type, and its position.
    pub(crate) output: TokenStream,
    pub(crate) output_span: Span,
}

/// The receiver of a function.
#[derive(Clone, Copy)]
pub(crate) enum Receiver {
    None,
    /// `&self`
    Shared(Span),
    /// Any other `self`.
    Owned(Span),
}

/// One parameter of a function.
pub(crate) struct Parameter {
    /// The name, or `_` if there is none.
    pub(crate) name: String,
    /// The type as it was written.
    pub(crate) declared_type: Type,
    /// The type of the stored value: a `&str` is borrowed from a `String`.
    pub(crate) stored_type: TokenStream,
    /// The doc comment, as an expression.
    pub(crate) description: Option<TokenStream>,
    pub(crate) arg: Option<Arg>,
    /// The rules for rewriting the code of the signature outside of it.
    pub(crate) rewriter: ScopeRewriter,
    /// The position of the whole parameter.
    pub(crate) span: Span,
}

impl Parameter {
    /// Returns the position for errors about the type.
    pub(crate) fn type_span(&self) -> Span {
        self.declared_type.span()
    }

    /// Returns whether the function takes a reference to the stored value.
    pub(crate) fn is_reference(&self) -> bool {
        matches!(&self.declared_type, Type::Reference(_))
    }

    pub(crate) fn has_name(&self) -> bool {
        self.name != "_"
    }

    /// Returns the expression that creates the default.
    pub(crate) fn default(&self) -> Option<&TokenStream> {
        self.arg.as_ref()?.default.as_ref()
    }

    /// Returns the expression of the description.
    pub(crate) fn description_expr(&self) -> TokenStream {
        let said = self.arg.as_ref().and_then(|arg| arg.description.clone());
        said.or_else(|| self.description.clone()).unwrap_or_else(|| quote! { "" })
    }

    /// Returns the expression of the display name.
    pub(crate) fn title_expr(&self) -> TokenStream {
        values::option_expr(self.arg.as_ref().and_then(|arg| arg.title.as_ref()))
    }
}

impl Function {
    /// Reads a signature. Our own attributes of parameters are removed, because rustc does not allow them there. rustc
    /// sees the function only after the macro has run.
    pub(crate) fn read(
        kind: Kind,
        signature: &mut Signature,
        outside: &ScopeRewriter,
        mistakes: &mut Mistakes,
    ) -> Self {
        let outside = &outside.with_signature(signature);
        let mut receiver = Receiver::None;
        let mut parameters = Vec::new();
        let mut unpacked = Vec::new();
        for input in &mut signature.inputs {
            let input = match input {
                FnArg::Receiver(found) => {
                    receiver = Receiver::read(found);
                    continue;
                }
                FnArg::Typed(input) => input,
            };
            let description = doc_text(&input.attrs);
            input.attrs.retain(|attribute| !attribute.path().is_ident("doc"));
            let written = ungrouped(&input.ty).clone();
            let arg = Arg::take(kind, &mut input.attrs, &written, outside, mistakes);
            let span = input.span();
            unpacked.extend(unpack(input, parameters.len()));
            let Some(name) = mistakes.ok_or_report(parameter_name(kind, input)) else { continue };
            if let Some(arg) = &arg {
                fit::check(arg, &name, &written, mistakes);
            }
            parameters.push(Parameter {
                name,
                stored_type: outside.rewrite(stored_type(&written)),
                declared_type: written,
                description,
                arg,
                rewriter: outside.clone(),
                span,
            });
        }
        let (output, output_span) = match &signature.output {
            ReturnType::Default => (quote! { () }, Span::call_site()),
            ReturnType::Type(_, ty) => (outside.rewrite(ty), ty.span()),
        };
        let is_async = signature.asyncness.is_some();
        Self {
            ident: signature.ident.clone(),
            receiver,
            is_async,
            parameters,
            unpack_statements: unpacked,
            output,
            output_span,
        }
    }

    /// Returns names for the values of the parameters.
    pub(crate) fn slots(&self) -> Vec<Ident> {
        (0..self.parameters.len()).map(|index| format_ident!("__slot_{index}")).collect()
    }
}

impl Receiver {
    fn read(receiver: &syn::Receiver) -> Self {
        let span = receiver.to_token_stream().span();
        let is_shared = match &receiver.kind {
            ReceiverKind::Reference(_, _, mutability) => mutability.is_none(),
            ReceiverKind::Typed(_, ty) => match &**ty {
                Type::Reference(TypeReference { mutability: None, elem, .. }) => {
                    elem.to_token_stream().to_string() == "Self"
                }
                _ => false,
            },
            _ => false,
        };
        if is_shared { Self::Shared(span) } else { Self::Owned(span) }
    }
}

/// Turns a parameter `State(db): State<Db>` into a plain one, and returns the statement that destructures it. The
/// pattern itself would not compile: the tuple field of `State` is private, so that `state.0` is a field of the inner
/// value.
fn unpack(input: &mut PatType, index: usize) -> Option<Stmt> {
    let Pat::TupleStruct(pattern) = &*input.pat else { return None };
    let last = pattern.path.segments.last()?;
    if pattern.elems.len() != 1 || (last.ident != "State" && last.ident != "Extension") {
        return None;
    }
    let (inner, packed) = (pattern.elems.first()?.clone(), format_ident!("__packed_{index}"));
    *input.pat = syn::parse_quote! { #packed };
    Some(syn::parse_quote! { let #inner = #packed.into_inner(); })
}

fn parameter_name(kind: Kind, input: &PatType) -> syn::Result<String> {
    match &*input.pat {
        Pat::Ident(pattern) if pattern.subpat.is_none() => Ok(pattern.ident.unraw().to_string()),
        // A destructured parameter may be one that the server provides; only rustc knows.
        Pat::Wild(_) | Pat::TupleStruct(_) => Ok("_".to_owned()),
        pattern => {
            let message = format!(
                "a parameter of a {} needs a name: write `name: Type` and destructure it in the body",
                kind.name()
            );
            Err(syn::Error::new(pattern.span(), message))
        }
    }
}

fn stored_type(ty: &Type) -> TokenStream {
    match ty {
        Type::Reference(TypeReference { elem, .. }) => quote! { <#elem as ::std::borrow::ToOwned>::Owned },
        _ => quote! { #ty },
    }
}
