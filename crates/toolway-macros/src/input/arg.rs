//! What does `#[arg(…)]` say about a parameter?

use proc_macro2::{Span, TokenStream, TokenTree};
use quote::{ToTokens, quote};
use syn::spanned::Spanned;
use syn::{Attribute, Expr, Lit, LitStr, Meta};

use super::{Keys, Kind, Setting, settings, without_groups};
use crate::meta;
use crate::outside::Outside;

/// What was said about a parameter besides its type.
pub(crate) struct Arg {
    /// Where it was said.
    pub(crate) span: Span,
    pub(crate) title: Option<LitStr>,
    pub(crate) description: Option<TokenStream>,
    /// An expression that makes JSON.
    pub(crate) default: Option<TokenStream>,
    /// Keywords of JSON Schema, and expressions that make JSON.
    pub(crate) rules: Vec<(&'static str, TokenStream)>,
    pub(crate) complete: Option<Expr>,
}

impl Arg {
    /// Takes `#[arg(…)]` out of the attributes of a parameter.
    pub(super) fn take(
        kind: Kind,
        attributes: &mut Vec<Attribute>,
        outside: &Outside,
        mistakes: &mut Vec<syn::Error>,
    ) -> Option<Self> {
        let mut all = TokenStream::new();
        let mut span = None;
        for attribute in attributes.extract_if(.., |attribute| attribute.path().is_ident("arg")) {
            span.get_or_insert(attribute.path().span());
            match attribute.meta {
                Meta::List(list) => {
                    all.extend(list.tokens);
                    all.extend([TokenTree::Punct(proc_macro2::Punct::new(',', proc_macro2::Spacing::Alone))]);
                }
                other => mistakes.push(syn::Error::new(other.span(), "write `#[arg(…)]`")),
            }
        }
        let mut arg = Self {
            span: span?,
            title: None,
            description: None,
            default: None,
            rules: Vec::new(),
            complete: None,
        };
        let keys = if kind == Kind::Tool { &TOOL } else { &TEXT };
        for setting in settings(without_last_comma_twice(all), keys, mistakes) {
            if let Err(mistake) = arg.set(&setting, outside) {
                mistakes.push(mistake);
            }
        }
        Some(arg)
    }

    fn set(&mut self, setting: &Setting, outside: &Outside) -> syn::Result<()> {
        let key = setting.key.to_string();
        match key.as_str() {
            "title" => self.title = Some(setting.text()?),
            "description" => self.description = Some(outside.write(setting.value()?)),
            "default" => self.default = Some(outside.write(meta::json(setting)?)),
            "complete" => self.complete = Some(setting.value()?.clone()),
            key => {
                let Some(rule) = RULES.iter().find(|rule| rule.key == key) else {
                    unreachable!("the keys were checked before")
                };
                let value = outside.write(rule.value(setting)?);
                self.rules.push((rule.keyword, value));
            }
        }
        Ok(())
    }
}

/// Several attributes are one list, and each may end in a comma of its own.
fn without_last_comma_twice(tokens: TokenStream) -> TokenStream {
    let is_comma = |tree: &TokenTree| matches!(tree, TokenTree::Punct(sign) if sign.as_char() == ',');
    let mut trees: Vec<TokenTree> = tokens.into_iter().collect();
    trees.dedup_by(|second, first| is_comma(first) && is_comma(second));
    trees.into_iter().collect()
}

/// A keyword of JSON Schema that can be written in `#[arg(…)]`.
struct Rule {
    key: &'static str,
    keyword: &'static str,
    shape: Shape,
}

/// What its value is, as far as can be told without knowing types.
#[derive(Clone, Copy)]
enum Shape {
    Text,
    Count,
    Number,
    Flag,
    List,
    Anything,
}

impl Rule {
    const fn new(key: &'static str, keyword: &'static str, shape: Shape) -> Self {
        Self { key, keyword, shape }
    }

    fn value(&self, setting: &Setting) -> syn::Result<TokenStream> {
        let json = |value: &dyn ToTokens| quote! { ::toolway::__private::json!(#value) };
        if let Shape::Flag = self.shape {
            return Ok(json(&setting.flag()?));
        }
        if let Shape::Anything = self.shape {
            let value = meta::json(setting)?;
            return Ok(json(&quote! { [#value] }));
        }
        let value = setting.value()?;
        let expected = match (self.shape, setting.literal(), without_groups(value)) {
            (Shape::Text, Some(Lit::Str(_)), _)
            | (Shape::Count, Some(Lit::Int(_)), _)
            | (Shape::Number, Some(Lit::Int(_) | Lit::Float(_)), _)
            | (Shape::List, _, Expr::Array(_)) => return Ok(json(value)),
            (Shape::Text, Some(_), _) => "a text",
            (Shape::Count, _, Expr::Unary(_)) | (Shape::Count, Some(_), _) => "a number that is not negative",
            (Shape::Number, Some(_), _) => "a number",
            (Shape::List, ..) => "a list: `[…]`",
            // The name of a constant, say.
            _ => return Ok(json(value)),
        };
        Err(syn::Error::new(setting.span(), format!("`{}` is {expected}", self.key)))
    }
}

const RULES: [Rule; 15] = [
    Rule::new("format", "format", Shape::Text),
    Rule::new("minimum", "minimum", Shape::Number),
    Rule::new("maximum", "maximum", Shape::Number),
    Rule::new("exclusive_minimum", "exclusiveMinimum", Shape::Number),
    Rule::new("exclusive_maximum", "exclusiveMaximum", Shape::Number),
    Rule::new("multiple_of", "multipleOf", Shape::Number),
    Rule::new("min_length", "minLength", Shape::Count),
    Rule::new("max_length", "maxLength", Shape::Count),
    Rule::new("pattern", "pattern", Shape::Text),
    Rule::new("min_items", "minItems", Shape::Count),
    Rule::new("max_items", "maxItems", Shape::Count),
    Rule::new("unique_items", "uniqueItems", Shape::Flag),
    Rule::new("enum", "enum", Shape::List),
    Rule::new("example", "examples", Shape::Anything),
    Rule::new("header", "x-mcp-header", Shape::Text),
];

const TOOL: Keys = Keys {
    owner: "`#[arg]`",
    noun: "key",
    known: &[
        "title",
        "description",
        "default",
        "format",
        "minimum",
        "maximum",
        "exclusive_minimum",
        "exclusive_maximum",
        "multiple_of",
        "min_length",
        "max_length",
        "pattern",
        "min_items",
        "max_items",
        "unique_items",
        "enum",
        "example",
        "header",
    ],
    refused: |key| {
        (key == "complete")
            .then(|| "completions exist for prompts and resource templates, not for tools".to_owned())
    },
    first: None,
};

const TEXT: Keys = Keys {
    owner: "`#[arg]`",
    noun: "key",
    known: &["title", "description", "default", "complete"],
    refused: |key| {
        RULES
            .iter()
            .any(|rule| rule.key == key)
            .then(|| format!("`{key}` belongs to a schema, and only the arguments of tools have one"))
    },
    first: None,
};
