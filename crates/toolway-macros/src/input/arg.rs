//! What does `#[arg(…)]` say about a parameter?

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, quote};
use syn::spanned::Spanned;
use syn::{Attribute, Expr, Lit, LitStr, Type};

use super::shape::Shape;
use super::{Kind, type_argument};
use crate::attribute::{
    AttributeKeys, Mistakes, ScopeRewriter, Setting, SettingValue, parse_attributes, values, without_groups,
};

/// The properties of a parameter besides its type.
pub(crate) struct Arg {
    /// The position of the attribute.
    pub(crate) span: Span,
    pub(crate) title: Option<LitStr>,
    pub(crate) description: Option<TokenStream>,
    /// An expression that creates JSON.
    pub(crate) default: Option<TokenStream>,
    pub(crate) rules: Vec<KeywordSetting>,
    pub(crate) complete: Option<Expr>,
}

/// A JSON Schema keyword in the attribute.
pub(crate) struct KeywordSetting {
    pub(crate) rule: &'static Rule,
    /// An expression that creates JSON.
    pub(crate) value: TokenStream,
    /// The text, if the value is a string literal.
    pub(crate) text: Option<String>,
    pub(crate) span: Span,
}

/// The kind of values that a keyword applies to.
#[derive(Clone, Copy)]
pub(super) enum Group {
    Numbers,
    Texts,
    Lists,
    Format,
    Anything,
}

impl Arg {
    /// Removes `#[arg(…)]` from the attributes of a parameter and reads it.
    pub(super) fn take(
        kind: Kind,
        attributes: &mut Vec<Attribute>,
        ty: &Type,
        outside: &ScopeRewriter,
        mistakes: &mut Mistakes,
    ) -> Option<Self> {
        let ours: Vec<Attribute> =
            attributes.extract_if(.., |attribute| attribute.path().is_ident("arg")).collect();
        let mut arg = Self {
            span: ours.first()?.path().span(),
            title: None,
            description: None,
            default: None,
            rules: Vec::new(),
            complete: None,
        };
        let mut known = KEYS.to_vec();
        let refused = if kind == Kind::Tool {
            known.extend(RULES.iter().map(|rule| rule.key));
            tool_key_hint
        } else {
            known.push("complete");
            text_key_hint
        };
        let keys = AttributeKeys { hint: refused, ..AttributeKeys::new("`#[arg]`", "key", &known) };
        for setting in parse_attributes("arg", &ours, &keys, mistakes) {
            mistakes.ok_or_report(arg.set(&setting, ty, outside));
        }
        Some(arg)
    }

    fn set(&mut self, setting: &Setting, ty: &Type, outside: &ScopeRewriter) -> syn::Result<()> {
        let key = setting.key.to_string();
        match key.as_str() {
            "title" => self.title = Some(setting.text()?),
            "description" => self.description = Some(outside.rewrite(setting.value()?)),
            "default" => {
                check_default(setting, ty)?;
                self.default = Some(outside.rewrite(values::json(setting)?));
            }
            "complete" => self.complete = Some(setting.value()?.clone()),
            key => {
                let Some(rule) = RULES.iter().find(|rule| rule.key == key) else {
                    unreachable!("the keys were checked before")
                };
                let value = outside.rewrite(rule.value(setting)?);
                let text = setting.text().ok().map(|text| text.value());
                self.rules.push(KeywordSetting { rule, value, text, span: setting.key.span() });
            }
        }
        Ok(())
    }
}

/// Checks that a default has a value, and that the value is not `None`.
fn check_default(setting: &Setting, ty: &Type) -> syn::Result<()> {
    let is_option = type_argument(ty, &["Option"]).is_some();
    match &setting.raw_value {
        SettingValue::Value(value) if is_none(value) => {}
        SettingValue::None if is_option => {}
        SettingValue::None => {
            return Err(
                setting.error(format!("a default needs a value: `default = {}`", Shape::of(ty).example()))
            );
        }
        _ => return Ok(()),
    }
    Err(setting.error("an `Option` needs no default: it is `None` when nothing is sent"))
}

