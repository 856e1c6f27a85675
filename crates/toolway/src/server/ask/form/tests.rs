//! Which values do forms accept, which messages do they give for others, and can every accepted value be read?

use std::collections::{BTreeMap, BTreeSet, HashSet};

use serde_json::{Value, json};
use toolway_protocol::RawJson;
use toolway_protocol::types::{Choice, Choices, Field, FieldKind, Fields, FormSchema};

use crate::server::ask::form::check::{check, mistakes};
use crate::server::ask::form::choice::FormChoice;
use crate::server::ask::form::field::FormField;
use crate::server::ask::form::schema_builder;
use crate::server::ask::form::schema_builder::FormSchemaBuilder;

fn form(json: &Value) -> FormSchema {
    RawJson::parse(&json.to_string()).unwrap().decode().unwrap()
}

fn content(json: Value) -> BTreeMap<String, Value> {
    match json {
        Value::Object(members) => members.into_iter().collect(),
        other => panic!("{other} is not content"),
    }
}

/// Returns a form with one required field `x`.
fn one(field: &Value) -> FormSchema {
    form(&json!({"type": "object", "properties": {"x": field}, "required": ["x"]}))
}

#[test]
fn a_value_fits_its_field_or_the_text_says_why() {
    let colours = json!(["red", "green"]);
    let named = json!([{"const": "r", "title": "Red"}, {"const": "g", "title": "Green"}]);
    let rows = [
        (json!({"type": "string"}), json!("a"), ""),
        (json!({"type": "string"}), json!(3), "expected a string, got the number 3"),
        (json!({"type": "string", "minLength": 2}), json!("é"), "expected at least 2 characters, got 1"),
        (json!({"type": "string", "maxLength": 2}), json!("😀😀"), ""),
        (json!({"type": "string", "maxLength": 2}), json!("😀😀😀"), "expected at most 2 characters, got 3"),
        (json!({"type": "string", "format": "email"}), json!("a@b.example"), ""),
        (json!({"type": "string", "format": "email"}), json!("a"), "expected an email address, got \"a\""),
        (json!({"type": "string", "format": "uri"}), json!("a"), "expected a URI with its scheme, got \"a\""),
        (
            json!({"type": "string", "format": "date"}),
            json!("2023-02-29"),
            "expected a date such as 2024-02-29, got \"2023-02-29\"",
        ),
        (json!({"type": "string", "format": "date-time"}), json!("2024-02-29T23:20:50Z"), ""),
        (json!({"type": "string", "format": "acme"}), json!("anything"), ""),
        (json!({"type": "integer"}), json!(3.0), ""),
        (json!({"type": "integer"}), json!(3.5), "expected an integer, got the number 3.5"),
        (json!({"type": "integer"}), json!("3"), "expected an integer, got the string \"3\""),
        (json!({"type": "integer"}), json!(1e19), "expected at most 9223372036854775807, got 1e+19"),
        (json!({"type": "integer", "maximum": u64::MAX}), json!(u64::MAX), ""),
        (json!({"type": "integer", "minimum": 0}), json!(-3), "expected at least 0, got -3"),
        (json!({"type": "number", "maximum": 0.5}), json!(0.6), "expected at most 0.5, got 0.6"),
        (json!({"type": "number"}), json!(1e300), ""),
        (json!({"type": "boolean"}), json!(false), ""),
        (json!({"type": "boolean"}), json!("true"), "expected a boolean, got the string \"true\""),
        (json!({"type": "string", "enum": colours}), json!("red"), ""),
        (
            json!({"type": "string", "enum": colours}),
            json!("gren"),
            "expected one of \"red\", \"green\", got \"gren\", did you mean \"green\"?",
        ),
        (json!({"type": "string", "enum": colours, "enumNames": ["Red", "Green"]}), json!("green"), ""),
        (
            json!({"type": "string", "enum": colours, "enumNames": ["Red", "Green"]}),
            json!("Blue"),
            "expected one of \"red\", \"green\", got \"Blue\"",
        ),
        (json!({"type": "string", "oneOf": named}), json!("r"), ""),
        (
            json!({"type": "string", "oneOf": named}),
            json!("Red"),
            "expected one of \"r\", \"g\", got \"Red\"",
        ),
        (json!({"type": "array", "items": {"type": "string", "enum": colours}}), json!([]), ""),
        (json!({"type": "array", "items": {"type": "string", "enum": colours}}), json!(["red", "red"]), ""),
        (
            json!({"type": "array", "items": {"type": "string", "enum": colours}}),
            json!("red"),
            "expected an array, got the string \"red\"",
        ),
        (json!({"type": "array", "items": {"anyOf": named}}), json!(["g", "r"]), ""),
        (
            json!({"type": "array", "items": {"anyOf": named}, "minItems": 1}),
            json!([]),
            "expected at least 1 item, got none",
        ),
        (
            json!({"type": "array", "items": {"anyOf": named}, "maxItems": 1}),
            json!(["r", "g"]),
            "expected at most 1 item, got 2",
        ),
        (json!({"type": "colour"}), json!({"whatever": 1}), ""),
        // Invalid rules are ignored.
        (json!({"type": "string", "minLength": -1}), json!(""), ""),
    ];
    for (field, value, told) in rows {
        let expected = if told.is_empty() {
            Ok(content(json!({"x": value})))
        } else {
            Err(format!("field `x`: {told}"))
        };
        assert_eq!(check(&one(&field), content(json!({"x": value}))), expected, "{field} and {value}");
    }
}

