//! Which schema do the arguments of a tool have: what does a signature say, what does the author add, and how are calls
//! checked?

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use toolway::prelude::*;
use toolway::server::{Run, ToolEntry};
use toolway::testing::each_wire;
use toolway::types::Tool;

async fn schema(client: &Client, tool: &str) -> Value {
    let tools = client.tools().await.unwrap();
    let tool = tools.iter().find(|known| known.name == tool).unwrap();
    tool.input_schema.decode().unwrap()
}

/// Calls a tool and returns its text.
async fn said(client: &Client, tool: &str, arguments: Value) -> String {
    let result = client.call(tool, arguments).await.unwrap();
    assert!(!result.is_error(), "{result:?}");
    result.first_text().unwrap().to_owned()
}

/// Calls a tool that must fail, and returns the text for the model.
async fn refused(client: &Client, tool: &str, arguments: Value) -> String {
    let result = client.call(tool, arguments).await.unwrap();
    assert!(result.is_error(), "{result:?}");
    result.first_text().unwrap().to_owned()
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Size {
    Small,
    Large,
}

/// Where a person lives.
#[derive(Debug, Deserialize, JsonSchema)]
struct Address {
    /// Street and number.
    street: String,
    zip: Option<u32>,
}

/// One of each type.
#[tool]
#[expect(clippy::too_many_arguments, reason = "one of each type")]
fn types(
    flag: bool,
    count: u32,
    small: i8,
    ratio: f64,
    name: &str,
    tags: Vec<String>,
    pair: (u8, bool),
    labels: BTreeMap<String, i64>,
    size: Size,
    address: Address,
    anything: Value,
) -> String {
    let Address { street, zip } = address;
    format!(
        "{flag} {count} {small} {ratio} {name} {tags:?} {pair:?} {labels:?} {size:?} {street} {zip:?} {anything}"
    )
}

#[tokio::test]
async fn the_schema_follows_from_the_signature() {
    let server = Server::new("types", "1.0.0").tools(tools![types]).build().unwrap();
    each_wire(&server, async |client| {
        let schema = schema(&client, "types").await;
        assert_eq!(schema["type"], "object");
        assert_eq!(schema["additionalProperties"], false);
        let properties = &schema["properties"];
        for (name, expected) in [
            ("flag", json!({"type": "boolean"})),
            ("count", json!({"type": "integer", "minimum": 0})),
            ("small", json!({"type": "integer", "minimum": -128, "maximum": 127})),
            ("ratio", json!({"type": "number"})),
            ("name", json!({"type": "string"})),
            ("tags", json!({"type": "array", "items": {"type": "string"}})),
            ("labels", json!({"type": "object", "additionalProperties": {"type": "integer"}})),
            ("size", json!({"$ref": "#/$defs/Size"})),
            ("address", json!({"$ref": "#/$defs/Address"})),
            ("anything", json!({})),
        ] {
            assert_eq!(properties[name], expected, "{name}");
        }
        assert_eq!(schema["$defs"]["Size"], json!({"type": "string", "enum": ["small", "large"]}));
        let address = &schema["$defs"]["Address"];
        assert_eq!(address["properties"]["street"], json!({"type": "string", "description": "Street and number."}));
        assert_eq!(address["required"], json!(["street"]));
        // In the order of the signature, which matters to models that read it.
        let tools = client.tools().await.unwrap();
        let text = tools[0].input_schema.as_str();
        let place = |name: &str| text.find(&format!("\"{name}\":")).unwrap();
        assert!(place("flag") < place("count") && place("tags") < place("labels") && place("size") < place("address"));

        let arguments = json!({
            "flag": true, "count": 1, "small": -1, "ratio": 0.5, "name": "n", "tags": ["a"], "pair": [2, false],
            "labels": {"x": 3}, "size": "large", "address": {"street": "s"}, "anything": [null],
        });
        assert_eq!(
            said(&client, "types", arguments.clone()).await,
            r#"true 1 -1 0.5 n ["a"] (2, false) {"x": 3} Large s None [null]"#
        );
        // The schema is enforced.
        for (name, wrong) in [
            ("flag", json!(1)),
            ("count", json!(-1)),
            ("small", json!(128)),
            ("ratio", json!("x")),
            ("name", json!(true)),
            ("tags", json!([1.5, {}])),
            ("pair", json!([1])),
            ("labels", json!({"x": "y"})),
            ("size", json!("medium")),
            ("address", json!({"zip": 1})),
        ] {
            let mut arguments = arguments.clone();
            arguments[name] = wrong;
            let text = refused(&client, "types", arguments).await;
            assert!(text.starts_with(&format!("argument `{name}")), "{text}");
        }
    })
    .await;
}

/// Some must be there.
#[tool]
fn needs(
    must: String,
    may: Option<u32>,
    #[arg(default = "general")] usual: String,
    #[arg(default = 5)] both: Option<u8>,
    also: Option<Vec<String>>,
) -> String {
    format!("{must} {may:?} {usual} {both:?} {also:?}")
}

/// A struct that is a tool; its fields are the arguments.
#[tool]
#[derive(Deserialize, JsonSchema)]
struct Fields {
    must: String,
    may: Option<u32>,
    #[serde(default = "usual")]
    usual: String,
}

fn usual() -> String {
    "general".to_owned()
}

impl Run for Fields {
    type Output = String;

    async fn run(self, _: Ctx) -> String {
        format!("{} {:?} {}", self.must, self.may, self.usual)
    }
}

#[tokio::test]
async fn what_has_no_default_is_required() {
    let server = Server::new("needs", "1.0.0").tools(tools![needs, Fields]).build().unwrap();
    each_wire(&server, async |client| {
        for tool in ["needs", "fields"] {
            let schema = schema(&client, tool).await;
            assert_eq!(schema["required"], json!(["must"]), "{tool}");
            assert_eq!(schema["properties"]["may"], json!({"type": "integer", "minimum": 0}), "{tool}");
            assert_eq!(refused(&client, tool, json!({})).await, "argument `must` is missing", "{tool}");
            // `null` is not a value for a required argument.
            let text = refused(&client, tool, json!({"must": null})).await;
            assert_eq!(text, "argument `must`: expected a string, got null", "{tool}");
        }
        assert_eq!(said(&client, "needs", json!({"must": "x"})).await, "x None general Some(5) None");
        let nulls = json!({"must": "x", "may": null, "also": null});
        assert_eq!(said(&client, "needs", nulls).await, "x None general Some(5) None");
        let all = json!({"must": "x", "may": 1, "usual": "y", "both": 6, "also": []});
        assert_eq!(said(&client, "needs", all).await, "x Some(1) y Some(6) Some([])");
        assert_eq!(said(&client, "fields", json!({"must": "x"})).await, "x None general");
        assert_eq!(
            said(&client, "fields", json!({"must": "x", "usual": "y", "may": 2})).await,
            "x Some(2) y"
        );
    })
    .await;
}

const LIMIT: u32 = 20;

/// Defaults of every type.
#[tool]
fn defaults(
    #[arg(default = "general")] text: String,
    #[arg(default = 1.5)] number: f64,
    #[arg(default = false)] flag: bool,
    #[arg(default = ["a", "b"])] list: Vec<String>,
    #[arg(default = {"street": "Main", "zip": 7})] object: Address,
    #[arg(default = "large")] size: Size,
    #[arg(default = LIMIT)] named: u32,
) -> String {
    format!("{text} {number} {flag} {list:?} {} {:?} {size:?} {named}", object.street, object.zip)
}

#[tool]
fn wrong(#[arg(default = "five")] number: u8, #[arg(default = 1, minimum = 2)] low: u8) -> u8 {
    number + low
}

#[tokio::test]
async fn defaults_stand_in_the_schema_and_are_used() {
    let server = Server::new("defaults", "1.0.0").tools(tools![defaults, Fields]).build().unwrap();
    each_wire(&server, async |client| {
        let described = schema(&client, "defaults").await;
        for (name, expected) in [
            ("text", json!("general")),
            ("number", json!(1.5)),
            ("flag", json!(false)),
            ("list", json!(["a", "b"])),
            ("object", json!({"street": "Main", "zip": 7})),
            ("size", json!("large")),
            ("named", json!(20)),
        ] {
            assert_eq!(described["properties"][name]["default"], expected, "{name}");
        }
        assert_eq!(described.get("required"), None);
        let expected = r#"general 1.5 false ["a", "b"] Main Some(7) Large 20"#;
        assert_eq!(said(&client, "defaults", json!({})).await, expected);
        let sent = json!({"text": "t", "flag": true, "list": [], "size": "small"});
        assert_eq!(said(&client, "defaults", sent).await, "t 1.5 true [] Main Some(7) Small 20");
        assert_eq!(schema(&client, "fields").await["properties"]["usual"]["default"], "general");
    })
    .await;

    // A default that its own type or rules refuse is a mistake of the author.
    let error = Server::new("wrong", "1.0.0").tools(tools![wrong]).build().unwrap_err().to_string();
    for part in [
        "the default of argument `number`: expected an integer, got the string \"five\"",
        "the default of argument `low`: expected at least 2, got 1",
    ] {
        assert!(error.contains(part), "{part:?} in {error}");
    }
}

/// Search for something.
#[tool]
fn search(
    /// What to look for.
    ///
    /// Words are joined by "and".
    query: String,
    #[arg(description = "How many at most.")]
    /// This is not used.
    limit: Option<u32>,
    /** Where to look. */
    place: Option<Address>,
    plain: Option<String>,
) -> String {
    let place = place.map(|place| place.street);
    format!("{query} {limit:?} {place:?} {plain:?}")
}

#[tokio::test]
async fn doc_comments_describe_arguments() {
    let server = Server::new("search", "1.0.0").tools(tools![search]).build().unwrap();
    each_wire(&server, async |client| {
        let schema = schema(&client, "search").await;
        let described = |name: &str| schema["properties"][name]["description"].as_str();
        assert_eq!(described("query"), Some("What to look for.\n\nWords are joined by \"and\"."));
        assert_eq!(described("limit"), Some("How many at most."), "the attribute comes first");
        assert_eq!(described("place"), Some("Where to look."), "the argument's own words, not its type's");
        assert_eq!(described("plain"), None);
        let address = &schema["$defs"]["Address"]["properties"]["street"];
        assert_eq!(address["description"], "Street and number.", "fields of a type keep theirs");
    })
    .await;
    assert_eq!(search("q".into(), None, None, None), "q None None None", "it is still a function");
}

/// Formats that are checked, and one that is a remark.
#[tool]
fn formats(
    #[arg(format = "email")] email: Option<String>,
    #[arg(format = "uri")] uri: Option<String>,
    #[arg(format = "date")] date: Option<String>,
    #[arg(format = "uuid")] uuid: Option<String>,
    #[arg(format = "ipv4")] ipv4: Option<String>,
    #[arg(format = "phone")] phone: Option<String>,
) -> String {
    [email, uri, date, uuid, ipv4, phone].into_iter().flatten().collect()
}

#[tokio::test]
async fn a_format_is_told_and_checked() {
    let server = Server::new("formats", "1.0.0").tools(tools![formats]).build().unwrap();
    each_wire(&server, async |client| {
        let schema = schema(&client, "formats").await;
        for (name, good, bad, noun) in [
            ("email", "ada@example.com", "ada", "an email address"),
            ("uri", "https://example.com/a", "a b", "a URI"),
            ("date", "2024-02-29", "2023-02-29", "a date"),
            ("uuid", "123e4567-e89b-12d3-a456-426614174000", "123e4567", "a UUID"),
            ("ipv4", "127.0.0.1", "127.0.0.256", "an IPv4 address"),
        ] {
            assert_eq!(schema["properties"][name], json!({"type": "string", "format": name}));
            assert_eq!(said(&client, "formats", json!({name: good})).await, good);
            let text = refused(&client, "formats", json!({name: bad})).await;
            assert!(text.starts_with(&format!("argument `{name}`: expected {noun}")), "{text}");
            assert!(text.ends_with(&format!("got {bad:?}")), "{text}");
        }
        // An unknown format is shown to readers and refuses nothing.
        assert_eq!(schema["properties"]["phone"], json!({"type": "string", "format": "phone"}));
        assert_eq!(said(&client, "formats", json!({"phone": "?"})).await, "?");
    })
    .await;
}

/// Limits.
#[tool]
fn limits(
    #[arg(minimum = 18, maximum = 120)] age: Option<u32>,
    #[arg(exclusive_minimum = 0, exclusive_maximum = 1.5)] share: Option<f64>,
    #[arg(multiple_of = 5)] step: Option<i32>,
    #[arg(min_length = 1, max_length = 3)] name: Option<String>,
    #[arg(min_items = 1, max_items = 2, unique_items)] list: Option<Vec<u8>>,
) -> String {
    format!("{age:?} {share:?} {step:?} {name:?} {list:?}")
}

#[tool]
fn impossible(#[arg(minimum = 5, maximum = 4)] number: u8) -> u8 {
    number
}

#[tokio::test]
async fn minimum_and_maximum_are_told_and_checked() {
    let server = Server::new("limits", "1.0.0").tools(tools![limits]).build().unwrap();
    each_wire(&server, async |client| {
        let schema = schema(&client, "limits").await;
        let properties = &schema["properties"];
        assert_eq!(properties["age"], json!({"type": "integer", "minimum": 18, "maximum": 120}));
        let share = json!({"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1.5});
        assert_eq!(properties["share"], share);
        assert_eq!(properties["name"], json!({"type": "string", "minLength": 1, "maxLength": 3}));
        // Both ends belong to the range.
        assert_eq!(said(&client, "limits", json!({"age": 18})).await, "Some(18) None None None None");
        assert_eq!(said(&client, "limits", json!({"age": 120})).await, "Some(120) None None None None");
        for (arguments, expected) in [
            (json!({"age": 17}), "argument `age`: expected at least 18, got 17"),
            (json!({"age": 121}), "argument `age`: expected at most 120, got 121"),
            (json!({"share": 0}), "argument `share`: expected more than 0, got 0"),
            (json!({"share": 1.5}), "argument `share`: expected less than 1.5, got 1.5"),
            (json!({"step": 7}), "argument `step`: expected a multiple of 5, got 7"),
            (json!({"name": ""}), "argument `name`: expected at least 1 character, got none"),
            (json!({"name": "four"}), "argument `name`: expected at most 3 characters, got 4"),
            (json!({"list": []}), "argument `list`: expected at least 1 item, got none"),
            (json!({"list": [1, 1]}), "argument `list`: expected unique items, got 1 twice"),
            // All mistakes at once: a model corrects itself in one step.
            (
                json!({"age": 1, "step": 1}),
                "argument `age`: expected at least 18, got 1; argument `step`: expected a multiple of 5, got 1",
            ),
        ] {
            assert_eq!(refused(&client, "limits", arguments).await, expected);
        }
    })
    .await;

    let error = Server::new("wrong", "1.0.0").tools(tools![impossible]).build().unwrap_err().to_string();
    assert!(
        error.contains("no value can match at `#/properties/number`: `minimum` is 5 and `maximum` is 4"),
        "{error}"
    );
}

/// Look a person up.
#[tool]
fn lookup(#[arg(pattern = "^[A-Z][a-z]+$", description = "A first name.")] name: String) -> String {
    name
}

#[tool]
fn broken(#[arg(pattern = "(")] name: String) -> String {
    name
}

#[tokio::test]
async fn a_pattern_and_a_description_are_told_and_the_pattern_is_checked() {
    let server = Server::new("lookup", "1.0.0").tools(tools![lookup]).build().unwrap();
    each_wire(&server, async |client| {
        let expected = json!({"type": "string", "pattern": "^[A-Z][a-z]+$", "description": "A first name."});
        assert_eq!(schema(&client, "lookup").await["properties"]["name"], expected);
        assert_eq!(said(&client, "lookup", json!({"name": "Ada"})).await, "Ada");
        for wrong in ["ada", "ADA", "Ada!", "A", ""] {
            assert_eq!(
                refused(&client, "lookup", json!({"name": wrong})).await,
                format!("argument `name`: expected text that matches `^[A-Z][a-z]+$`, got {wrong:?}")
            );
        }
    })
    .await;

    let error = Server::new("wrong", "1.0.0").tools(tools![broken]).build().unwrap_err().to_string();
    for part in ["tool `broken`: ", "`#/properties/name", "("] {
        assert!(error.contains(part), "{part:?} in {error}");
    }
}

/// Create a user.
#[tool(schema = {
    "properties": {
        "user": {
            "type": "object",
            "properties": {"name": {"type": "string", "minLength": 2}, "age": {"type": "integer", "minimum": 18}},
            "required": ["name"],
        },
        "note": {"maxLength": 5},
    },
    "required": ["note"],
})]
fn create(user: BTreeMap<String, Value>, note: Option<String>) -> String {
    format!("{user:?} {note:?}")
}

