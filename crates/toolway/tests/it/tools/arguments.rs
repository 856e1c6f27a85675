//! As which types are the arguments of a tool read, and which may be left out?

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use toolway::prelude::*;
use toolway::server::ToolEntry;
use toolway::testing::each_wire;

use super::serve;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Unit {
    Metre,
    Foot,
}

#[tool]
fn typed(
    whole: i32,
    positive: u8,
    number: f64,
    text: String,
    flag: bool,
    list: Vec<i64>,
    unit: Unit,
) -> String {
    format!("{whole} {positive} {number} {text} {flag} {list:?} {unit:?}")
}

fn typed_arguments(name: &str, value: Value) -> Value {
    let mut all = json!({
        "whole": -3, "positive": 7, "number": 1.5, "text": "t", "flag": true, "list": [1, 2], "unit": "foot",
    });
    all[name] = value;
    all
}

#[tokio::test]
async fn arguments_are_read_as_the_types_that_the_function_has() {
    let expected = "-3 7 1.5 t true [1, 2] Foot";
    // The right type, and values with only one possible meaning.
    let meant = [
        ("whole", json!(-3)),
        ("whole", json!("-3")),
        ("whole", json!(-3.0)),
        ("positive", json!("7")),
        ("number", json!("1.5")),
        ("flag", json!("true")),
        ("list", json!("[1, 2]")),
        ("list", json!(["1", 2])),
    ];
    // Values without such a meaning are refused, with the name of the argument.
    let wrong = [
        ("whole", json!(1.5)),
        ("whole", json!("three")),
        ("whole", json!(null)),
        ("positive", json!(-1)),
        ("positive", json!(256)),
        ("number", json!([1.5])),
        ("text", json!(["t"])),
        ("flag", json!(1)),
        ("list", json!("1, 2")),
        ("unit", json!("mile")),
    ];
    each_wire(&serve(tools![typed]), async |client| {
        for (name, value) in &meant {
            let result = client.call("typed", typed_arguments(name, value.clone())).await.unwrap();
            assert_eq!((result.is_error(), result.first_text()), (false, Some(expected)), "{name} {value}");
        }
        // A number where a string is expected becomes that string.
        let result = client.call("typed", typed_arguments("text", json!(5))).await.unwrap();
        assert_eq!(result.first_text(), Some("-3 7 1.5 5 true [1, 2] Foot"));
        // An integer is a number.
        let result = client.call("typed", typed_arguments("number", json!(2))).await.unwrap();
        assert_eq!(result.first_text(), Some("-3 7 2 t true [1, 2] Foot"));
        for (name, value) in &wrong {
            let result = client.call("typed", typed_arguments(name, value.clone())).await.unwrap();
            assert!(result.is_error(), "{name} {value}");
            let text = result.first_text().unwrap();
            assert!(text.starts_with(&format!("argument `{name}")), "{name} {value}: {text}");
        }
    })
    .await;
    // Without coercion, if the server is strict.
    let strict = Server::new("tools", "1.0.0").tools(tools![typed]).strict().build().unwrap();
    each_wire(&strict, async |client| {
        let result = client.call("typed", typed_arguments("whole", json!(-3))).await.unwrap();
        assert_eq!(result.first_text(), Some(expected));
        for (name, value) in [("whole", json!("-3")), ("flag", json!("true")), ("list", json!("[1, 2]"))] {
            let result = client.call("typed", typed_arguments(name, value.clone())).await.unwrap();
            assert!(result.is_error(), "{name} {value}");
        }
    })
    .await;
}

#[tool]
fn analyse(
    text: String,
    #[arg(default = "general")] focus: String,
    #[arg(default = 3)] depth: u32,
    limit: Option<u32>,
) -> String {
    format!("{text} {focus} {depth} {limit:?}")
}

#[derive(Deserialize, JsonSchema)]
struct Options {
    text: String,
    #[serde(default = "general")]
    focus: String,
    limit: Option<u32>,
}

fn general() -> String {
    "general".to_owned()
}

#[tokio::test]
async fn what_has_a_default_may_be_left_out() {
    let by_hand = ToolEntry::from_fn("by_hand", |options: Options| async move {
        format!("{} {} {:?}", options.text, options.focus, options.limit)
    });
    let server = Server::new("tools", "1.0.0").tools(tools![analyse]).tool(by_hand).build().unwrap();
    each_wire(&server, async |client| {
        for (arguments, expected) in [
            (json!({"text": "t"}), "t general 3 None"),
            (json!({"text": "t", "focus": "style"}), "t style 3 None"),
            (json!({"text": "t", "depth": 1, "limit": 9}), "t general 1 Some(9)"),
            (json!({"text": "t", "limit": null}), "t general 3 None"),
        ] {
            let result = client.call("analyse", arguments).await.unwrap();
            assert_eq!((result.is_error(), result.first_text()), (false, Some(expected)));
        }
        let missing = client.call("analyse", json!({"focus": "style"})).await.unwrap();
        assert_eq!((missing.is_error(), missing.first_text()), (true, Some("argument `text` is missing")));
        let tools = client.tools().await.unwrap();
        let schema: Value = tools[0].input_schema.decode().unwrap();
        assert_eq!(schema["required"], json!(["text"]));
        assert_eq!(schema["properties"]["focus"]["default"], "general");
        assert_eq!(schema["properties"]["depth"]["default"], 3);
        // `serde` has defaults too.
        let result = client.call("by_hand", json!({"text": "t"})).await.unwrap();
        assert_eq!(result.first_text(), Some("t general None"));
        let schema: Value = tools[1].input_schema.decode().unwrap();
        assert_eq!(schema["required"], json!(["text"]));
    })
    .await;
}
