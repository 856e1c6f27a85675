//! How is the result of a call described?

use serde_json::Value;
use toolway::types::{CallToolResult, Completion, Content, GetPromptResult, ReadResourceResult};
use toolway::{ProtocolVersion, RawJson};

use super::difference::{Difference, differences};
use super::fields::problems;
use super::object::{SetMember, object};

/// The result of a call.
pub(super) struct CallOutcome {
    /// The whole result.
    result: RawJson,
    blocks: Vec<Value>,
    structured: Option<RawJson>,
    is_error: bool,
    /// The schema that a structured result must fit.
    schema: Option<RawJson>,
}

impl CallOutcome {
    pub(super) fn tool(result: CallToolResult, schema: Option<RawJson>) -> Self {
        Self {
            result: RawJson::encoded(&result, ProtocolVersion::LATEST),
            blocks: result.content.iter().map(block).collect(),
            structured: result.structured_content.clone(),
            is_error: result.is_error == Some(true),
            schema,
        }
    }

    pub(super) fn resource(result: ReadResourceResult) -> Self {
        let text = RawJson::encoded(&result, ProtocolVersion::LATEST);
        let blocks = result.contents.iter().map(|contents| {
            object! {
                "type": "resource", "uri": contents.uri, "mime_type": contents.mime_type, "text": contents.text,
                "data": contents.blob,
            }
        });
        Self { blocks: blocks.collect(), result: text, structured: None, is_error: false, schema: None }
    }

    pub(super) fn prompt(result: GetPromptResult) -> Self {
        let text = RawJson::encoded(&result, ProtocolVersion::LATEST);
        let blocks = result.messages.iter().map(|message| {
            let mut block = block(&message.content);
            block.set("role", &message.role.as_str());
            block
        });
        Self { blocks: blocks.collect(), result: text, structured: None, is_error: false, schema: None }
    }

    pub(super) fn completion(result: Completion) -> Self {
        let result = object! {"completion": object! {"values": result.values, "total": result.total, "hasMore": result.has_more}};
        Self {
            result: RawJson::from(result.clone()),
            blocks: Vec::new(),
            structured: Some(RawJson::from(result)),
            is_error: false,
            schema: None,
        }
    }

    pub(super) fn result(&self) -> RawJson {
        self.result.clone()
    }

    pub(super) fn is_error(&self) -> bool {
        self.is_error
    }

    pub(super) fn bytes(&self) -> usize {
        self.result.as_bytes().len()
    }

    /// Adds the result to the description of a call.
    pub(super) fn describe(&self, details: &mut Value, previous: Option<&RawJson>) {
        details.set("result", &self.result.as_str());
        details.set("blocks", &self.blocks);
        details.set("structured", &self.structured.as_ref().map(RawJson::as_str));
        let (state, problems) = match (&self.schema, &self.structured) {
            (None, _) => ("none", Vec::new()),
            (Some(_), None) if self.is_error => ("none", Vec::new()),
            (Some(_), None) => (
                "differs",
                vec!["the tool has an output schema, but the result has no structuredContent".to_owned()],
            ),
            (Some(schema), Some(value)) => match problems(schema, value) {
                problems if problems.is_empty() => ("fits", problems),
                problems => ("differs", problems),
            },
        };
        details.set("output", &object! {"state": state, "problems": problems});
        let changes = previous.map(|previous| {
            differences(Some(previous), Some(&self.result))
                .iter()
                .map(Difference::to_json)
                .collect::<Vec<_>>()
        });
        details.set("diff", &changes);
    }
}

fn block(content: &Content) -> Value {
    match content {
        Content::Text(text) => object! {"type": "text", "text": text.text},
        Content::Image(image) => object! {"type": "image", "mime_type": image.mime_type, "data": image.data},
        Content::Audio(audio) => object! {"type": "audio", "mime_type": audio.mime_type, "data": audio.data},
        Content::Link(link) => object! {
            "type": "link", "uri": link.uri, "name": link.display_name(), "mime_type": link.mime_type,
        },
        Content::Resource(embedded) => object! {
            "type": "resource", "uri": embedded.resource.uri, "mime_type": embedded.resource.mime_type,
            "text": embedded.resource.text, "data": embedded.resource.blob,
        },
        other => {
            let text = RawJson::encoded(other, ProtocolVersion::LATEST);
            object! {"type": "other", "json": text.as_str()}
        }
    }
}
