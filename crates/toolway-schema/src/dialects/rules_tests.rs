//! Does the checker find every violation, and nothing else?

use serde_json::{Value, json};

use super::{Provider, Violation, check};

/// Returns the schema of an object with one property.
fn with(property: Value) -> Value {
    json!({"type": "object", "properties": {"a": property}})
}

/// Returns the schema of an object with one property, as `strict` requires it.
fn strict(property: Value) -> Value {
    json!({"type": "object", "properties": {"a": property}, "required": ["a"], "additionalProperties": false})
}

/// Returns the schema of an object with one property, as Gemini requires it.
fn gemini(property: Value) -> Value {
    json!({"type": "OBJECT", "properties": {"a": property}})
}

fn nested(levels: usize, around: impl Fn(Value) -> Value, inmost: Value) -> Value {
    (0..levels).fold(inmost, |inner, _| around(inner))
}

fn each_is_found(provider: Provider, bad: &[(Value, &str, &str)]) {
    assert!(bad.len() >= 12);
    for (schema, pointer, rule) in bad {
        let violations = check(provider, schema);
        let is_it = |found: &Violation| found.pointer == *pointer && found.rule.contains(rule);
        assert!(violations.iter().any(is_it), "{schema}: {pointer}: {rule}, found {violations:?}");
    }
}

fn none_is_found(provider: Provider, good: &[Value]) {
    for schema in good {
        assert_eq!(check(provider, schema), [], "{schema}");
    }
}

#[test]
fn openai() {
    none_is_found(
        Provider::OpenAi,
        &[
            json!({"type": "object", "properties": {}}),
            with(json!({"anyOf": [{"type": "string", "minLength": 1}, {"type": "null"}], "default": null})),
            with(json!({"type": ["array", "null"], "items": {}})),
            with(json!({"$ref": "#/properties/a"})),
            json!({"type": "object", "properties": {"a": {}}, "additionalProperties": false, "required": ["b"]}),
        ],
    );
    each_is_found(
        Provider::OpenAi,
        &[
            (json!({}), "", "of type `object`"),
            (json!(true), "", "of type `object`"),
            (json!({"type": "string", "properties": {}}), "", "of type `object`"),
            (json!({"type": ["object"], "properties": {}}), "", "of type `object`"),
            (json!({"type": "object"}), "", "has to have `properties`"),
            (json!({"type": "object", "properties": {}, "anyOf": [{}]}), "", "may not have `anyOf`"),
            (json!({"type": "object", "properties": {}, "oneOf": [{}]}), "", "may not have `oneOf`"),
            (json!({"type": "object", "properties": {}, "allOf": [{}]}), "", "may not have `allOf`"),
            (json!({"type": "object", "properties": {}, "enum": [{}]}), "", "may not have `enum`"),
            (json!({"type": "object", "properties": {}, "const": {}}), "", "may not have `const`"),
            (json!({"type": "object", "properties": {}, "not": {}}), "", "may not have `not`"),
            (with(json!({"type": "array"})), "/properties/a", "`items` is missing"),
            (with(json!({"type": ["array", "null"]})), "/properties/a", "`items` is missing"),
            (with(json!(true)), "/properties", "a boolean is not allowed as a schema"),
            (
                with(json!({"type": "array", "items": false})),
                "/properties/a/items",
                "a boolean is not allowed as a schema",
            ),
            (with(json!({"anyOf": [true]})), "/properties/a/anyOf", "a boolean is not allowed as a schema"),
            (with(json!({"$ref": "#/$defs/x"})), "/properties/a/$ref", "no target"),
            (with(json!({"$ref": "https://example.com/x"})), "/properties/a/$ref", "no target"),
            (with(json!({"$schema": "x"})), "/properties/a", "`$schema` has no meaning"),
            (with(json!({"$id": "x"})), "/properties/a", "`$id` has no meaning"),
            (with(json!({"type": "float"})), "/properties/a/type", "name of a type"),
            (with(json!({"type": []})), "/properties/a/type", "name of a type"),
            (with(json!({"enum": []})), "/properties/a/enum", "at least one value"),
            (with(json!({"required": ["a", "a"]})), "/properties/a/required", "different names"),
            (with(json!({"required": true})), "/properties/a/required", "list of names"),
            (with(json!({"minLength": -1})), "/properties/a/minLength", "not negative"),
            (with(json!({"minimum": "1"})), "/properties/a/minimum", "a number"),
            (with(json!({"exclusiveMinimum": true})), "/properties/a/exclusiveMinimum", "a number"),
            (with(json!({"multipleOf": 0})), "/properties/a/multipleOf", "above 0"),
            (with(json!({"properties": []})), "/properties/a/properties", "an object of schemas"),
            (with(json!({"items": [{}]})), "/properties/a/items", "an object or a boolean"),
            (with(json!({"anyOf": []})), "/properties/a/anyOf", "at least one schema"),
            (with(json!("string")), "/properties/a", "an object or a boolean"),
        ],
    );
}

