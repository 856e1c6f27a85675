//! What is in the parentheses of an attribute? Keys, each alone, with a value, or with a list of its own.

use proc_macro2::{Ident, Span, TokenStream, TokenTree};
use syn::ext::IdentExt;
use syn::parse::{ParseStream, Parser};
use syn::spanned::Spanned;
use syn::{Attribute, Expr, ExprLit, Lit, LitBool, LitStr, Meta, Token, parenthesized, token};

use super::Mistakes;
use super::closest::closest;

/// One key and its value.
pub(crate) struct Setting {
    pub(crate) key: Ident,
    pub(crate) raw_value: SettingValue,
}

/// The value of a key.
pub(crate) enum SettingValue {
    /// `key`
    None,
    /// `key = {…}`
    Braces(TokenStream),
    /// `key = value`
    Value(Expr),
    /// `key(…)`
    List(TokenStream),
}

/// The keys of an attribute.
pub(crate) struct AttributeKeys<'k> {
    /// The attribute's name, and a noun for its keys, for error messages.
    pub(crate) owner: &'static str,
    pub(crate) noun: &'static str,
    pub(crate) known: &'k [&'static str],
    /// Returns a message for keys that deserve a better answer than "unknown".
    pub(crate) hint: fn(&str) -> Option<String>,
    /// The key of a text that may be written first and without a key.
    pub(crate) positional: Option<&'static str>,
}

/// Reads settings. A mistake in one setting does not hide mistakes in other settings.
pub(crate) fn parse_settings(
    tokens: TokenStream,
    keys: &AttributeKeys<'_>,
    mistakes: &mut Mistakes,
) -> Vec<Setting> {
    let mut found = Vec::new();
    read(tokens, keys, &mut found, mistakes);
    found
}

/// Reads the settings of all attributes with one name, as if they were one attribute.
pub(crate) fn parse_attributes(
    name: &str,
    attributes: &[Attribute],
    keys: &AttributeKeys<'_>,
    mistakes: &mut Mistakes,
) -> Vec<Setting> {
    let mut found = Vec::new();
    for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident(name)) {
        match &attribute.meta {
            Meta::List(list) => read(list.tokens.clone(), keys, &mut found, mistakes),
            other => mistakes.report(other.span(), format!("write `#[{name}(…)]`")),
        }
    }
    found
}

fn read(tokens: TokenStream, keys: &AttributeKeys<'_>, found: &mut Vec<Setting>, mistakes: &mut Mistakes) {
    let read_all = |input: ParseStream<'_>| {
        while !input.is_empty() {
            let setting = match keys.positional {
                Some(first) if found.is_empty() && input.peek(LitStr) => first_text(input, first),
                _ => parse_setting(input),
            };
            let setting = setting.and_then(|setting| {
                let is_at_end = input.is_empty() || input.peek(Token![,]);
                if is_at_end { keys.check(setting, found) } else { Err(input.error("expected `,`")) }
            });
            found.extend(mistakes.ok_or_report(setting));
            skip_to_next(input)?;
        }
        Ok(())
    };
    let outcome = read_all.parse2(tokens);
    mistakes.ok_or_report(outcome);
}

fn first_text(input: ParseStream<'_>, key: &str) -> syn::Result<Setting> {
    let value: Expr = input.parse()?;
    Ok(Setting { key: Ident::new(key, value.span()), raw_value: SettingValue::Value(value) })
}

fn parse_setting(input: ParseStream<'_>) -> syn::Result<Setting> {
    let key = input.call(Ident::parse_any)?;
    let given = if input.peek(token::Paren) {
        let list;
        parenthesized!(list in input);
        SettingValue::List(list.parse()?)
    } else if input.parse::<Option<Token![=]>>()?.is_none() {
        SettingValue::None
    } else if input.peek(token::Brace) {
        SettingValue::Braces(input.parse::<TokenTree>()?.into())
    } else {
        SettingValue::Value(input.parse()?)
    };
    Ok(Setting { key, raw_value: given })
}

fn skip_to_next(input: ParseStream<'_>) -> syn::Result<()> {
    while !input.is_empty() {
        let is_comma = input.peek(Token![,]);
        input.parse::<TokenTree>()?;
        if is_comma {
            break;
        }
    }
    Ok(())
}

impl<'k> AttributeKeys<'k> {
    /// Creates a set of keys without special cases.
    pub(crate) const fn new(owner: &'static str, noun: &'static str, known: &'k [&'static str]) -> Self {
        Self { owner, noun, known, hint: |_| None, positional: None }
    }

    fn check(&self, setting: Setting, found: &[Setting]) -> syn::Result<Setting> {
        let name = setting.key.to_string();
        if let Some(message) = (self.hint)(&name) {
            return Err(setting.error(message));
        }
        if !self.known.contains(&name.as_str()) {
            let Self { owner, noun, .. } = self;
            let known = self.known.join(", ");
            let meant = closest(&name, self.known.iter().copied());
            let meant = meant.map_or_else(|| ";".to_owned(), |meant| format!(", did you mean `{meant}`?"));
            return Err(setting.error(format!("unknown {noun} `{name}`{meant} {owner} has: {known}")));
        }
        if found.iter().any(|other| other.key == setting.key) {
            return Err(setting.error(format!("`{name}` is given twice")));
        }
        Ok(setting)
    }
}

impl Setting {
    pub(crate) fn span(&self) -> Span {
        match &self.raw_value {
            SettingValue::None => self.key.span(),
            SettingValue::Braces(tokens) | SettingValue::List(tokens) => tokens.span(),
            SettingValue::Value(value) => value.span(),
        }
    }

    /// Returns the text of `key = "text"`.
    pub(crate) fn text(&self) -> syn::Result<LitStr> {
        match self.literal() {
            Some(Lit::Str(text)) => Ok(text.clone()),
            _ => Err(self.error(format!("write `{} = \"…\"`", self.key))),
        }
    }

    /// Returns the value of `key` or `key = true`.
    pub(crate) fn flag(&self) -> syn::Result<bool> {
        match (&self.raw_value, self.literal()) {
            (SettingValue::None, _) => Ok(true),
            (_, Some(Lit::Bool(LitBool { value, .. }))) => Ok(*value),
            _ => Err(syn::Error::new(self.span(), format!("`{}` must be `true` or `false`", self.key))),
        }
    }

    /// Returns the value of `key = value`, of any kind.
    pub(crate) fn value(&self) -> syn::Result<&Expr> {
        match &self.raw_value {
            SettingValue::Value(value) => Ok(value),
            _ => Err(self.error(format!("write `{} = …`", self.key))),
        }
    }

    /// Returns the value, if it is a literal.
    pub(crate) fn literal(&self) -> Option<&Lit> {
        match &self.raw_value {
            SettingValue::Value(value) => literal(value),
            _ => None,
        }
    }

    pub(crate) fn error(&self, message: impl Into<String>) -> syn::Error {
        syn::Error::new(self.key.span(), message.into())
    }
}

/// Returns a literal, even if it came through a macro.
pub(crate) fn literal(value: &Expr) -> Option<&Lit> {
    match without_groups(value) {
        Expr::Lit(ExprLit { lit, .. }) => Some(lit),
        _ => None,
    }
}

/// Removes the invisible groups that `macro_rules!` puts around its arguments.
pub(crate) fn without_groups(mut value: &Expr) -> &Expr {
    while let Expr::Group(group) = value {
        value = &group.expr;
    }
    value
}
