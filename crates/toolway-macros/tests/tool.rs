//! What `#[tool]` makes of functions and structs, seen through the door of a server.

mod support;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use support::{ask, call};
use toolway::prelude::*;

const FOLDER: &str = "general";

#[derive(Serialize, JsonSchema)]
struct Saved {
    path: String,
}

/// Save a note.
///
/// It is kept
#[allow(clippy::allow_attributes)]
/// for ever.
#[tool(
    name = "save-note",
    title = "Save note",
    idempotent,
    destructive = false,
    icons = ["https://a.example/i.png", icon(src = "https://a.example/d.svg", mime = "image/svg+xml", sizes = ["48x48", "any"], theme = "dark")],
    meta = {"team": "docs", "tags": [1, null]},
)]
async fn save(
    /// What to
    ///
    /// save.
    #[arg(title = "Body", min_length = 1, max_length = 80)]
    body: &str,
    #[arg(description = "Where to.", default = FOLDER)]
    /// Not this.
    folder: String,
    #[arg(minimum = -1, maximum = 2.5, example = 2)] level: Option<f64>,
    #[arg(enum = ["red", "blue"], unique_items = false)] colour: Option<String>,
    _: Ctx,
    state: &State<u8>,
) -> Result<Saved, ToolError> {
    let _ = (level, colour);
    if body == "bad" {
        return Err(ToolError::new("no"));
    }
    Ok(Saved { path: format!("{folder}/{body}/{}", **state) })
}

async fn listed(server: &Server) -> Value {
    ask(server, "tools/list", json!({})).await["tools"].take()
}