#[test]
fn openai_strict() {
    none_is_found(
        Provider::OpenAiStrict,
        &[
            json!({"type": "object", "properties": {}, "required": [], "additionalProperties": false}),
            strict(json!({"type": ["string", "null"], "enum": ["a", null], "title": "A"})),
            strict(json!({"anyOf": [strict(json!({"type": "null"})), {"type": "string", "format": "uuid"}]})),
            strict(json!({"type": "array", "items": {"type": "number", "multipleOf": 2}, "minItems": 1})),
            nested(9, strict, strict(json!({"type": "string"}))),
            json!({"type": "object", "properties": {"a": {"$ref": "#/$defs/A"}}, "required": ["a"],
                "additionalProperties": false, "$defs": {"A": {"type": "string"}}}),
        ],
    );
    let many = |count: usize, length: usize| {
        let values: Vec<_> = (0..count).map(|index| format!("{index:0length$}")).collect();
        strict(json!({"type": "string", "enum": values}))
    };
    none_is_found(Provider::OpenAiStrict, &[many(250, 100), many(1000, 15)]);
    let wide = |count: usize, length: usize| {
        let names: Vec<_> = (0..count).map(|index| format!("{index:0length$}")).collect();
        let properties: Value = names
            .iter()
            .map(|name| (name.clone(), json!({"type": "null"})))
            .collect::<serde_json::Map<_, _>>()
            .into();
        json!({"type": "object", "properties": properties, "required": names, "additionalProperties": false})
    };
    none_is_found(Provider::OpenAiStrict, &[wide(5000, 24)]);
    each_is_found(
        Provider::OpenAiStrict,
        &[
            (json!({"type": "string"}), "", "of type `object`"),
            (json!({"anyOf": [strict(json!({"type": "null"}))]}), "", "may not be a choice"),
            (with(json!({"type": "string"})), "", "additionalProperties: false"),
            (
                json!({"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": false}),
                "",
                "every property has to be required",
            ),
            (
                json!({"type": "object", "properties": {}, "required": ["a"], "additionalProperties": false}),
                "",
                "and nothing else",
            ),
            (strict(json!({"type": "object"})), "/properties/a", "additionalProperties: false"),
            (
                strict(
                    json!({"type": "object", "properties": {}, "additionalProperties": {"type": "string"}}),
                ),
                "/properties/a",
                "additionalProperties: false",
            ),
            (strict(json!({})), "/properties/a", "must have a type"),
            (strict(json!({"enum": ["a"]})), "/properties/a", "must have a type"),
            (strict(json!(true)), "/properties/a", "a boolean is not allowed as a schema"),
            (strict(json!({"type": "array"})), "/properties/a", "`items` is missing"),
            (strict(json!({"type": "string", "minLength": 1})), "/properties/a/minLength", "not supported"),
            (strict(json!({"type": "string", "default": "a"})), "/properties/a/default", "not supported"),
            (
                strict(json!({"type": "string", "format": "uri"})),
                "/properties/a/format",
                "`uri` is not supported",
            ),
            (strict(json!({"type": "string", "oneOf": [{}]})), "/properties/a/oneOf", "not supported"),
            (strict(json!({"type": "string", "allOf": [{}]})), "/properties/a/allOf", "not supported"),
            (strict(json!({"type": "string", "not": {}})), "/properties/a/not", "not supported"),
            (strict(json!({"type": "string", "if": {}})), "/properties/a/if", "not supported"),
            (strict(json!({"type": "string", "x-a": 1})), "/properties/a/x-a", "not supported"),
            (
                strict(json!({"type": "array", "items": {"type": "string"}, "uniqueItems": true})),
                "/properties/a/uniqueItems",
                "not supported",
            ),
            (strict(json!({"$ref": "#/$defs/x", "type": "string"})), "/properties/a", "the only keyword"),
            (
                nested(10, strict, strict(json!({"type": "string"}))),
                &"/properties/a".repeat(10),
                "10 levels of nesting",
            ),
            (many(1001, 4), "", "1001 listed values"),
            (many(251, 60), "/properties/a/enum", "15000 are allowed"),
            (wide(5001, 4), "", "5001 properties"),
            (wide(5000, 25), "", "120000 are allowed"),
        ],
    );
}