fn is_none(value: &Expr) -> bool {
    matches!(without_groups(value), Expr::Path(path) if path.path.segments.last().is_some_and(|last| last.ident == "None"))
}

/// A JSON Schema keyword that can be written in `#[arg(…)]`.
pub(crate) struct Rule {
    pub(crate) key: &'static str,
    pub(crate) keyword: &'static str,
    value_kind: ValueKind,
    pub(super) group: Group,
}

/// The kind of value that a keyword has, as far as the macro can see without type information.
#[derive(Clone, Copy)]
enum ValueKind {
    Text,
    Count,
    Number,
    Flag,
    List,
    Anything,
}

impl Rule {
    const fn new(key: &'static str, keyword: &'static str, form: ValueKind, group: Group) -> Self {
        Self { key, keyword, value_kind: form, group }
    }

    fn value(&self, setting: &Setting) -> syn::Result<TokenStream> {
        let json = |value: &dyn ToTokens| quote! { ::toolway::__private::json!(#value) };
        if let ValueKind::Flag = self.value_kind {
            return Ok(json(&setting.flag()?));
        }
        if let ValueKind::Anything = self.value_kind {
            let value = values::json(setting)?;
            return Ok(json(&quote! { [#value] }));
        }
        let value = setting.value()?;
        let expected = match (self.value_kind, setting.literal(), without_groups(value)) {
            (ValueKind::Text, Some(Lit::Str(_)), _)
            | (ValueKind::Count, Some(Lit::Int(_)), _)
            | (ValueKind::Number, Some(Lit::Int(_) | Lit::Float(_)), _)
            | (ValueKind::List, _, Expr::Array(_)) => return Ok(json(value)),
            (ValueKind::Text, Some(_), _) => "a string",
            (ValueKind::Count, _, Expr::Unary(_)) | (ValueKind::Count, Some(_), _) => {
                "a number that is not negative"
            }
            (ValueKind::Number, Some(_), _) => "a number",
            (ValueKind::List, ..) => "a list: `[…]`",
            // Any other expression, for example the name of a constant.
            _ => return Ok(json(value)),
        };
        Err(syn::Error::new(setting.span(), format!("`{}` must be {expected}", self.key)))
    }
}

static RULES: [Rule; 15] = [
    Rule::new("format", "format", ValueKind::Text, Group::Format),
    Rule::new("minimum", "minimum", ValueKind::Number, Group::Numbers),
    Rule::new("maximum", "maximum", ValueKind::Number, Group::Numbers),
    Rule::new("exclusive_minimum", "exclusiveMinimum", ValueKind::Number, Group::Numbers),
    Rule::new("exclusive_maximum", "exclusiveMaximum", ValueKind::Number, Group::Numbers),
    Rule::new("multiple_of", "multipleOf", ValueKind::Number, Group::Numbers),
    Rule::new("min_length", "minLength", ValueKind::Count, Group::Texts),
    Rule::new("max_length", "maxLength", ValueKind::Count, Group::Texts),
    Rule::new("pattern", "pattern", ValueKind::Text, Group::Texts),
    Rule::new("min_items", "minItems", ValueKind::Count, Group::Lists),
    Rule::new("max_items", "maxItems", ValueKind::Count, Group::Lists),
    Rule::new("unique_items", "uniqueItems", ValueKind::Flag, Group::Lists),
    Rule::new("enum", "enum", ValueKind::List, Group::Anything),
    Rule::new("example", "examples", ValueKind::Anything, Group::Anything),
    Rule::new("header", "x-mcp-header", ValueKind::Text, Group::Anything),
];

/// The keys for the parameters of every kind of element.
const KEYS: [&str; 3] = ["title", "description", "default"];

fn tool_key_hint(key: &str) -> Option<String> {
    (key == "complete")
        .then(|| "completions exist for prompts and resource templates, not for tools".to_owned())
}

fn text_key_hint(key: &str) -> Option<String> {
    RULES
        .iter()
        .any(|rule| rule.key == key)
        .then(|| format!("`{key}` is part of a schema, and only the arguments of tools have a schema"))
}
