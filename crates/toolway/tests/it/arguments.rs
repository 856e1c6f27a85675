//! Do invalid arguments get an answer that a model can act on?

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use toolway::prelude::*;
use toolway::server::parameter::{Missing, Parameter, Scope};
use toolway::server::{Extension, Extensions, ToolEntry};
use toolway::testing::each_wire;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Unit {
    Metre,
    Foot,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct Point {
    x: i64,
    #[expect(dead_code, reason = "only its schema matters")]
    labels: BTreeMap<String, Vec<u32>>,
}

/// Describe a measurement.
#[tool]
fn measure(length: f64, unit: Option<Unit>, points: Vec<Point>) -> String {
    format!("{length} {unit:?} {}", points.iter().map(|point| point.x).sum::<i64>())
}

/// Types of the author with names that the macro might use itself.
mod clash {
    use super::*;

    #[derive(Deserialize, JsonSchema)]
    pub(super) struct Arguments(i64);
    #[derive(Deserialize, JsonSchema)]
    pub(super) struct A(i64);
    #[derive(Deserialize, JsonSchema)]
    pub(super) struct Slots(i64);

    /// Adds.
    #[tool]
    pub(super) fn clash(arguments: Arguments, scope: A, collected: Slots, sent: i64, result: i64) -> i64 {
        arguments.0 + scope.0 + collected.0 + sent + result
    }
}

/// Takes nothing.
#[tool]
fn nothing() {}

struct Prefix(String);

/// An extractor of the application.
struct FirstLetter(char);

impl Parameter for FirstLetter {
    fn from_scope(scope: &Scope) -> Result<Self, Missing> {
        scope.states().get::<Prefix>().and_then(|prefix| prefix.0.chars().next()).map(Self).ok_or(Missing)
    }
}

/// An alias, which hides the type from the macro.
type Context = Ctx;

/// Mixes arguments and values of the server.
#[tool]
async fn mixed(name: String, prefix: State<Prefix>, letter: FirstLetter, ctx: Context, also: &Ctx) -> String {
    assert_eq!(ctx.peer().version, also.peer().version);
    format!("{}{name}{}", prefix.0, letter.0)
}

fn server() -> Server {
    let tools = tools![measure, nothing, mixed, clash::clash];
    Server::new("args", "1.0.0").state(Prefix("pre-".into())).tools(tools).build().unwrap()
}

async fn complaint(client: &Client, tool: &str, arguments: Value) -> String {
    let result = client.call(tool, arguments).await.unwrap();
    assert!(result.is_error(), "{result:?}");
    result.first_text().unwrap().to_owned()
}

#[tokio::test]
async fn what_is_wrong_is_named() {
    each_wire(&server(), async |client| {
        for (tool, arguments, expected) in [
            ("measure", json!({}), "argument `length` is missing; argument `points` is missing"),
            (
                "measure",
                json!({"length": "x", "points": []}),
                "argument `length`: expected a number, got the string \"x\"",
            ),
            (
                "measure",
                json!({"lenght": 1, "points": []}),
                "argument `length` is missing; unknown argument `lenght`, did you mean `length`?",
            ),
            (
                "measure",
                json!({"length": 1, "unit": "mile", "points": []}),
                "argument `unit`: expected one of \"metre\", \"foot\", got \"mile\"",
            ),
            ("nothing", json!({"a": 1}), "unknown argument `a`: this tool takes none"),
            ("mixed", json!({"name": "x", "ctx": {}}), "unknown argument `ctx`, known are `name`"),
        ] {
            assert_eq!(complaint(&client, tool, arguments).await, expected);
        }
    })
    .await;
}

#[tokio::test]
async fn names_of_the_author_never_clash_with_the_macro() {
    each_wire(&server(), async |client| {
        let arguments = json!({"arguments": 1, "scope": 2, "collected": 3, "sent": 4, "result": 5});
        assert_eq!(client.call("clash", arguments).await.unwrap().first_text(), Some("15"));
    })
    .await;
}

#[tokio::test]
async fn an_argument_that_occurs_twice_is_refused_at_any_depth() {
    // Free JSON has no type that could refuse it.
    let free = ToolEntry::from_fn("free", |value: Value| async move { value.to_string() });
    let server = Server::new("args", "1.0.0").tools(tools![counted]).tool(free).build().unwrap();
    for (tool, arguments, path) in [
        ("counted", r#"{"count":5,"count":5}"#, "count"),
        ("counted", r#"{"count":5,"inner":{"depth":1,"depth":1}}"#, "inner.depth"),
        ("free", r#"{"a":1,"a":2}"#, "a"),
        ("free", r#"{"list":[{"a":1},{"a":1,"b":{"\u0063":1,"c":2}}]}"#, "list[1].b.c"),
    ] {
        let frame = format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"{tool}","arguments":{arguments}}}}}"#
        );
        let reply = crate::pipe::one_line(&server, frame.as_bytes()).await;
        assert_eq!(reply["error"]["code"], -32602, "{reply}");
        assert_eq!(reply["error"]["message"], format!("`params.arguments.{path}` occurs twice"));
    }
}

