//! Mistakes of an author: are they found when the server is built, and is each reported once?

use schemars::JsonSchema;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use serde_json::{Value, json};
use toolway::prelude::*;
use toolway::server::{Run, ServerBuilder, ToolEntry};
use toolway::types::Tool;

fn told(add: impl FnOnce(ServerBuilder) -> ServerBuilder) -> Vec<String> {
    let error = add(Server::new("wrong", "1.0.0")).build().unwrap_err();
    assert_eq!(error.kind(), toolway::ErrorKind::Misuse);
    let text = error.to_string();
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("the server \"wrong\" cannot be built"));
    lines.map(|line| line.strip_prefix("  - ").unwrap().to_owned()).collect()
}

/// The output of a program that returns the error from `main`.
#[test]
fn an_error_is_shown_with_line_breaks() {
    let error = Server::new("", "1.0.0").build().unwrap_err();
    assert_eq!(format!("{error:?}"), "the server \"\" cannot be built\n  - the server's name is empty");
    let io = std::io::Error::other(std::io::Error::other("the disk is on fire"));
    let error = toolway::Error::new(toolway::ErrorKind::Transport, "failed to connect").caused_by(io);
    let text = "failed to connect\ncaused by: the disk is on fire";
    assert!(format!("{error:?}").starts_with(text), "{error:?}");
    assert!(format!("{error:#?}").contains("kind: Transport"), "{error:#?}");
}

#[test]
fn input_and_output_fail_with_a_cause() {
    fn read() -> toolway::Result<Vec<u8>> {
        Ok(std::fs::read("/no/such/file")?)
    }
    let error = read().unwrap_err();
    assert_eq!(error.kind(), toolway::ErrorKind::Transport);
    let source = std::error::Error::source(&error).unwrap();
    let cause = source.downcast_ref::<std::io::Error>().unwrap();
    assert_eq!(cause.kind(), std::io::ErrorKind::NotFound);
    assert_eq!(format!("{error:?}"), format!("input or output failed\ncaused by: {cause}"));
}

#[derive(JsonSchema)]
#[schemars(transparent)]
struct Even(u8);

impl<'de> Deserialize<'de> for Even {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match u8::deserialize(deserializer)? {
            odd if odd % 2 == 1 => Err(D::Error::custom("expected an even number")),
            even => Ok(Self(even)),
        }
    }
}

#[tool]
fn defaults(
    #[arg(default = "five")] text: u8,
    #[arg(default = 1, minimum = 2)] low: u8,
    #[arg(default = 3)] odd: Even,
) -> String {
    format!("{text} {low} {}", odd.0)
}

#[test]
fn a_default_is_wrong_once() {
    let expected = [
        "tool `defaults`: the default of argument `low`: expected at least 2, got 1",
        "tool `defaults`: the default of argument `text`: expected an integer, got the string \"five\"",
        "tool `defaults`: the default of `odd` does not fit its type",
    ];
    assert_eq!(told(|server| server.tools(tools![defaults])), expected);
    assert_eq!(told(|server| server.tools(tools![defaults]).strict()), expected);

    #[prompt]
    fn asks(#[arg(default = "many")] count: u8) -> String {
        format!("{count}")
    }
    let expected = ["prompt `asks`: the default of `count` does not fit its type"];
    assert_eq!(told(|server| server.prompts(prompts![asks])), expected);
}

#[tool(input_schema = {"type": "array"})]
fn array() {}

#[tool]
fn limits(#[arg(minimum = 5, maximum = 3)] n: u8) -> u8 {
    n
}

#[tool(schema = {"properties": {"n": {"minimum": "1"}}})]
fn kind(n: u8) -> u8 {
    n
}

#[tool(schema = {"properties": {"nn": {"minimum": 1}}})]
fn stranger(n: u8) -> u8 {
    n
}

#[derive(Deserialize, JsonSchema)]
struct Limits {
    #[schemars(range(min = 5, max = 3))]
    n: u8,
}