#[tool(schema = {"properties": {"usr": {"minLength": 1}}})]
fn typo(user: String) -> String {
    user
}

#[tokio::test]
async fn the_schema_of_a_tool_adds_to_what_the_types_say() {
    let server = Server::new("users", "1.0.0").tools(tools![create]).build().unwrap();
    each_wire(&server, async |client| {
        let schema = schema(&client, "create").await;
        assert_eq!(schema["required"], json!(["user", "note"]), "those of the types and those of the author");
        assert_eq!(schema["additionalProperties"], false, "the types still speak where the author is silent");
        assert_eq!(schema["properties"]["note"], json!({"type": "string", "maxLength": 5}));
        let user = &schema["properties"]["user"];
        assert_eq!(user["properties"]["name"], json!({"type": "string", "minLength": 2}));
        assert_eq!(user["required"], json!(["name"]));

        let good = json!({"user": {"name": "Ada", "age": 36}, "note": "hi"});
        assert_eq!(
            said(&client, "create", good).await,
            r#"{"age": Number(36), "name": String("Ada")} Some("hi")"#
        );
        for (arguments, expected) in [
            (json!({"user": {"name": "Ada"}}), "argument `note` is missing"),
            (
                json!({"user": {"name": "A"}, "note": ""}),
                "argument `user.name`: expected at least 2 characters, got 1",
            ),
            (json!({"user": {}, "note": ""}), "argument `user.name` is missing"),
            (
                json!({"user": {"name": "Ada", "age": 7}, "note": ""}),
                "argument `user.age`: expected at least 18, got 7",
            ),
            (
                json!({"user": {"name": "Ada"}, "note": "too long"}),
                "argument `note`: expected at most 5 characters, got 8",
            ),
        ] {
            assert_eq!(refused(&client, "create", arguments).await, expected);
        }
    })
    .await;

    let error = Server::new("wrong", "1.0.0").tools(tools![typo]).build().unwrap_err().to_string();
    let expected = "the schema describes `usr`, but there is no such argument, did you mean `user`?";
    assert!(error.contains(expected), "{error}");
}