#[tokio::test]
async fn values_of_the_server_are_told_by_type_and_are_not_in_the_schema() {
    each_wire(&server(), async |client| {
        let tools = client.tools().await.unwrap();
        let schema: Value = tools[2].input_schema.decode().unwrap();
        assert_eq!(schema["properties"], json!({"name": {"type": "string"}}));
        assert_eq!(schema["required"], json!(["name"]));
        let result = client.call("mixed", json!({"name": "x"})).await.unwrap();
        assert_eq!(result.first_text(), Some("pre-xp"));
    })
    .await;
}

#[tokio::test]
async fn schemas_describe_nested_types_portably() {
    each_wire(&server(), async |client| {
        let tools = client.tools().await.unwrap();
        let schema: Value = tools[0].input_schema.decode().unwrap();
        assert_eq!(schema["properties"]["points"]["type"], "array");
        let point = &schema["$defs"]["Point"];
        assert_eq!(point["properties"]["x"], json!({"type": "integer"}), "no format that only Rust knows");
        let label = &point["properties"]["labels"]["additionalProperties"]["items"];
        assert_eq!(*label, json!({"type": "integer", "minimum": 0}));
        let nothing: Value = tools[1].input_schema.decode().unwrap();
        assert_eq!(nothing, json!({"type": "object", "properties": {}, "additionalProperties": false}));
    })
    .await;
}

#[tokio::test]
async fn no_arguments_are_the_empty_object() {
    let frame = br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"nothing"}}"#;
    let reply = crate::pipe::one_line(&server(), frame).await;
    assert_eq!(reply["result"]["content"], json!([]), "{reply}");
}

/// Sends a frame to the server itself and returns the text of the result, or the message of the error.
async fn told(server: &Server, method: &str, params: &str) -> Result<String, String> {
    let frame = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params}}}"#);
    let reply = server.handle_json(frame, Extensions::new()).await.unwrap();
    let reply: Value = serde_json::from_str(&reply).unwrap();
    if let Some(message) = reply["error"]["message"].as_str() {
        return Err(message.to_owned());
    }
    let text = match method {
        "tools/call" => &reply["result"]["content"][0]["text"],
        _ => &reply["result"]["contents"][0]["text"],
    };
    let text = text.as_str().unwrap_or_default().to_owned();
    if reply["result"]["isError"] == true { Err(text) } else { Ok(text) }
}

