//! Does checking end soon, whichever schema and value come together?
//!
//! Without its limit, each test here runs for minutes or years, or overflows the stack.

use serde_json::{Map, Value, json};

use crate::terms::work::MAX_WORK;
use crate::{Checker, Problem};

fn problems_text(schema: &Value, value: &Value) -> String {
    let checker = Checker::compile(schema).unwrap_or_else(|errors| panic!("{errors:?}"));
    Problem::join(&checker.check(value))
}

/// Returns definitions of which each refers twice to the next one, and a reference to the first.
fn doubled(depth: usize, keyword: &str, last: &Value) -> (Value, Map<String, Value>) {
    let reference = |level: usize| json!({"$ref": format!("#/$defs/d{level}")});
    let mut definitions: Map<_, _> = (0..depth)
        .map(|level| (format!("d{level}"), json!({keyword: [reference(level + 1), reference(level + 1)]})))
        .collect();
    definitions.insert(format!("d{depth}"), last.clone());
    (reference(0), definitions)
}

#[test]
fn a_text_that_is_too_long_is_not_matched() {
    let slow = "(?:a{1,60}){1,60}b";
    let schema = json!({"properties": {"a": {"pattern": slow, "maxLength": 10}}});
    assert_eq!(
        problems_text(&schema, &json!({"a": "a".repeat(1 << 24)})),
        "argument `a`: expected at most 10 characters, got 16777216"
    );
}

#[test]
fn a_text_that_takes_too_long_to_match_is_refused_with_its_path() {
    for (slow, found) in [
        ("(?:a{1,60}){1,60}b", "expected at most 4"),
        ("a{1,1000}b", "expected at most 1"),
        ("^[a-z]+$", "expected at most "),
    ] {
        let schema = json!({"properties": {"list": {"items": {"pattern": slow}}}});
        let text = problems_text(&schema, &json!({"list": ["ab", "a".repeat(1 << 24)]}));
        assert!(text.starts_with(&format!("argument `list[1]`: {found}")), "{text}");
        assert!(
            text.ends_with(&format!(
                "because matching `{slow}` takes too long for a longer text, got 16777216"
            )),
            "{text}"
        );
        // Inside `not` and a choice, too much work is not a verdict.
        for wrapped in
            [json!({"not": {"pattern": slow}}), json!({"anyOf": [{"pattern": slow}, {"type": "number"}]})]
        {
            let text =
                problems_text(&json!({"properties": {"a": wrapped}}), &json!({"a": "a".repeat(1 << 24)}));
            assert!(text.starts_with(&format!("argument `a`: {found}")), "{text}");
        }
    }
    // The names of members are matched too.
    let schema = json!({"patternProperties": {"a{1,1000}b": {}}});
    let text = problems_text(&schema, &json!({"a".repeat(1 << 20): 1}));
    assert!(text.contains("expected at most 1") && text.ends_with("got 1048576"), "{text}");
}

#[test]
fn many_texts_together_are_refused_like_a_long_one() {
    // The work is estimated, so these patterns can be quick.
    let schema = json!({"items": {"anyOf": [{"pattern": "^(?:b{1,60}){1,60}c"}, {"minLength": 1}]}});
    let items = |count: usize| (0..count).map(|_| "a".repeat(1000)).collect::<Value>();
    assert_eq!(problems_text(&schema, &items(3)), "");
    let text = problems_text(&schema, &items(10_000));
    assert_eq!(text, "argument `[4]`: checking it takes too long: send fewer or shorter values");
    let patterns: Map<_, _> = (0..100).map(|index| (format!("^b{{1,300}}{index}"), json!({}))).collect();
    let members: Map<_, _> =
        (0..1000).map(|index| (format!("{}{index}", "a".repeat(100)), json!(1))).collect();
    let schema = json!({"patternProperties": patterns});
    let text = problems_text(&schema, &members.clone().into());
    assert!(text.ends_with("checking it takes too long: send fewer or shorter values"), "{text}");
    // Values that cannot be converted stay as they are.
    assert!(!Checker::compile(&schema).unwrap().coerce(&mut members.into()));
}

#[test]
fn patterns_that_are_too_large_are_mistakes_of_the_author() {
    for (schema, expected) in [
        (
            json!({"properties": {"a": {"pattern": "(?:a{1,1000}){1,1000}"}}}),
            "`pattern` at `#/properties/a` is too large: `(?:a{1,1000}){1,1000}`: use smaller repetition counts, or \
             check the length with `maxLength`",
        ),
        (
            json!({"patternProperties": {"(?:(?:b{900}){900}){900}": {}}}),
            "`patternProperties` at `#` is too large: `(?:(?:b{900}){900}){900}`: use smaller repetition counts, or \
             check the length with `maxLength`",
        ),
    ] {
        assert_eq!(Checker::compile(&schema).unwrap_err(), [expected]);
    }
    let with_length = |length: u64| json!({"pattern": "a{1,1000}b", "maxLength": length});
    let errors = Checker::compile(&with_length(1 << 24)).unwrap_err();
    let allowed: u64 = errors[0]
        .strip_prefix(
            "`pattern` at `#` is too large for a `maxLength` of 16777216: use a `maxLength` of at most ",
        )
        .and_then(|rest| rest.strip_suffix(", or a simpler pattern"))
        .and_then(|number| number.parse().ok())
        .unwrap_or_else(|| panic!("{errors:?}"));
    assert!((1000..MAX_WORK / 1000).contains(&allowed), "{allowed}");
    assert!(Checker::compile(&with_length(allowed)).is_ok());
    assert!(Checker::compile(&with_length(allowed + 1)).is_err());
}

