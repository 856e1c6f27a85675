//! Which type is a handler written for? The one beside a function, or a hidden one that holds a service.

use proc_macro2::{Ident, TokenStream};
use quote::quote;
use syn::Generics;

use crate::check::Assertions;
use crate::input::Element;

/// The type that handles.
pub(crate) struct Host {
    pub(crate) ident: Ident,
    /// Those of the `impl` block of the service.
    pub(crate) generics: Generics,
    /// The type of the service, if it holds one.
    pub(crate) service: Option<TokenStream>,
    /// `#[cfg(…)]` of the method.
    pub(crate) conditions: TokenStream,
}

impl Host {
    /// A type without anything in it.
    pub(crate) fn plain(ident: &Ident) -> Self {
        Self {
            ident: ident.clone(),
            generics: Generics::default(),
            service: None,
            conditions: TokenStream::new(),
        }
    }

    /// What only rustc can tell about the function that it calls.
    pub(crate) fn assertions(&self, element: &Element) -> Assertions {
        Assertions::of(element, !self.generics.params.is_empty())
    }

    /// Implements a trait, or without one adds functions of its own.
    pub(crate) fn implement(&self, interface: Option<&str>, body: &TokenStream) -> TokenStream {
        let Self { ident, generics, conditions, .. } = self;
        let (impl_generics, type_generics, bounds) = generics.split_for_impl();
        let interface = interface.map(|name| {
            let name = Ident::new(name, proc_macro2::Span::call_site());
            quote! { ::toolway::__private::#name for }
        });
        quote! {
            #conditions
            impl #impl_generics #interface #ident #type_generics #bounds {
                #body
            }
        }
    }
}
