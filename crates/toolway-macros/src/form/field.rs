//! What does `#[form(…)]` say about a field, and which code says it to a client?

use proc_macro2::{Ident, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Expr, LitStr, Type};

use super::said::{Name, said};
use super::shape::reference;
use super::value::{Choice, Written, choices, json};
use crate::attribute::{Keys, Setting, doc_text};

/// A field of a form.
pub(super) struct Field<'f> {
    pub(super) ident: &'f Ident,
    pub(super) ty: &'f Type,
    pub(super) name: Name,
    pub(super) said: Said,
}

/// What was said about a field besides its type.
#[derive(Default)]
pub(super) struct Said {
    rename: Option<LitStr>,
    title: Option<LitStr>,
    description: Option<TokenStream>,
    pub(super) default: Option<Expr>,
    pub(super) choices: Option<(Ident, Vec<Choice>)>,
    /// Everything that bounds what may be filled in.
    pub(super) rules: Vec<Rule>,
}

/// `min_length = 3`
pub(super) struct Rule {
    /// As the author calls it.
    pub(super) key: Ident,
    pub(super) kind: RuleKind,
    pub(super) value: Expr,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RuleKind {
    Format,
    MinLength,
    MaxLength,
    Minimum,
    Maximum,
    MinItems,
    MaxItems,
}

impl<'f> Field<'f> {
    pub(super) fn read(field: &'f syn::Field, mistakes: &mut Vec<syn::Error>) -> Option<Self> {
        let ident = field.ident.as_ref()?;
        if let Some(reference) = reference(&field.ty) {
            let message = "a form owns its values: write the value's own type, as `String` for `&str`";
            mistakes.push(syn::Error::new(reference.span(), message));
        }
        let mut all = Said { description: doc_text(&field.attrs), ..Said::default() };
        for setting in said(&field.attrs, &FIELD, mistakes) {
            if let Err(mistake) = all.set(&setting) {
                mistakes.push(mistake);
            }
        }
        let name = Name::new(ident, all.rename.as_ref());
        Some(Self { ident, ty: &field.ty, name, said: all })
    }

    /// Adds the field to the outline of the form.
    pub(super) fn added(&self) -> TokenStream {
        let Self { ty, name, said, .. } = self;
        let name = &name.text;
        let described = said.described();
        let describe = if described.is_empty() {
            quote! { |_| {} }
        } else {
            quote! { |__field: &mut ::toolway::__private::Field| { #described } }
        };
        // The type is where rustc tells that it is none for a field.
        let add = quote_spanned! { ty.span()=> ::toolway::__private::form::Outline::add::<#ty> };
        quote! { #add(&mut __outline, #name, #describe); }
    }

    /// Reads it from what was filled in.
    pub(super) fn read_back(&self) -> TokenStream {
        let Self { ident, ty, name, .. } = self;
        let name = &name.text;
        quote! { #ident: ::toolway::__private::form::read::<#ty>(&mut __content, #name)?, }
    }
}

impl Said {
    fn set(&mut self, setting: &Setting) -> syn::Result<()> {
        match setting.key.to_string().as_str() {
            "rename" => self.rename = Some(setting.text()?),
            "title" => self.title = Some(setting.text()?),
            "description" => self.description = Some(setting.value()?.to_token_stream()),
            "default" => self.default = Some(setting.value()?.clone()),
            "choices" => self.choices = Some((setting.key.clone(), choices(setting)?)),
            key => {
                let kind = match key {
                    "format" => RuleKind::Format,
                    "min_length" => RuleKind::MinLength,
                    "max_length" => RuleKind::MaxLength,
                    "minimum" | "min" => RuleKind::Minimum,
                    "maximum" | "max" => RuleKind::Maximum,
                    "min_items" => RuleKind::MinItems,
                    _ => RuleKind::MaxItems,
                };
                if let Some(other) = self.rule(kind) {
                    let message = format!("`{key}` and `{}` are the same", other.key);
                    return Err(syn::Error::new(setting.key.span(), message));
                }
                let value = setting.value()?.clone();
                self.rules.push(Rule { key: setting.key.clone(), kind, value });
            }
        }
        Ok(())
    }

    pub(super) fn rule(&self, kind: RuleKind) -> Option<&Rule> {
        self.rules.iter().find(|rule| rule.kind == kind)
    }

    /// Statements that give `__field` what was said.
    fn described(&self) -> TokenStream {
        let some_text = |value: &dyn ToTokens| {
            quote! { ::core::option::Option::Some(::std::string::String::from(#value)) }
        };
        let mut described = TokenStream::new();
        if let Some(title) = &self.title {
            let title = some_text(title);
            described.extend(quote! { __field.title = #title; });
        }
        if let Some(description) = &self.description {
            let description = some_text(description);
            described.extend(quote! { __field.description = #description; });
        }
        if let Some((_, choices)) = &self.choices {
            let choices = choices.iter().map(|(value, title)| match title {
                Some(title) => quote! { (#value, ::core::option::Option::Some(#title)) },
                None => quote! { (#value, ::core::option::Option::None) },
            });
            described.extend(quote! { ::toolway::__private::form::offer(__field, &[#(#choices),*]); });
        }
        for rule in &self.rules {
            let value = json(&rule.value);
            let number = quote! { ::toolway::__private::form::number(&#value) };
            let count = quote! { ::toolway::__private::form::count(&#value) };
            described.extend(match rule.kind {
                RuleKind::Format => {
                    let format = some_text(&rule.value);
                    quote! { __field.format = #format; }
                }
                RuleKind::MinLength => quote! { __field.min_length = #count; },
                RuleKind::MaxLength => quote! { __field.max_length = #count; },
                RuleKind::Minimum => quote! { __field.minimum = #number; },
                RuleKind::Maximum => quote! { __field.maximum = #number; },
                RuleKind::MinItems => quote! { __field.min_items = #count; },
                RuleKind::MaxItems => quote! { __field.max_items = #count; },
            });
        }
        if let Some(default) = &self.default {
            let default = json(default);
            described.extend(quote! { __field.default = ::core::option::Option::Some(#default); });
        }
        described
    }
}

impl Rule {
    pub(super) fn written(&self) -> Written {
        Written::of(&self.value)
    }
}

const FIELD: Keys = Keys {
    owner: "`#[form]` on a field",
    noun: "key",
    known: &[
        "title",
        "description",
        "default",
        "format",
        "min_length",
        "max_length",
        "minimum",
        "min",
        "maximum",
        "max",
        "min_items",
        "max_items",
        "choices",
        "rename",
    ],
    refused: |key| match key {
        "pattern" => {
            Some("forms know no patterns; say it in the description, and check it in the handler".to_owned())
        }
        "optional" | "required" => Some("a field that may be left out is an `Option`".to_owned()),
        _ => None,
    },
    first: None,
};
