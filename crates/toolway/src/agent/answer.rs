//! How is the model told the result of its call?
//!
//! Each provider has its own format and supports different kinds of content. Content that a provider does not support
//! is replaced by a text that mentions it, so that the model knows about it.

use std::borrow::Cow;

use serde_json::{Map, Value, json};
use toolway_protocol::RawJson;
use toolway_protocol::types::{CallToolResult, Content};

use super::failure::ToolFailure;
use super::output::ToolOutput;

/// The result of a [`ToolCall`](super::ToolCall), ready to be sent back to the model.
///
/// ```
/// use serde_json::json;
/// use toolway::agent::{ToolCall, ToolSet};
///
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// let answer = ToolSet::new().call(ToolCall::new("1", "add", json!({"a": 2}))).await;
/// assert_eq!(answer.to_openai(), json!({"role": "tool", "tool_call_id": "1", "content": "error: no such tool: `add`"}));
/// let block = json!({"type": "text", "text": "no such tool: `add`"});
/// assert_eq!(
///     answer.to_anthropic(),
///     json!({"type": "tool_result", "tool_use_id": "1", "content": [block], "is_error": true})
/// );
/// # });
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub struct ToolAnswer {
    /// The id of the call.
    pub id: String,
    /// The name of the tool, as the model wrote it.
    pub name: String,
    /// The output of the tool, or the failure.
    pub result: Result<ToolOutput, ToolFailure>,
    /// `true` if this library generated the id, because the model's call had none.
    pub(super) has_generated_id: bool,
}

impl ToolAnswer {
    /// Returns a message for OpenAI's chat completions. Such a message can contain only text.
    pub fn to_openai(&self) -> Value {
        json!({"role": "tool", "tool_call_id": self.id, "content": self.openai_text()})
    }

    /// Returns an input item for OpenAI's Responses API. Its output is a text, or a list of blocks if there are images
    /// or files.
    pub fn to_openai_responses(&self) -> Value {
        let pieces = self.pieces();
        let output = if pieces.iter().all(|piece| matches!(piece, Piece::Text(_))) {
            self.openai_text().into()
        } else {
            let mut blocks: Vec<_> = pieces
                .into_iter()
                .map(|piece| match piece {
                    Piece::Blob { mime, data, .. } if is_supported_image(mime) => {
                        json!({"type": "input_image", "image_url": format!("data:{mime};base64,{data}")})
                    }
                    Piece::Blob { mime: mime @ "application/pdf", data, name, .. } => {
                        let data = format!("data:{mime};base64,{data}");
                        json!({"type": "input_file", "filename": name.unwrap_or("result.pdf"), "file_data": data})
                    }
                    other => json!({"type": "input_text", "text": other.into_text()}),
                })
                .collect();
            if self.result.is_err() {
                blocks.insert(0, json!({"type": "input_text", "text": "error:"}));
            }
            Value::Array(blocks)
        };
        json!({"type": "function_call_output", "call_id": self.id, "output": output})
    }

    /// Returns a content block for a user message to Anthropic.
    pub fn to_anthropic(&self) -> Value {
        let blocks = self.pieces().into_iter().map(|piece| match piece {
            // An error may contain only text.
            failed if self.result.is_err() => json!({"type": "text", "text": failed.into_text()}),
            Piece::Blob { mime, data, .. } if is_supported_image(mime) => {
                json!({"type": "image", "source": {"type": "base64", "media_type": mime, "data": data}})
            }
            Piece::Blob { mime: mime @ "application/pdf", data, .. } => {
                json!({"type": "document", "source": {"type": "base64", "media_type": mime, "data": data}})
            }
            other => json!({"type": "text", "text": other.into_text()}),
        });
        // Anthropic refuses a text block that is empty or only white space.
        let is_said = |block: &Value| block["text"].as_str().is_none_or(|text| !text.trim().is_empty());
        let mut blocks: Vec<_> = blocks.filter(is_said).collect();
        // Anthropic also refuses an error without content.
        if self.result.is_err() && blocks.is_empty() {
            blocks.push(json!({"type": "text", "text": NO_REASON}));
        }
        let mut block = json!({"type": "tool_result", "tool_use_id": self.id});
        if !blocks.is_empty() {
            block["content"] = blocks.into();
        }
        if self.result.is_err() {
            block["is_error"] = true.into();
        }
        block
    }

