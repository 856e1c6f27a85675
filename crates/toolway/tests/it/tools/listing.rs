//! Are tools listed and called correctly?

use serde_json::{Value, json};
use toolway::prelude::*;
use toolway::server::{PromptEntry, ToolEntry};
use toolway::testing::each_wire;

/// Add two numbers.
///
/// Both may be negative.
#[tool]
async fn add(
    /// First addend.
    a: f64,
    /// Second addend.
    b: f64,
) -> f64 {
    a + b
}

/// Greet a person.
#[tool(name = "greet", title = "Greeting", read_only, idempotent, destructive = false)]
fn greeting(name: &str, r#type: Option<String>) -> String {
    format!("{} {name}!", r#type.as_deref().unwrap_or("hello"))
}

fn calculator() -> Server {
    Server::new("calculator", "1.0.0").instructions("Use it.").tools(tools![add, greeting]).build().unwrap()
}

#[tokio::test]
async fn a_function_is_listed_with_what_its_author_wrote() {
    each_wire(&calculator(), async |client| {
        let tools = client.tools().await.unwrap();
        let [add, greet] = &*tools else { panic!("{tools:?}") };
        assert_eq!(add.name, "add");
        assert_eq!(add.description(), "Add two numbers.\n\nBoth may be negative.");
        // Byte for byte: the arguments are in the order of their declaration.
        assert_eq!(
            add.input_schema.as_str(),
            r#"{"type":"object","properties":{"a":{"description":"First addend.","type":"number"},"b":{"description":"Second addend.","type":"number"}},"required":["a","b"],"additionalProperties":false}"#
        );
        assert_eq!(greet.name, "greet");
        let schema: Value = greet.input_schema.decode().unwrap();
        assert_eq!(schema["required"], json!(["name"]));
        assert_eq!(schema["properties"]["name"], json!({"type": "string"}));
        assert!(schema["properties"].get("type").is_some());
    })
    .await;
}

#[tokio::test]
async fn titles_and_hints_go_to_the_revisions_that_know_them() {
    each_wire(&calculator(), async |client| {
        let tools = client.tools().await.unwrap();
        let version = client.protocol_version().to_string();
        let annotations = tools[1].annotations.clone();
        assert_eq!(annotations.is_some(), version.as_str() >= "2025-03-26", "{version}");
        if let Some(annotations) = annotations {
            assert_eq!(annotations.read_only_hint, Some(true));
            assert_eq!(annotations.idempotent_hint, Some(true));
            assert_eq!(annotations.destructive_hint, Some(false));
            assert_eq!(annotations.open_world_hint, None);
        }
        assert_eq!(tools[1].title.is_some(), version.as_str() >= "2025-06-18", "{version}");
    })
    .await;
}

#[tokio::test]
async fn a_call_reaches_the_function_and_its_value_comes_back() {
    each_wire(&calculator(), async |client| {
        let sum = client.call("add", json!({"a": 2, "b": 3.5})).await.unwrap();
        assert_eq!(sum.first_text(), Some("5.5"));
        assert!(!sum.is_error());
        let greeting = client.call("greet", json!({"name": "Ada", "type": "welcome"})).await.unwrap();
        assert_eq!(greeting.first_text(), Some("welcome Ada!"));
    })
    .await;
}

#[tokio::test]
async fn an_annotated_function_is_still_a_function() {
    assert!((add(1.0, 2.0).await - 3.0).abs() < f64::EPSILON);
    assert_eq!(greeting("Ada", None), "hello Ada!");
}

#[tokio::test]
async fn an_unknown_tool_is_a_protocol_error_that_helps() {
    each_wire(&calculator(), async |client| {
        let error = client.call("ad", json!({})).await.unwrap_err();
        let rpc = error.rpc().unwrap();
        assert_eq!(rpc.code.0, -32602);
        assert_eq!(rpc.message, "no such tool: `ad`, did you mean `add`?");
    })
    .await;
}

#[tokio::test]
async fn a_server_without_tools_does_not_know_their_methods() {
    let server = Server::new("empty", "1.0.0").build().unwrap();
    each_wire(&server, async |client| {
        assert!(client.server_capabilities().tools.is_none());
        assert_eq!(client.tools().await.unwrap_err().rpc().unwrap().code.0, -32601);
        assert_eq!(client.call("add", json!({})).await.unwrap_err().rpc().unwrap().code.0, -32601);
    })
    .await;
}

#[tokio::test]
async fn the_client_learns_who_the_server_is() {
    each_wire(&calculator(), async |client| {
        assert_eq!(client.server_info().unwrap().name, "calculator");
        assert_eq!(client.instructions().as_deref(), Some("Use it."));
        assert!(client.server_capabilities().tools.is_some());
        client.ping().await.unwrap();
    })
    .await;
}

#[test]
fn all_mistakes_of_the_author_are_reported_at_once() {
    struct Missing;
    #[tool]
    fn needs(_state: State<Missing>) {}
    let error = Server::new("", "1.0.0").tools(tools![add, add, needs]).build().unwrap_err();
    let text = error.to_string();
    for part in
        ["name is empty", "two tools have the name `add`", "tool `needs`: it takes `State<", ".state(…)"]
    {
        assert!(text.contains(part), "{part:?} in {text}");
    }
}

#[tokio::test]
async fn an_unknown_cursor_is_refused() {
    let server = calculator();
    let frame = br#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":"x"}}"#;
    let reply = crate::pipe::one_line(&server, frame).await;
    assert_eq!(reply["error"]["code"], -32602, "{reply}");
}

#[test]
fn names_that_clients_refuse_are_mistakes() {
    let long = "a".repeat(129);
    for (name, expected) in [
        ("bad name", Some("its name holds ' '")),
        ("größe", Some("its name holds 'ö'")),
        ("", Some("its name is empty")),
        (long.as_str(), Some("its name is 129 characters long")),
        (&long[1..], None),
        ("notes/v1.2_add-one", None),
    ] {
        let prompt = toolway::types::Prompt::new(name);
        for built in [
            Server::new("s", "1").tool(ToolEntry::from_fn(name, async || "x")).build(),
            Server::new("s", "1").prompt(PromptEntry::define(prompt, async || "x")).build(),
        ] {
            let found = built.err().map(|error| error.to_string());
            match (&found, expected) {
                (None, None) => {}
                (Some(text), Some(expected)) if text.contains(expected) => {}
                _ => panic!("{name:?}: {found:?}"),
            }
        }
    }
}

#[test]
fn mistakes_of_a_type_outlive_another_schema() {
    #[derive(serde::Deserialize, schemars::JsonSchema)]
    struct Bounded {
        #[schemars(range(min = 5, max = 3))]
        #[expect(dead_code, reason = "only its schema matters")]
        count: u8,
    }
    let entry = ToolEntry::from_fn("bounded", |_: Bounded| async { "x" });
    let text = Server::new("s", "1").tool(entry.clone()).build().unwrap_err().to_string();
    assert!(text.contains("no value can match"), "{text}");
    let edited = entry.edit(|tool| tool.output_schema = Some(serde_json::json!({"type": "object"}).into()));
    let text = Server::new("s", "1").tool(edited).build().unwrap_err().to_string();
    assert!(text.contains("no value can match"), "{text}");
}
