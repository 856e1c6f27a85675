//! What is the name of a field or a choice?

use proc_macro2::{Ident, Span};
use syn::LitStr;
use syn::ext::IdentExt;

use crate::attribute::Mistakes;

/// A name that is sent to clients, and its position in the source.
pub(super) struct Name {
    pub(super) text: String,
    pub(super) span: Span,
}

impl Name {
    pub(super) fn new(ident: &Ident, rename: Option<&LitStr>) -> Self {
        match rename {
            Some(text) => Self { text: text.value(), span: text.span() },
            None => Self { text: ident.unraw().to_string(), span: ident.span() },
        }
    }
}

pub(super) fn report_duplicates<'n>(
    names: impl Iterator<Item = &'n Name>,
    noun: &str,
    mistakes: &mut Mistakes,
) {
    let mut seen: Vec<&str> = Vec::new();
    for name in names {
        if seen.contains(&name.text.as_str()) {
            let message = format!("there is another {noun} with the name `{}`", name.text);
            mistakes.report(name.span, message);
        }
        seen.push(&name.text);
    }
}