#[test]
fn a_wrong_item_is_named_by_its_place() {
    let field = json!({"type": "array", "items": {"type": "string", "enum": ["a", "b"]}});
    let told = check(&one(&field), content(json!({"x": ["a", 7]}))).unwrap_err();
    assert_eq!(told, "field `x[1]`: expected one of \"a\", \"b\", got 7");
}

#[test]
fn what_is_left_out_gets_its_default_and_what_nobody_asked_for_goes() {
    let form = form(&json!({
        "type": "object",
        "properties": {
            "name": {"type": "string", "default": "John Doe"},
            "age": {"type": "integer", "default": 30},
            "score": {"type": "number", "default": 95.5},
            "status": {"type": "string", "enum": ["active", "inactive"], "default": "active"},
            "verified": {"type": "boolean", "default": true},
            "note": {"type": "string"},
        },
        "required": ["age"],
    }));
    let sent = json!({"name": "Jane", "verified": false, "note": null, "status": null, "admin": true});
    let filled = json!({"name": "Jane", "age": 30, "score": 95.5, "status": "active", "verified": false});
    assert_eq!(check(&form, content(sent)), Ok(content(filled)));
    assert_eq!(mistakes(&form), [""; 0]);
}

#[test]
fn what_must_be_filled_in_is_missed_also_when_it_is_null() {
    let form = one(&json!({"type": "string"}));
    for sent in [json!({}), json!({"x": null}), json!({"X": "a"})] {
        assert_eq!(check(&form, content(sent)).unwrap_err(), "field `x` is missing");
    }
}

#[test]
fn everything_wrong_is_told_at_once_but_not_without_end() {
    let properties: serde_json::Map<_, _> =
        (10..40).map(|number| (format!("x{number}"), json!({"type": "boolean"}))).collect();
    let sent: serde_json::Map<_, _> =
        (10..40).map(|number| (format!("x{number}"), json!("y".repeat(1 << 16)))).collect();
    let form = form(&json!({"type": "object", "properties": properties}));
    let told = check(&form, content(sent.into())).unwrap_err();
    assert_eq!(told.split("; ").count(), crate::schema::MAX_PROBLEMS);
    assert!(told.starts_with("field `x10`: expected a boolean, got the string \"yyy"), "{told}");
    assert!(told.contains("; field `x11`: "), "{told}");
    assert!(told.len() < 2_000, "{} bytes", told.len());
}