async fn called(server: &Server, tool: &str, arguments: &str) -> Result<String, String> {
    told(server, "tools/call", &format!(r#"{{"name":"{tool}","arguments":{arguments}}}"#)).await
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
struct Inner {
    #[serde(default)]
    depth: u32,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct Counted {
    count: i64,
    #[serde(default)]
    inner: Inner,
    #[serde(default = "five")]
    limit: Option<u32>,
}

#[expect(clippy::unnecessary_wraps, reason = "`serde` wants the type of the field")]
fn five() -> Option<u32> {
    Some(5)
}

/// Counts.
#[tool]
fn counted(
    count: i64,
    #[arg(default = {"depth": 0})] inner: Inner,
    #[arg(default = 5)] limit: Option<u32>,
) -> String {
    format!("{count} {} {limit:?}", inner.depth)
}

#[tokio::test]
async fn a_struct_and_a_function_read_the_same_arguments_alike() {
    let of_struct = ToolEntry::from_fn("struct", |counted: Counted| async move {
        format!("{} {} {:?}", counted.count, counted.inner.depth, counted.limit)
    });
    let server = Server::new("args", "1.0.0").tools(tools![counted]).tool(of_struct).build().unwrap();
    for (arguments, expected) in [
        (r#"{"count":5}"#, Ok("5 0 Some(5)")),
        (r#"{"count":5.0}"#, Ok("5 0 Some(5)")),
        (r#"{"count":"5"}"#, Ok("5 0 Some(5)")),
        (r#"{"count":5,"inner":{"depth":null}}"#, Ok("5 0 Some(5)")),
        (r#"{"count":5,"inner":{"depth":2.0}}"#, Ok("5 2 Some(5)")),
        (r#"{"count":5,"limit":7}"#, Ok("5 0 Some(7)")),
        // Null means the default, where there is one.
        (r#"{"count":5,"limit":null}"#, Ok("5 0 Some(5)")),
        (r#"{"count":5,"inner":null}"#, Ok("5 0 Some(5)")),
        (r#"{"count":5,"inner":{"depth":-1}}"#, Err("argument `inner.depth`: expected at least 0, got -1")),
    ] {
        for tool in ["counted", "struct"] {
            let found = called(&server, tool, arguments).await;
            let found = found.as_deref().map_err(String::as_str);
            assert_eq!(found, expected, "{tool} {arguments}");
        }
    }
}

#[tokio::test]
async fn what_only_the_type_refuses_is_told_with_its_argument() {
    #[derive(Deserialize, JsonSchema)]
    #[serde(try_from = "u32")]
    struct Even(u32);
    impl TryFrom<u32> for Even {
        type Error = &'static str;

        fn try_from(number: u32) -> Result<Self, &'static str> {
            if number.is_multiple_of(2) { Ok(Self(number)) } else { Err("that is odd") }
        }
    }
    #[derive(Deserialize, JsonSchema)]
    struct Pair {
        left: Even,
        right: Even,
    }
    let server = Server::new("args", "1.0.0")
        .tool(ToolEntry::from_fn("pair", |pair: Pair| async move { pair.left.0 + pair.right.0 }))
        .build()
        .unwrap();
    assert_eq!(called(&server, "pair", r#"{"left":2,"right":4}"#).await, Ok("6".to_owned()));
    let told = called(&server, "pair", r#"{"left":2,"right":3}"#).await;
    assert_eq!(told, Err("argument `right`: that is odd".to_owned()));
}

#[tokio::test]
async fn what_a_type_refuses_is_told_in_terms_of_json_with_path_and_format() {
    /// A text of which the schema checks nothing.
    #[derive(Debug, Deserialize)]
    #[serde(try_from = "String")]
    struct Moment;
    impl TryFrom<String> for Moment {
        type Error = &'static str;

        fn try_from(text: String) -> Result<Self, &'static str> {
            if text == "now" { Ok(Self) } else { Err("premature end of input") }
        }
    }
    impl JsonSchema for Moment {
        fn schema_name() -> std::borrow::Cow<'static, str> {
            "Moment".into()
        }

        fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
            schemars::json_schema!({"type": "string", "format": "partial-date-time"})
        }
    }
    #[derive(Debug, Deserialize, JsonSchema)]
    struct Visit {
        at: Moment,
        #[serde(default)]
        later: Vec<Option<Moment>>,
        #[serde(default)]
        guests: u32,
    }
    /// Plans a visit.
    #[tool]
    fn plan(visit: Visit, #[arg(default = 1)] guests: u32) -> String {
        format!("{:?} {guests} {:?} {:?}", visit.guests, visit.at, visit.later)
    }
    let of_struct = ToolEntry::from_fn("struct", |visit: Visit| async move { format!("{visit:?}") });
    let server = Server::new("args", "1.0.0").tools(tools![plan]).tool(of_struct).build().unwrap();
    let format = "premature end of input; expected text of the format `partial-date-time`";
    let range = "expected an integer from 0 to 4294967295, got 5000000000";
    for (tool, arguments, expected) in [
        ("plan", r#"{"visit":{"at":"now"},"guests":5000000000}"#, format!("argument `guests`: {range}")),
        (
            "plan",
            r#"{"visit":{"at":"now","guests":5000000000}}"#,
            format!("argument `visit.guests`: {range}"),
        ),
        ("plan", r#"{"visit":{"at":"2024"}}"#, format!("argument `visit.at`: {format}")),
        (
            "plan",
            r#"{"visit":{"at":"now","later":[null,"2024"]}}"#,
            format!("argument `visit.later[1]`: {format}"),
        ),
        ("struct", r#"{"at":"2024"}"#, format!("argument `at`: {format}")),
        ("struct", r#"{"at":"now","later":["2024"]}"#, format!("argument `later[0]`: {format}")),
        ("struct", r#"{"at":"now","guests":5000000000}"#, format!("argument `guests`: {range}")),
    ] {
        assert_eq!(called(&server, tool, arguments).await, Err(expected), "{tool} {arguments}");
    }
    assert!(called(&server, "plan", r#"{"visit":{"at":"now","guests":"7"}}"#).await.is_ok());
}

#[derive(Deserialize, JsonSchema)]
struct Shirt {
    #[schemars(extend("enum" = ["small", "large"]))]
    size: String,
    #[serde(default)]
    #[schemars(with = "u8")]
    count: Value,
}

#[tokio::test]
async fn rules_that_serde_does_not_know_are_kept() {
    /// Orders a shirt.
    #[tool]
    fn order(shirt: Shirt) -> String {
        format!("{} {}", shirt.size, shirt.count)
    }
    let server = Server::new("args", "1.0.0").tools(tools![order]).build().unwrap();
    let sent = r#"{"shirt":{"size":"large","count":2}}"#;
    assert_eq!(called(&server, "order", sent).await, Ok("large 2".to_owned()));
    for sent in [r#"{"shirt":{"size":"huge"}}"#, r#"{"shirt":{"size":"large","count":"many"}}"#] {
        assert!(called(&server, "order", sent).await.is_err(), "{sent}");
    }
}

#[tokio::test]
async fn texts_inside_texts_never_make_arguments_too_deep() {
    #[derive(Deserialize, JsonSchema)]
    struct Tree {
        children: Vec<Tree>,
    }
    impl Tree {
        fn height(&self) -> usize {
            1 + self.children.iter().map(Self::height).max().unwrap_or(0)
        }
    }
    /// Measures a tree.
    #[tool]
    fn height(tree: Tree) -> String {
        tree.height().to_string()
    }
    let server = Server::new("args", "1.0.0").tools(tools![height]).build().unwrap();
    let nested = |levels: usize, each: usize| {
        let wrap = |text: &str| format!("{}{text}{}", r#"{"children":["#.repeat(each), "]}".repeat(each));
        (0..levels).fold(wrap(""), |text, _| wrap(&Value::from(text).to_string()))
    };
    let shallow = format!(r#"{{"tree":{}}}"#, nested(2, 4));
    assert_eq!(called(&server, "height", &shallow).await, Ok("12".to_owned()));
    // A stack overflow would end the whole process.
    for levels in [1, 5, 13] {
        let deep = format!(r#"{{"tree":{}}}"#, nested(levels, 55));
        assert!(called(&server, "height", &deep).await.is_err(), "{levels} texts");
    }
}

#[tokio::test]
async fn what_the_server_lacks_is_not_told_to_the_peer() {
    struct Session;
    /// Who is it?
    #[tool]
    fn who(_admin_session: Extension<Session>) -> String {
        "somebody".to_owned()
    }
    /// Greets.
    #[prompt]
    fn greet(_admin_session: Extension<Session>) -> String {
        "hello".to_owned()
    }
    let server = Server::new("args", "1.0.0").tools(tools![who]).prompts(prompts![greet]).build().unwrap();
    for method in ["tools/call", "prompts/get"] {
        let name = if method == "tools/call" { "who" } else { "greet" };
        let told = told(&server, method, &format!(r#"{{"name":"{name}"}}"#)).await.unwrap_err();
        assert!(!told.contains("session") && told.contains("operator"), "{told}");
    }
}

#[tokio::test]
async fn texts_that_are_no_numbers_of_json_are_refused() {
    /// A number.
    #[resource(uri = "number://{number}")]
    fn number(number: f64) -> String {
        number.to_string()
    }
    let server = Server::new("args", "1.0.0").resources(resources![number]).build().unwrap();
    for (text, is_number) in
        [("1.5", true), ("-2", true), ("NaN", false), ("inf", false), ("-infinity", false), ("1e999", false)]
    {
        let read = told(&server, "resources/read", &format!(r#"{{"uri":"number://{text}"}}"#)).await;
        assert_eq!(read.is_ok(), is_number, "{text}: {read:?}");
    }
}

#[tokio::test]
async fn many_unknown_names_get_a_short_answer() {
    /// Greets.
    #[prompt]
    fn greet(name: Option<String>) -> String {
        format!("Greet {name:?}.")
    }
    let server =
        Server::new("args", "1.0.0").tools(tools![nothing]).prompts(prompts![greet]).build().unwrap();
    let names: Vec<_> = (0..20_000).map(|number| format!(r#""{number:x<90}":"""#)).collect();
    for (method, name) in [("prompts/get", "greet"), ("tools/call", "nothing")] {
        let params = format!(r#"{{"name":"{name}","arguments":{{{}}}}}"#, names.join(","));
        let told = told(&server, method, &params).await.unwrap_err();
        assert_eq!(told.matches("unknown argument").count(), 10, "{told}");
        assert!(told.len() < 2000, "{told}");
    }
}