#[test]
fn anthropic() {
    let long = "a".repeat(65);
    none_is_found(
        Provider::Anthropic,
        &[
            json!({"type": "object"}),
            with(json!({"type": "array"})),
            with(json!({"oneOf": [true, {"not": {"type": "null"}}], "$comment": "fine"})),
            json!({"type": "object", "properties": {"a.b-c_D9": {}}, "if": {}, "then": {"required": ["x"]}}),
        ],
    );
    each_is_found(
        Provider::Anthropic,
        &[
            (json!({}), "", "of type `object`"),
            (json!(false), "", "of type `object`"),
            (json!({"type": "array"}), "", "of type `object`"),
            (json!({"type": "object", "anyOf": [{}]}), "", "may not have `anyOf`"),
            (json!({"type": "object", "oneOf": [{}]}), "", "may not have `oneOf`"),
            (json!({"type": "object", "allOf": [{}]}), "", "may not have `allOf`"),
            (
                json!({"type": "object", "properties": {"filter[a]": {}}}),
                "/properties/filter[a]",
                "1 to 64 letters",
            ),
            (json!({"type": "object", "properties": {"$top": {}}}), "/properties/$top", "1 to 64 letters"),
            (json!({"type": "object", "properties": {"": {}}}), "/properties/", "1 to 64 letters"),
            (
                json!({"type": "object", "properties": {&long: {}}}),
                &format!("/properties/{long}"),
                "1 to 64 letters",
            ),
            (with(json!({"properties": {"größe": {}}})), "/properties/a/properties/größe", "1 to 64 letters"),
            (
                with(json!({"items": {"properties": {"a b": {}}}})),
                "/properties/a/items/properties/a b",
                "1 to 64 letters",
            ),
            (with(json!({"type": "any"})), "/properties/a/type", "name of a type"),
            (with(json!({"type": ["string", "string"]})), "/properties/a/type", "different types"),
            (with(json!({"required": [1]})), "/properties/a/required", "different names"),
            (with(json!({"description": 1})), "/properties/a/description", "a string"),
            (with(json!({"maxItems": 1.5})), "/properties/a/maxItems", "whole number"),
            (with(json!({"uniqueItems": "yes"})), "/properties/a/uniqueItems", "true or false"),
            (with(json!({"$ref": "other.json"})), "/properties/a/$ref", "no target"),
            (with(json!({"items": [{}, {}]})), "/properties/a/items", "an object or a boolean"),
            (with(json!({"exclusiveMaximum": false})), "/properties/a/exclusiveMaximum", "a number"),
            (
                with(json!({"dependentRequired": {"a": "b"}})),
                "/properties/a/dependentRequired/a",
                "list of names",
            ),
            (with(json!({"examples": {}})), "/properties/a/examples", "a list"),
            (
                nested(150, |inner| json!({"items": inner}), json!({})),
                &"/items".repeat(101),
                "nested too deeply",
            ),
        ],
    );
}

