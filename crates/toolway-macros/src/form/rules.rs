//! Does what was said about a field fit the field, and itself? All that can be seen without knowing types.

use proc_macro2::Span;
use syn::spanned::Spanned;

use super::field::{Field, Rule, RuleKind};
use super::shape::Shape;
use super::value::Written;

/// Finds every mistake about a field.
pub(super) fn check(field: &Field<'_>, shape: &Shape, mistakes: &mut Vec<syn::Error>) {
    let name = field.ident.to_string();
    let mut tell = |span: Span, message: String| mistakes.push(syn::Error::new(span, message));
    for rule in &field.said.rules {
        if !belongs(rule.kind, shape) {
            let (key, noun) = (&rule.key, shape.noun());
            tell(key.span(), format!("`{key}` is for {}, and `{name}` is {noun}", owners(rule.kind)));
        } else if let Some(expected) = misfit(rule.kind, &rule.written(), shape) {
            tell(rule.value.span(), format!("`{}` is {expected}", rule.key));
        }
    }
    for (least, most) in BOUNDS {
        let (Some(least), Some(most)) = (field.said.rule(least), field.said.rule(most)) else { continue };
        if bound(least).zip(bound(most)).is_some_and(|(least, most)| least > most) {
            tell(most.value.span(), format!("`{}` is less than `{}`", most.key, least.key));
        }
    }
    if let Shape::Several(inner) = shape
        && !matches!(**inner, Shape::Text | Shape::Other)
    {
        let message = "a list is chosen from a list: it is of an enum that derives `Form`, or of `String`";
        tell(field.ty.span(), message.to_owned());
    }
    match (&field.said.choices, shape) {
        (None, Shape::Several(inner)) if **inner == Shape::Text => tell(
            field.ty.span(),
            "a list of texts is chosen from a list: add `#[form(choices = [\"a\", \"b\"])]`".to_owned(),
        ),
        (None, _) | (Some(_), Shape::Other | Shape::Several(_)) => {}
        (Some((key, _)), Shape::Text) => {
            for rule in field.said.rules.iter().filter(|rule| belongs(rule.kind, &Shape::Text)) {
                let message = format!("`{}` says nothing beside `{key}`: only these can be chosen", rule.key);
                tell(rule.key.span(), message);
            }
        }
        (Some((key, _)), _) => {
            let message = format!("`{key}` is for texts and lists of them, and `{name}` is {}", shape.noun());
            tell(key.span(), message);
        }
    }
    if let Some(default) = &field.said.default
        && let Err(message) = check_default(&Written::of(default), field, shape)
    {
        tell(default.span(), message);
    }
}

fn belongs(rule: RuleKind, shape: &Shape) -> bool {
    match rule {
        RuleKind::Format | RuleKind::MinLength | RuleKind::MaxLength => {
            matches!(shape, Shape::Text | Shape::Other)
        }
        RuleKind::Minimum | RuleKind::Maximum => {
            matches!(shape, Shape::Whole(..) | Shape::Fraction | Shape::Other)
        }
        RuleKind::MinItems | RuleKind::MaxItems => matches!(shape, Shape::Several(_) | Shape::Other),
    }
}

fn owners(rule: RuleKind) -> &'static str {
    match rule {
        RuleKind::Format | RuleKind::MinLength | RuleKind::MaxLength => "texts",
        RuleKind::Minimum | RuleKind::Maximum => "numbers",
        RuleKind::MinItems | RuleKind::MaxItems => "lists",
    }
}

/// What should have been written instead.
fn misfit(rule: RuleKind, value: &Written, shape: &Shape) -> Option<String> {
    match (rule, value) {
        (_, Written::Unseen) => None,
        (RuleKind::Format, Written::Text(format)) if FORMATS.contains(&format.as_str()) => None,
        (RuleKind::Format, _) => Some(format!("one of \"{}\"", FORMATS.join("\", \""))),
        (RuleKind::Minimum | RuleKind::Maximum, value) => match (value, shape) {
            (Written::Whole(_) | Written::Fraction(_), Shape::Fraction | Shape::Other) => None,
            (value, shape) => not_whole(value, shape),
        },
        (_, Written::Whole(0..)) => None,
        _ => Some("a number that is not negative".to_owned()),
    }
}

/// What a whole number would be, for a value that is none of its type.
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
    let expect = |noun: &str| Err(format!("the default is {noun}, not {}", default.noun()));
    match (default, shape) {
        (Written::Unseen, _) | (_, Shape::Other) | (Written::Flag, Shape::Flag) => Ok(()),
        (Written::Text(text), Shape::Text) => {
            among_choices(text, field)?;
            within(text.chars().count(), field, [RuleKind::MinLength, RuleKind::MaxLength])
        }
        (Written::List(items), Shape::Several(inner)) => {
            for item in items {
                match (item, &**inner) {
                    (Written::Text(text), Shape::Text) => among_choices(text, field)?,
                    (Written::Text(_), Shape::Other) | (Written::Unseen, _) => {}
                    _ => {
                        return Err(format!("the default is a list of choices, and this is {}", item.noun()));
                    }
                }
            }
            within(items.len(), field, [RuleKind::MinItems, RuleKind::MaxItems])
        }
        (Written::Whole(_) | Written::Fraction(_), Shape::Fraction) => in_bounds(default, field),
        (_, Shape::Whole(..)) => match not_whole(default, shape) {
            Some(expected) => Err(format!("the default is {expected}")),
            None => in_bounds(default, field),
        },
        (_, Shape::Flag) => expect("`true` or `false`"),
        (_, shape) => expect(shape.noun()),
    }
}

fn among_choices(text: &str, field: &Field<'_>) -> Result<(), String> {
    match &field.said.choices {
        Some((_, choices)) if choices.iter().all(|(choice, _)| choice.value() != text) => {
            Err(format!("the default `{text}` is none of the choices"))
        }
        _ => Ok(()),
    }
}

fn within(count: usize, field: &Field<'_>, bounds: [RuleKind; 2]) -> Result<(), String> {
    #[expect(clippy::cast_precision_loss, reason = "nobody writes that many")]
    in_bounds_of(count as f64, field, bounds)
}

fn in_bounds(default: &Written, field: &Field<'_>) -> Result<(), String> {
    let bounds = [RuleKind::Minimum, RuleKind::Maximum];
    default.number().map_or(Ok(()), |number| in_bounds_of(number, field, bounds))
}

fn in_bounds_of(number: f64, field: &Field<'_>, [least, most]: [RuleKind; 2]) -> Result<(), String> {
    for (kind, is_least) in [(least, true), (most, false)] {
        let Some(rule) = field.said.rule(kind) else { continue };
        if bound(rule).is_some_and(|bound| if is_least { number < bound } else { number > bound }) {
            return Err(format!("the default breaks `{}`", rule.key));
        }
    }
    Ok(())
}

const BOUNDS: [(RuleKind, RuleKind); 3] = [
    (RuleKind::MinLength, RuleKind::MaxLength),
    (RuleKind::Minimum, RuleKind::Maximum),
    (RuleKind::MinItems, RuleKind::MaxItems),
];

/// What the protocol lets a text be.
const FORMATS: [&str; 4] = ["email", "uri", "date", "date-time"];
