//! What `#[tool]` makes of functions and structs, tested through a server.

use crate::support::{ask, call};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use toolway::prelude::*;
use toolway::server::{Extension, Extensions, Run, ToolEntry};

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
    #[arg(enum = ["red", "blue"])] colour: Option<String>,
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
                    "colour": {"type": "string", "enum": ["red", "blue"]},
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
    use toolway::server::Run;

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
    let server = Server::new("t", "1").discover_in("macros::tool::found").build().unwrap();
    let tools = listed(&server).await;
    let names: Vec<_> = tools.as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["two", "one"]);
    // `wrong_default` is in this package too, so it is discovered.
    let error = Server::new("t", "1").state(7_u8).discover().build().unwrap_err();
    assert!(error.to_string().contains("wrong_default"), "{error}");
}

/// Names in the generated code must not resolve to the author's items.
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

struct Unit(&'static str);

/// What the server provides is taken apart where it stands.
#[tool]
async fn measure(metres: f64, State(unit): State<Unit>, Extension(user): Extension<String>) -> String {
    // The inner value is shared, and can outlive the call.
    let unit: std::sync::Arc<Unit> = unit;
    let told = std::thread::spawn(move || unit.0).join().expect("nothing panics");
    format!("{metres} {told} for {user}")
}

#[tokio::test]
async fn state_and_extensions_can_be_taken_apart() {
    assert_eq!(measure(1.5, State::new(Unit("m")), Extension::new("ann".to_owned())).await, "1.5 m for ann");
    let server = Server::new("t", "1").state(Unit("yd")).tool(measure::entry()).build().expect("a server");
    let listed = listed(&server).await;
    assert_eq!(listed[0]["inputSchema"]["required"], json!(["metres"]));
    assert_eq!(listed[0]["inputSchema"]["properties"].as_object().map(serde_json::Map::len), Some(1));
    let message = json!({
        "jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {"name": "measure", "arguments": {"metres": 2}},
    });
    let mut extensions = Extensions::new();
    extensions.insert("bob".to_owned());
    let answer = server.handle_json(message.to_string(), extensions).await.expect("an answer");
    assert!(answer.contains("2 yd for bob"), "{answer}");
}

/// Says which parameters are there.
#[tool]
fn conditional(
    #[cfg(any())] absent: NoSuchType,
    /// The one that is there.
    #[cfg(test)]
    #[arg(minimum = 1)]
    present: u8,
    #[cfg(any())]
    #[arg(default = nothing_of_the_kind)]
    gone: u8,
    #[cfg(test)] also: Option<u8>,
) -> String {
    format!("{present} {also:?}")
}

#[tokio::test]
async fn parameters_may_have_conditions() {
    assert_eq!(conditional(1, None), "1 None");
    let server = Server::new("t", "1").tools(tools![conditional]).build().expect("a server");
    let schema = &listed(&server).await[0]["inputSchema"];
    let names: Vec<_> =
        schema["properties"].as_object().into_iter().flatten().map(|(name, _)| name).collect();
    assert_eq!(names, ["also", "present"]);
    assert_eq!(schema["properties"]["present"]["description"], "The one that is there.");
    assert_eq!(schema["properties"]["present"]["minimum"], 1);
    assert_eq!(call(&server, "conditional", json!({"present": 2, "also": 3})).await, "2 Some(3)");
}

/// Lists accept items in modules, in functions and under other names.
#[tokio::test]
async fn names_of_lists_are_found_wherever_they_stand() {
    mod inner {
        use toolway::prelude::*;

        #[tool]
        pub(super) fn one() -> u8 {
            1
        }
        pub(super) use one as two;
    }
    #[tool]
    fn local() -> u8 {
        3
    }
    type Alias = local;
    use inner::one;

    let tools = tools![one, inner::two as "two", self::save as "four", Alias as "five", local, SaveNote];
    let names: Vec<_> = tools.iter().map(|tool| tool.definition().name.as_str()).collect();
    assert_eq!(names, ["one", "two", "four", "five", "local", "save_note"]);
    // An element that is not a plain path is a type.
    assert_eq!(tools![<Vec<SaveNote> as IntoIterator>::Item][0].definition().name, "save_note");
    let none: Vec<ToolEntry> = tools![];
    assert!(none.is_empty());
    // A single entry does not need a list.
    assert_eq!(SaveNote::entry().definition().name, "save_note");
    assert_eq!(inner::two::entry().definition().name, "one");
}