    /// Returns a part for a user content of Gemini. Structured content stays structured. Images, PDF documents and
    /// plain-text resources become `parts` of the response, which Gemini 3 and later support.
    pub fn to_gemini(&self) -> Value {
        let (mut texts, mut parts, mut left_out) = (Vec::new(), Vec::new(), Vec::new());
        for piece in self.pieces() {
            match piece {
                Piece::Blob { mime, data, .. } if is_supported_by_gemini(mime) => {
                    parts.push(json!({"inlineData": {"mimeType": mime, "data": data}}));
                }
                Piece::Text(text) => texts.push(text),
                blob @ Piece::Blob { .. } => left_out.push(blob.into_text()),
            }
        }
        let structured = self.result.as_ref().ok().and_then(ToolOutput::structured);
        let outcome = match structured.and_then(|value| value.decode::<Value>().ok()) {
            // The text blocks are left out, because they repeat the structured content.
            Some(value) if left_out.is_empty() => value,
            Some(value) => json!({"value": value, "notes": left_out.join("\n")}),
            None => Value::String(texts.into_iter().chain(left_out).collect::<Vec<_>>().join("\n")),
        };
        let key = if self.result.is_ok() { "output" } else { "error" };
        let mut response = Map::new();
        if !self.has_generated_id {
            response.insert("id".to_owned(), self.id.clone().into());
        }
        response.insert("name".to_owned(), self.name.clone().into());
        response.insert("response".to_owned(), json!({key: outcome}));
        if !parts.is_empty() {
            response.insert("parts".to_owned(), parts.into());
        }
        json!({"functionResponse": response})
    }

    /// Returns all pieces as one text. OpenAI has no flag for failures, so the text of a failure begins with `error:`.
    fn openai_text(&self) -> String {
        let texts: Vec<_> = self.pieces().into_iter().map(Piece::into_text).collect();
        let text = texts.join("\n");
        if self.result.is_ok() { text } else { format!("error: {text}") }
    }

    fn pieces(&self) -> Vec<Piece<'_>> {
        match &self.result {
            Ok(output) => pieces(output.result()),
            Err(failure) => match failure.result() {
                Some(result) if !result.content.is_empty() => pieces(result),
                _ => vec![Piece::Text(failure.for_model().into())],
            },
        }
    }
}

/// A piece of a result. Providers distinguish text and binary data.
enum Piece<'r> {
    Text(Cow<'r, str>),
    /// Binary data in Base64.
    Blob {
        kind: &'static str,
        mime: &'r str,
        data: &'r str,
        name: Option<&'r str>,
    },
}

impl<'r> Piece<'r> {
    /// Converts the piece to text. Binary data is replaced by a text that mentions it.
    fn into_text(self) -> Cow<'r, str> {
        match self {
            Self::Text(text) => text,
            Self::Blob { kind, mime, data, name } => {
                let name = name.map(|name| format!(" `{name}`")).unwrap_or_default();
                format!(
                    "[{kind}{name} of type {mime} left out: {} bytes that cannot be shown here]",
                    data.len() / 4 * 3
                )
                .into()
            }
        }
    }
}

fn pieces(result: &CallToolResult) -> Vec<Piece<'_>> {
    let mut pieces: Vec<_> = result.content.iter().map(piece).collect();
    let has_text = result.content.iter().any(|block| block.as_text().is_some());
    if let Some(structured) = result.structured_content.as_ref().filter(|_| !has_text) {
        pieces.insert(0, Piece::Text(structured.as_str().into()));
    }
    pieces
}

fn piece(block: &Content) -> Piece<'_> {
    match block {
        Content::Text(block) => Piece::Text(Cow::Borrowed(&block.text)),
        Content::Image(block) => {
            Piece::Blob { kind: "an image", mime: &block.mime_type, data: &block.data, name: None }
        }
        Content::Audio(block) => {
            Piece::Blob { kind: "a sound", mime: &block.mime_type, data: &block.data, name: None }
        }
        Content::Resource(block) => {
            let resource = &block.resource;
            let mime = resource.mime_type.as_deref();
            match (&resource.text, &resource.blob) {
                (None, Some(data)) => Piece::Blob {
                    kind: "the resource",
                    mime: mime.unwrap_or("application/octet-stream"),
                    data,
                    name: Some(&resource.uri),
                },
                (text, _) => {
                    Piece::Text(format!("{}:\n{}", resource.uri, text.as_deref().unwrap_or_default()).into())
                }
            }
        }
        Content::Link(link) => {
            let about = link.description.as_deref().map(|about| format!(": {about}")).unwrap_or_default();
            Piece::Text(format!("[{}]({}){about}", link.display_name(), link.uri).into())
        }
        Content::Other(block) => Piece::Text(format!("[{} left out]", describe_block(block)).into()),
        _ => Piece::Text("[a block of a sampling message left out]".into()),
    }
}