/// Whatever the types say.
#[tool(input_schema = {
    "type": "object",
    "title": "JsonObject",
    "properties": {"key": {"type": "string", "enum": ["theme", "font"]}, "value": {"type": ["string", "number"]}},
    "required": ["key"],
    "x-author": "somebody",
})]
fn set(
    /// Not used.
    #[arg(min_length = 30, default = "x")]
    key: String,
    value: Option<Value>,
) -> String {
    format!("{key} {value:?}")
}

#[tool(input_schema = {"type": "array"})]
fn list() {}

#[tokio::test]
async fn a_whole_schema_replaces_everything() {
    let whole = json!({
        "type": "object",
        "title": "JsonObject",
        "properties": {"key": {"type": "string", "enum": ["theme", "font"]}, "value": {"type": ["string", "number"]}},
        "required": ["key"],
        "x-author": "somebody",
    });
    let by_hand = ToolEntry::define(Tool::new("by_hand", whole.clone()), |arguments: Value| async move {
        arguments["key"].as_str().unwrap_or_default().to_owned()
    });
    let server = Server::new("settings", "1.0.0").tools(tools![set]).tool(by_hand).build().unwrap();
    each_wire(&server, async |client| {
        for tool in ["set", "by_hand"] {
            assert_eq!(schema(&client, tool).await, whole, "{tool}");
            let text = refused(&client, tool, json!({"key": "colour"})).await;
            assert_eq!(text, r#"argument `key`: expected one of "theme", "font", got "colour""#, "{tool}");
            let text = refused(&client, tool, json!({"key": "font", "value": true})).await;
            assert_eq!(
                text, "argument `value`: expected a string or a number, got the boolean true",
                "{tool}"
            );
            assert_eq!(
                refused(&client, tool, json!({"value": 1})).await,
                "argument `key` is missing",
                "{tool}"
            );
        }
        assert_eq!(said(&client, "set", json!({"key": "font", "value": 12})).await, "font Some(Number(12))");
        assert_eq!(said(&client, "by_hand", json!({"key": "theme"})).await, "theme");
    })
    .await;

    let error = Server::new("wrong", "1.0.0").tools(tools![list]).build().unwrap_err().to_string();
    assert!(error.contains(r#"`type` must be "object", it is "array""#), "{error}");
}

/// Three voices.
#[tool(schema = {"properties": {"n": {"minimum": 10, "maximum": 100, "description": "tool", "title": "tool"}}})]
fn three(
    /// docs
    #[arg(minimum = 20, description = "argument")]
    n: u8,
) -> u8 {
    n
}

/// Four voices.
#[tool(
    schema = {"properties": {"n": {"minimum": 10, "maximum": 100, "description": "tool"}}},
    input_schema = {"type": "object", "properties": {"n": {"type": "integer", "minimum": 30, "maximum": 255}}},
)]
fn four(
    /// docs
    #[arg(minimum = 20, description = "argument", default = 25)]
    n: u8,
) -> u8 {
    n
}

#[tokio::test]
async fn the_whole_beats_the_argument_beats_the_tool_beats_the_types() {
    let server = Server::new("voices", "1.0.0").tools(tools![three, four]).build().unwrap();
    each_wire(&server, async |client| {
        let expected = json!({
            "type": "integer",        // the types
            "maximum": 100,           // the tool, over the 255 of the types
            "title": "tool",
            "minimum": 20,            // the argument, over the 10 of the tool and the 0 of the types
            "description": "argument",
        });
        assert_eq!(schema(&client, "three").await["properties"]["n"], expected);
        assert_eq!(refused(&client, "three", json!({"n": 19})).await, "argument `n`: expected at least 20, got 19");
        assert_eq!(refused(&client, "three", json!({"n": 101})).await, "argument `n`: expected at most 100, got 101");
        assert_eq!(said(&client, "three", json!({"n": 20})).await, "20");

        let whole = json!({"type": "object", "properties": {"n": {"type": "integer", "minimum": 30, "maximum": 255}}});
        assert_eq!(schema(&client, "four").await, whole);
        assert_eq!(refused(&client, "four", json!({"n": 29})).await, "argument `n`: expected at least 30, got 29");
        assert_eq!(said(&client, "four", json!({"n": 200})).await, "200");
    })
    .await;
}

/// Everything that JSON Schema can express and the types cannot.
fn rich() -> Value {
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "properties": {
            "level": {"enum": ["low", 1, null]},
            "headers": {
                "type": "object",
                "patternProperties": {"^X-": {"type": "string"}},
                "additionalProperties": false,
            },
            "home": {"type": "string", "format": "uri"},
            "shape": {"oneOf": [{"type": "string"}, {"type": "array", "prefixItems": [{"type": "number"}]}]},
        },
        "required": ["level"],
        "minProperties": 1,
    })
}

