//! What does a tool say about itself: its description, annotations, icons and metadata?

use serde_json::{Value, json};
use toolway::ProtocolVersion;
use toolway::prelude::*;
use toolway::server::ToolEntry;
use toolway::testing::each_wire;
use toolway::types::{Icon, Theme, ToolAnnotations};

use super::{new, serve};

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
async fn a_tool_has_a_name_a_description_and_annotations_all_optional() {
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
async fn a_tool_may_have_icons() {
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
async fn a_tool_may_carry_any_meta() {
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

const FROM_ELSEWHERE: &str = concat!("From ", "elsewhere.");

/// From the comment.
#[tool]
fn commented() {}

/// Not this.
#[tool(description = "From the attribute.")]
fn inline() {}

#[tool(description = FROM_ELSEWHERE)]
fn constant() {}

#[tool]
fn undescribed() {}

#[tokio::test]
async fn a_description_stands_before_the_definition_or_in_it() {
    let server = Server::new("tools", "1.0.0")
        .tools(tools![commented, inline, constant, undescribed])
        .tool(ToolEntry::of::<commented>().with_name("said").with_description("From the registration."))
        .tool(ToolEntry::from_fn("closure", || async {}).with_description("Of a closure."))
        .build()
        .unwrap();
    each_wire(&server, async |client| {
        let tools = client.tools().await.unwrap();
        let described: Vec<_> = tools.iter().map(|tool| (tool.name.as_str(), tool.description())).collect();
        assert_eq!(
            described,
            [
                ("commented", "From the comment."),
                ("inline", "From the attribute."),
                ("constant", "From elsewhere."),
                ("undescribed", "undescribed"),
                ("said", "From the registration."),
                ("closure", "Of a closure."),
            ]
        );
    })
    .await;
}

/// Says nothing about itself.
#[tool]
fn unsaid() {}

/// Says that it only reads.
#[tool(read_only)]
fn reads() {}

/// Says the opposite of everything.
#[tool(read_only = false, destructive = false, idempotent = true, open_world = false)]
fn contrary() {}

#[tokio::test]
async fn what_annotations_do_not_say_reads_as_the_protocol_says() {
    let read = |hints: &ToolAnnotations| {
        (hints.is_read_only(), hints.is_destructive(), hints.is_idempotent(), hints.is_open_world())
    };
    assert_eq!(read(&ToolAnnotations::default()), (false, true, false, true));
    each_wire(&new().tools(tools![unsaid, reads, contrary]).build().unwrap(), async |client| {
        let tools = client.tools().await.unwrap();
        // Annotations that were not set are not sent.
        let wire: Value = client.request("tools/list", json!({})).await.unwrap().decode().unwrap();
        assert!(wire["tools"][0].get("annotations").is_none());
        assert_eq!(read(&tools[0].annotations.clone().unwrap_or_default()), (false, true, false, true));
        if client.protocol_version() < ProtocolVersion::V2025_03_26 {
            return;
        }
        assert_eq!(wire["tools"][1]["annotations"], json!({"readOnlyHint": true}));
        // A read-only tool is not destructive, whatever the default says.
        assert_eq!(read(tools[1].annotations.as_ref().unwrap()), (true, false, false, true));
        assert_eq!(read(tools[2].annotations.as_ref().unwrap()), (false, false, true, false));
    })
    .await;
}

#[tokio::test]
async fn annotations_are_sent_to_revisions_that_know_them() {
    each_wire(&new().tools(tools![reads, contrary]).build().unwrap(), async |client| {
        let wire: Value = client.request("tools/list", json!({})).await.unwrap().decode().unwrap();
        let [reads, contrary] = [0, 1].map(|place| wire["tools"][place].get("annotations"));
        match client.protocol_version() {
            ProtocolVersion::V2024_11_05 => assert_eq!((reads, contrary), (None, None)),
            _ => {
                assert_eq!(reads, Some(&json!({"readOnlyHint": true})));
                let hints = json!({
                    "readOnlyHint": false, "destructiveHint": false,
                    "idempotentHint": true, "openWorldHint": false,
                });
                assert_eq!(contrary, Some(&hints));
            }
        }
        // The tool works in both cases.
        assert!(!client.call("contrary", json!({})).await.unwrap().is_error());
    })
    .await;
}