#[test]
fn gemini_has_words_of_its_own() {
    none_is_found(
        Provider::Gemini,
        &[
            gemini(
                json!({"type": "STRING", "enum": ["a"], "format": "enum", "nullable": true, "title": "A"}),
            ),
            gemini(
                json!({"anyOf": [{"type": "STRING"}, {"type": "ARRAY", "items": {"type": "NUMBER", "format": "float"}}]}),
            ),
            gemini(json!({"type": "INTEGER", "minimum": 1, "maximum": 9, "format": "int64"})),
            json!({"type": "object", "properties": {"a": {"type": "string", "minLength": "1"}}, "required": ["a"]}),
            gemini(json!({"type": "NULL"})),
        ],
    );
    each_is_found(
        Provider::Gemini,
        &[
            (json!({"type": "STRING"}), "", "of type OBJECT"),
            (json!({"properties": {"a": {"type": "STRING"}}}), "", "of type OBJECT"),
            (json!({"type": "OBJECT"}), "", "non-empty"),
            (json!({"type": "OBJECT", "properties": {}}), "", "non-empty"),
            (gemini(json!({"type": "OBJECT"})), "/properties/a", "non-empty"),
            (gemini(json!({})), "/properties/a", "`type` must be one of"),
            (gemini(json!({"type": ["STRING", "NULL"]})), "/properties/a/type", "wrong kind"),
            (gemini(json!({"type": "ANY"})), "/properties/a", "`type` must be one of"),
            (gemini(json!(true)), "/properties/a", "a schema must be an object"),
            (gemini(json!({"type": "ARRAY"})), "/properties/a", "`items` is missing"),
            (gemini(json!({"type": "STRING", "enum": [""]})), "/properties/a/enum", "wrong kind"),
            (gemini(json!({"type": "STRING", "enum": [1]})), "/properties/a/enum", "wrong kind"),
            (gemini(json!({"type": "STRING", "enum": []})), "/properties/a/enum", "wrong kind"),
            (
                gemini(json!({"type": "INTEGER", "enum": ["1"]})),
                "/properties/a/enum",
                "only allowed for type STRING",
            ),
            (
                gemini(json!({"type": "STRING", "format": "uri"})),
                "/properties/a/format",
                "`uri` is not supported",
            ),
            (
                gemini(json!({"type": "INTEGER", "format": "float"})),
                "/properties/a/format",
                "not supported for type INTEGER",
            ),
            (
                gemini(json!({"type": "STRING", "required": ["a"]})),
                "/properties/a/required",
                "only allowed for type OBJECT",
            ),
            (
                gemini(json!({"type": "STRING", "minimum": 1})),
                "/properties/a/minimum",
                "only allowed for type NUMBER",
            ),
            (
                json!({"type": "OBJECT", "properties": {"a": {"type": "STRING"}}, "required": ["b"]}),
                "/required",
                "\"b\" is not defined",
            ),
            (
                gemini(json!({"anyOf": [{"type": "STRING"}], "description": "a"})),
                "/properties/a",
                "has to be the only field",
            ),
            (gemini(json!({"anyOf": []})), "/properties/a", "at least one schema"),
            (gemini(json!({"type": "STRING", "const": "a"})), "/properties/a/const", "no field `const`"),
            (gemini(json!({"$ref": "#/a"})), "/properties/a/$ref", "no field `$ref`"),
            (
                gemini(json!({"type": "STRING", "default": "a", "examples": []})),
                "/properties/a/examples",
                "no field",
            ),
            (
                json!({"type": "OBJECT", "properties": {"a": {"type": "STRING"}}, "additionalProperties": false}),
                "/additionalProperties",
                "no field",
            ),
            (
                json!({"type": "OBJECT", "properties": {"a-b": {"type": "STRING"}}}),
                "/properties/a-b",
                "names must begin",
            ),
            (
                json!({"type": "OBJECT", "properties": {"1a": {"type": "STRING"}}}),
                "/properties/1a",
                "names must begin",
            ),
            (gemini(json!({"type": "STRING", "minLength": -1})), "/properties/a/minLength", "wrong kind"),
            (
                gemini(json!({"type": "STRING", "exclusiveMinimum": 1})),
                "/properties/a/exclusiveMinimum",
                "no field",
            ),
        ],
    );
}
