//! What result do the return values of a function become?

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};
use toolway::prelude::*;
use toolway::server::File;
use toolway::testing::each_wire;
use toolway::types::{CallToolResult, Content};

#[derive(Serialize, JsonSchema)]
struct Sum {
    sum: i64,
}

#[tool]
fn structured() -> Json<Sum> {
    Json(Sum { sum: 5 })
}

#[tool]
fn list() -> Json<Vec<i64>> {
    Json(vec![1, 2])
}

#[tool]
fn yes() -> bool {
    true
}

#[tool]
fn none() -> Option<String> {
    None
}

#[tool]
fn blocks() -> Vec<Content> {
    vec![Content::text("a"), Content::text("b")]
}

#[tool]
fn whole() -> CallToolResult {
    CallToolResult::error("as I say")
}

#[tool]
async fn visible() -> Result<String, ToolError> {
    Err(ToolError::new("try `b` instead"))
}

#[tool]
async fn hidden() -> Result<String, ToolError> {
    Ok(std::fs::read_to_string("/no/such/secret-file")?)
}

#[tool]
async fn panics() -> String {
    tokio::task::yield_now().await;
    panic!("the secret is 42")
}

fn server() -> Server {
    let tools = tools![structured, list, yes, none, blocks, whole, visible, hidden, panics];
    Server::new("results", "1.0.0").tools(tools).build().unwrap()
}

async fn call(client: &Client, tool: &str) -> CallToolResult {
    client.call(tool, json!({})).await.unwrap().into_inner()
}

#[tokio::test]
async fn values_become_blocks() {
    each_wire(&server(), async |client| {
        assert_eq!(call(&client, "yes").await.first_text(), Some("true"));
        assert_eq!(call(&client, "none").await.first_text(), Some("(null)"));
        let blocks = call(&client, "blocks").await;
        assert_eq!(blocks.content.iter().filter_map(Content::as_text).collect::<Vec<_>>(), ["a", "b"]);
        let whole = call(&client, "whole").await;
        assert_eq!((whole.is_error(), whole.first_text()), (true, Some("as I say")));
    })
    .await;
}

#[tokio::test]
async fn json_is_structured_where_the_revision_can_and_text_everywhere() {
    each_wire(&server(), async |client| {
        let version = client.protocol_version().to_string();
        let object = call(&client, "structured").await;
        assert_eq!(object.first_text(), Some(r#"{"sum":5}"#));
        assert_eq!(object.structured_content.is_some(), version.as_str() >= "2025-06-18", "{version}");
        // Structured content other than objects came later.
        let list = call(&client, "list").await;
        assert_eq!(list.first_text(), Some("[1,2]"));
        assert_eq!(list.structured_content.is_some(), version.as_str() >= "2026-07-28", "{version}");
        let tools = client.tools().await.unwrap();
        assert_eq!(tools[0].output_schema.is_some(), version.as_str() >= "2025-06-18", "{version}");
        assert_eq!(tools[1].output_schema.is_some(), version.as_str() >= "2026-07-28", "{version}");
        if let Some(schema) = &tools[0].output_schema {
            let schema: Value = schema.decode().unwrap();
            assert_eq!(schema["properties"]["sum"], json!({"type": "integer"}));
        }
    })
    .await;
}

#[tokio::test]
async fn failures_show_what_their_author_meant_to_show() {
    each_wire(&server(), async |client| {
        let visible = call(&client, "visible").await;
        assert_eq!((visible.is_error(), visible.first_text()), (true, Some("try `b` instead")));
        for tool in ["hidden", "panics"] {
            let result = call(&client, tool).await;
            assert!(result.is_error());
            let text = result.first_text().unwrap();
            assert!(text.starts_with(&format!(
                "the tool `{tool}` failed; the server's operator can find the cause under reference "
            )));
            assert!(!text.contains("secret") && !text.contains("No such file"), "{text}");
        }
        // The server still works.
        assert_eq!(call(&client, "yes").await.first_text(), Some("true"));
    })
    .await;
}

#[tokio::test]
async fn a_file_in_hand_is_told_by_its_name() {
    #[resource(uri = "hand://{name}")]
    fn held(name: &str) -> File {
        let bytes: &[u8] = if name.starts_with("noise") { b"\xff\xfe" } else { b"words" };
        File::from_bytes(name, bytes)
    }
    #[resource(uri = "said://{name}", mime = "text/x-log")]
    fn said(name: &str) -> Option<File> {
        (name != "nothing").then(|| File::from_bytes(name, name))
    }
    let server = Server::new("files", "1.0.0").resources(resources![held, said]).build().unwrap();
    each_wire(&server, async |client| {
        for (uri, mime_type, text, blob) in [
            ("hand://a.md", "text/markdown", Some("words"), None),
            ("hand://a", "text/plain", Some("words"), None),
            ("hand://a.png", "image/png", None, Some("d29yZHM=")),
            ("hand://noise", "application/octet-stream", None, Some("//4=")),
            ("hand://noise.txt", "text/plain", None, Some("//4=")),
            // The media type of the resource takes precedence.
            ("said://a.md", "text/x-log", Some("a.md"), None),
        ] {
            let read = client.read_resource(uri).await.unwrap().contents.remove(0);
            let found = (read.mime_type.as_deref(), read.text.as_deref(), read.blob.as_deref());
            assert_eq!(found, (Some(mime_type), text, blob), "{uri}");
        }
        assert!(client.read_resource("said://nothing").await.is_err());
    })
    .await;
}

#[tokio::test]
async fn a_call_of_nobody_goes_on() {
    #[tool]
    async fn works(ctx: &Ctx, greeting: State<&'static str>) -> String {
        ctx.progress(1, 2, "").await;
        ctx.log().error("nobody hears it", Value::Null).await;
        format!("{} {} {}", *greeting, ctx.is_cancelled(), ctx.server().info().name)
    }
    let server = Server::new("test", "1.0.0").state("hello").tools(tools![works]).build().unwrap();
    let ctx = toolway::testing::ctx(&server);
    assert_eq!(works(&ctx, State::new("hi")).await, "hi false test");
    assert_eq!(works(&ctx, server.state().unwrap()).await, "hello false test");
}

#[tokio::test]
async fn a_result_that_breaks_its_own_schema_is_not_sent() {
    #[derive(serde::Serialize, schemars::JsonSchema)]
    struct Rating {
        mean: f64,
        #[schemars(range(min = 1, max = 5))]
        stars: u8,
    }
    /// Rates.
    #[tool]
    fn rate(mean: Option<f64>, stars: u8) -> Json<Rating> {
        Json(Rating { mean: mean.unwrap_or(f64::NAN), stars })
    }
    let server = Server::new("results", "1.0.0").tools(tools![rate]).build().unwrap();
    each_wire(&server, async |client| {
        for (arguments, is_sent) in [
            (json!({"mean": 2.5, "stars": 3}), true),
            (json!({"mean": 2.5, "stars": 9}), false),
            // `serde` writes NaN as null.
            (json!({"stars": 3}), false),
        ] {
            let result = client.call("rate", arguments.clone()).await.unwrap();
            assert_eq!(!result.is_error(), is_sent, "{arguments}: {result:?}");
        }
    })
    .await;
}
