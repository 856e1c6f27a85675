//! Which contents does the return value of a tool become?

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};
use toolway::ProtocolVersion;
use toolway::prelude::*;
use toolway::server::{Audio, Embedded, Extensions, Image, Text};
use toolway::testing::each_wire;
use toolway::types::{Annotations, Content, ImageContent, ResourceContents, Role, TextContent};

use super::{call, serve, texts};

/// Returns the result as it was received, without what the codec adds.
async fn raw(client: &Client, tool: &str) -> Value {
    let result = call(client, tool).await;
    let mut blocks = Vec::new();
    for block in &result.content {
        blocks.push(block_json(block));
    }
    json!({"content": blocks, "isError": result.is_error()})
}

fn block_json(block: &Content) -> Value {
    match block {
        Content::Text(text) => json!({"type": "text", "text": text.text}),
        Content::Image(image) => json!({"type": "image", "data": image.data, "mimeType": image.mime_type}),
        Content::Audio(audio) => json!({"type": "audio", "data": audio.data, "mimeType": audio.mime_type}),
        Content::Resource(embedded) => {
            let ResourceContents { uri, mime_type, text, blob, .. } = &embedded.resource;
            json!({"type": "resource", "uri": uri, "mimeType": mime_type, "text": text, "blob": blob})
        }
        other => panic!("{other:?}"),
    }
}

#[tool]
fn owned_text() -> String {
    "line one\nline \"two\" – ünï\u{1F600}".to_owned()
}

#[tool]
fn lent_text() -> &'static str {
    "lent"
}

#[tool]
fn empty_text() -> String {
    String::new()
}

#[tool]
async fn checked_text() -> Result<String, ToolError> {
    Ok("checked".to_owned())
}

#[tokio::test]
async fn a_string_becomes_one_block_of_text() {
    each_wire(&serve(tools![owned_text, lent_text, empty_text, checked_text]), async |client| {
        for (tool, text) in [
            ("owned_text", "line one\nline \"two\" – ünï\u{1F600}"),
            ("lent_text", "lent"),
            ("empty_text", ""),
            ("checked_text", "checked"),
        ] {
            let expected = json!({"content": [{"type": "text", "text": text}], "isError": false});
            assert_eq!(raw(&client, tool).await, expected, "{tool}");
            let result = call(&client, tool).await;
            assert_eq!(result.structured_content, None, "text is not JSON");
        }
    })
    .await;
}

#[tool]
fn small() -> i32 {
    -7
}

#[tool]
fn large() -> u64 {
    u64::MAX
}

#[tool]
fn half() -> f64 {
    2.5
}

#[tool]
fn whole() -> f64 {
    3.0
}

#[tool]
fn huge() -> f64 {
    1e21
}

#[tool]
fn tiny() -> f32 {
    0.000_001
}

#[tokio::test]
async fn a_number_becomes_text_in_decimal_form() {
    each_wire(&serve(tools![small, large, half, whole, huge, tiny]), async |client| {
        for (tool, text) in [
            ("small", "-7"),
            ("large", "18446744073709551615"),
            ("half", "2.5"),
            ("whole", "3"),
            ("huge", "1000000000000000000000"),
            ("tiny", "0.000001"),
        ] {
            assert_eq!(texts(&client, tool).await, [text], "{tool}");
        }
    })
    .await;
}

#[tool]
fn yes() -> bool {
    true
}

#[tool]
fn no() -> bool {
    false
}

#[tokio::test]
async fn a_boolean_becomes_true_or_false() {
    each_wire(&serve(tools![yes, no]), async |client| {
        assert_eq!(texts(&client, "yes").await, ["true"]);
        assert_eq!(texts(&client, "no").await, ["false"]);
    })
    .await;
}

#[derive(Serialize, JsonSchema)]
struct Stats {
    count: u32,
    names: Vec<String>,
}

#[tool]
fn wrapped() -> Json<Stats> {
    Json(Stats { count: 2, names: vec!["a".to_owned(), "b".to_owned()] })
}

#[tool]
fn bare() -> Stats {
    Stats { count: 0, names: Vec::new() }
}

#[tool]
fn map() -> BTreeMap<String, u32> {
    BTreeMap::from([("one".to_owned(), 1), ("two".to_owned(), 2)])
}

#[tool]
fn array() -> Vec<u32> {
    vec![1, 2, 3]
}

#[tool]
fn dynamic() -> Value {
    json!({"nested": {"list": [1, "x", null]}})
}

#[tokio::test]
async fn a_map_or_an_array_becomes_json_in_one_block() {
    each_wire(&serve(tools![wrapped, bare, map, array, dynamic]), async |client| {
        let version = client.protocol_version();
        for (tool, json) in [
            ("wrapped", json!({"count": 2, "names": ["a", "b"]})),
            ("bare", json!({"count": 0, "names": []})),
            ("map", json!({"one": 1, "two": 2})),
            ("array", json!([1, 2, 3])),
            ("dynamic", json!({"nested": {"list": [1, "x", null]}})),
        ] {
            let result = call(&client, tool).await;
            assert_eq!(result.content.len(), 1, "{tool}");
            let text = result.first_text().unwrap();
            assert_eq!(serde_json::from_str::<Value>(text).unwrap(), json, "{tool}");
            // Objects came with structured content, other values later.
            let first =
                if json.is_object() { ProtocolVersion::V2025_06_18 } else { ProtocolVersion::V2026_07_28 };
            let structured = result.structured_content.map(|value| value.decode::<Value>().unwrap());
            assert_eq!(structured, (version >= first).then_some(json), "{tool} in {version}");
        }
    })
    .await;
}