#[test]
fn forms_can_be_made_by_hand() {
    let named = || vec![Choice::new("r", "Red"), Choice::new("g", "Green")];
    let plain = || vec!["red".to_owned(), "green".to_owned()];
    let string = || Field::new(FieldKind::String);
    let fields = [
        ("plainOne", string().with_choices(plain()), json!("red")),
        ("namedOne", string().with_one_of(named()), json!("r")),
        ("oldOne", string().with_choices(plain()).with_choice_names(plain()), json!("green")),
        (
            "plainMany",
            Field::new(FieldKind::Array)
                .with_items(Choices::new().with_kind(FieldKind::String).with_choices(plain())),
            json!(["red"]),
        ),
        (
            "namedMany",
            Field::new(FieldKind::Array).with_items(Choices::new().with_any_of(named())),
            json!(["g"]),
        ),
    ];
    let sent: BTreeMap<_, _> =
        fields.iter().map(|(name, _, value)| ((*name).to_owned(), value.clone())).collect();
    let fields = fields.into_iter().map(|(name, field, _)| (name.to_owned(), field));
    let form = FormSchema::new(Fields(fields.collect()));
    assert_eq!(mistakes(&form), [""; 0]);
    assert_eq!(check(&form, sent.clone()), Ok(sent.clone()));
    for name in sent.keys() {
        let mut sent = sent.clone();
        sent.insert(name.clone(), json!("blue"));
        let told = check(&form, sent).unwrap_err();
        assert!(told.starts_with(&format!("field `{name}`: expected ")), "{told}");
    }
}

#[test]
fn mistakes_of_a_form_are_found() {
    let broken = form(&json!({
        "type": "object",
        "properties": {
            "a": {"type": "string", "minLength": 3, "maxLength": 2, "format": "colour"},
            "b": {"type": "integer", "minimum": 3, "maximum": 2.5, "default": 0.5},
            "c": {"type": "array", "items": {"type": "string"}, "minItems": -1},
            "d": {"type": "string", "enum": ["x", "x"], "enumNames": ["X"], "default": "y"},
            "e": {"type": "boolean", "minLength": 1, "default": null},
            "f": {"type": "string", "oneOf": []},
        },
        "required": ["a", "z"],
    }));
    assert_eq!(
        mistakes(&broken),
        [
            "field `a`: `min_length` is more than `max_length`",
            "field `a`: `colour` is not a format of a form field, known are email, uri, date, date-time",
            "field `b`: `minimum` is more than `maximum`",
            "the default of field `b`: expected an integer, got the number 0.5",
            "field `c`: `min_items` is negative",
            "field `c`: there are no choices",
            "field `d`: the choice `x` occurs twice",
            "field `d`: each choice needs one name, but the numbers of choices and names differ",
            "the default of field `d`: expected one of \"x\", \"x\", got \"y\", did you mean \"x\"?",
            "field `e`: `min_length` does not apply to a field of type `boolean`",
            "field `f`: there are no choices",
            "field `z` is required, but the form has no such field",
        ]
    );
    let twice = Fields(vec![("a".to_owned(), bool::field()), ("a".to_owned(), bool::field())]);
    assert_eq!(mistakes(&FormSchema::new(twice)), ["field `a` occurs twice"]);
}

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Colour {
    Red,
    Green,
}

impl FormChoice for Colour {
    const CHOICES: &'static [(&'static str, Option<&'static str>)] = &[("red", Some("Red")), ("green", None)];

    fn from_value(value: &str) -> Option<Self> {
        match value {
            "red" => Some(Self::Red),
            "green" => Some(Self::Green),
            _ => None,
        }
    }

    fn value(&self) -> &'static str {
        match self {
            Self::Red => "red",
            Self::Green => "green",
        }
    }
}

impl FormField for Colour {
    fn field() -> Field {
        schema_builder::single_choice_field::<Self>()
    }

    fn read(value: Value) -> Result<Self, String> {
        schema_builder::read_choice(&value)
    }
}