#[test]
fn a_schema_is_wrong_once_whoever_wrote_it() {
    let nothing_fits =
        "the input schema: no value can match at `#/properties/n`: `minimum` is 5 and `maximum` is 3";
    let limited = json!({"type": "object", "properties": {"n": {"minimum": 5, "maximum": 3}}});
    let defined = |schema: &Value| ToolEntry::define(Tool::new("t", schema.clone()), async |_: Value| ());
    let mut cases = vec![
        (
            ToolEntry::of::<array>().with_name("t"),
            "the arguments of a tool are an object: `type` must be \"object\", it is \"array\"",
        ),
        (ToolEntry::of::<limits>().with_name("t"), nothing_fits),
        (
            ToolEntry::of::<kind>().with_name("t"),
            "the input schema: `minimum` at `#/properties/n` must be a number",
        ),
        (
            ToolEntry::of::<stranger>().with_name("t"),
            "the schema describes `nn`, but there is no such argument, did you mean `n`?",
        ),
        (ToolEntry::from_fn("t", |limits: Limits| async move { limits.n }), nothing_fits),
        (defined(&limited), nothing_fits),
        (defined(&json!([])), "the arguments of a tool are an object: `type` must be \"object\", it is none"),
        (
            defined(&json!({"type": "object", "properties": {"n": {"type": "string", "default": 1}}})),
            "the default of argument `n`: expected a string, got the number 1",
        ),
        (
            defined(&json!({"type": "object", "properties": {"n": {"pattern": "(a{1,999}){1,999}"}}})),
            "the input schema: `pattern` at `#/properties/n` is too large: `(a{1,999}){1,999}`: use smaller repetition \
             counts, or check the length with `maxLength`",
        ),
    ];
    cases.push((
        defined(&json!({"type": "object"})).edit(|tool| tool.input_schema = limited.into()),
        nothing_fits,
    ));
    for (tool, expected) in cases {
        let expected = format!("tool `t`: {expected}");
        assert_eq!(told(|server| server.tool(tool.clone())), [&*expected]);
        assert_eq!(told(|server| server.tool(tool).strict()), [&*expected], "and as often when it is strict");
    }
}

#[tool(input_schema = {"type": "object", "properties": {"usr": {}, "at": {}}})]
fn typo(user: String, at: String) -> String {
    user + &at
}

#[tool(input_schema = {"type": "object", "properties": {"user": {}, "colour": {}}, "additionalProperties": true})]
fn unread(user: String) -> String {
    user
}

#[tool(input_schema = {"type": "object", "properties": {"user": {}}})]
fn unsaid(user: String, limit: Option<u8>, ctx: &Ctx) -> String {
    format!("{user} {limit:?} {:?}", ctx.peer().info)
}

#[tool(input_schema = {"type": "object", "properties": {"name": {}, "age": {}}})]
#[derive(Deserialize, JsonSchema)]
struct Person {
    name: String,
    size: u8,
    #[serde(default)]
    hidden: u8,
}

impl Run for Person {
    type Output = String;

    async fn run(self, _: Ctx) -> String {
        format!("{} {} {}", self.name, self.size, self.hidden)
    }
}

#[test]
fn a_schema_by_hand_and_the_parameters_name_the_same_arguments() {
    for (tool, expected) in [
        (
            ToolEntry::of::<typo>(),
            &["the schema describes `usr`, but there is no such argument, did you mean `user`?"][..],
        ),
        (ToolEntry::of::<unread>(), &["the schema describes `colour`, but there is no such argument"]),
        (ToolEntry::of::<unsaid>(), &["it takes the argument `limit`, which its schema does not describe"]),
        (
            ToolEntry::of::<Person>(),
            &[
                "the schema describes `age`, but there is no such argument",
                "it takes the argument `size`, which its schema does not describe",
            ],
        ),
    ] {
        let expected: Vec<_> = expected.iter().map(|text| format!("tool `t`: {text}")).collect();
        assert_eq!(told(|server| server.tool(tool.with_name("t"))), expected);
    }
}

#[tool(input_schema = {
    "type": "object",
    "allOf": [{"$ref": "#/$defs/named"}, {"anyOf": [{"properties": {"b": {}}}, {"required": ["b"]}]}],
    "$defs": {"named": {"properties": {"a": {"type": "string"}}}},
})]
fn spread(a: String, b: Option<u8>) -> String {
    format!("{a} {b:?}")
}

#[tool(input_schema = {
    "type": "object",
    "allOf": [{"$ref": "#/$defs/endless"}],
    "$defs": {"endless": {"properties": {"a": {}}, "allOf": [{"$ref": "#/$defs/endless"}]}},
})]
fn endless(a: String) -> String {
    a
}

