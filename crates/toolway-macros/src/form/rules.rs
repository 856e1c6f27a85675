//! Do the rules of a field fit the field and each other? This file reports the mistakes that can be seen without type
//! information.

use syn::spanned::Spanned;

use super::field::{Field, Rule};
use super::shape::{Group, Shape};
use super::value::Written;
use crate::attribute::Mistakes;

/// Reports every mistake about a field.
pub(super) fn check(field: &Field<'_>, shape: &Shape, mistakes: &mut Mistakes) {
    let name = field.ident.to_string();
    for rule in &field.said.rules {
        if !rule.group.has(shape) {
            let (key, owners, noun) = (&rule.key, rule.group.name(), shape.noun());
            mistakes.tell(key.span(), format!("`{key}` is for {owners}, but `{name}` is {noun}"));
        } else if let Some(expected) = misfit(rule, &rule.written(), shape) {
            mistakes.tell(rule.value.span(), format!("`{}` must be {expected}", rule.key));
        }
    }
    for [least, most] in [LENGTHS, NUMBERS, ITEMS] {
        let (Some(least), Some(most)) = (field.said.rule(least), field.said.rule(most)) else { continue };
        if bound(least).zip(bound(most)).is_some_and(|(least, most)| least > most) {
            mistakes.tell(most.value.span(), format!("`{}` is less than `{}`", most.key, least.key));
        }
    }
    if let Shape::Several(inner) = shape
        && !matches!(**inner, Shape::Text | Shape::Other)
    {
        let message = "the items of a list must be an enum that derives `Form`, or a `String` with `choices`";
        mistakes.tell(field.ty.span(), message);
    }
    match (&field.said.choices, shape) {
        (None, Shape::Several(inner)) if **inner == Shape::Text => mistakes.tell(
            field.ty.span(),
            "a list of strings needs choices: add `#[form(choices = [\"a\", \"b\"])]`",
        ),
        (None, _) | (Some(_), Shape::Other | Shape::Several(_)) => {}
        (Some((key, _)), Shape::Text) => {
            for rule in field.said.rules.iter().filter(|rule| rule.group.has(&Shape::Text)) {
                let message =
                    format!("`{}` has no effect beside `{key}`: only the choices can be selected", rule.key);
                mistakes.tell(rule.key.span(), message);
            }
        }
        (Some((key, _)), _) => {
            let message =
                format!("`{key}` is for strings and lists of strings, but `{name}` is {}", shape.noun());
            mistakes.tell(key.span(), message);
        }
    }
    if let Some(default) = &field.said.default
        && let Err(message) = check_default(&Written::of(default), field, shape)
    {
        mistakes.tell(default.span(), message);
    }
}

/// Describes the expected value, or returns `None` if the value fits.
fn misfit(rule: &Rule, value: &Written, shape: &Shape) -> Option<String> {
    match (rule.group, value) {
        (_, Written::Unseen) => None,
        (_, value) if rule.member == "format" => match value {
            Written::Text(format) if FORMATS.contains(&format.as_str()) => None,
            _ => Some(format!("one of \"{}\"", FORMATS.join("\", \""))),
        },
        (Group::Numbers, value) => match (value, shape) {
            (Written::Whole(_) | Written::Fraction(_), Shape::Fraction | Shape::Other) => None,
            (value, shape) => not_whole(value, shape),
        },
        (_, Written::Whole(0..)) => None,
        _ => Some("a number that is not negative".to_owned()),
    }
}

/// Returns the expected integer, if the value does not fit the integer type.
fn not_whole(value: &Written, shape: &Shape) -> Option<String> {
    match (value, shape) {
        (Written::Whole(number), Shape::Whole(_, range)) if range.contains(number) => None,
        (_, Shape::Whole(name, range)) => {
            let (least, most) = (range.start(), range.end());
            Some(format!("a whole number that fits `{name}`: from {least} to {most}"))
        }
        _ => Some("a number".to_owned()),
    }
}

fn bound(rule: &Rule) -> Option<f64> {
    rule.written().number()
}

fn check_default(default: &Written, field: &Field<'_>, shape: &Shape) -> Result<(), String> {
    let expect = |noun: &str| Err(format!("the default must be {noun}, not {}", default.noun()));
    match (default, shape) {
        (Written::Unseen, _) | (_, Shape::Other) | (Written::Flag, Shape::Flag) => Ok(()),
        (Written::Text(text), Shape::Text) => {
            among_choices(text, field)?;
            count_in_bounds(text.chars().count(), field, LENGTHS)
        }
        (Written::List(items), Shape::Several(inner)) => {
            for item in items {
                match (item, &**inner) {
                    (Written::Text(text), Shape::Text) => among_choices(text, field)?,
                    (Written::Text(_), Shape::Other) | (Written::Unseen, _) => {}
                    _ => {
                        return Err(format!(
                            "the default must be a list of choices, but this item is {}",
                            item.noun()
                        ));
                    }
                }
            }
            count_in_bounds(items.len(), field, ITEMS)
        }
        (Written::Whole(_) | Written::Fraction(_), Shape::Fraction) => {
            in_bounds(default.number(), field, NUMBERS)
        }
        (_, Shape::Whole(..)) => match not_whole(default, shape) {
            Some(expected) => Err(format!("the default must be {expected}")),
            None => in_bounds(default.number(), field, NUMBERS),
        },
        (_, Shape::Flag) => expect("`true` or `false`"),
        (_, shape) => expect(shape.noun()),
    }
}

fn among_choices(text: &str, field: &Field<'_>) -> Result<(), String> {
    match &field.said.choices {
        Some((_, choices)) if choices.iter().all(|(choice, _)| choice.value() != text) => {
            Err(format!("the default `{text}` is not one of the choices"))
        }
        _ => Ok(()),
    }
}

fn count_in_bounds(count: usize, field: &Field<'_>, bounds: [&str; 2]) -> Result<(), String> {
    #[expect(clippy::cast_precision_loss, reason = "no default is that long")]
    in_bounds(Some(count as f64), field, bounds)
}

fn in_bounds(number: Option<f64>, field: &Field<'_>, [least, most]: [&str; 2]) -> Result<(), String> {
    let breaks = |rule: &&Rule, wrong: fn(&f64, &f64) -> bool| {
        number.zip(bound(rule)).is_some_and(|(number, bound)| wrong(&number, &bound))
    };
    let low = field.said.rule(least).filter(|rule| breaks(rule, f64::lt));
    match low.or_else(|| field.said.rule(most).filter(|rule| breaks(rule, f64::gt))) {
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
