//! What does `#[form(…)]` say about a field, and which code describes the field to a client?

use proc_macro2::{Ident, TokenStream};
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Expr, LitStr, Type};

use super::name::Name;
use super::shape::Group;
use super::value::{AttributeValue, Choice, choices, json};
use crate::attribute::values::option_expr;
use crate::attribute::{AttributeKeys, Mistakes, Setting, doc_text, parse_attributes};
use crate::input::ungrouped;

/// A field of a form.
pub(super) struct Field<'f> {
    pub(super) ident: &'f Ident,
    pub(super) ty: &'f Type,
    pub(super) name: Name,
    pub(super) settings: FieldSettings,
}

/// The properties of a field besides its type.
#[derive(Default)]
pub(super) struct FieldSettings {
    rename: Option<LitStr>,
    title: Option<LitStr>,
    description: Option<TokenStream>,
    pub(super) default: Option<Expr>,
    pub(super) choices: Option<(Ident, Vec<Choice>)>,
    /// The rules that restrict the value.
    pub(super) rules: Vec<Rule>,
}

/// A rule such as `min_length = 3`.
pub(super) struct Rule {
    /// The key in the attribute.
    pub(super) key: Ident,
    /// The member of the protocol's `Field` that the rule sets.
    pub(super) member: &'static str,
    pub(super) group: Group,
    pub(super) value: Expr,
}

impl<'f> Field<'f> {
    pub(super) fn read(field: &'f syn::Field, mistakes: &mut Mistakes) -> Option<Self> {
        let ident = field.ident.as_ref()?;
        if let Type::Reference(reference) = ungrouped(&field.ty) {
            let message = "a form must own its values: write an owned type, such as `String` for `&str`";
            mistakes.report(reference.span(), message);
        }
        let mut all = FieldSettings { description: doc_text(&field.attrs), ..FieldSettings::default() };
        let rules = RULES.iter().map(|(key, ..)| *key);
        let known: Vec<_> = ["title", "description", "default"]
            .into_iter()
            .chain(rules)
            .chain(["choices", "rename"])
            .collect();
        let keys =
            AttributeKeys { hint: key_hint, ..AttributeKeys::new("`#[form]` on a field", "key", &known) };
        for setting in parse_attributes("form", &field.attrs, &keys, mistakes) {
            mistakes.ok_or_report(all.set(&setting));
        }
        let name = Name::new(ident, all.rename.as_ref());
        Some(Self { ident, ty: &field.ty, name, settings: all })
    }

    /// Returns the code that adds the field to the outline of the form.
    pub(super) fn add_statement(&self) -> TokenStream {
        let Self { ty, name, settings: said, .. } = self;
        let name = &name.text;
        let described = said.setter_statements();
        let describe = if described.is_empty() {
            quote! { |_| {} }
        } else {
            quote! { |__field: &mut ::toolway::__private::Field| { #described } }
        };
        // The code has the span of the type, so that rustc reports there that the type cannot be a field.
        let add = quote_spanned! { ty.span()=> ::toolway::__private::form::FormSchemaBuilder::add::<#ty> };
        quote! { #add(&mut __outline, #name, #describe); }
    }

    /// Returns the code that reads the field from the submitted values.
    pub(super) fn read_expression(&self) -> TokenStream {
        let Self { ident, ty, name, .. } = self;
        let name = &name.text;
        quote! { #ident: ::toolway::__private::form::read::<#ty>(&mut __content, #name)?, }
    }
}

impl FieldSettings {
    fn set(&mut self, setting: &Setting) -> syn::Result<()> {
        match setting.key.to_string().as_str() {
            "rename" => self.rename = Some(setting.text()?),
            "title" => self.title = Some(setting.text()?),
            "description" => self.description = Some(setting.value()?.to_token_stream()),
            "default" => self.default = Some(setting.value()?.clone()),
            "choices" => self.choices = Some((setting.key.clone(), choices(setting)?)),
            key => {
                let Some((_, member, group)) = RULES.into_iter().find(|(known, ..)| *known == key) else {
                    unreachable!("the keys were checked before")
                };
                if let Some(other) = self.rule(member) {
                    return Err(setting.error(format!("`{key}` and `{}` mean the same: keep one", other.key)));
                }
                let value = setting.value()?.clone();
                self.rules.push(Rule { key: setting.key.clone(), member, group, value });
            }
        }
        Ok(())
    }

    pub(super) fn rule(&self, member: &str) -> Option<&Rule> {
        self.rules.iter().find(|rule| rule.member == member)
    }

    /// Returns the statements that set the properties of `__field`.
    fn setter_statements(&self) -> TokenStream {
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
            let choices = choices.iter().map(|(value, title)| {
                let title = option_expr(title.as_ref());
                quote! { (#value, #title) }
            });
            described.extend(quote! { ::toolway::__private::form::set_choices(__field, &[#(#choices),*]); });
        }
        for rule in &self.rules {
            let (member, value) = (format_ident!("{}", rule.member), json(&rule.value));
            let value = match rule.group {
                _ if rule.member == "format" => some_text(&rule.value),
                Group::Numbers => quote! { ::toolway::__private::form::number(&#value) },
                Group::Texts | Group::Lists => quote! { ::toolway::__private::form::count(&#value) },
            };
            described.extend(quote! { __field.#member = #value; });
        }
        if let Some(default) = &self.default {
            let default = json(default);
            described.extend(quote! { __field.default = ::core::option::Option::Some(#default); });
        }
        described
    }
}

impl Rule {
    pub(super) fn attribute_value(&self) -> AttributeValue {
        AttributeValue::of(&self.value)
    }
}

/// The key of each rule, the member that the rule sets, and the fields that the rule applies to.
const RULES: [(&str, &str, Group); 9] = [
    ("format", "format", Group::Texts),
    ("min_length", "min_length", Group::Texts),
    ("max_length", "max_length", Group::Texts),
    ("minimum", "minimum", Group::Numbers),
    ("min", "minimum", Group::Numbers),
    ("maximum", "maximum", Group::Numbers),
    ("max", "maximum", Group::Numbers),
    ("min_items", "min_items", Group::Lists),
    ("max_items", "max_items", Group::Lists),
];

fn key_hint(key: &str) -> Option<String> {
    match key {
        "pattern" => Some(
            "forms do not support patterns: explain it in the description, and check it in the handler"
                .to_owned(),
        ),
        "optional" | "required" => Some("a field that may be left out must be an `Option`".to_owned()),
        _ => None,
    }
}
