//! Which numbers, texts and lists are in an attribute, and which code turns them into JSON?

use proc_macro2::{Literal, Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Expr, Lit, LitStr, UnOp};

use crate::attribute::{Setting, literal, without_groups};

/// A value in an attribute, as far as the macro can read it.
#[derive(Debug, Clone)]
pub(super) enum AttributeValue {
    Text(String),
    Flag,
    Integer(i128),
    Float(f64),
    List(Vec<AttributeValue>),
    /// A constant, a variant or a call: only rustc knows the value.
    Unknown,
}

impl AttributeValue {
    pub(super) fn of(value: &Expr) -> Self {
        match without_groups(value) {
            Expr::Array(list) => Self::List(list.elems.iter().map(Self::of).collect()),
            Expr::Unary(unary) if matches!(unary.op, UnOp::Neg(_)) => match Self::of(&unary.expr) {
                Self::Integer(number) => Self::Integer(-number),
                Self::Float(number) => Self::Float(-number),
                _ => Self::Unknown,
            },
            other => match literal(other) {
                Some(Lit::Str(text)) => Self::Text(text.value()),
                Some(Lit::Bool(_)) => Self::Flag,
                Some(Lit::Int(number)) => number.base10_parse().map_or(Self::Unknown, Self::Integer),
                Some(Lit::Float(number)) => number.base10_parse().map_or(Self::Unknown, Self::Float),
                _ => Self::Unknown,
            },
        }
    }

    pub(super) fn number(&self) -> Option<f64> {
        match self {
            #[expect(clippy::cast_precision_loss, reason = "to compare bounds that people write")]
            Self::Integer(number) => Some(*number as f64),
            Self::Float(number) => Some(*number),
            _ => None,
        }
    }

    pub(super) fn noun(&self) -> &'static str {
        match self {
            Self::Text(_) => "a string",
            Self::Flag => "`true` or `false`",
            Self::Integer(_) | Self::Float(_) => "a number",
            Self::List(_) => "a list",
            Self::Unknown => "something else",
        }
    }
}

/// Returns an expression that turns a value into JSON.
pub(super) fn json(value: &Expr) -> TokenStream {
    let plain = without_groups(value);
    if let Expr::Array(list) = plain {
        let items = list.elems.iter().map(json);
        return quote! { ::toolway::__private::serde_json::Value::Array(::std::vec![#(#items),*]) };
    }
    let number = match AttributeValue::of(plain) {
        // Without a type, a large literal would be an `i32` that overflows.
        AttributeValue::Integer(number) => integer_json(number, plain.span()),
        _ => None,
    };
    let value = number.unwrap_or_else(|| quote! { #value });
    quote_spanned! { plain.span()=> ::toolway::__private::serde_json::Value::from(#value) }
}

fn integer_json(number: i128, span: Span) -> Option<TokenStream> {
    let mut literal = match (i64::try_from(number), u64::try_from(number)) {
        (Ok(number), _) => Literal::i64_suffixed(number),
        (_, Ok(number)) => Literal::u64_suffixed(number),
        _ => return None,
    };
    literal.set_span(span);
    Some(quote! { #literal })
}

/// The value that is sent for a choice, and its display name.
pub(super) type Choice = (LitStr, Option<LitStr>);

/// Reads `choices = ["a", "b"]` or `choices = [("a", "A"), ("b", "B")]`.
pub(super) fn choices(setting: &Setting) -> syn::Result<Vec<Choice>> {
    let wrong = |span| {
        syn::Error::new(
            span,
            "write `choices = [\"a\", \"b\"]` or `choices = [(\"a\", \"Title A\"), (\"b\", \"Title B\")]`",
        )
    };
    let text = |value: &Expr| match literal(value) {
        Some(Lit::Str(text)) => Ok(text.clone()),
        _ => Err(wrong(value.span())),
    };
    let Expr::Array(list) = without_groups(setting.value()?) else { return Err(wrong(setting.span())) };
    if list.elems.is_empty() {
        return Err(syn::Error::new(setting.span(), "`choices` must not be empty"));
    }
    let mut found: Vec<Choice> = Vec::new();
    for value in &list.elems {
        let choice = match without_groups(value) {
            Expr::Tuple(pair) if pair.elems.len() == 2 => {
                (text(&pair.elems[0])?, Some(text(&pair.elems[1])?))
            }
            other => (text(other)?, None),
        };
        if found.iter().any(|other| other.0.value() == choice.0.value()) {
            let message = format!("the choice `{}` is given twice", choice.0.value());
            return Err(syn::Error::new(choice.0.span(), message));
        }
        found.push(choice);
    }
    Ok(found)
}