/// Returns a description of a block of an unknown type.
fn describe_block(block: &RawJson) -> String {
    let kind = block.decode::<Value>().ok().and_then(|block| Some(block["type"].as_str()?.to_owned()));
    match kind {
        Some(kind) => format!("a block of kind `{}`", super::failure::truncate_name(&kind)),
        None => "a block".to_owned(),
    }
}

/// Returns whether OpenAI and Anthropic accept images of this type.
fn is_supported_image(mime: &str) -> bool {
    matches!(mime, "image/png" | "image/jpeg" | "image/gif" | "image/webp")
}

/// Returns whether Gemini accepts data of this type in a function response.
fn is_supported_by_gemini(mime: &str) -> bool {
    matches!(mime, "image/png" | "image/jpeg" | "image/webp" | "application/pdf" | "text/plain")
}

/// The text for an error without a message.
const NO_REASON: &str = "the tool failed and did not say why";

#[cfg(test)]
mod tests {
    use toolway_protocol::types::CallToolResult;

    use super::*;
    use crate::agent::ToolCall;

    fn answer(result: Value) -> ToolAnswer {
        let result = RawJson::from(result).decode::<CallToolResult>().unwrap();
        ToolCall::new("1", "look", json!({})).answer(ToolOutput::try_from(result))
    }

