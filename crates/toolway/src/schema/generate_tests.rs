//! Which schema results from types and the author's declarations together?

use std::collections::HashMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::generate::{Arg, FinishedSchema, InputSchemaBuilder, input_schema_of, output_schema};

#[derive(Serialize, Deserialize, JsonSchema)]
enum Plan {
    Free,
    Pro,
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Order {
    /// What it is called.
    zebra: String,
    apple: Option<u8>,
    #[serde(default)]
    plan: Option<Plan>,
    tags: Vec<Option<String>>,
}

fn described(description: &'static str) -> Arg {
    Arg { description, ..Arg::default() }
}

fn ruled(rules: Value) -> Arg {
    Arg { rules: Some(rules), ..Arg::default() }
}

#[test]
fn arguments_keep_their_order_and_their_words() {
    let input = InputSchemaBuilder::default()
        .parameter::<u8>("zebra", described("Its stripes."))
        .parameter::<Option<String>>("apple", Arg { title: Some("Apple"), ..Arg::default() })
        .parameter::<Vec<Plan>>("mango", Arg { default: Some(json!(["Free"])), ..Arg::default() })
        .finish();
    assert_eq!(
        input.schema.as_str(),
        concat!(
            r#"{"type":"object","properties":{"#,
            r#""zebra":{"description":"Its stripes.","maximum":255,"minimum":0,"type":"integer"},"#,
            r#""apple":{"title":"Apple","type":"string"},"#,
            r##""mango":{"default":["Free"],"items":{"$ref":"#/$defs/Plan"},"type":"array"}},"##,
            r#""required":["zebra"],"additionalProperties":false,"#,
            r#""$defs":{"Plan":{"enum":["Free","Pro"],"type":"string"}}}"#
        )
    );
    assert!(!input.is_typed, "an enum may say more than serde knows");
    assert_eq!(input.mistakes, [""; 0]);
}

#[test]
fn fields_of_a_type_are_arguments_in_their_order() {
    let input = input_schema_of::<Order>().finish();
    assert_eq!(
        input.schema.as_str(),
        concat!(
            r#"{"type":"object","properties":{"#,
            r#""zebra":{"description":"What it is called.","type":"string"},"#,
            r#""apple":{"maximum":255,"minimum":0,"type":"integer"},"#,
            r##""plan":{"$ref":"#/$defs/Plan"},"##,
            r#""tags":{"items":{"anyOf":[{"type":"string"},{"type":"null"}]},"type":"array"}},"#,
            r#""required":["zebra","tags"],"additionalProperties":false,"#,
            r#""$defs":{"Plan":{"enum":["Free","Pro"],"type":"string"}}}"#
        )
    );
}

#[derive(Serialize, Deserialize, JsonSchema)]
struct Lax {
    b: u32,
    a: u32,
}

#[derive(Serialize, Deserialize, JsonSchema)]
struct Open {
    a: u32,
    #[serde(flatten)]
    rest: HashMap<String, u32>,
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind")]
enum Shape {
    Circle { radius: f64 },
    Square { side: f64 },
}

#[test]
fn unknown_arguments_are_refused_unless_the_type_takes_them() {
    let lax = input_schema_of::<Lax>().finish();
    let schema: Value = lax.schema.decode().unwrap();
    assert_eq!(schema["additionalProperties"], json!(false));
    assert!(!lax.is_typed, "serde would let unknown arguments pass");
    let open: Value = input_schema_of::<Open>().finish().schema.decode().unwrap();
    assert_eq!(open["additionalProperties"], json!({"type": "integer", "minimum": 0}));
    let shape = input_schema_of::<Shape>().finish();
    let schema: Value = shape.schema.decode().unwrap();
    assert_eq!(schema.get("additionalProperties"), None, "{schema}");
    assert_eq!((&schema["type"], shape.mistakes), (&json!("object"), Vec::new()));
}

#[test]
fn levels_lie_over_one_another() {
    let input = InputSchemaBuilder::default()
        .parameter::<String>("name", ruled(json!({"minLength": 2, "x-mcp-header": "Name"})))
        .parameter::<Option<u32>>("age", described("Years."))
        .merge_patch(json!({
            "properties": {"name": {"minLength": 1, "maxLength": 9}, "age": {"description": "Old.", "maximum": 150}},
            "required": ["age"],
            "minProperties": 1,
        }))
        .finish();
    assert_eq!(
        input.schema.as_str(),
        concat!(
            r#"{"type":"object","properties":{"#,
            r#""name":{"maxLength":9,"minLength":2,"type":"string","x-mcp-header":"Name"},"#,
            r#""age":{"description":"Years.","maximum":150,"minimum":0,"type":"integer"}},"#,
            r#""required":["name","age"],"minProperties":1,"additionalProperties":false}"#
        )
    );
    assert_eq!((input.is_typed, input.mistakes), (false, Vec::new()));
    let replaced = InputSchemaBuilder::default()
        .parameter::<String>("name", described("Gone."))
        .replace_with(json!({"type": "object", "required": ["x"]}))
        .finish();
    assert_eq!(replaced.schema.as_str(), r#"{"required":["x"],"type":"object"}"#);
    assert!(!replaced.is_typed);
}

#[derive(Serialize, Deserialize, JsonSchema)]
struct Ruled {
    #[schemars(range(min = 1))]
    count: u32,
}

#[test]
fn types_that_say_it_all_need_no_check() {
    let with = |arg| InputSchemaBuilder::default().parameter::<u8>("a", arg).finish().is_typed;
    assert!(with(Arg::default()));
    assert!(with(Arg { default: Some(json!(1)), ..described("A.") }));
    assert!(with(ruled(json!({"examples": [1], "x-mcp-header": "A", "format": "password"}))));
    assert!(!with(ruled(json!({"minimum": 1}))));
    assert!(!with(ruled(json!({"format": "email"}))));
    let patched = |patch| {
        InputSchemaBuilder::default()
            .parameter::<u8>("a", Arg::default())
            .merge_patch(patch)
            .finish()
            .is_typed
    };
    assert!(patched(json!({"properties": {"a": {"description": "A."}}})));
    assert!(!patched(json!({"properties": {"a": {"maximum": 7}}})));
    assert!(!patched(json!({"properties": {"a": {"default": 7}}})), "only the check fills it in");
    assert!(!patched(json!({"minProperties": 1})));
    assert!(!InputSchemaBuilder::default().parameter::<Vec<Ruled>>("a", Arg::default()).finish().is_typed);
    assert!(
        InputSchemaBuilder::default().parameter::<(u8, i16, Vec<f32>)>("a", Arg::default()).finish().is_typed
    );
    assert!(
        InputSchemaBuilder::default()
            .parameter::<HashMap<u64, String>>("a", Arg::default())
            .finish()
            .is_typed
    );
    assert!(!InputSchemaBuilder::default().parameter::<Vec<Plan>>("a", Arg::default()).finish().is_typed);
    assert!(
        !InputSchemaBuilder::default()
            .parameter::<std::collections::HashSet<u8>>("a", Arg::default())
            .finish()
            .is_typed
    );
}

/// Returns the mistakes in how a schema was declared, and those in the schema itself.
fn mistakes_of(input: InputSchemaBuilder) -> Vec<String> {
    let FinishedSchema { schema, mut mistakes, .. } = input.finish();
    mistakes.extend(super::examine(&schema.decode().unwrap()).mistakes);
    mistakes
}

#[test]
fn mistakes_are_told_to_the_author() {
    let with = |arg| InputSchemaBuilder::default().parameter::<String>("name", arg);
    for (input, expected) in [
        (with(Arg::default()).merge_patch(json!({"properties": {"nme": {"minLength": 1}}})), "the schema describes `nme`, but there is no such argument, did you mean `name`?"),
        (with(Arg::default()).merge_patch(json!({"type": "array"})), r#"the arguments of a tool are an object: `type` must be "object", it is "array""#),
        (InputSchemaBuilder::default().replace_with(json!({})), r#"the arguments of a tool are an object: `type` must be "object", it is none"#),
        (with(Arg { default: Some(json!(5)), ..Arg::default() }), "the default of argument `name`: expected a string, got the number 5"),
        (with(Arg { default: Some(json!("")), ..ruled(json!({"minLength": 1})) }), "the default of argument `name`: expected at least 1 character, got none"),
        (with(ruled(json!({"minLength": 5, "maxLength": 3}))), "the input schema: no value can match at `#/properties/name`: `minLength` is 5 and `maxLength` is 3"),
        (with(Arg::default()).replace_with(json!({"type": "object", "properties": {"name": {"items": {"exclusiveMinimum": 1, "maximum": 1}}}})), "the input schema: no value can match at `#/properties/name/items`: `exclusiveMinimum` is 1 and `maximum` is 1"),
        (with(Arg::default()).merge_patch(json!(1)), "the patch of the schema must be an object, it is 1"),
        (with(ruled(json!(true))), "the rules of `name` must be an object of keywords, they are true"),
        (with(ruled(json!({"minLength": "1"}))), "the input schema: `minLength` at `#/properties/name` must be a non-negative integer"),
        (with(ruled(json!({"minimum": 1}))), "the rule `minimum` of `name` applies to numbers, but the type of `name` is string"),
    ] {
        assert_eq!(mistakes_of(input), [expected]);
    }
    let broken = mistakes_of(with(ruled(json!({"pattern": "("}))));
    assert_eq!(broken.len(), 1);
}

#[test]
fn results_may_hold_what_serde_writes() {
    #[derive(Serialize, JsonSchema)]
    struct Answer {
        note: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        plan: Option<Plan>,
        #[serde(default)]
        count: u8,
    }
    let schema: Value = output_schema::<Answer>().decode().unwrap();
    let checker = super::Checker::compile(&schema).unwrap();
    for plan in [None, Some(Plan::Free)] {
        let answer = serde_json::to_value(Answer { note: None, plan, count: 1 }).unwrap();
        assert_eq!(checker.check(&answer), [], "{schema}");
        assert!(jsonschema::is_valid(&schema, &answer), "{schema}");
    }
    assert_eq!(schema["properties"]["note"], json!({"anyOf": [{"type": "string"}, {"type": "null"}]}));
    assert_eq!(schema["required"], json!(["note", "count"]));
}
