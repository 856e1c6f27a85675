//! What is wrong with the author's code? All mistakes are reported at once, each at its position.

use std::fmt::Display;

use proc_macro2::{Span, TokenStream};

/// The mistakes that were found so far.
#[derive(Default)]
pub(crate) struct Mistakes(Option<syn::Error>);

impl Mistakes {
    /// Adds a mistake, with its message and its position.
    pub(crate) fn report(&mut self, span: Span, message: impl Display) {
        self.add(syn::Error::new(span, message));
    }

    pub(crate) fn add(&mut self, mistake: syn::Error) {
        match &mut self.0 {
            Some(all) => all.combine(mistake),
            None => self.0 = Some(mistake),
        }
    }

    /// Returns the value, or adds the error to the mistakes and returns `None`.
    pub(crate) fn ok_or_report<T>(&mut self, read: syn::Result<T>) -> Option<T> {
        read.map_err(|mistake| self.add(mistake)).ok()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// Returns the errors for rustc, or `None` if there are none.
    pub(crate) fn into_errors(self) -> Option<TokenStream> {
        self.0.map(syn::Error::into_compile_error)
    }
}
