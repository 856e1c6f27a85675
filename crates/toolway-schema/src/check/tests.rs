//! Which problems does each schema report for each value, and in which words?

use serde_json::{Value, json};

use crate::{Checker, Problem};

fn problems_text(schema: &Value, value: &Value) -> String {
    let checker = Checker::compile(schema).unwrap_or_else(|errors| panic!("{schema}: {errors:?}"));
    Problem::join(&checker.check(value))
}

/// Each case is the schema of the argument `a`, a value, and the expected problem.
#[test]
fn problems_name_place_expectation_value_and_remedy() {
    let long = "x".repeat(91);
    for (schema, value, expected) in [
        (json!({"type": "number"}), json!("x"), r#"argument `a`: expected a number, got the string "x""#),
        (json!({"type": "number"}), json!(1.5), ""),
        (json!({"type": "integer"}), json!(5.0), ""),
        (json!({"type": "integer"}), json!(5.5), "argument `a`: expected an integer, got the number 5.5"),
        (json!({"type": "integer"}), json!(1e300), ""),
        (
            json!({"type": ["string", "null"]}),
            json!(true),
            "argument `a`: expected a string or null, got the boolean true",
        ),
        (json!({"type": "object"}), json!([1, 2]), "argument `a`: expected an object, got the array [1,2]"),
        (json!({"type": "string"}), json!(null), ""),
        (json!({"minimum": 18}), json!(7), "argument `a`: expected at least 18, got 7"),
        (json!({"maximum": 18}), json!(18.5), "argument `a`: expected at most 18, got 18.5"),
        (json!({"exclusiveMinimum": 0}), json!(0), "argument `a`: expected more than 0, got 0"),
        (
            json!({"exclusiveMaximum": 0}),
            json!(u64::MAX),
            "argument `a`: expected less than 0, got 18446744073709551615",
        ),
        (json!({"multipleOf": 0.1}), json!(0.3), ""),
        (json!({"multipleOf": 5}), json!(7), "argument `a`: expected a multiple of 5, got 7"),
        (
            json!({"enum": ["free", "pro"]}),
            json!("gold"),
            r#"argument `a`: expected one of "free", "pro", got "gold""#,
        ),
        (
            json!({"enum": ["free", "pro"]}),
            json!("Pro"),
            r#"argument `a`: expected one of "free", "pro", got "Pro", did you mean "pro"?"#,
        ),
        (json!({"const": 1}), json!(1.0), ""),
        (json!({"const": 1}), json!(2), "argument `a`: expected 1, got 2"),
        (json!({"minLength": 1}), json!(""), "argument `a`: expected at least 1 character, got none"),
        (json!({"maxLength": 80}), json!(long), "argument `a`: expected at most 80 characters, got 91"),
        (json!({"maxLength": 2}), json!("é😀"), ""),
        (
            json!({"pattern": "^[A-Z]"}),
            json!("bob"),
            r#"argument `a`: expected text that matches `^[A-Z]`, got "bob""#,
        ),
        (json!({"pattern": "b"}), json!("abc"), ""),
        (json!({"format": "email"}), json!("x"), r#"argument `a`: expected an email address, got "x""#),
        (json!({"format": "email"}), json!(5), ""),
        (json!({"format": "hostname"}), json!("?"), ""),
        (json!({"minItems": 2}), json!([1]), "argument `a`: expected at least 2 items, got 1"),
        (json!({"maxItems": 1}), json!([1, 2]), "argument `a`: expected at most 1 item, got 2"),
        (
            json!({"uniqueItems": true}),
            json!([1, {"a": 1}, {"a": 1.0}]),
            r#"argument `a`: expected unique items, got {"a":1.0} twice"#,
        ),
        (
            json!({"items": {"properties": {"age": {"minimum": 18}}}}),
            json!([{}, {}, {"age": 7}]),
            "argument `a[2].age`: expected at least 18, got 7",
        ),
        (
            json!({"prefixItems": [{"type": "string"}], "items": {"type": "null"}}),
            json!([1, null, 2]),
            "argument `a[0]`: expected a string, got the number 1; argument `a[2]`: expected null, got the number 2",
        ),
        (json!({"items": false}), json!([1]), "argument `a[0]`: nothing is allowed here, got the number 1"),
        (json!({"required": ["name"]}), json!({}), "argument `a.name` is missing"),
        (
            json!({"properties": {"color": {}}, "additionalProperties": false}),
            json!({"colour": 1}),
            "unknown argument `a.colour`, did you mean `a.color`?",
        ),
        (
            json!({"additionalProperties": false}),
            json!({"x": 1}),
            "unknown argument `a.x`: `a` has no members",
        ),
        (
            json!({"additionalProperties": {"type": "string"}}),
            json!({"x": 1}),
            "argument `a.x`: expected a string, got the number 1",
        ),
        (
            json!({"patternProperties": {"^x": {"type": "string"}}, "additionalProperties": false}),
            json!({"x1": 1, "x2": "a"}),
            "argument `a.x1`: expected a string, got the number 1",
        ),
        (json!({"minProperties": 1}), json!({}), "argument `a`: expected at least 1 member, got none"),
        (
            json!({"maxProperties": 1}),
            json!({"a": 1, "b": 2}),
            "argument `a`: expected at most 1 member, got 2",
        ),
        (
            json!({"allOf": [{"minimum": 3}, {"maximum": 1}]}),
            json!(2),
            "argument `a`: expected at least 3, got 2; argument `a`: expected at most 1, got 2",
        ),
        (
            json!({"anyOf": [{"type": "string"}, {"type": "integer"}]}),
            json!([]),
            "argument `a`: expected one of: a string, an integer, got the array []",
        ),
        (
            json!({"anyOf": [{"type": "string"}, {"type": "object", "required": ["x"]}]}),
            json!({}),
            "argument `a.x` is missing",
        ),
        (
            json!({"oneOf": [{"const": "red"}, {"const": "green"}]}),
            json!("gren"),
            r#"argument `a`: expected one of "red", "green", got "gren", did you mean "green"?"#,
        ),
        (
            json!({"oneOf": [{"minimum": 1}, {"maximum": 5}]}),
            json!(3),
            "argument `a`: expected exactly one of: something else, got 3, which matches several",
        ),
        (
            json!({"not": {"type": "string"}}),
            json!("x"),
            r#"argument `a`: expected anything but a string, got "x""#,
        ),
        (json!({"not": {"const": 0}}), json!(0), "argument `a`: expected anything but 0, got 0"),
        (json!(false), json!(1), "argument `a`: nothing is allowed here, got the number 1"),
        (
            json!({"oneOf": [
                {"type": "object", "properties": {"kind": {"const": "circle"}, "radius": {"type": "number"}}, "required": ["kind", "radius"]},
                {"type": "object", "properties": {"kind": {"const": "square"}, "side": {"type": "number"}}, "required": ["kind", "side"]},
            ]}),
            json!({"kind": "square", "side": "1", "radius": 1}),
            r#"argument `a.side`: expected a number, got the string "1""#,
        ),
    ] {
        let whole = json!({"type": "object", "properties": {"a": schema}});
        assert_eq!(problems_text(&whole, &json!({"a": value})), expected, "{schema} and {value}");
    }
}

#[test]
fn the_arguments_themselves_are_checked() {
    let schema = json!({"type": "object", "properties": {"a": {"type": "number"}, "b": {}}, "required": ["a"], "additionalProperties": false});
    for (value, expected) in [
        (json!({"a": null}), "argument `a`: expected a number, got null"),
        (json!({}), "argument `a` is missing"),
        (json!({"a": 1, "zebra": 1}), "unknown argument `zebra`, known are `a`, `b`"),
        (json!([]), "the arguments: expected an object, got the array []"),
        (json!({"a": 1, "b": null}), ""),
    ] {
        assert_eq!(problems_text(&schema, &value), expected, "{value}");
    }
    let none = json!({"type": "object", "properties": {}, "additionalProperties": false});
    assert_eq!(problems_text(&none, &json!({"x": 1})), "unknown argument `x`: this tool takes none");
}

#[test]
fn no_more_is_told_than_anybody_reads() {
    let schema = json!({"type": "object", "additionalProperties": {"type": "string"}});
    let value: Value =
        (0..100).map(|number| (number.to_string(), json!(number))).collect::<serde_json::Map<_, _>>().into();
    let checker = Checker::compile(&schema).unwrap();
    assert_eq!(checker.check(&value).len(), 10);
}

/// Returns the schema of a tree, which refers to itself.
fn tree() -> Value {
    json!({
        "type": "object",
        "properties": {"root": {"$ref": "#/$defs/a%20tree~1"}, "again": {"$ref": "#"}},
        "$defs": {"a tree/": {
            "type": "object",
            "properties": {"name": {"type": "string"}, "children": {"type": "array", "items": {"$ref": "#/$defs/a%20tree~1"}}},
            "required": ["name"],
            "additionalProperties": false,
        }},
    })
}

#[test]
fn schemas_may_refer_to_themselves() {
    let value =
        json!({"root": {"name": "r", "children": [{"name": "c"}, {"children": []}]}, "again": {"root": 1}});
    assert_eq!(
        problems_text(&tree(), &value),
        "argument `again.root`: expected an object, got the number 1; argument `root.children[1].name` is missing"
    );
    for endless in [json!({"$ref": "#"}), json!({"anyOf": [{"type": "string"}, {"$ref": "#"}]})] {
        assert!(Checker::compile(&endless).is_err(), "{endless}");
    }
}

/// Both branches refer to the same definition: checking each of them at each level would take 2^100 steps.
#[test]
fn deep_values_cost_no_more_than_their_size() {
    let schema = json!({
        "$ref": "#/$defs/expression",
        "$defs": {"expression": {"anyOf": [
            {"type": "object", "properties": {"argument": {"$ref": "#/$defs/expression"}, "operator": {"const": "not"}}},
            {"type": "object", "properties": {"argument": {"$ref": "#/$defs/expression"}, "operator": {"const": "minus"}}},
            {"type": "integer"},
        ]}},
    });
    let mut value = json!("wrong");
    for _ in 0..100 {
        value = json!({"argument": value, "operator": "minus"});
    }
    let checker = Checker::compile(&schema).unwrap();
    let problems = checker.check(&value);
    assert!(problems[0].to_string().ends_with(r#"got the string "wrong""#), "{problems:?}");
    assert!(!checker.coerce(&mut value));
}

#[test]
fn schemas_that_cannot_be_meant_are_refused() {
    for (schema, expected) in [
        (json!({"type": "text"}), "`type` at `#` must name JSON types"),
        (
            json!({"properties": {"a/b": {"minimum": "1"}}}),
            "`minimum` at `#/properties/a~1b` must be a number",
        ),
        (json!({"items": [{}]}), "the schema at `#/items` must be an object"),
        (json!({"multipleOf": 0}), "`multipleOf` at `#` must be a number above 0"),
        (json!({"minLength": -1}), "`minLength` at `#` must be a non-negative integer"),
        (json!({"required": true}), "`required` at `#` must be an array of strings"),
        (json!({"$ref": "#/$defs/no"}), "`$ref` at `#` refers to `#/$defs/no`, which does not exist"),
        (json!({"anyOf": {}}), "`anyOf` at `#` must be an array of schemas"),
    ] {
        assert_eq!(Checker::compile(&schema).unwrap_err(), [expected], "{schema}");
    }
}

#[test]
fn values_are_turned_where_one_thing_only_can_be_meant() {
    for (schema, given, expected) in [
        (json!({"type": "integer"}), json!("5"), json!(5)),
        (json!({"type": "integer"}), json!("5.0"), json!(5)),
        (json!({"type": "integer"}), json!("5.5"), json!("5.5")),
        (json!({"type": "integer"}), json!(5.0), json!(5)),
        (json!({"type": "integer"}), json!(1e19), json!(10_000_000_000_000_000_000_u64)),
        (json!({"type": "integer"}), json!(1e30), json!(1e30)),
        (json!({"type": "integer"}), json!(" 5"), json!(" 5")),
        (json!({"type": "integer"}), json!("five"), json!("five")),
        (json!({"type": "integer"}), json!(""), json!("")),
        (json!({"type": "number"}), json!("-1.5"), json!(-1.5)),
        (json!({"type": "number"}), json!(5.0), json!(5.0)),
        (json!({"type": "boolean"}), json!("true"), json!(true)),
        (json!({"type": "boolean"}), json!("yes"), json!("yes")),
        (json!({"type": "boolean"}), json!(1), json!(1)),
        (json!({"type": "array"}), json!("[1]"), json!([1])),
        (json!({"type": "array", "items": {"type": "integer"}}), json!("[\"1\"]"), json!([1])),
        (json!({"type": "array"}), json!("{}"), json!("{}")),
        (json!({"type": "array"}), json!(1), json!(1)),
        (json!({"type": "object"}), json!("{\"a\":1}"), json!({"a": 1})),
        (json!({"type": "object"}), json!("{a:1}"), json!("{a:1}")),
        (json!({"type": "string"}), json!(5), json!("5")),
        (json!({"type": "string"}), json!(true), json!(true)),
        (json!({"type": ["string", "integer"]}), json!("5"), json!("5")),
        (json!({"type": ["integer", "null"]}), json!("5"), json!(5)),
        (json!({"enum": [1, 2]}), json!("1"), json!(1)),
        (json!({"anyOf": [{"type": "integer"}, {"type": "boolean"}]}), json!("5"), json!(5)),
        (json!({"anyOf": [{"type": "integer"}, {"type": "number"}]}), json!("5"), json!("5")),
        (json!({"anyOf": [{"type": "integer"}, {"type": "string"}]}), json!("5"), json!("5")),
        (json!({"anyOf": [{"type": "array"}, {"type": "null"}]}), json!("[]"), json!([])),
        (json!({"$ref": "#/$defs/count"}), json!("5"), json!(5)),
        (json!({"properties": {"b": {"type": "integer"}}}), json!({"b": "5"}), json!({"b": 5})),
        (json!({"properties": {"b": {"type": "integer"}}}), json!({"b": null}), json!({})),
        (json!({"properties": {"b": {"type": "null"}}}), json!({"b": null}), json!({"b": null})),
        (
            json!({"properties": {"b": {"type": "integer"}}, "required": ["b"]}),
            json!({"b": null}),
            json!({"b": null}),
        ),
        (json!({"additionalProperties": {"type": "integer"}}), json!({"x": "5"}), json!({"x": 5})),
        (
            json!({"prefixItems": [{"type": "string"}], "items": {"type": "integer"}}),
            json!(["1", "1"]),
            json!(["1", 1]),
        ),
        (
            json!({"oneOf": [
                {"type": "object", "properties": {"kind": {"const": "a"}, "x": {"type": "integer"}}, "required": ["kind", "x"]},
                {"type": "object", "properties": {"kind": {"const": "b"}, "x": {"type": "string"}}, "required": ["kind", "x"]},
            ]}),
            json!({"kind": "a", "x": "5"}),
            json!({"kind": "a", "x": 5}),
        ),
        (
            json!({"anyOf": [
                {"type": "object", "properties": {"x": {"type": "integer"}}},
                {"type": "object", "properties": {"x": {"type": "boolean"}}},
            ]}),
            json!({"x": "5"}),
            json!({"x": "5"}),
        ),
    ] {
        let whole = json!({"type": "object", "properties": {"a": schema}, "required": ["a"], "$defs": {"count": {"type": "integer"}}});
        let mut value = json!({"a": given});
        let is_changed = Checker::compile(&whole).unwrap().coerce(&mut value);
        assert_eq!(value, json!({"a": expected}), "{schema} and {given}");
        assert_eq!(is_changed, given != expected, "{schema} and {given}");
    }
}

#[test]
fn defaults_are_found() {
    let checker =
        Checker::compile(&json!({"properties": {"a": {"default": 1}, "b": {}, "c": {"default": null}}}))
            .unwrap();
    assert_eq!(checker.defaults().collect::<Vec<_>>(), [("a", &json!(1)), ("c", &json!(null))]);
}

/// A comparison of all pairs would take 10^10 steps.
#[test]
fn many_items_are_compared_in_one_pass() {
    let checker = Checker::compile(&json!({"uniqueItems": true})).unwrap();
    let mut items: Vec<Value> = (0..100_000).map(|number| json!({"a": number})).collect();
    assert_eq!(checker.check(&Value::Array(items.clone())), []);
    items.push(json!({"a": 7.0}));
    assert_eq!(checker.check(&Value::Array(items)).len(), 1);
}
