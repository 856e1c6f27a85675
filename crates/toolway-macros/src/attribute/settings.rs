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
    pub(crate) given: Given,
}

/// The value of a key.
pub(crate) enum Given {
    /// `key`
    Nothing,
    /// `key = {…}`
    Braces(TokenStream),
    /// `key = value`
    Value(Expr),
    /// `key(…)`
    List(TokenStream),
}

/// The keys of an attribute.
pub(crate) struct Keys<'k> {
    /// The attribute's name, and a noun for its keys, for error messages.
    pub(crate) owner: &'static str,
    pub(crate) noun: &'static str,
    pub(crate) known: &'k [&'static str],
    /// Returns a message for keys that deserve a better answer than "unknown".
    pub(crate) refused: fn(&str) -> Option<String>,
    /// The key of a text that may be written first and without a key.
    pub(crate) first: Option<&'static str>,
}

/// Reads settings. A mistake in one setting does not hide mistakes in other settings.
pub(crate) fn settings(tokens: TokenStream, keys: &Keys<'_>, mistakes: &mut Mistakes) -> Vec<Setting> {
    let mut found = Vec::new();
    read(tokens, keys, &mut found, mistakes);
    found
}

/// Reads the settings of all attributes with one name, as if they were one attribute.
pub(crate) fn settings_of(
    name: &str,
    attributes: &[Attribute],
    keys: &Keys<'_>,
    mistakes: &mut Mistakes,
) -> Vec<Setting> {
    let mut found = Vec::new();
    for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident(name)) {
        match &attribute.meta {
            Meta::List(list) => read(list.tokens.clone(), keys, &mut found, mistakes),
            other => mistakes.tell(other.span(), format!("write `#[{name}(…)]`")),
        }
    }
    found
}

fn read(tokens: TokenStream, keys: &Keys<'_>, found: &mut Vec<Setting>, mistakes: &mut Mistakes) {
    let read_all = |input: ParseStream<'_>| {
        while !input.is_empty() {
            let setting = match keys.first {
                Some(first) if found.is_empty() && input.peek(LitStr) => first_text(input, first),
                _ => setting(input),
            };
            let setting = setting.and_then(|setting| {
                let is_at_end = input.is_empty() || input.peek(Token![,]);
                if is_at_end { keys.check(setting, found) } else { Err(input.error("expected `,`")) }
            });
            found.extend(mistakes.keep(setting));
            skip_to_next(input)?;
        }
        Ok(())
    };
    let outcome = read_all.parse2(tokens);
    mistakes.keep(outcome);
}

fn first_text(input: ParseStream<'_>, key: &str) -> syn::Result<Setting> {
    let value: Expr = input.parse()?;
    Ok(Setting { key: Ident::new(key, value.span()), given: Given::Value(value) })
}

fn setting(input: ParseStream<'_>) -> syn::Result<Setting> {
    let key = input.call(Ident::parse_any)?;
    let given = if input.peek(token::Paren) {
        let list;
        parenthesized!(list in input);
        Given::List(list.parse()?)
    } else if input.parse::<Option<Token![=]>>()?.is_none() {
        Given::Nothing
    } else if input.peek(token::Brace) {
        Given::Braces(input.parse::<TokenTree>()?.into())
    } else {
        Given::Value(input.parse()?)
    };
    Ok(Setting { key, given })
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

impl<'k> Keys<'k> {
    /// Creates a set of keys without special cases.
    pub(crate) const fn new(owner: &'static str, noun: &'static str, known: &'k [&'static str]) -> Self {
        Self { owner, noun, known, refused: |_| None, first: None }
    }

    fn check(&self, setting: Setting, found: &[Setting]) -> syn::Result<Setting> {
        let name = setting.key.to_string();
        if let Some(message) = (self.refused)(&name) {
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
        match &self.given {
            Given::Nothing => self.key.span(),
            Given::Braces(tokens) | Given::List(tokens) => tokens.span(),
            Given::Value(value) => value.span(),
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
        match (&self.given, self.literal()) {
            (Given::Nothing, _) => Ok(true),
            (_, Some(Lit::Bool(LitBool { value, .. }))) => Ok(*value),
            _ => Err(syn::Error::new(self.span(), format!("`{}` must be `true` or `false`", self.key))),
        }
    }

    /// Returns the value of `key = value`, of any kind.
    pub(crate) fn value(&self) -> syn::Result<&Expr> {
        match &self.given {
            Given::Value(value) => Ok(value),
            _ => Err(self.error(format!("write `{} = …`", self.key))),
        }
    }

    /// Returns the value, if it is a literal.
    pub(crate) fn literal(&self) -> Option<&Lit> {
        match &self.given {
            Given::Value(value) => literal(value),
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
