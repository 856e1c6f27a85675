//! Do the rules of a field fit the field and each other? This file reports the mistakes that can be seen without type
//! information.

use syn::spanned::Spanned;

use super::field::{Field, Rule};
use super::shape::{Group, Shape};
use super::value::AttributeValue;
use crate::attribute::Mistakes;

/// Reports every mistake about a field.
pub(super) fn check(field: &Field<'_>, shape: &Shape, mistakes: &mut Mistakes) {
    let name = field.ident.to_string();
    for rule in &field.settings.rules {
        if !rule.group.includes(shape) {
            let (key, owners, noun) = (&rule.key, rule.group.name(), shape.noun());
            mistakes.report(key.span(), format!("`{key}` is for {owners}, but `{name}` is {noun}"));
        } else if let Some(expected) = misfit(rule, &rule.attribute_value(), shape) {
            mistakes.report(rule.value.span(), format!("`{}` must be {expected}", rule.key));
        }
    }
    for [least, most] in [LENGTHS, NUMBERS, ITEMS] {
        let (Some(least), Some(most)) = (field.settings.rule(least), field.settings.rule(most)) else {
            continue;
        };
        if bound(least).zip(bound(most)).is_some_and(|(least, most)| least > most) {
            mistakes.report(most.value.span(), format!("`{}` is less than `{}`", most.key, least.key));
        }
    }
    if let Shape::List(inner) = shape
        && !matches!(**inner, Shape::Text | Shape::Unknown)
    {
        let message = "the items of a list must be an enum that derives `Form`, or a `String` with `choices`";
        mistakes.report(field.ty.span(), message);
    }
    match (&field.settings.choices, shape) {
        (None, Shape::List(inner)) if **inner == Shape::Text => mistakes.report(
            field.ty.span(),
            "a list of strings needs choices: add `#[form(choices = [\"a\", \"b\"])]`",
        ),
        (None, _) | (Some(_), Shape::Unknown | Shape::List(_)) => {}
        (Some((key, _)), Shape::Text) => {
            for rule in field.settings.rules.iter().filter(|rule| rule.group.includes(&Shape::Text)) {
                let message =
                    format!("`{}` has no effect beside `{key}`: only the choices can be selected", rule.key);
                mistakes.report(rule.key.span(), message);
            }
        }
        (Some((key, _)), _) => {
            let message =
                format!("`{key}` is for strings and lists of strings, but `{name}` is {}", shape.noun());
            mistakes.report(key.span(), message);
        }
    }
    if let Some(default) = &field.settings.default
        && let Err(message) = check_default(&AttributeValue::of(default), field, shape)
    {
        mistakes.report(default.span(), message);
    }
}

/// Describes the expected value, or returns `None` if the value fits.
fn misfit(rule: &Rule, value: &AttributeValue, shape: &Shape) -> Option<String> {
    match (rule.group, value) {
        (_, AttributeValue::Unknown) => None,
        (_, value) if rule.member == "format" => match value {
            AttributeValue::Text(format) if FORMATS.contains(&format.as_str()) => None,
            _ => Some(format!("one of \"{}\"", FORMATS.join("\", \""))),
        },
        (Group::Numbers, value) => match (value, shape) {
            (AttributeValue::Integer(_) | AttributeValue::Float(_), Shape::Float | Shape::Unknown) => None,
            (value, shape) => integer_misfit(value, shape),
        },
        (_, AttributeValue::Integer(0..)) => None,
        _ => Some("a number that is not negative".to_owned()),
    }
}

/// Returns the expected integer, if the value does not fit the integer type.
fn integer_misfit(value: &AttributeValue, shape: &Shape) -> Option<String> {
    match (value, shape) {
        (AttributeValue::Integer(number), Shape::Integer(_, range)) if range.contains(number) => None,
        (_, Shape::Integer(name, range)) => {
            let (least, most) = (range.start(), range.end());
            Some(format!("a whole number that fits `{name}`: from {least} to {most}"))
        }
        _ => Some("a number".to_owned()),
    }
}

fn bound(rule: &Rule) -> Option<f64> {
    rule.attribute_value().number()
}

fn check_default(default: &AttributeValue, field: &Field<'_>, shape: &Shape) -> Result<(), String> {
    let expect = |noun: &str| Err(format!("the default must be {noun}, not {}", default.noun()));
    match (default, shape) {
        (AttributeValue::Unknown, _) | (_, Shape::Unknown) | (AttributeValue::Flag, Shape::Flag) => Ok(()),
        (AttributeValue::Text(text), Shape::Text) => {
            check_among_choices(text, field)?;
            check_count(text.chars().count(), field, LENGTHS)
        }
        (AttributeValue::List(items), Shape::List(inner)) => {
            for item in items {
                match (item, &**inner) {
                    (AttributeValue::Text(text), Shape::Text) => check_among_choices(text, field)?,
                    (AttributeValue::Text(_), Shape::Unknown) | (AttributeValue::Unknown, _) => {}
                    _ => {
                        return Err(format!(
                            "the default must be a list of choices, but this item is {}",
                            item.noun()
                        ));
                    }
                }
            }
            check_count(items.len(), field, ITEMS)
        }
        (AttributeValue::Integer(_) | AttributeValue::Float(_), Shape::Float) => {
            check_bounds(default.number(), field, NUMBERS)
        }
        (_, Shape::Integer(..)) => match integer_misfit(default, shape) {
            Some(expected) => Err(format!("the default must be {expected}")),
            None => check_bounds(default.number(), field, NUMBERS),
        },
        (_, Shape::Flag) => expect("`true` or `false`"),
        (_, shape) => expect(shape.noun()),
    }
}

fn check_among_choices(text: &str, field: &Field<'_>) -> Result<(), String> {
    match &field.settings.choices {
        Some((_, choices)) if choices.iter().all(|(choice, _)| choice.value() != text) => {
            Err(format!("the default `{text}` is not one of the choices"))
        }
        _ => Ok(()),
    }
}

fn check_count(count: usize, field: &Field<'_>, bounds: [&str; 2]) -> Result<(), String> {
    #[expect(clippy::cast_precision_loss, reason = "no default is that long")]
    check_bounds(Some(count as f64), field, bounds)
}

fn check_bounds(number: Option<f64>, field: &Field<'_>, [least, most]: [&str; 2]) -> Result<(), String> {
    let breaks = |rule: &&Rule, wrong: fn(&f64, &f64) -> bool| {
        number.zip(bound(rule)).is_some_and(|(number, bound)| wrong(&number, &bound))
    };
    let low = field.settings.rule(least).filter(|rule| breaks(rule, f64::lt));
    match low.or_else(|| field.settings.rule(most).filter(|rule| breaks(rule, f64::gt))) {
        Some(rule) => Err(format!("the default violates `{}`", rule.key)),
        None => Ok(()),
    }
}

/// The pairs of members that are a minimum and a maximum.
const LENGTHS: [&str; 2] = ["min_length", "max_length"];
const NUMBERS: [&str; 2] = ["minimum", "maximum"];
const ITEMS: [&str; 2] = ["min_items", "max_items"];

/// The text formats of the protocol.
const FORMATS: [&str; 4] = ["email", "uri", "date", "date-time"];
