//! How are values expanded into a URI (RFC 6570, section 3)?

use super::parts::{Expression, Modifier, Operator, Part};
use super::percent::{AllowedCharacters, decode_triplet, push_encoded};
use super::values::{Value, Values};

pub(super) fn expand(parts: &[Part], values: &Values) -> String {
    let mut out = String::new();
    for part in parts {
        match part {
            Part::Literal(literal) => push_encoded(&mut out, literal, AllowedCharacters::Reserved),
            Part::Expression(expression) => expand_expression(&mut out, expression, values),
        }
    }
    out
}

fn expand_expression(out: &mut String, expression: &Expression, values: &Values) {
    let operator = expression.operator;
    let keep = operator.allowed_characters();
    let mut lead = Some(operator.leading_sign());
    for variable in &expression.variables {
        let mut push = |value: &str| {
            match lead.take() {
                Some(lead) => out.push_str(lead),
                None => out.push(operator.separator()),
            }
            push_pair(out, operator, &variable.name, value);
        };
        match values.get(&variable.name) {
            None => {}
            Some(Value::Text(text)) => push(&encode([first_characters(text, variable.modifier, keep)], keep)),
            Some(Value::List(items)) if items.is_empty() => {}
            Some(Value::List(items)) if variable.modifier == Modifier::Explode => {
                for item in items {
                    push(&encode([item.as_str()], keep));
                }
            }
            // A prefix does not apply to lists (RFC 6570, section 2.4.1); lists are written in full.
            Some(Value::List(items)) => push(&encode(items.iter().map(String::as_str), keep)),
        }
    }
}

fn encode<'a>(items: impl IntoIterator<Item = &'a str>, keep: AllowedCharacters) -> String {
    let mut out = String::new();
    for (index, item) in items.into_iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        push_encoded(&mut out, item, keep);
    }
    out
}

/// Appends the value, with its name if the operator requires one. An empty path parameter has no `=`.
fn push_pair(out: &mut String, operator: Operator, name: &str, value: &str) {
    if operator.is_named() {
        out.push_str(name);
        if operator != Operator::Parameter || !value.is_empty() {
            out.push('=');
        }
    }
    out.push_str(value);
}

/// Returns the part of a value that a prefix modifier selects. If the operator keeps `%XX` triplets, a triplet is not
/// split, and the triplets of one encoded character count as one character (RFC 6570, section 3.2.1).
fn first_characters(text: &str, modifier: Modifier, keep: AllowedCharacters) -> &str {
    let Modifier::Prefix(length) = modifier else { return text };
    let mut count = 0;
    let mut triplet_end = 0;
    for (at, _) in text.char_indices() {
        if at < triplet_end {
            continue;
        }
        let encoded =
            if keep == AllowedCharacters::Reserved { decode_triplet(text.as_bytes(), at) } else { None };
        if encoded.is_some() {
            triplet_end = at + 3;
        }
        let continues_a_character = encoded.is_some_and(|byte| byte & 0xC0 == 0x80);
        if !continues_a_character {
            count += 1;
        }
        if count > length {
            return &text[..at];
        }
    }
    text
}