#[tokio::test]
async fn a_whole_schema_may_say_anything() {
    let echo = |arguments: Value| async move { arguments.to_string() };
    let server = Server::new("rich", "1.0.0")
        .tool(ToolEntry::define(Tool::new("rich", rich()), echo))
        .build()
        .unwrap();
    each_wire(&server, async |client| {
        assert_eq!(schema(&client, "rich").await, rich(), "word for word");
        let good =
            json!({"headers": {"X-A": "1"}, "home": "https://example.com", "level": null, "shape": [1, "x"]});
        assert_eq!(said(&client, "rich", good.clone()).await, good.to_string());
        for (arguments, expected) in [
            (json!({"level": "high"}), r#"argument `level`: expected one of "low", 1, null, got "high""#),
            (
                json!({"level": 1, "headers": {"X-A": true}}),
                "argument `headers.X-A`: expected a string, got the boolean true",
            ),
            (json!({"level": 1, "headers": {"Y": ""}}), "unknown argument `headers.Y`"),
            (json!({"level": 1, "home": "not here"}), "argument `home`: expected a URI"),
            (json!({"level": 1, "shape": ["x"]}), "argument `shape[0]`: expected a number"),
        ] {
            let text = refused(&client, "rich", arguments).await;
            assert!(text.starts_with(expected), "{text}");
        }
    })
    .await;

    // Rare keywords need the feature `full-schema`; without it building the server fails with that advice.
    let mut full = rich();
    full["if"] = json!({"properties": {"level": {"const": 1}}});
    full["then"] = json!({"required": ["home"]});
    full["propertyNames"] = json!({"maxLength": 7});
    full["dependentRequired"] = json!({"shape": ["headers"]});
    full["properties"]["list"] = json!({"type": "array", "contains": {"const": "x"}});
    let built =
        Server::new("full", "1.0.0").tool(ToolEntry::define(Tool::new("full", full.clone()), echo)).build();
    if !cfg!(feature = "full-schema") {
        let error = built.unwrap_err().to_string();
        for keyword in ["if", "propertyNames", "dependentRequired", "contains"] {
            assert!(error.contains(&format!("`{keyword}` at `#")), "{keyword}: {error}");
        }
        assert!(error.contains("enable the feature `full-schema` of toolway"), "{error}");
        return;
    }
    each_wire(&built.unwrap(), async |client| {
        assert_eq!(schema(&client, "full").await, full);
        let good = json!({"home": "https://example.com", "level": 1, "list": ["y", "x"]});
        assert_eq!(said(&client, "full", good.clone()).await, good.to_string());
        assert_eq!(said(&client, "full", json!({"level": "low"})).await, r#"{"level":"low"}"#);
        assert_eq!(refused(&client, "full", json!({"level": 1})).await, "argument `home` is missing");
        assert_eq!(
            refused(&client, "full", json!({"level": "low", "shape": "s"})).await,
            "argument `headers` is missing"
        );
        let text = refused(&client, "full", json!({"level": "low", "list": ["y"]})).await;
        assert!(text.starts_with("argument `list`: "), "{text}");
        for arguments in
            [json!({"level": "low", "much_too_long": 1}), json!({"level": 1, "home": "not here"})]
        {
            refused(&client, "full", arguments).await;
        }
    })
    .await;
}

/// Found by discovery, in its own module.
mod found {
    use toolway::prelude::*;

    /// Rate something.
    #[tool(schema = {"properties": {"stars": {"maximum": 5}}})]
    pub(super) fn rate(
        /// How many.
        #[arg(minimum = 1, default = 3)]
        stars: u8,
        why: Option<String>,
    ) -> String {
        format!("{stars} {why:?}")
    }
}

#[tokio::test]
async fn found_and_added_tools_have_the_same_schema_and_the_same_rules() {
    let discovered =
        Server::new("found", "1.0.0").discover_in("it::tools::input_schema::found").build().unwrap();
    let added = Server::new("added", "1.0.0").tools(tools![found::rate]).build().unwrap();
    let renamed = Server::new("renamed", "1.0.0").tools(tools![found::rate as "judge"]).build().unwrap();
    // Without macros, from a schema written by hand.
    let by_hand = ToolEntry::define(
        Tool::new("rate", added.tool("rate").unwrap().definition().input_schema.clone()),
        |arguments: Value| async move {
            format!("{} {:?}", arguments["stars"], arguments.get("why").and_then(Value::as_str))
        },
    );
    let by_hand = Server::new("by hand", "1.0.0").tool(by_hand).build().unwrap();
    for (server, name) in [(discovered, "rate"), (added, "rate"), (renamed, "judge"), (by_hand, "rate")] {
        each_wire(&server, async |client| {
            let expected = json!({
                "type": "object",
                "properties": {
                    "stars": {"type": "integer", "minimum": 1, "maximum": 5, "default": 3, "description": "How many."},
                    "why": {"type": "string"},
                },
                "additionalProperties": false,
            });
            assert_eq!(schema(&client, name).await, expected);
            assert_eq!(said(&client, name, json!({})).await, "3 None");
            assert_eq!(said(&client, name, json!({"stars": 5, "why": "good"})).await, r#"5 Some("good")"#);
            assert_eq!(refused(&client, name, json!({"stars": 6})).await, "argument `stars`: expected at most 5, got 6");
            assert_eq!(
                refused(&client, name, json!({"strs": 5})).await,
                "unknown argument `strs`, did you mean `stars`?"
            );
        })
        .await;
    }
}

/// How often a tool has run.
#[derive(Default)]
struct Runs(AtomicUsize);

/// Charge a customer.
#[tool]
fn charge(#[arg(minimum = 1)] amount: u32, to: Address, runs: State<Runs>) -> usize {
    let _ = (amount, to);
    runs.0.fetch_add(1, Ordering::SeqCst) + 1
}

#[derive(Deserialize, JsonSchema)]
struct Charge {
    amount: u32,
}

#[tokio::test]
async fn arguments_are_checked_before_the_function_runs() {
    let by_hand = json!({"type": "object", "properties": {"amount": {"minimum": 1}}, "required": ["amount"]});
    let by_hand =
        ToolEntry::define(Tool::new("by_hand", by_hand), |_: Value, runs: State<Runs>| async move {
            runs.0.fetch_add(1, Ordering::SeqCst) + 1
        });
    let closure = ToolEntry::from_fn("closure", |charge: Charge, runs: State<Runs>| async move {
        let _ = charge.amount;
        runs.0.fetch_add(1, Ordering::SeqCst) + 1
    });
    let tools = || tools![charge].into_iter().chain([by_hand.clone(), closure.clone()]);
    let server = Server::new("charge", "1.0.0").state(Runs::default()).tools(tools()).build().unwrap();
    each_wire(&server, async |client| {
        let runs = server.state::<Runs>().unwrap();
        let before = runs.0.load(Ordering::SeqCst);
        let to = json!({"street": "Main"});
        for (tool, arguments, expected) in [
            ("charge", json!({"amount": 0, "to": to}), "argument `amount`: expected at least 1, got 0"),
            ("charge", json!({"amount": 1}), "argument `to` is missing"),
            (
                "charge",
                json!({"amount": 1, "to": {"street": 5, "zip": "x"}}),
                "argument `to.zip`: expected an integer",
            ),
            ("charge", json!({"amount": 1, "to": to, "tip": 1}), "unknown argument `tip`"),
            ("by_hand", json!({"amount": 0}), "argument `amount`: expected at least 1, got 0"),
            ("by_hand", json!({}), "argument `amount` is missing"),
            ("closure", json!({"amount": -1}), "argument `amount`: expected at least 0, got -1"),
            ("closure", json!({"amount": 1, "amuont": 1}), "unknown argument `amuont`"),
        ] {
            let text = refused(&client, tool, arguments.clone()).await;
            assert!(text.contains(expected), "{tool} {arguments}: {text}");
        }
        assert_eq!(runs.0.load(Ordering::SeqCst), before, "no function has run");
        // A value with only one possible meaning is coerced.
        let count = said(&client, "charge", json!({"amount": "5", "to": to})).await;
        assert_eq!(count, (before + 1).to_string());
        assert_eq!(said(&client, "closure", json!({"amount": 5})).await, (before + 2).to_string());
    })
    .await;
    // Without coercion, if the server is strict.
    let strict =
        Server::new("strict", "1.0.0").strict().state(Runs::default()).tools(tools()).build().unwrap();
    each_wire(&strict, async |client| {
        for tool in ["charge", "closure"] {
            let text = refused(&client, tool, json!({"amount": "5", "to": {"street": "Main"}})).await;
            assert!(text.contains(r#"argument `amount`: expected an integer, got the string "5""#), "{text}");
        }
        assert_eq!(strict.state::<Runs>().unwrap().0.load(Ordering::SeqCst), 0);
    })
    .await;
}
