//! Which code is generated for `#[derive(Form)]`?
//!
//! | file | question |
//! |---|---|
//! | `field.rs` | What does `#[form(…)]` say about a field, and which code describes the field to a client? |
//! | `shape.rs` | What kind of field is it, as far as the name of its type shows? |
//! | `value.rs` | Which numbers, texts and lists are in an attribute? |
//! | `name.rs` | What is the name of a field or a choice? |
//! | `rules.rs` | Do the rules fit the field and each other? |
//! | `choice.rs` | Which code is generated for an enum? |

mod choice;
mod field;
mod name;
mod rules;
mod shape;
mod value;

use proc_macro2::{Ident, TokenStream};
use quote::quote;
use syn::ext::IdentExt;
use syn::spanned::Spanned;
use syn::{Data, DataStruct, DeriveInput, Fields};

use crate::attribute::{AttributeKeys, Mistakes, parse_attributes};
use field::Field;
use name::report_duplicates;
use shape::Shape;

pub(crate) fn expand(item: TokenStream) -> TokenStream {
    let item = match syn::parse2::<DeriveInput>(item) {
        Ok(item) => item,
        Err(error) => return error.into_compile_error(),
    };
    let mut mistakes = Mistakes::default();
    if !item.generics.params.is_empty() {
        let message = "a form cannot be generic: its fields must be known when the question is asked";
        mistakes.add(syn::Error::new_spanned(&item.generics.params, message));
    }
    let (good, stub) = match &item.data {
        Data::Struct(data) => (form(&item, data, &mut mistakes), form_stub(&item.ident)),
        Data::Enum(data) => (choice::choice(&item, data, &mut mistakes), choice::stub(&item.ident)),
        Data::Union(data) => {
            let message = "a form must be a struct with named fields, or an enum to choose from";
            mistakes.report(data.union_token.span(), message);
            (TokenStream::new(), form_stub(&item.ident))
        }
    };
    match mistakes.into_errors() {
        None => good,
        // With the stub, code that uses the form has no further errors.
        Some(errors) if item.generics.params.is_empty() => quote! { #errors #stub },
        Some(errors) => errors,
    }
}

fn form(item: &DeriveInput, data: &DataStruct, mistakes: &mut Mistakes) -> TokenStream {
    let name = form_name(item, mistakes);
    let Fields::Named(written) = &data.fields else {
        let message = "the fields of a form need names: write `struct Name { field: Type }`";
        mistakes.report(item.ident.span(), message);
        return TokenStream::new();
    };
    let read = |field| {
        let field = Field::read(field, mistakes)?;
        rules::check(&field, &Shape::of(field.ty), mistakes);
        Some(field)
    };
    let fields: Vec<Field<'_>> = written.named.iter().filter_map(read).collect();
    report_duplicates(fields.iter().map(|field| &field.name), "field", mistakes);
    let added = fields.iter().map(Field::add_statement);
    let read = fields.iter().map(Field::read_expression);
    implement(
        &item.ident,
        &quote! { #name },
        &quote! {
            let mut __outline = <::toolway::__private::form::FormSchemaBuilder as ::core::default::Default>::default();
            #(#added)*
            ::toolway::__private::form::FormSchemaBuilder::finish(__outline)
        },
        &quote! { ::core::result::Result::Ok(Self { #(#read)* }) },
    )
}

fn form_stub(ident: &Ident) -> TokenStream {
    let never = quote! { ::core::unreachable!("it does not compile") };
    implement(ident, &never, &never, &never)
}

fn implement(ident: &Ident, name: &TokenStream, schema: &TokenStream, read: &TokenStream) -> TokenStream {
    quote! {
        #[automatically_derived]
        #[allow(unused_mut, unused_variables)]
        impl ::toolway::__private::Form for #ident {
            fn name() -> &'static ::core::primitive::str {
                #name
            }

            fn schema() -> ::toolway::__private::FormSchema {
                #schema
            }

            fn read(
                mut __content: ::std::collections::BTreeMap<
                    ::std::string::String,
                    ::toolway::__private::serde_json::Value,
                >,
            ) -> ::core::result::Result<Self, ::std::string::String> {
                #read
            }
        }
    }
}

fn form_name(item: &DeriveInput, mistakes: &mut Mistakes) -> String {
    let mut name = item.ident.unraw().to_string();
    for setting in parse_attributes("form", &item.attrs, &FORM, mistakes) {
        if let Some(text) = mistakes.ok_or_report(setting.text()) {
            name = text.value();
        }
    }
    name
}

const FORM: AttributeKeys<'static> = AttributeKeys {
    hint: |key| {
        (key == "rename_all")
            .then(|| "fields are renamed one by one, with `#[form(rename = \"…\")]`".to_owned())
    },
    ..AttributeKeys::new("`#[form]` on a struct", "key", &["name"])
};
