//! What do tools return?

use serde::Deserialize;
use serde_json::{Value, json};
use toolway::ErrorKind;
use toolway::types::{Content, ToolAnnotations};

use super::{Sdk, holds, not_here, same};
use crate::check::{Report, says};
use crate::talk::Talk;

#[derive(Debug, Deserialize, PartialEq)]
struct Sum {
    sum: f64,
}

pub(super) async fn play(_sdk: Sdk, talk: &Talk, report: &mut Report) {
    let client = &talk.client;
    let structured = talk.since("2025-06-18", "structured results").is_ok();
    report
        .check("tools", "names, descriptions, schemas, hints", async {
            let tools = client.tools().await?;
            for name in ["add", "echo", "fail", "mixed", "count", "wait", "log", "ask_form", "grow", "region"]
            {
                holds(tools.get(name).is_some(), format!("there is no {name}"))?;
            }
            let add = tools.get("add").ok_or("there is no add")?;
            same(add.description(), "Adds two numbers.")?;
            let input: Value = add.input_schema.decode()?;
            same(&input["properties"]["a"]["type"], "number")?;
            same(&input["required"], &json!(["a", "b"]))?;
            holds(add.annotations.as_ref().is_some_and(ToolAnnotations::is_read_only), "it is not read-only")
        })
        .await;
    report
        .check("tools", "an output schema", async {
            if !structured {
                return not_here("structured results came with 2025-06-18");
            }
            let tools = client.tools().await?;
            let schema =
                tools.get("add").and_then(|add| add.output_schema.as_ref()).ok_or("there is none")?;
            same(&schema.decode::<Value>()?["properties"]["sum"]["type"], "number")
        })
        .await;
    report
        .check("calls", "a result becomes a type", async {
            let result = client.call("add", json!({"a": 2, "b": 3.5})).await?;
            holds(!structured || result.structured().is_some(), "nothing structured came")?;
            same(&result.decode::<Sum>()?, &Sum { sum: 5.5 })
        })
        .await;
    for (what, text) in [
        ("echo", "hello".to_owned()),
        ("echo: nothing", String::new()),
        ("echo: quotes, lines, other alphabets", "\"a\" \\ b\r\n\tc \u{2028} Ünï ｆ 🦀 \u{0}".to_owned()),
        ("echo: two megabytes", "0123456789abcdé\n".repeat(1 << 17)),
    ] {
        report
            .check("calls", what, async {
                let arguments = json!({"text": text});
                same(&talk.text("echo", arguments).await?, &text)
            })
            .await;
    }
    report
        .check("calls", "a result of three megabytes", async {
            let bytes = 3 << 20;
            same(&talk.text("big", json!({"bytes": bytes})).await?.len(), &bytes)
        })
        .await;
    report
        .check("calls", "a result that is too long is an error, and the next call works", async {
            // A retry would get a result of the same size.
            let call = client.call("big", json!({"bytes": 17 << 20})).safe_to_repeat(false);
            let error = call.await.err().ok_or("it was taken")?;
            same(&error.kind(), &ErrorKind::TooLarge)?;
            same(&talk.text("echo", json!({"text": "next"})).await?, "next")
        })
        .await;
    report
        .check("calls", "a tool that fails says why", async {
            let result = client.call("fail", json!({"reason": "no luck"})).await?;
            holds(result.is_error(), "it did not fail")?;
            let error = result.text().err().ok_or("it did not fail")?;
            same(&error.kind(), &ErrorKind::ToolFailed)?;
            says(&error.to_string(), "no luck")
        })
        .await;
    report
        .check("calls", "wrong arguments are refused", async {
            let refusal = match client.call("add", json!({"a": "two", "b": 3})).await {
                Ok(result) => result.text().err().ok_or("it worked")?,
                Err(error) => error,
            };
            holds(
                matches!(refusal.kind(), ErrorKind::ToolFailed | ErrorKind::PeerRefused),
                format!("{refusal:?}"),
            )
        })
        .await;
    report
        .check("calls", "a tool that is not there", async {
            let refusal = match client.call("no_such_tool", json!({})).await {
                Ok(result) => result.text().err().ok_or("it worked")?,
                Err(error) => error,
            };
            says(&refusal.to_string(), "no_such_tool")
        })
        .await;
    report
        .check("calls", "a block of each kind", async {
            let result = client.call("mixed", json!({})).await?;
            let kinds: Vec<_> = result.content.iter().map(kind).collect();
            same(&kinds, &["text", "image/png", "audio/wav", "link", "resource"])
        })
        .await;
    report
        .check("calls", "a hundred at once, each with its own answer", async {
            let calls: Vec<_> = (0..100)
                .map(|number| {
                    let call = client.call("echo", json!({"text": format!("number {number}")}));
                    tokio::spawn(async move { Ok::<_, toolway::Error>((number, call.await?.text()?)) })
                })
                .collect();
            for call in calls {
                let (number, said) = call.await.map_err(|error| error.to_string())??;
                same(&said, &format!("number {number}"))?;
            }
            Ok(())
        })
        .await;
    report
        .check("calls", "an argument that travels in a header", async {
            client.tools().await?;
            for region in ["eu-west", "Zürich", " padded "] {
                let said = talk.text("region", json!({"region": region, "text": "here"})).await?;
                same(&said, &format!("{region}: here"))?;
            }
            Ok(())
        })
        .await;
}

fn kind(block: &Content) -> &str {
    match block {
        Content::Text(_) => "text",
        Content::Image(image) => &image.mime_type,
        Content::Audio(audio) => &audio.mime_type,
        Content::Link(_) => "link",
        Content::Resource(_) => "resource",
        _ => "something else",
    }
}
