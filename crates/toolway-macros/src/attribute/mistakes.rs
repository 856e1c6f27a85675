//! What is wrong with what the author wrote? Everything at once, each where it stands.

use std::fmt::Display;

use proc_macro2::{Span, TokenStream};

/// The mistakes that were found so far.
#[derive(Default)]
pub(crate) struct Mistakes(Option<syn::Error>);

impl Mistakes {
    /// Tells the author what is wrong, and where.
    pub(crate) fn tell(&mut self, span: Span, message: impl Display) {
        self.add(syn::Error::new(span, message));
    }

    pub(crate) fn add(&mut self, mistake: syn::Error) {
        match &mut self.0 {
            Some(all) => all.combine(mistake),
            None => self.0 = Some(mistake),
        }
    }

    /// What was read, or nothing if it is wrong.
    pub(crate) fn keep<T>(&mut self, read: syn::Result<T>) -> Option<T> {
        read.map_err(|mistake| self.add(mistake)).ok()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// The errors for rustc; nothing, if there are none.
    pub(crate) fn into_errors(self) -> Option<TokenStream> {
        self.0.map(syn::Error::into_compile_error)
    }
}
