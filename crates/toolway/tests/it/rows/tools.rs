//! Rows 18–37: how a tool describes itself, which arguments it accepts, and what its return value becomes.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use toolway::ProtocolVersion;
use toolway::prelude::*;
use toolway::server::{Audio, Embedded, ErrorPolicy, Extensions, Image, Text, ToolEntry};
use toolway::testing::each_wire;
use toolway::types::{
    Annotations, CallToolResult, Content, Icon, ImageContent, ResourceContents, Role, TextContent, Theme,
};

fn serve(tools: Vec<ToolEntry>) -> Server {
    Server::new("tools", "1.0.0").tools(tools).build().unwrap()
}

async fn call(client: &Client, tool: &str) -> CallToolResult {
    client.call(tool, json!({})).await.unwrap().into_inner()
}

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

async fn texts(client: &Client, tool: &str) -> Vec<String> {
    let result = call(client, tool).await;
    assert!(!result.is_error(), "{result:?}");
    result.content.iter().map(|block| block.as_text().unwrap().to_owned()).collect()
}

/// Wipe the disk.
#[tool(
    name = "wipe-disk",
    description = "Wipes a disk.",
    title = "Wipe",
    read_only = false,
    destructive,
    idempotent = true,
    open_world = false
)]
fn wipe() {}

/// Look around.
#[tool(read_only)]
fn look() {}

/// Do it.
#[tool]
fn plain() {}

#[tokio::test]
async fn row_018_a_tool_has_a_name_a_description_and_annotations_all_optional() {
    each_wire(&serve(tools![wipe, look, plain]), async |client| {
        let version = client.protocol_version();
        let tools = client.tools().await.unwrap();
        let [wipe, look, plain] = &*tools else { panic!("{tools:?}") };
        assert_eq!((&*wipe.name, wipe.description()), ("wipe-disk", "Wipes a disk."));
        assert_eq!((&*look.name, look.description()), ("look", "Look around."));
        assert_eq!((&*plain.name, plain.description()), ("plain", "Do it."));
        assert_eq!(plain.annotations, None, "nothing was said");
        assert_eq!(plain.title, None);
        let title = (version >= ProtocolVersion::V2025_06_18).then_some("Wipe");
        assert_eq!(wipe.title.as_deref(), title);
        if version < ProtocolVersion::V2025_03_26 {
            assert_eq!((&wipe.annotations, &look.annotations), (&None, &None));
            return;
        }
        let hints = wipe.annotations.as_ref().unwrap();
        assert_eq!(hints.read_only_hint, Some(false));
        assert_eq!(hints.destructive_hint, Some(true));
        assert_eq!(hints.idempotent_hint, Some(true));
        assert_eq!(hints.open_world_hint, Some(false));
        let hints = look.annotations.as_ref().unwrap();
        assert_eq!(hints.read_only_hint, Some(true));
        assert_eq!(hints.destructive_hint, None, "only what was said is sent");
    })
    .await;
}

/// Has pictures.
#[tool(icons = [
    "https://app.example/a.svg",
    icon(src = "https://app.example/b.png", mime = "image/png", sizes = ["48x48", "96x96"], theme = "dark"),
])]
fn pictured() {}

/// Has one picture.
#[tool(icon = "data:image/png;base64,AAAA")]
fn pictured_once() {}

#[tokio::test]
async fn row_019_a_tool_may_have_icons() {
    let by_hand = ToolEntry::from_fn("by_hand", || async {})
        .with_icon(Icon::new("https://app.example/c.png").with_sizes(vec!["any".to_owned()]));
    let mut tools = tools![pictured, pictured_once, plain];
    tools.push(by_hand);
    each_wire(&serve(tools), async |client| {
        let tools = client.tools().await.unwrap();
        if client.protocol_version() < ProtocolVersion::V2025_11_25 {
            assert!(tools.iter().all(|tool| tool.icons.is_none() && tool.extra.is_empty()));
            return;
        }
        let icons = tools[0].icons.as_ref().unwrap();
        assert_eq!(icons[0], Icon::new("https://app.example/a.svg"));
        let second = Icon::new("https://app.example/b.png")
            .with_mime_type("image/png")
            .with_sizes(vec!["48x48".to_owned(), "96x96".to_owned()])
            .with_theme(Theme::Dark);
        assert_eq!(icons[1], second);
        assert_eq!(icons.len(), 2);
        assert_eq!(tools[1].icons.as_ref().unwrap()[0].src, "data:image/png;base64,AAAA");
        assert_eq!(tools[2].icons, None);
        assert_eq!(tools[3].icons.as_ref().unwrap()[0].sizes, Some(vec!["any".to_owned()]));
    })
    .await;
}