#[tokio::test]
async fn a_function_becomes_a_tool_with_all_that_was_said_about_it() {
    let server = Server::new("notes", "1").state(7_u8).tools(tools![save]).build().unwrap();
    let tools = listed(&server).await;
    assert_eq!(
        tools[0],
        json!({
            "name": "save-note",
            "title": "Save note",
            "description": "Save a note.\n\nIt is kept\nfor ever.",
            "inputSchema": {
                "type": "object",
                "properties": {
                    "body": {
                        "type": "string",
                        "title": "Body",
                        "description": "What to\n\nsave.",
                        "minLength": 1,
                        "maxLength": 80,
                    },
                    "folder": {"type": "string", "description": "Where to.", "default": "general"},
                    "level": {
                        "type": "number",
                        "minimum": -1,
                        "maximum": 2.5,
                        "examples": [2],
                    },
                    "colour": {"type": "string", "enum": ["red", "blue"], "uniqueItems": false},
                },
                "required": ["body"],
                "additionalProperties": false,
            },
            "outputSchema": tools[0]["outputSchema"],
            "annotations": {"destructiveHint": false, "idempotentHint": true},
            "icons": [
                {"src": "https://a.example/i.png"},
                {
                    "src": "https://a.example/d.svg",
                    "mimeType": "image/svg+xml",
                    "sizes": ["48x48", "any"],
                    "theme": "dark",
                },
            ],
            "_meta": {"team": "docs", "tags": [1, null]},
        })
    );
    assert_eq!(tools[0]["outputSchema"]["properties"]["path"]["type"], "string");
    assert_eq!(call(&server, "save-note", json!({"body": "x"})).await, r#"{"path":"general/x/7"}"#);
    assert_eq!(call(&server, "save-note", json!({"body": "bad"})).await, "no");
}

/// How long a text is.
#[tool(blocking, schema = {"properties": {"text": {"maxLength": 3}}}, output_schema = json!({"type": "object", "title": "Ours"}))]
fn length(text: &str) -> Value {
    json!({"length": text.len()})
}

fn whole() -> Value {
    json!({"type": "object", "properties": {"n": {"type": "integer", "title": "whole"}}})
}

#[tool(input_schema = whole(), description = concat!("a", "b"))]
fn double(n: i64) -> i64 {
    2 * n
}

#[tokio::test]
async fn schemas_can_be_merged_and_replaced() {
    let server = Server::new("t", "1").tools(tools![length, double as "twice"]).build().unwrap();
    let tools = listed(&server).await;
    assert_eq!(tools[0]["inputSchema"]["properties"]["text"], json!({"type": "string", "maxLength": 3}));
    assert_eq!(tools[0]["outputSchema"], json!({"type": "object", "title": "Ours"}));
    assert_eq!(tools[1]["inputSchema"], whole());
    assert_eq!((tools[1]["name"].as_str(), tools[1]["description"].as_str()), (Some("twice"), Some("ab")));
    assert_eq!(call(&server, "length", json!({"text": "abc"})).await, r#"{"length":3}"#);
    assert!(call(&server, "length", json!({"text": "abcd"})).await.contains('3'));
    assert_eq!(call(&server, "twice", json!({"n": 4})).await, "8");
}

/// Save a note.
#[tool(read_only = false)]
#[derive(Deserialize, JsonSchema)]
struct SaveNote {
    /// What to save.
    text: String,
}

impl Run for SaveNote {
    type Output = Result<String, ToolError>;

    async fn run(self, _: Ctx) -> Self::Output {
        Ok(format!("saved {:?}", self.text))
    }
}

#[tokio::test]
async fn a_struct_becomes_a_tool_named_after_its_type() {
    let server = Server::new("t", "1").tools(tools![SaveNote]).build().unwrap();
    let tools = listed(&server).await;
    assert_eq!(tools[0]["name"], "save_note");
    assert_eq!(tools[0]["description"], "Save a note.");
    assert_eq!(tools[0]["inputSchema"]["properties"]["text"]["description"], "What to save.");
    assert_eq!(call(&server, "save_note", json!({"text": "x"})).await, r#"saved "x""#);
}

#[tool]
fn wrong_default(#[arg(default = "many")] count: u8) -> u8 {
    count
}

#[tokio::test]
async fn a_default_of_another_type_is_told_when_the_server_is_built() {
    let error = Server::new("t", "1").tools(tools![wrong_default]).build().unwrap_err();
    assert!(error.to_string().contains("the default of argument `count`"), "{error}");
}

mod found {
    use toolway::prelude::*;

    /// One.
    #[tool]
    fn one() -> u8 {
        1
    }

    #[tool]
    #[derive(serde::Deserialize, schemars::JsonSchema)]
    struct Two {}

    impl Run for Two {
        type Output = u8;

        async fn run(self, _: Ctx) -> u8 {
            2
        }
    }
}

#[tokio::test]
async fn marked_items_are_found() {
    let server = Server::new("t", "1").discover_in("tool::found").build().unwrap();
    let tools = listed(&server).await;
    let names: Vec<_> = tools.as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["two", "one"]);
    // `wrong_default` is of this package too.
    let error = Server::new("t", "1").state(7_u8).discover().build().unwrap_err();
    assert!(error.to_string().contains("wrong_default"), "{error}");
}

/// What a macro writes must not mean what the author's names mean.
mod names {
    #![expect(dead_code, reason = "they are only in the way")]

    use toolway::tool;

    struct Arguments;
    struct Result;
    struct Option;
    struct Box;
    struct Vec;
    struct Plain;
    struct Own;
    struct Some;
    struct None;
    struct Ok;
    struct Err;
    mod core {}
    mod std {}

    type Text = ::std::string::String;
    type Borrowed<'a> = ::std::borrow::Cow<'a, str>;

    #[expect(clippy::elidable_lifetime_names, reason = "some authors name them")]
    #[tool]
    pub(super) async fn r#type<'a>(
        r#fn: Text,
        #[arg(default = "x")] scope: Borrowed<'a>,
        slots: ::std::option::Option<u8>,
        #[allow(unused)] mut name: ::std::vec::Vec<u8>,
    ) -> ::std::string::String {
        let _ = (slots, &name);
        ::std::format!("{fn}{scope}")
    }
}

#[tokio::test]
async fn names_of_the_author_do_not_disturb() {
    let server = Server::new("t", "1").tools(tools![names::r#type]).build().unwrap();
    assert_eq!(call(&server, "type", json!({"fn": "a", "name": []})).await, "ax");
}

macro_rules! constant {
    ($name:ident, $title:literal, $value:expr) => {
        #[doc = concat!("Gives ", $title)]
        #[doc = $title]
        #[tool(title = $title)]
        fn $name(#[arg(default = $value)] value: u8) -> u8 {
            value
        }
    };
}
constant!(seven, "Seven", 7);

#[tokio::test]
async fn a_macro_may_write_tools() {
    let server = Server::new("t", "1").tools(tools![seven]).build().unwrap();
    let tools = listed(&server).await;
    assert_eq!(
        (&tools[0]["title"], &tools[0]["description"]),
        (&json!("Seven"), &json!("Gives Seven\nSeven"))
    );
    assert_eq!(call(&server, "seven", json!({})).await, "7");
}