    #[test]
    fn text_is_text_everywhere() {
        let answer =
            answer(json!({"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}));
        assert_eq!(answer.to_openai(), json!({"role": "tool", "tool_call_id": "1", "content": "a\nb"}));
        assert_eq!(
            answer.to_openai_responses(),
            json!({"type": "function_call_output", "call_id": "1", "output": "a\nb"})
        );
        assert_eq!(
            answer.to_anthropic(),
            json!({"type": "tool_result", "tool_use_id": "1", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]})
        );
        assert_eq!(
            answer.to_gemini(),
            json!({"functionResponse": {"id": "1", "name": "look", "response": {"output": "a\nb"}}})
        );
    }

    #[test]
    fn pictures_go_where_they_are_taken_and_are_named_elsewhere() {
        let answer = answer(json!({"content": [
            {"type": "text", "text": "here"},
            {"type": "image", "data": "AAAA", "mimeType": "image/png"},
            {"type": "image", "data": "AAAA", "mimeType": "image/tiff"},
            {"type": "audio", "data": "AAAAAAAA", "mimeType": "audio/wav"},
        ]}));
        let png = "[an image of type image/png left out: 3 bytes that cannot be shown here]";
        let tiff = "[an image of type image/tiff left out: 3 bytes that cannot be shown here]";
        let sound = "[a sound of type audio/wav left out: 6 bytes that cannot be shown here]";
        assert_eq!(answer.to_openai()["content"], json!(format!("here\n{png}\n{tiff}\n{sound}")));
        let text = |text: &str| json!({"type": "input_text", "text": text});
        assert_eq!(
            answer.to_openai_responses()["output"],
            json!([text("here"), {"type": "input_image", "image_url": "data:image/png;base64,AAAA"}, text(tiff), text(sound)])
        );
        let text = |text: &str| json!({"type": "text", "text": text});
        let source = json!({"type": "base64", "media_type": "image/png", "data": "AAAA"});
        assert_eq!(
            answer.to_anthropic()["content"],
            json!([text("here"), {"type": "image", "source": source}, text(tiff), text(sound)])
        );
        let response = &answer.to_gemini()["functionResponse"];
        assert_eq!(response["response"], json!({"output": format!("here\n{tiff}\n{sound}")}));
        assert_eq!(response["parts"], json!([{"inlineData": {"mimeType": "image/png", "data": "AAAA"}}]));
    }

    #[test]
    fn resources_are_text_documents_or_links() {
        let answer = answer(json!({"content": [
            {"type": "resource", "resource": {"uri": "file:///a.txt", "text": "hello"}},
            {"type": "resource", "resource": {"uri": "file:///a.pdf", "mimeType": "application/pdf", "blob": "AAAA"}},
            {"type": "resource", "resource": {"uri": "file:///a.bin", "blob": "AAAA"}},
            {"type": "resource_link", "uri": "file:///b.txt", "name": "b", "description": "the other"},
            {"type": "hologram", "data": 7},
        ]}));
        let bytes = "[the resource `file:///a.bin` of type application/octet-stream left out: 3 bytes that cannot be shown here]";
        let texts = [
            "file:///a.txt:\nhello",
            bytes,
            "[b](file:///b.txt): the other",
            "[a block of kind `hologram` left out]",
        ];
        let text = |text: &str| json!({"type": "text", "text": text});
        let source = json!({"type": "base64", "media_type": "application/pdf", "data": "AAAA"});
        let document = json!({"type": "document", "source": source});
        assert_eq!(
            answer.to_anthropic()["content"],
            json!([text(texts[0]), document, text(texts[1]), text(texts[2]), text(texts[3])])
        );
        let file = json!({"type": "input_file", "filename": "file:///a.pdf", "file_data": "data:application/pdf;base64,AAAA"});
        assert_eq!(answer.to_openai_responses()["output"][1], file);
    }

    #[test]
    fn structured_content_stays_structured_where_it_can() {
        let both = answer(
            json!({"content": [{"type": "text", "text": "{\"a\":1}"}], "structuredContent": {"a": 1}}),
        );
        assert_eq!(both.to_gemini()["functionResponse"]["response"], json!({"output": {"a": 1}}));
        assert_eq!(both.to_openai()["content"], "{\"a\":1}");
        let sound = json!({"type": "audio", "data": "AAAA", "mimeType": "audio/wav"});
        let alone = answer(json!({"content": [sound], "structuredContent": [1]}));
        let note = "[a sound of type audio/wav left out: 3 bytes that cannot be shown here]";
        assert_eq!(
            alone.to_gemini()["functionResponse"]["response"],
            json!({"output": {"value": [1], "notes": note}})
        );
        assert_eq!(alone.to_openai()["content"], json!(format!("[1]\n{note}")));
    }

    #[test]
    fn failures_say_that_they_are() {
        let failed = answer(json!({"isError": true, "content": [
            {"type": "text", "text": "no light"},
            {"type": "image", "data": "AAAA", "mimeType": "image/png"},
        ]}));
        assert!(failed.to_openai()["content"].as_str().unwrap().starts_with("error: no light\n[an image"));
        assert_eq!(
            failed.to_openai_responses()["output"][0],
            json!({"type": "input_text", "text": "error:"})
        );
        assert_eq!(failed.to_anthropic()["is_error"], true);
        let picture = "[an image of type image/png left out: 3 bytes that cannot be shown here]";
        let text = |text: &str| json!({"type": "text", "text": text});
        assert_eq!(
            failed.to_anthropic()["content"],
            json!([text("no light"), text(picture)]),
            "whatever is not text is refused there"
        );
        assert_eq!(failed.to_gemini()["functionResponse"]["response"], json!({"error": "no light"}));
        let silent = answer(json!({"isError": true, "content": []}));
        assert_eq!(silent.to_openai()["content"], "error: the tool failed and did not say why");
        for content in [json!([]), json!([{"type": "text", "text": " \n"}])] {
            let silent = answer(json!({"isError": true, "content": content}));
            let said = json!([text("the tool failed and did not say why")]);
            assert_eq!(silent.to_anthropic()["content"], said, "an error without words is refused there");
        }
    }

    #[test]
    fn nothing_to_say_is_said() {
        let silent = answer(json!({"content": []}));
        assert_eq!(silent.to_openai()["content"], "");
        assert_eq!(silent.to_anthropic(), json!({"type": "tool_result", "tool_use_id": "1"}));
        assert_eq!(silent.to_gemini()["functionResponse"]["response"], json!({"output": ""}));
        for text in ["", " ", "\n\t\u{a0}"] {
            let empty = answer(json!({"content": [{"type": "text", "text": text}]}));
            assert_eq!(empty.to_anthropic(), silent.to_anthropic(), "an empty block is refused there");
        }
    }

    #[test]
    fn an_id_that_was_made_up_is_not_sent() {
        let calls = ToolCall::from_gemini(&json!({"functionCall": {"name": "look"}}));
        let answer = calls[0].clone().answer(Ok("here".into()));
        assert_eq!(
            answer.to_gemini(),
            json!({"functionResponse": {"name": "look", "response": {"output": "here"}}})
        );
    }
}