#[tool(input_schema = {"type": "object", "patternProperties": {"^x": {"type": "integer"}}})]
fn pattern(x1: u8) -> u8 {
    x1
}

#[tool(input_schema = {"type": "object", "properties": {"other": {}, "title": {}, "nickname": {}}})]
#[derive(Deserialize, JsonSchema)]
struct Open {
    #[serde(alias = "nickname")]
    title: String,
    #[serde(flatten)]
    rest: std::collections::BTreeMap<String, Value>,
}

impl Run for Open {
    type Output = String;

    async fn run(self, _: Ctx) -> String {
        format!("{} {}", self.title, self.rest.len())
    }
}

#[tool(input_schema = {"type": "object", "properties": {"nickname": {}, "title": {}}})]
#[derive(Deserialize, JsonSchema)]
struct Alias {
    #[serde(alias = "nickname")]
    title: String,
}

impl Run for Alias {
    type Output = String;

    async fn run(self, _: Ctx) -> String {
        self.title
    }
}

#[test]
fn names_may_stand_anywhere_in_a_schema() {
    Server::new("right", "1.0.0").tools(tools![spread, pattern, Open, Alias]).build().unwrap();
    // The schema refers to itself, so no value can match; its names are found anyway.
    let told = told(|server| server.tools(tools![endless]));
    let expected = "the input schema: a `$ref` refers to itself without descending into the value";
    assert_eq!(told, [format!("tool `endless`: {expected}")]);
}

#[derive(Debug)]
struct Db;

#[tool]
fn plain(db: State<Db>) -> String {
    format!("{:?}", *db)
}

#[tool]
fn shared(State(db): State<std::sync::Arc<Db>>) -> String {
    format!("{db:?}")
}

/// Authors often forget that the same value in another wrapper is another type.
#[test]
fn a_state_that_is_wrapped_otherwise_is_told() {
    use std::sync::{Arc, Mutex};

    let path = std::any::type_name::<Db>();
    let wanted = |tool: &str, taken: &str, given: &str| {
        format!(
            "tool `{tool}`: it takes `State<{taken}>`, but the server was given `{given}`: \
             take `State<{given}>`, or give it a `{taken}`"
        )
    };
    let arc = format!("Arc<{path}>");
    assert_eq!(told(|server| server.state(Arc::new(Db)).tools(tools![plain])), [wanted("plain", path, &arc)]);
    let mutex = format!("Mutex<{path}>");
    assert_eq!(
        told(|server| server.state(Mutex::new(Db)).tools(tools![plain])),
        [wanted("plain", path, &mutex)]
    );
    assert_eq!(told(|server| server.state(Db).tools(tools![shared])), [wanted("shared", &arc, path)]);
    let nothing = "but the server was given no such value: call `.state(…)`";
    assert_eq!(
        told(|server| server.state(7_u8).tools(tools![plain])),
        [format!("tool `plain`: it takes `State<{path}>`, {nothing}")]
    );
    Server::new("right", "1.0.0").state(Db).state(Arc::new(Db)).tools(tools![plain, shared]).build().unwrap();
}

#[derive(Deserialize, JsonSchema)]
enum Grade {
    Good,
    Bad,
}

/// The name of the type says nothing, its schema does.
#[tool]
fn rate(
    #[arg(minimum = 1, multiple_of = 2)] grade: Grade,
    #[arg(min_length = 1)] names: Names,
    #[arg(format = "date")] days: Option<Days>,
    #[arg(max_items = 2)] some: Names,
    #[arg(minimum = 1, pattern = "^a")] any: Value,
    #[arg(format = "whole")] whole: Days,
) {
    let _ = (names, days, some, any, whole, matches!(grade, Grade::Good | Grade::Bad));
}

type Names = Vec<String>;
type Days = u32;

#[test]
fn rules_that_say_nothing_about_their_type_are_told() {
    let rule = |rule: &str, name: &str, owners: &str, kind: &str| {
        format!(
            "tool `rate`: the rule `{rule}` of `{name}` applies to {owners}, but the type of `{name}` is {kind}"
        )
    };
    assert_eq!(
        told(|server| server.tools(tools![rate])),
        [
            rule("minimum", "grade", "numbers", "string"),
            rule("multipleOf", "grade", "numbers", "string"),
            rule("minLength", "names", "texts", "array"),
            rule("format", "days", "texts", "integer"),
        ]
    );
}
