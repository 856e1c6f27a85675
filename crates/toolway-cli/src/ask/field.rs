//! Which value does a line mean, and does it fit the field?

use serde_json::{Number, Value};
use toolway::types::{Choice, Field, FieldKind};
use toolway_schema::Format;

use super::line::yes_or_no;
use crate::closest::did_you_mean;

/// Returns the choices of a field, with display names.
pub(crate) fn choices(field: &Field) -> Vec<Choice> {
    let named = field.one_of.as_ref().or_else(|| field.items.as_ref()?.any_of.as_ref());
    if let Some(named) = named {
        return named.clone();
    }
    let plain = field.choices.as_ref().or_else(|| field.items.as_ref()?.choices.as_ref());
    let titles = field.choice_names.as_deref().unwrap_or_default();
    let each = plain.into_iter().flatten().enumerate();
    each.map(|(index, value)| Choice::new(value.clone(), titles.get(index).unwrap_or(value).clone()))
        .collect()
}

/// Describes the expected value in a few words.
pub(crate) fn expected(field: &Field) -> String {
    if !choices(field).is_empty() {
        return match field.kind {
            FieldKind::Array => "some of these, separated by commas".to_owned(),
            _ => "one of these".to_owned(),
        };
    }
    match field.kind {
        FieldKind::Boolean => "y/n".to_owned(),
        FieldKind::Integer => format!("whole number{}", range(field)),
        FieldKind::Number => format!("number{}", range(field)),
        FieldKind::Array => "separated by commas".to_owned(),
        _ => match field.format.as_deref() {
            Some("email") => "email address".to_owned(),
            Some("uri") => "URI, such as https://example.com".to_owned(),
            Some("date") => "date, such as 2027-03-14".to_owned(),
            Some("date-time") => "date and time, such as 2027-03-14T09:30:00Z".to_owned(),
            _ => "text".to_owned(),
        },
    }
}

fn range(field: &Field) -> String {
    match (&field.minimum, &field.maximum) {
        (Some(least), Some(most)) => format!(" from {least} to {most}"),
        (Some(least), None) => format!(" from {least}"),
        (None, Some(most)) => format!(" up to {most}"),
        (None, None) => String::new(),
    }
}

/// Returns a value as it is displayed to a person.
pub(crate) fn display_value(field: &Field, value: &Value) -> String {
    let title = |value: &str| {
        let chosen = choices(field).into_iter().find(|choice| choice.value == value);
        chosen.map_or_else(|| value.to_owned(), |choice| choice.title)
    };
    match value {
        Value::String(text) => title(text),
        Value::Bool(true) => "y".to_owned(),
        Value::Bool(false) => "n".to_owned(),
        Value::Array(items) => {
            let items: Vec<_> = items.iter().filter_map(Value::as_str).map(title).collect();
            items.join(", ")
        }
        other => other.to_string(),
    }
}

/// Reads a line; an empty line is `None`. The error tells the user why the line does not fit.
pub(crate) fn read(field: &Field, line: &str) -> Result<Option<Value>, String> {
    if line.is_empty() {
        return Ok(None);
    }
    let value = match field.kind {
        FieldKind::Boolean => {
            yes_or_no(line).map(Value::Bool).ok_or_else(|| "Please answer y or n.".to_owned())
        }
        FieldKind::Integer | FieldKind::Number => number(field, line),
        FieldKind::Array => parse_several(field, line),
        _ => text(field, line),
    };
    value.map(Some)
}

fn number(field: &Field, line: &str) -> Result<Value, String> {
    let wrong = || format!("Please write a {}.", expected(field));
    let number: Number = match field.kind {
        FieldKind::Integer => line.parse::<i64>().map_err(|_| wrong())?.into(),
        _ => line.parse().ok().and_then(Number::from_f64).ok_or_else(wrong)?,
    };
    let breaks = |limit: &Option<Number>, wrong: fn(&f64, &f64) -> bool| {
        let limit = limit.as_ref().and_then(Number::as_f64);
        number.as_f64().zip(limit).is_some_and(|(value, limit)| wrong(&value, &limit))
    };
    if breaks(&field.minimum, f64::lt) || breaks(&field.maximum, f64::gt) {
        return Err(wrong());
    }
    Ok(Value::Number(number))
}

fn text(field: &Field, line: &str) -> Result<Value, String> {
    let choices = choices(field);
    if !choices.is_empty() {
        return choose(&choices, line).map(Value::String);
    }
    let length = i64::try_from(line.chars().count()).unwrap_or(i64::MAX);
    if let Some(least) = field.min_length.filter(|least| length < *least) {
        return Err(format!("It is too short: at least {least} characters."));
    }
    if let Some(most) = field.max_length.filter(|most| length > *most) {
        return Err(format!("It is too long: at most {most} characters."));
    }
    let format = field.format.as_deref().and_then(Format::from_name);
    let fits = format.is_none_or(|format| format.fits(line));
    if fits { Ok(Value::String(line.to_owned())) } else { Err(format!("Please write: {}.", expected(field))) }
}

/// Returns the choice with this number, value or name.
fn choose(choices: &[Choice], word: &str) -> Result<String, String> {
    // A value that looks like a number takes precedence over the number of a choice.
    if let Some(choice) = choices.iter().find(|choice| choice.value == word) {
        return Ok(choice.value.clone());
    }
    if let Ok(number) = word.parse::<usize>() {
        let choice = number.checked_sub(1).and_then(|index| choices.get(index));
        return choice
            .map(|choice| choice.value.clone())
            .ok_or_else(|| format!("Please write a number from 1 to {}.", choices.len()));
    }
    let same =
        |choice: &&Choice| choice.title.eq_ignore_ascii_case(word) || choice.value.eq_ignore_ascii_case(word);
    choices.iter().find(same).map(|choice| choice.value.clone()).ok_or_else(|| {
        let meant = did_you_mean(word, choices.iter().map(|choice| &*choice.title));
        format!("`{word}` is not one of the choices{meant}")
    })
}

fn parse_several(field: &Field, line: &str) -> Result<Value, String> {
    let words: Vec<_> = line.split(',').map(str::trim).filter(|word| !word.is_empty()).collect();
    let choices = choices(field);
    let mut chosen: Vec<String> = Vec::new();
    for word in &words {
        let value = if choices.is_empty() { (*word).to_owned() } else { choose(&choices, word)? };
        if !chosen.contains(&value) {
            chosen.push(value);
        }
    }
    let number = i64::try_from(chosen.len()).unwrap_or(i64::MAX);
    if let Some(least) = field.min_items.filter(|least| number < *least) {
        return Err(format!("Please choose at least {least}."));
    }
    if let Some(most) = field.max_items.filter(|most| number > *most) {
        return Err(format!("Please choose at most {most}."));
    }
    Ok(chosen.into())
}