/// Has something to say.
#[tool(meta = {"team": "docs", "example.com/limits": {"rate": 5, "burst": [1, 2]}})]
fn with_meta() {}

#[tokio::test]
async fn row_020_a_tool_may_carry_any_meta() {
    let meta = json!({"team": "docs", "example.com/limits": {"rate": 5, "burst": [1, 2]}});
    each_wire(&serve(tools![with_meta, plain]), async |client| {
        // As a program reads it, and as it is on the wire.
        let tools = client.tools().await.unwrap();
        let wire: Value = client.request("tools/list", json!({})).await.unwrap().decode().unwrap();
        if client.protocol_version() >= ProtocolVersion::V2025_06_18 {
            assert_eq!(tools[0].meta.as_ref(), meta.as_object());
            assert_eq!(wire["tools"][0]["_meta"], meta);
        } else {
            assert_eq!(tools[0].meta, None);
            assert!(wire["tools"][0].get("_meta").is_none());
        }
        assert_eq!(tools[1].meta, None);
        assert!(wire["tools"][1].get("_meta").is_none());
    })
    .await;
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
async fn row_021_a_string_becomes_one_block_of_text() {
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
async fn row_022_a_number_becomes_text_in_decimal_form() {
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
async fn row_023_a_boolean_becomes_true_or_false() {
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
async fn row_024_a_map_or_an_array_becomes_json_in_one_block() {
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
async fn row_025_nothing_becomes_the_text_null_in_parentheses() {
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
async fn row_026_a_function_that_returns_nothing_gives_no_content() {
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
    Text::new("{\"not\": \"parsed\"}").annotated(annotated())
}

#[tokio::test]
async fn row_027_a_block_of_text_is_passed_on_untouched() {
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
async fn row_028_code_is_fenced() {
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
async fn row_029_a_picture_travels_in_base64_with_its_media_type() {
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
async fn row_030_a_sound_travels_in_base64_with_its_media_type() {
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
    Embedded::text("file:///README.md", "# Hi").mime("text/markdown")
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
async fn row_031_a_resource_can_be_embedded_as_text_or_blob() {
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
async fn row_032_several_blocks_stay_several_and_in_order() {
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

#[tool]
fn divide(a: f64, b: f64) -> Result<f64, ToolError> {
    if b == 0.0 {
        return Err(ToolError::new("Division by zero"));
    }
    Ok(a / b)
}

/// Its error is boxed on the way, and still the same.
#[tool]
fn boxed() -> Result<String, Box<dyn std::error::Error + Send + Sync>> {
    Err(ToolError::new("Boxed, and meant for you"))?
}

#[tokio::test]
async fn row_033_a_tool_error_is_a_result_that_the_model_reads() {
    let tools = || tools![divide, boxed];
    // The policy is about other errors: a text that the author wrote for the model is never hidden.
    for policy in [ErrorPolicy::Hidden, ErrorPolicy::Rpc, ErrorPolicy::Verbose] {
        let server = Server::new("tools", "1.0.0").tools(tools()).errors(policy).build().unwrap();
        each_wire(&server, async |client| {
            let failed = client.call("divide", json!({"a": 1, "b": 0})).await.unwrap();
            assert_eq!(failed.is_error, Some(true));
            assert_eq!(failed.content, [Content::text("Division by zero")]);
            let boxed = call(&client, "boxed").await;
            assert_eq!((boxed.is_error(), boxed.first_text()), (true, Some("Boxed, and meant for you")));
            let fine = client.call("divide", json!({"a": 1, "b": 4})).await.unwrap();
            assert_eq!((fine.is_error(), fine.first_text()), (false, Some("0.25")));
        })
        .await;
    }
}

/// An error with a source.
#[derive(Debug)]
struct Broken(std::io::Error);

impl std::fmt::Display for Broken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the secret database is gone")
    }
}

impl std::error::Error for Broken {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.0)
    }
}

#[tool]
fn unexpected() -> Result<String, ToolError> {
    Err(Broken(std::io::Error::other("the password is 1234")))?
}

#[tool]
fn plain_error() -> Result<String, Broken> {
    Err(Broken(std::io::Error::other("the password is 1234")))
}

#[tool]
async fn panics() -> String {
    tokio::task::yield_now().await;
    panic!("the password is 1234")
}

/// Its author wants exactly this error.
#[tool]
fn refused() -> Result<String, ToolError> {
    let error = toolway::RpcError::new(toolway_protocol::jsonrpc::Code(-32001), "not today");
    Err(error.with_data(json!({"retry": "tomorrow"})))?
}

fn failing(policy: ErrorPolicy) -> Server {
    let tools = tools![unexpected, plain_error, panics, refused, yes];
    Server::new("tools", "1.0.0").tools(tools).errors(policy).build().unwrap()
}

const FAILING: [&str; 3] = ["unexpected", "plain_error", "panics"];

fn is_generic(text: &str, tool: &str) -> bool {
    let start =
        format!("the tool `{tool}` failed; the server's operator can find the cause under reference ");
    text.strip_prefix(&start)
        .is_some_and(|reference| reference.len() == 16 && reference.bytes().all(|b| b.is_ascii_hexdigit()))
}

#[tokio::test]
async fn row_034_any_other_error_is_told_in_general_words_only() {
    // As a JSON-RPC error, if the author chose that.
    each_wire(&failing(ErrorPolicy::Rpc), async |client| {
        for tool in FAILING {
            let error = client.call(tool, json!({})).await.unwrap_err();
            let rpc = error.rpc().unwrap();
            assert_eq!(rpc.code.0, -32603, "{tool}");
            assert!(is_generic(&rpc.message, tool), "{tool}: {}", rpc.message);
            assert_eq!(rpc.data, None);
        }
        assert_eq!(texts(&client, "yes").await, ["true"], "one failed call is one failed call");
    })
    .await;
    // By default, as a result that the model reads.
    assert_eq!(ErrorPolicy::default(), ErrorPolicy::Hidden);
    each_wire(&failing(ErrorPolicy::Hidden), async |client| {
        for tool in FAILING {
            let result = call(&client, tool).await;
            assert!(result.is_error());
            assert_eq!(result.content.len(), 1);
            let text = result.first_text().unwrap();
            assert!(is_generic(text, tool), "{tool}: {text}");
            // Each failure has its own reference.
            assert_ne!(call(&client, tool).await.first_text(), Some(text));
        }
    })
    .await;
}

#[tokio::test]
async fn row_035_every_error_reaches_the_client_as_something_it_understands() {
    each_wire(&failing(ErrorPolicy::Verbose), async |client| {
        let cause = "the secret database is gone: the password is 1234";
        for (tool, cause) in [("unexpected", cause), ("plain_error", cause)] {
            let result = call(&client, tool).await;
            assert!(result.is_error());
            assert_eq!(result.first_text(), Some(&*format!("the tool `{tool}` failed: {cause}")));
        }
        let result = call(&client, "panics").await;
        assert!(result.is_error());
        let text = result.first_text().unwrap();
        assert!(text.starts_with("the tool `panics` failed: "), "{text}");
        assert!(text.contains("the password is 1234"), "{text}");
    })
    .await;
    // An error of the protocol is sent unchanged, whatever the policy.
    for policy in [ErrorPolicy::Hidden, ErrorPolicy::Rpc, ErrorPolicy::Verbose] {
        each_wire(&failing(policy), async |client| {
            let error = client.call("refused", json!({})).await.unwrap_err();
            let rpc = error.rpc().unwrap();
            assert_eq!((rpc.code.0, &*rpc.message), (-32001, "not today"));
            assert_eq!(rpc.data.as_ref().unwrap().as_str(), r#"{"retry":"tomorrow"}"#);
        })
        .await;
    }
}

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
async fn row_036_arguments_are_read_as_the_types_that_the_function_has() {
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
async fn row_037_what_has_a_default_may_be_left_out() {
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
