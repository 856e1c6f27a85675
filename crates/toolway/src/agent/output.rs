//! What is the result of a call that succeeded?

use std::borrow::Cow;

use serde::de::DeserializeOwned;
use toolway_protocol::RawJson;
use toolway_protocol::json::message_without_position;
use toolway_protocol::types::{CallToolResult, Content};

use super::failure::ToolFailure;
use crate::ground::error::{Error, ErrorKind, Result};

/// The result of a tool that succeeded.
///
/// ```
/// use toolway::agent::ToolOutput;
///
/// let output = ToolOutput::from(serde_json::json!({"degrees": -3}));
/// assert_eq!(output.text(), r#"{"degrees":-3}"#);
///
/// #[derive(serde::Deserialize)]
/// struct Weather {
///     degrees: i64,
/// }
/// assert_eq!(output.decode::<Weather>()?.degrees, -3);
/// # Ok::<(), toolway::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct ToolOutput(CallToolResult);

impl ToolOutput {
    /// Returns all text blocks, joined by line breaks. Without text blocks, returns the structured content as JSON.
    pub fn text(&self) -> Cow<'_, str> {
        text(&self.0)
    }

    /// Returns the structured content, which is meant for programs.
    pub fn structured(&self) -> Option<&RawJson> {
        self.0.structured_content.as_ref()
    }

    /// Returns the content blocks, which are meant for the model.
    pub fn content(&self) -> &[Content] {
        &self.0.content
    }

    /// Returns the result as a type of the protocol.
    pub fn result(&self) -> &CallToolResult {
        &self.0
    }

    /// Converts the output to a type of the protocol.
    pub fn into_result(self) -> CallToolResult {
        self.0
    }

    /// Decodes the result as a `T`, from the structured content. Without structured content, the text is decoded as
    /// JSON.
    ///
    /// # Errors
    ///
    /// Returns an error if the result is not a valid `T`.
    pub fn decode<T: DeserializeOwned>(&self) -> Result<T> {
        let decoded = match self.structured() {
            Some(value) => value.decode(),
            None => serde_json::from_str(&self.text()),
        };
        decoded.map_err(|error| {
            let place = if self.structured().is_some() { "structured content" } else { "text" };
            let text = format!(
                "the tool's {place} cannot be decoded as the expected type: {}",
                message_without_position(&error)
            );
            Error::new(ErrorKind::PeerMisbehaved, text).caused_by(error)
        })
    }
}

/// Returns all text blocks of a result, joined by line breaks. Without text blocks, returns the structured content as
/// JSON.
pub(super) fn text(result: &CallToolResult) -> Cow<'_, str> {
    let mut texts = result.content.iter().filter_map(Content::as_text);
    match (texts.next(), texts.next()) {
        (Some(only), None) => only.into(),
        (Some(first), Some(second)) => {
            [first, second].into_iter().chain(texts).collect::<Vec<_>>().join("\n").into()
        }
        (None, _) => result.structured_content.as_ref().map(RawJson::as_str).unwrap_or_default().into(),
    }
}

/// Creates an output of one text block.
impl From<&str> for ToolOutput {
    fn from(text: &str) -> Self {
        Self(CallToolResult::text(text))
    }
}

/// Creates an output of one text block.
impl From<String> for ToolOutput {
    fn from(text: String) -> Self {
        Self(CallToolResult::text(text))
    }
}

/// Creates an output of structured content, and of a text block with the same JSON.
impl From<serde_json::Value> for ToolOutput {
    fn from(value: serde_json::Value) -> Self {
        RawJson::from(value).into()
    }
}

/// Creates an output of structured content, and of a text block with the same JSON.
impl From<RawJson> for ToolOutput {
    fn from(value: RawJson) -> Self {
        Self(CallToolResult::text(value.as_str()).with_structured_content(value))
    }
}

/// A result in which the tool reported an error becomes a [`FailureKind::Failed`](super::FailureKind::Failed).
impl TryFrom<CallToolResult> for ToolOutput {
    type Error = ToolFailure;

    fn try_from(result: CallToolResult) -> Result<Self, ToolFailure> {
        if result.is_error() { Err(ToolFailure::from_result(result)) } else { Ok(Self(result)) }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn output(result: serde_json::Value) -> ToolOutput {
        RawJson::from(result).decode::<CallToolResult>().unwrap().try_into().unwrap()
    }

    #[test]
    fn text_is_every_block_of_text_and_else_the_structured_content() {
        for (result, text) in [
            (json!({"content": [{"type": "text", "text": "a"}]}), "a"),
            (
                json!({"content": [{"type": "text", "text": "a"}, {"type": "image", "data": "AAAA", "mimeType": "image/png"}, {"type": "text", "text": "b"}]}),
                "a\nb",
            ),
            (json!({"content": [], "structuredContent": {"a": 1}}), r#"{"a":1}"#),
            (json!({"content": []}), ""),
        ] {
            assert_eq!(output(result).text(), text);
        }
    }

    #[test]
    fn structured_content_is_decoded_and_else_text_that_is_json() {
        let both = json!({"content": [{"type": "text", "text": "two"}], "structuredContent": 2});
        assert_eq!(output(both).decode::<u8>().unwrap(), 2);
        assert_eq!(
            output(json!({"content": [{"type": "text", "text": "[1]"}]})).decode::<Vec<u8>>().unwrap(),
            [1]
        );
        let error =
            output(json!({"content": [{"type": "text", "text": "\"x\""}]})).decode::<u8>().unwrap_err();
        assert_eq!(
            error.to_string(),
            "the tool's text cannot be decoded as the expected type: invalid type: string \"x\", expected u8"
        );
    }

    #[test]
    fn a_result_that_tells_of_a_failure_is_no_output() {
        let failure = ToolOutput::try_from(CallToolResult::error("no")).unwrap_err();
        assert_eq!(failure.for_model(), "no");
    }
}
