//! Does every question about a schema end soon, however the schema refers to itself?
//!
//! Without its limit, each question here takes years, or overflows the stack.

use serde_json::{Map, Value, json};

use crate::dialects::{Provider, check, convert};
use crate::{ArgumentNames, Schema, Side, Types, make_portable};

/// Returns a schema for the argument `a` in which each definition refers `width` times to the next one.
fn repeated(depth: usize, width: usize, keyword: &str, last: Value) -> Value {
    let reference = |level: usize| json!({"$ref": format!("#/$defs/d{level}")});
    let mut definitions: Map<_, _> = (0..depth)
        .map(|level| {
            let inner: Vec<_> = (0..width).map(|_| reference(level + 1)).collect();
            (format!("d{level}"), json!({keyword: inner}))
        })
        .collect();
    definitions.insert(format!("d{depth}"), last);
    json!({"type": "object", "properties": {"a": reference(0)}, "$defs": definitions})
}

#[test]
fn schemas_that_refer_to_each_other_often_are_read_once() {
    let last = json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]});
    for keyword in ["anyOf", "oneOf", "allOf", "prefixItems"] {
        for (depth, width) in [(60, 2), (9, 1000), (3000, 1)] {
            let whole = repeated(depth, width, keyword, last.clone());
            let schema = Schema::of(&whole);
            let a = schema.property("a").unwrap();
            let types = a.types();
            if keyword != "prefixItems" && depth < 100 {
                assert_eq!(types, Some(Types::OBJECT), "{keyword}, {depth} × {width}");
            }
            let _ = (a.choices(), a.text_choices(), a.required(), a.properties(), a.additional_properties());
            let _ = (a.items().types(), a.description(), a.default());
            assert_eq!(a.expected_text(), None);
            for arguments in [r#"{"a": {"n": null}}"#, r#"{"a": "{\"n\": 1}"}"#, r#"{"a": [[["x"]], null]}"#]
            {
                schema.restore(arguments);
            }
            for provider in Provider::ALL {
                let converted = convert(provider, &whole);
                let text = converted.schema.as_ref().map(Value::to_string).unwrap_or_default();
                assert!(
                    text.len() < 3_000_000,
                    "{} bytes: {provider:?}, {keyword}, {depth} × {width}",
                    text.len()
                );
                check(provider, &whole);
                check(provider, converted.schema.as_ref().unwrap_or(&json!({})));
            }
            assert_eq!(
                ArgumentNames { read: vec!["a".to_owned()], ..ArgumentNames::default() }.mismatches(&whole),
                [""; 0]
            );
            let mut inside = whole.clone();
            inside["$ref"] = json!("#/$defs/d0");
            ArgumentNames::default().mismatches(&inside);
            make_portable(&mut inside, Side::Input);
        }
    }
}

/// Each reference makes a copy: half a gigabyte of them.
#[test]
fn long_texts_and_lists_are_copied_only_to_a_limit() {
    let names: Vec<_> = (0..2000).map(|index| format!("a name of some length {index}")).collect();
    let reference = |index: usize| json!({"$ref": format!("#/$defs/d{}", index % 4)});
    let properties: Map<_, _> = (0..5000).map(|index| (format!("p{index}"), reference(index))).collect();
    let schema = json!({"type": "object", "properties": properties, "$defs": {
        "d0": {"enum": names},
        "d1": {"type": "string", "description": "long ".repeat(20_000)},
        "d2": {"type": "object", "required": names},
        "d3": {"type": "string", "default": "long ".repeat(20_000)},
    }});
    for provider in Provider::ALL {
        let text = convert(provider, &schema).schema.map(|schema| schema.to_string()).unwrap_or_default();
        assert!(text.len() < 3_000_000, "{} bytes: {provider:?}", text.len());
    }
}