#[test]
fn doubled_references_cost_no_more_than_their_number() {
    let last = json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]});
    for keyword in ["anyOf", "oneOf", "allOf"] {
        let (reference, definitions) = doubled(60, keyword, &last);
        let schema = json!({"properties": {"a": reference}, "$defs": definitions});
        let checker = Checker::compile(&schema).unwrap();
        for value in [
            json!({"n": 1}),
            json!({"n": "1"}),
            json!("{\"n\": \"1\"}"),
            json!({"n": null}),
            json!(1),
            json!({}),
        ] {
            let mut value = json!({"a": value});
            checker.check(&value);
            checker.coerce(&mut value);
            let is_fit = checker.check(&value).is_empty();
            // `oneOf` with two equal branches has no value. In `anyOf`, a text may be meant for either branch.
            assert_eq!(is_fit, keyword != "oneOf" && value == json!({"a": {"n": 1}}), "{keyword}: {value}");
        }
        let mut text = json!({"a": {"n": "1"}});
        checker.coerce(&mut text);
        assert_eq!(text, if keyword == "allOf" { json!({"a": {"n": 1}}) } else { json!({"a": {"n": "1"}}) });
    }
}

#[test]
fn a_recursive_schema_that_doubles_costs_no_more_than_the_value() {
    let inner = json!({"anyOf": [{"$ref": "#/$defs/a"}, {"$ref": "#/$defs/a"}]});
    let schema = json!({
        "$ref": "#/$defs/a",
        "$defs": {"a": {"type": "object", "properties": {"next": inner, "end": {"type": "integer"}}}},
    });
    let mut value = (0..100).fold(json!({"end": "x"}), |inner, _| json!({"next": inner}));
    let checker = Checker::compile(&schema).unwrap();
    assert!(!checker.check(&value).is_empty());
    assert!(!checker.coerce(&mut value));
}

#[test]
fn wide_choices_are_checked_up_to_a_limit() {
    let branch = |index: usize| {
        let kinds: Vec<_> = (100 * index..100 * index + 100).collect();
        let properties = json!({"kind": {"enum": kinds}, "n": {"type": "integer"}});
        json!({"type": "object", "properties": properties, "required": ["kind"]})
    };
    let wide: Vec<_> = (0..1000).map(branch).collect();
    let schema = json!({"items": {"anyOf": wide}});
    let items =
        |count: usize, kind: usize| (0..count).map(|_| json!({"kind": kind, "n": "1"})).collect::<Value>();
    let checker = Checker::compile(&schema).unwrap();
    // A few items get the usual help.
    let mut few = items(10, 99_999);
    assert_eq!(
        checker.check(&few)[0].to_string(),
        "argument `[0].n`: expected an integer, got the string \"1\""
    );
    assert!(checker.coerce(&mut few));
    assert_eq!(checker.check(&few), []);
    // Very many items, each of which fits only the last branch, are refused.
    let mut many = items(1000, 99_999);
    checker.coerce(&mut many);
    let text = Problem::join(&checker.check(&many));
    assert!(
        text.starts_with("argument `[")
            && text.ends_with("checking it takes too long: send fewer or shorter values"),
        "{text}"
    );
    // An error lists only the first branches.
    let plain: Vec<_> =
        (0..1000).map(|index| json!({"type": "object", "required": [format!("p{index}")]})).collect();
    let text = problems_text(&json!({"properties": {"a": {"anyOf": plain}}}), &json!({"a": 1}));
    assert!(text.contains("`p249`, …") && !text.contains("`p250`"), "{text}");
}

/// A chain of references costs stack, at every level of the value again.
#[test]
fn references_nest_only_to_a_limit() {
    let chain = |length: usize, end: Value| {
        let mut definitions: Map<_, _> = (0..length)
            .map(|level| (format!("d{level}"), json!({"$ref": format!("#/$defs/d{}", level + 1)})))
            .collect();
        definitions.insert(format!("d{length}"), end);
        json!({"$ref": "#/$defs/d0", "$defs": definitions})
    };
    assert_eq!(
        Checker::compile(&chain(20_000, json!({}))).unwrap_err(),
        [
            "its references are nested too deeply: more than 256 schemas apply to one value, each inside the previous one"
        ]
    );
    let recursive = chain(200, json!({"properties": {"next": {"$ref": "#/$defs/d0"}}}));
    let checker = Checker::compile(&recursive).unwrap();
    let nested = |depth: usize| (0..depth).fold(json!({}), |inner, _| json!({"next": inner}));
    assert_eq!(checker.check(&nested(2)), []);
    let text = Problem::join(&checker.check(&nested(120)));
    assert_eq!(text, "argument `next.next.next.next`: it is nested too deeply to be checked");
    checker.coerce(&mut nested(120));
}
