//! Which type implements the handler? It is the generated type beside a function, or a hidden type that holds a
//! service.

use proc_macro2::{Ident, TokenStream};
use quote::quote;
use syn::Generics;

use crate::check::Assertions;
use crate::input::Element;

/// The type that implements the handler.
pub(crate) struct HandlerType {
    pub(crate) ident: Ident,
    /// The generics of the service's `impl` block.
    pub(crate) generics: Generics,
    /// The type of the service, if the host holds one.
    pub(crate) service: Option<TokenStream>,
    /// The `#[cfg(…)]` attributes of the method.
    pub(crate) conditions: TokenStream,
}

impl HandlerType {
    /// Creates a host without fields.
    pub(crate) fn plain(ident: &Ident) -> Self {
        Self {
            ident: ident.clone(),
            generics: Generics::default(),
            service: None,
            conditions: TokenStream::new(),
        }
    }

    /// Returns the assertions that only rustc can evaluate about the function.
    pub(crate) fn assertions(&self, element: &Element) -> Assertions {
        Assertions::of(element, !self.generics.params.is_empty())
    }

    /// Implements a trait, or adds inherent functions if there is none.
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