#[test]
fn what_a_form_accepts_can_be_read_and_nothing_panics() {
    let mut tally = Tally::default();
    tally.field::<String>(|_| {});
    tally.field::<String>(|field| schema_builder::set_choices(field, &[("a", None), ("é😀", None)]));
    tally.field::<bool>(|_| {});
    tally.field::<f32>(|_| {});
    tally.field::<f64>(|_| {});
    tally.field::<i8>(|_| {});
    tally.field::<u8>(|_| {});
    tally.field::<i16>(|_| {});
    tally.field::<u16>(|_| {});
    tally.field::<i32>(|_| {});
    tally.field::<u32>(|_| {});
    tally.field::<i64>(|_| {});
    tally.field::<u64>(|_| {});
    tally.field::<u64>(|field| field.maximum = schema_builder::number(&json!(u64::MAX)));
    tally.field::<isize>(|_| {});
    tally.field::<usize>(|_| {});
    tally.field::<i128>(|_| {});
    tally.field::<u128>(|_| {});
    tally.field::<Colour>(|_| {});
    tally.field::<Vec<Colour>>(|field| field.min_items = Some(1));
    tally.field::<BTreeSet<Colour>>(|_| {});
    tally.field::<HashSet<Colour>>(|_| {});
    tally.field::<Vec<String>>(|field| schema_builder::set_choices(field, &[("a", Some("A"))]));
    tally.field::<Option<Colour>>(|_| {});
    tally.field::<Option<u8>>(|field| field.default = Some(7.into()));
    tally.field::<Option<Vec<Colour>>>(|_| {});
    assert!(tally.read > 500 && tally.refused > 500, "{tally:?}");
}

#[derive(Debug, Default)]
struct Tally {
    read: usize,
    refused: usize,
}

impl Tally {
    fn field<T: FormField>(&mut self, describe: impl FnOnce(&mut Field)) {
        let mut builder = FormSchemaBuilder::default();
        builder.add::<T>("x", describe);
        let form = builder.finish();
        assert_eq!(mistakes(&form), [""; 0]);
        for value in values() {
            let type_name = std::any::type_name::<T>();
            // Unchecked values may be refused, but they must not cause a panic.
            let _ = T::read(value.clone());
            let sent = content(json!({"x": value}));
            match check(&form, sent) {
                Ok(mut filled) => {
                    let read = schema_builder::read::<T>(&mut filled, "x").map(|_| ());
                    assert_eq!(read, Ok(()), "{type_name} and {value}");
                    self.read += 1;
                }
                Err(_) => self.refused += 1,
            }
        }
    }
}

/// Returns values at the limits of the types: alone, negated, and in arrays.
fn values() -> Vec<Value> {
    let mut values = vec![json!(null), json!(true), json!({}), json!({"a": 1})];
    for power in [0, 1, 7, 8, 15, 16, 31, 32, 52, 53, 62] {
        for number in [(1_i64 << power) - 1, 1 << power, (1 << power) + 1] {
            #[expect(clippy::cast_precision_loss, reason = "that is what clients send")]
            let float = number as f64;
            values.extend([json!(number), json!(-number), json!(float), json!(-float), json!(float + 0.5)]);
        }
    }
    values.extend([json!(i64::MAX), json!(i64::MIN), json!(1_u64 << 63), json!(u64::MAX), json!(-0.0)]);
    values
        .extend([9.3e18, -9.3e18, 1.9e19, 3.4e38, 3.5e38, -3.5e38, 1e300, 1e-300, f64::MAX].map(Value::from));
    values.extend(["", "a", "red", "green", "Red", "é😀", "5", "\u{0}"].map(Value::from));
    let arrays: Vec<_> = values.iter().map(|value| json!([value, "red"])).collect();
    values.extend(arrays);
    values.extend([
        json!([]),
        json!(["red"]),
        json!(["a", "a"]),
        json!(["red", "green", "red"]),
        json!([["red"]]),
    ]);
    values
}

#[test]
fn whole_numbers_are_whole_however_they_are_written() {
    assert_eq!(u8::read(json!(3.0)), Ok(3));
    assert_eq!(i64::read(json!(1e15)), Ok(1_000_000_000_000_000));
    assert_eq!(u64::read(json!(u64::MAX)), Ok(u64::MAX));
    assert_eq!(
        u8::read(json!(256)),
        Err("expected a whole number from 0 to 255, got the number 256".to_owned())
    );
    assert_eq!(i8::read(json!(-0.5)).ok(), None);
}
