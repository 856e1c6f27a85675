//! Bad arguments get an answer that a model can act on.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use toolway::prelude::*;
use toolway::server::{Missing, Parameter, Scope};
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

/// Types of the author whose names the macro might use itself.
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

/// An extractor of the application's own.
struct FirstLetter(char);

impl Parameter for FirstLetter {
    fn absent(scope: &Scope) -> Result<Self, Missing> {
        scope.states().get::<Prefix>().and_then(|prefix| prefix.0.chars().next()).map(Self).ok_or(Missing)
    }
}

/// A name for a type that the macro cannot see through.
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
                "argument `length`: invalid type: string \"x\", expected f64",
            ),
            (
                "measure",
                json!({"lenght": 1, "points": []}),
                "unknown argument `lenght`, did you mean `length`?; argument `length` is missing",
            ),
            (
                "measure",
                json!({"length": 1, "unit": "mile", "points": []}),
                "argument `unit`: unknown variant `mile`, expected `metre` or `foot`",
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
async fn an_argument_that_comes_twice_is_refused() {
    let frame = br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"mixed","arguments":{"name":"a","name":"b"}}}"#;
    let reply = crate::pipe::one_line(&server(), frame).await;
    assert_eq!(reply["result"]["isError"], true, "{reply}");
    assert_eq!(reply["result"]["content"][0]["text"], "argument `name`: it comes twice");
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
