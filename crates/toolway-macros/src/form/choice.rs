//! Which code is generated for an enum of choices?

use proc_macro2::{Ident, TokenStream};
use quote::quote;
use syn::spanned::Spanned;
use syn::{DataEnum, DeriveInput, LitStr, Variant};

use super::name::{Name, report_duplicates};
use crate::attribute::values::option_expr;
use crate::attribute::{AttributeKeys, Mistakes, parse_attributes};

pub(super) fn choice(item: &DeriveInput, data: &DataEnum, mistakes: &mut Mistakes) -> TokenStream {
    parse_attributes("form", &item.attrs, &ENUM, mistakes);
    if data.variants.is_empty() {
        mistakes.report(item.ident.span(), "an enum needs at least one variant to choose from");
    }
    let options: Vec<VariantChoice<'_>> =
        data.variants.iter().map(|variant| VariantChoice::read(variant, mistakes)).collect();
    report_duplicates(options.iter().map(|option| &option.name), "choice", mistakes);
    let values: Vec<_> = options.iter().map(|option| &option.name.text).collect();
    let titles = options.iter().map(|choice| option_expr(choice.title.as_ref()));
    let variants: Vec<_> = options.iter().map(|option| option.ident).collect();
    implement(
        &item.ident,
        &quote! { &[#((#values, #titles)),*] },
        &quote! {
            match __value {
                #(#values => ::core::option::Option::Some(Self::#variants),)*
                _ => ::core::option::Option::None,
            }
        },
        &quote! {
            match self {
                #(Self::#variants => #values,)*
            }
        },
    )
}

pub(super) fn stub(ident: &Ident) -> TokenStream {
    let never = quote! { ::core::unreachable!("it does not compile") };
    implement(ident, &quote! { &[] }, &quote! { { let _ = __value; #never } }, &never)
}

fn implement(ident: &Ident, choices: &TokenStream, from: &TokenStream, value: &TokenStream) -> TokenStream {
    quote! {
        #[automatically_derived]
        impl ::toolway::__private::FormChoice for #ident {
            const CHOICES: &'static [(
                &'static ::core::primitive::str,
                ::core::option::Option<&'static ::core::primitive::str>,
            )] = #choices;

            fn from_value(__value: &::core::primitive::str) -> ::core::option::Option<Self> {
                #from
            }

            fn value(&self) -> &'static ::core::primitive::str {
                #value
            }
        }

        #[automatically_derived]
        impl ::toolway::__private::FormField for #ident {
            fn field() -> ::toolway::__private::Field {
                ::toolway::__private::form::single_choice_field::<Self>()
            }

            fn read(
                __value: ::toolway::__private::serde_json::Value,
            ) -> ::core::result::Result<Self, ::std::string::String> {
                ::toolway::__private::form::read_choice(&__value)
            }
        }

        /// So that a variant can be a default.
        #[automatically_derived]
        impl ::core::convert::From<#ident> for ::toolway::__private::serde_json::Value {
            fn from(__choice: #ident) -> Self {
                Self::from(::toolway::__private::FormChoice::value(&__choice))
            }
        }
    }
}

/// A variant.
struct VariantChoice<'v> {
    ident: &'v Ident,
    name: Name,
    title: Option<LitStr>,
}

impl<'v> VariantChoice<'v> {
    fn read(variant: &'v Variant, mistakes: &mut Mistakes) -> Self {
        if !variant.fields.is_empty() {
            let message = "a variant cannot have fields: forms have no nested values";
            mistakes.report(variant.fields.span(), message);
        }
        let (mut rename, mut title) = (None, None);
        for setting in parse_attributes("form", &variant.attrs, &VARIANT, mistakes) {
            let slot = if setting.key == "title" { &mut title } else { &mut rename };
            *slot = mistakes.ok_or_report(setting.text());
        }
        Self { ident: &variant.ident, name: Name::new(&variant.ident, rename.as_ref()), title }
    }
}

const ENUM: AttributeKeys<'static> = AttributeKeys {
    hint: |key| {
        Some(match key {
            "rename_all" => "variants are renamed one by one, with `#[form(rename = \"…\")]`".to_owned(),
            key => format!("`{key}` does not apply to an enum, only to a struct, a field or a variant"),
        })
    },
    ..AttributeKeys::new("`#[form]` on an enum", "key", &[])
};

const VARIANT: AttributeKeys<'static> =
    AttributeKeys::new("`#[form]` on a variant", "key", &["title", "rename"]);
