//! Does the content that a user filled in match the form, and is the form itself valid?
//!
//! A form is a small JSON Schema. The schema checker compares the content with it and writes the error messages.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};
use toolway_protocol::types::{Choice, Field, FieldKind, FormSchema};

use crate::ground::insert_all::insert_all;
use crate::schema::{Checker, Problem};

/// Fills in defaults, drops fields that the form does not have, and checks the rest. A null counts as missing.
///
/// # Errors
///
/// The first ten problems in one line, written for the author of the client.
pub(crate) fn check(
    form: &FormSchema,
    mut content: BTreeMap<String, Value>,
) -> Result<BTreeMap<String, Value>, String> {
    let mut filled = Map::new();
    for (name, field) in &form.properties.0 {
        let value = content.remove(name).filter(|value| !value.is_null());
        if let Some(value) = value.or_else(|| field.default.clone()).filter(|value| !value.is_null()) {
            filled.insert(name.clone(), value);
        }
    }
    let filled = Value::Object(filled);
    let problems = checker(form)?.check(&filled);
    match filled {
        Value::Object(filled) if problems.is_empty() => Ok(insert_all(filled)),
        _ => Err(Problem::join_about("field", &problems)),
    }
}

fn checker(form: &FormSchema) -> Result<Checker, String> {
    let fields = &form.properties.0;
    let properties: Map<_, _> =
        insert_all(fields.iter().map(|(name, field)| (name.clone(), field_schema(field))));
    // A required field that the form does not define cannot be filled in, so it is skipped.
    let required = form.required.iter().flatten().filter(|name| properties.contains_key(*name));
    let required: Vec<_> = required.collect();
    let schema = json!({"type": "object", "required": required, "properties": properties});
    Checker::compile(&schema).map_err(|mistakes| mistakes.join("; "))
}

/// Writes a field as a JSON Schema. Leaves out negative counts, because the schema would not compile with them.
fn field_schema(field: &Field) -> Value {
    let mut schema = Map::new();
    let mut say = |keyword: &str, value: Option<Value>| {
        schema.extend(value.map(|value| (keyword.to_owned(), value)));
    };
    let count = |count: Option<i64>| count.filter(|count| *count >= 0).map(Value::from);
    match &field.kind {
        FieldKind::String => {
            say("minLength", count(field.min_length));
            say("maxLength", count(field.max_length));
            say("format", field.format.clone().map(Value::from));
            say("enum", choices(field.choices.as_deref(), field.one_of.as_deref()).map(Value::from));
        }
        FieldKind::Number | FieldKind::Integer => {
            let is_whole = field.kind == FieldKind::Integer;
            // JSON does not limit integers. An integer field without its own bounds accepts what fits in an `i64`.
            let bound = |bound: i64| is_whole.then(|| bound.into());
            say("minimum", field.minimum.clone().or_else(|| bound(i64::MIN)).map(Value::Number));
            say("maximum", field.maximum.clone().or_else(|| bound(i64::MAX)).map(Value::Number));
        }
        FieldKind::Array => {
            say("minItems", count(field.min_items));
            say("maxItems", count(field.max_items));
            let items = field.items.as_ref();
            let choices = items.and_then(|items| choices(items.choices.as_deref(), items.any_of.as_deref()));
            say("items", Some(choices.map_or_else(|| json!({"type": "string"}), |all| json!({"enum": all}))));
        }
        FieldKind::Boolean => {}
        // A kind from a later revision: only the client knows its rules.
        _ => return Value::Bool(true),
    }
    say("type", Some(field.kind.as_str().into()));
    Value::Object(schema)
}

/// The values to choose from, with or without titles.
fn choices<'c>(plain: Option<&'c [String]>, named: Option<&'c [Choice]>) -> Option<Vec<&'c str>> {
    let plain = plain.map(|plain| plain.iter().map(String::as_str).collect());
    plain.or_else(|| named.map(|named| named.iter().map(|choice| choice.value.as_str()).collect()))
}

/// Returns the mistakes in the form itself, in sentences for its author.
pub(crate) fn mistakes(form: &FormSchema) -> Vec<String> {
    let mut told = Vec::new();
    let mut names = BTreeSet::new();
    for (name, field) in &form.properties.0 {
        if !names.insert(name.as_str()) {
            told.push(format!("field `{name}` occurs twice"));
        }
        told.extend(field_mistakes(field).into_iter().map(|mistake| format!("field `{name}`: {mistake}")));
        told.extend(default_mistake(name, field));
    }
    let required = form.required.iter().flatten().filter(|name| !names.contains(name.as_str()));
    told.extend(required.map(|name| format!("field `{name}` is required, but the form has no such field")));
    told
}