#[tool]
fn maybe(say: bool) -> Option<String> {
    say.then(|| "said".to_owned())
}

#[tool]
fn maybe_number(number: Option<u32>) -> Result<Option<u32>, ToolError> {
    if number == Some(0) {
        return Err(ToolError::new("not zero"));
    }
    Ok(number)
}

#[tool]
fn maybe_stats() -> Option<Stats> {
    None
}

#[tokio::test]
async fn nothing_becomes_the_text_null_in_parentheses() {
    each_wire(&serve(tools![maybe, maybe_number, maybe_stats]), async |client| {
        let silent = client.call("maybe", json!({"say": false})).await.unwrap();
        assert_eq!((silent.is_error(), silent.content.len()), (false, 1));
        assert_eq!(silent.first_text(), Some("(null)"));
        let said = client.call("maybe", json!({"say": true})).await.unwrap();
        assert_eq!(said.first_text(), Some("said"));
        for tool in ["maybe_number", "maybe_stats"] {
            assert_eq!(texts(&client, tool).await, ["(null)"], "{tool}");
        }
        let said = client.call("maybe_number", json!({"number": 7})).await.unwrap();
        assert_eq!(said.first_text(), Some("7"));
        let failed = client.call("maybe_number", json!({"number": 0})).await.unwrap();
        assert_eq!((failed.is_error(), failed.first_text()), (true, Some("not zero")));
        // A schema that a missing value would violate is not declared.
        let tools = client.tools().await.unwrap();
        assert!(tools.iter().all(|tool| tool.output_schema.is_none()));
    })
    .await;
}

#[tool]
async fn void() {}

#[tool]
async fn checked_void(fail: bool) -> Result<(), ToolError> {
    if fail { Err(ToolError::new("it failed")) } else { Ok(()) }
}

#[tokio::test]
async fn a_function_that_returns_nothing_gives_no_content() {
    each_wire(&serve(tools![void, checked_void]), async |client| {
        assert_eq!(raw(&client, "void").await, json!({"content": [], "isError": false}));
        // The member is there, because clients require it.
        let result = call(&client, "void").await;
        assert_eq!((result.content.len(), result.structured_content), (0, None));
        let fine = client.call("checked_void", json!({"fail": false})).await.unwrap();
        assert_eq!((fine.is_error(), fine.content.len()), (false, 0));
        let failed = client.call("checked_void", json!({"fail": true})).await.unwrap();
        assert_eq!((failed.is_error(), failed.first_text()), (true, Some("it failed")));
    })
    .await;
    // On the wire it is an empty list, not a missing member.
    let server = serve(tools![void]);
    let request = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"void"}}"#;
    let answer = server.handle_json(request, Extensions::new()).await.unwrap();
    assert_eq!(answer, r#"{"jsonrpc":"2.0","id":1,"result":{"content":[]}}"#);
}

fn annotated() -> Annotations {
    Annotations::new().with_audience(vec![Role::User]).with_priority(0.5)
}

#[tool]
fn content_object() -> Content {
    let meta = json!({"k": 1}).as_object().cloned().unwrap();
    Content::Text(TextContent::new(" as it is \n").with_annotations(annotated()).with_meta(meta))
}

#[tool]
fn text_object() -> Text {
    Text::new("{\"not\": \"parsed\"}").with_annotations(annotated())
}

#[tokio::test]
async fn a_block_of_text_is_passed_on_untouched() {
    each_wire(&serve(tools![content_object, text_object]), async |client| {
        let result = call(&client, "content_object").await;
        let [Content::Text(block)] = result.content.as_slice() else { panic!("{result:?}") };
        assert_eq!(block.text, " as it is \n");
        assert_eq!(block.annotations.as_deref(), Some(&annotated()));
        let meta = json!({"k": 1});
        let knows_meta = client.protocol_version() >= ProtocolVersion::V2025_06_18;
        assert_eq!(block.meta.as_ref(), meta.as_object().filter(|_| knows_meta));
        let result = call(&client, "text_object").await;
        let [Content::Text(block)] = result.content.as_slice() else { panic!("{result:?}") };
        assert_eq!(block.text, "{\"not\": \"parsed\"}");
        assert_eq!(block.annotations.as_deref(), Some(&annotated()));
        assert_eq!(result.structured_content, None);
    })
    .await;
}

#[tool]
fn code() -> Text {
    Text::code("fn main() {}", "rust")
}

#[tool]
fn code_with_newline() -> Text {
    Text::code("a = 1\n", "python")
}

#[tool]
fn code_with_fence() -> Text {
    Text::code("```\nnested\n```", "markdown")
}