fn field_mistakes(field: &Field) -> Vec<String> {
    let mut told = inapplicable_rules(field);
    let counts = [
        ("min_length", field.min_length, "max_length", field.max_length),
        ("min_items", field.min_items, "max_items", field.max_items),
    ];
    for (least, min, most, max) in counts {
        let negative = |(_, count): &(&str, Option<i64>)| count.is_some_and(|count| count < 0);
        let negative = [(least, min), (most, max)].into_iter().filter(negative);
        told.extend(negative.map(|(key, _)| format!("`{key}` is negative")));
        if min.zip(max).is_some_and(|(min, max)| min > max) {
            told.push(format!("`{least}` is more than `{most}`"));
        }
    }
    let float = |number: &Option<serde_json::Number>| number.as_ref().and_then(serde_json::Number::as_f64);
    if float(&field.minimum).zip(float(&field.maximum)).is_some_and(|(min, max)| min > max) {
        told.push("`minimum` is more than `maximum`".to_owned());
    }
    if let Some(format) = field.format.as_deref().filter(|format| !FORMATS.contains(format)) {
        told.push(format!("`{format}` is not a format of a form field, known are {}", FORMATS.join(", ")));
    }
    let choices = match (&field.kind, &field.items) {
        (FieldKind::Array, None) => None,
        (FieldKind::Array, Some(items)) => choices(items.choices.as_deref(), items.any_of.as_deref()),
        _ => choices(field.choices.as_deref(), field.one_of.as_deref()),
    };
    let is_choice = field.kind == FieldKind::Array || choices.is_some();
    let choices = choices.unwrap_or_default();
    if is_choice && choices.is_empty() {
        told.push("there are no choices".to_owned());
    }
    let mut seen = BTreeSet::new();
    told.extend(
        choices
            .iter()
            .filter(|choice| !seen.insert(**choice))
            .map(|choice| format!("the choice `{choice}` occurs twice")),
    );
    if field.choice_names.as_ref().is_some_and(|names| names.len() != choices.len()) {
        told.push("each choice needs one name, but the numbers of choices and names differ".to_owned());
    }
    told
}

/// Finds rules that do not apply to this kind of field.
fn inapplicable_rules(field: &Field) -> Vec<String> {
    use FieldKind::{Array, Integer, Number, String};
    let has_choices = field.choices.is_some() || field.one_of.is_some();
    let text = [
        ("min_length", field.min_length.is_some()),
        ("max_length", field.max_length.is_some()),
        ("format", field.format.is_some()),
    ];
    let number = [("minimum", field.minimum.is_some()), ("maximum", field.maximum.is_some())];
    let list = [
        ("items", field.items.is_some()),
        ("min_items", field.min_items.is_some()),
        ("max_items", field.max_items.is_some()),
    ];
    let said = |rules: &[(&'static str, bool)]| -> Vec<&'static str> {
        rules.iter().filter(|(_, is_said)| *is_said).map(|(key, _)| *key).collect()
    };
    let mut strays = Vec::new();
    if field.kind != String {
        strays.extend(said(&text).into_iter().chain(has_choices.then_some("choices")));
    }
    if !matches!(field.kind, Number | Integer) {
        strays.extend(said(&number));
    }
    if field.kind != Array {
        strays.extend(said(&list));
    }
    let kind = field.kind.as_str();
    let mut told: Vec<_> =
        strays.iter().map(|key| format!("`{key}` does not apply to a field of type `{kind}`")).collect();
    if field.kind == String && has_choices {
        told.extend(said(&text).iter().map(|key| format!("`{key}` does not apply to a field with choices")));
    }
    if field.choices.is_some() && field.one_of.is_some() {
        told.push("some choices have a title and others have none: use one kind of choices".to_owned());
    }
    told
}

fn default_mistake(name: &str, field: &Field) -> Option<String> {
    let default = field.default.as_ref()?;
    let schema = json!({"type": "object", "required": [name], "properties": {name: field_schema(field)}});
    let problems = Checker::compile(&schema).ok()?.check(&json!({name: default}));
    (!problems.is_empty()).then(|| Problem::join_about("the default of field", &problems))
}

/// The formats of a text that the protocol allows.
const FORMATS: [&str; 4] = ["email", "uri", "date", "date-time"];