#[tokio::test]
async fn code_is_fenced() {
    each_wire(&serve(tools![code, code_with_newline, code_with_fence]), async |client| {
        assert_eq!(texts(&client, "code").await, ["```rust\nfn main() {}\n```"]);
        assert_eq!(texts(&client, "code_with_newline").await, ["```python\na = 1\n```"]);
        // The fence is longer than any in the source.
        let fenced = "````markdown\n```\nnested\n```\n````";
        assert_eq!(texts(&client, "code_with_fence").await, [fenced]);
    })
    .await;
}

#[tool]
fn picture() -> Image {
    Image::png([0_u8, 255, 16])
}

#[tool]
fn other_picture() -> Image {
    Image::new(b"<svg/>", "image/svg+xml")
}

#[tool]
fn encoded_picture() -> Content {
    Content::Image(ImageContent::new("AAEC", "image/webp"))
}

#[tokio::test]
async fn a_picture_travels_in_base64_with_its_media_type() {
    each_wire(&serve(tools![picture, other_picture, encoded_picture]), async |client| {
        for (tool, data, mime_type) in [
            ("picture", "AP8Q", "image/png"),
            ("other_picture", "PHN2Zy8+", "image/svg+xml"),
            ("encoded_picture", "AAEC", "image/webp"),
        ] {
            let block = json!({"type": "image", "data": data, "mimeType": mime_type});
            assert_eq!(raw(&client, tool).await, json!({"content": [block], "isError": false}), "{tool}");
        }
    })
    .await;
}

#[tool]
fn sound() -> Audio {
    Audio::wav(b"RIFF")
}

#[tool]
fn other_sound() -> Audio {
    Audio::new([1_u8], "audio/x-mine")
}

#[tokio::test]
async fn a_sound_travels_in_base64_with_its_media_type() {
    each_wire(&serve(tools![sound, other_sound]), async |client| {
        let knows_sounds = client.protocol_version() >= ProtocolVersion::V2025_03_26;
        for (tool, data, mime_type) in
            [("sound", "UklGRg==", "audio/wav"), ("other_sound", "AQ==", "audio/x-mine")]
        {
            // The first revision has no audio, and a block of an unknown type breaks its clients.
            let block = if knows_sounds {
                json!({"type": "audio", "data": data, "mimeType": mime_type})
            } else {
                json!({"type": "text", "text": format!("[audio, {mime_type}]")})
            };
            assert_eq!(raw(&client, tool).await, json!({"content": [block], "isError": false}), "{tool}");
        }
    })
    .await;
}

#[tool]
fn embedded_text() -> Embedded {
    Embedded::text("file:///README.md", "# Hi").with_mime_type("text/markdown")
}

#[tool]
fn embedded_blob() -> Embedded {
    Embedded::blob("file:///a.bin", [0_u8, 1, 2])
}

#[tool]
fn embedded_contents() -> Embedded {
    Embedded::new(ResourceContents::new("own://x").with_text("").with_mime_type("text/plain"))
}

#[tokio::test]
async fn a_resource_can_be_embedded_as_text_or_blob() {
    each_wire(&serve(tools![embedded_text, embedded_blob, embedded_contents]), async |client| {
        for (tool, uri, mime_type, text, blob) in [
            ("embedded_text", "file:///README.md", Some("text/markdown"), Some("# Hi"), None),
            ("embedded_blob", "file:///a.bin", None, None, Some("AAEC")),
            ("embedded_contents", "own://x", Some("text/plain"), Some(""), None),
        ] {
            let block =
                json!({"type": "resource", "uri": uri, "mimeType": mime_type, "text": text, "blob": blob});
            assert_eq!(raw(&client, tool).await, json!({"content": [block], "isError": false}), "{tool}");
        }
    })
    .await;
}

#[tool]
fn list() -> Vec<Content> {
    vec![Content::text("one"), Content::Image(ImageContent::new("AAEC", "image/png")), Content::text("three")]
}

#[tool]
fn tuple() -> (&'static str, Image, Text, Embedded) {
    ("one", Image::png([0_u8, 1, 2]), Text::new("three"), Embedded::text("own://four", "four"))
}

#[tool]
fn empty_list() -> Vec<Content> {
    Vec::new()
}

#[tokio::test]
async fn several_blocks_stay_several_and_in_order() {
    each_wire(&serve(tools![list, tuple, empty_list]), async |client| {
        let image = json!({"type": "image", "data": "AAEC", "mimeType": "image/png"});
        let text = |text: &str| json!({"type": "text", "text": text});
        let expected = json!([text("one"), image, text("three")]);
        assert_eq!(raw(&client, "list").await["content"], expected);
        let four =
            json!({"type": "resource", "uri": "own://four", "mimeType": null, "text": "four", "blob": null});
        let expected = json!([text("one"), image, text("three"), four]);
        assert_eq!(raw(&client, "tuple").await["content"], expected);
        assert_eq!(raw(&client, "empty_list").await["content"], json!([]));
        // Blocks are for the model; they are not structured content.
        assert_eq!(call(&client, "list").await.structured_content, None);
    })
    .await;
}
