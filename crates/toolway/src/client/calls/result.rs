//! What did a tool return?

use std::ops::Deref;

use serde::de::DeserializeOwned;
use toolway_protocol::RawJson;
use toolway_protocol::types::{CallToolResult, Content};

use crate::ground::error::{Error, ErrorKind, Result};

/// The result of a tool call. Dereferences to [`CallToolResult`].
///
/// If a tool fails, the call itself still succeeds, because a model should read the text of the failure.
/// [`text`](ToolResult::text) and [`decode`](ToolResult::decode) turn the failure into an error.
///
/// ```
/// # use toolway::prelude::*;
/// # use serde::Deserialize;
/// # #[tool] fn weather(city: String) -> Result<Json<serde_json::Value>, ToolError> {
/// #     if city == "Atlantis" { return Err(ToolError::new("no such city: Atlantis")) }
/// #     Ok(Json(serde_json::json!({"city": city, "celsius": 21.5})))
/// # }
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// # let server = Server::new("weather", "1.0.0").tools(tools![weather]).build()?;
/// # let client = Client::connect(&server).await?;
/// #[derive(Deserialize)]
/// struct Weather {
///     celsius: f64,
/// }
///
/// let result = client.call("weather", serde_json::json!({"city": "Lisbon"})).await?;
/// assert_eq!(result.decode::<Weather>()?.celsius, 21.5);
///
/// let failed = client.call("weather", serde_json::json!({"city": "Atlantis"})).await?;
/// assert!(failed.is_error());
/// assert_eq!(failed.text().unwrap_err().to_string(), "the tool failed: no such city: Atlantis");
/// # Ok::<(), toolway::Error>(()) }).unwrap();
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct ToolResult(CallToolResult);

impl ToolResult {
    /// Returns all text blocks, joined by line breaks.
    ///
    /// # Errors
    ///
    /// When the tool failed. The error contains the tool's text ([`ErrorKind::ToolFailed`]).
    pub fn text(&self) -> Result<String> {
        let text = self.texts();
        if self.is_error() {
            return Err(Error::new(ErrorKind::ToolFailed, format!("the tool failed: {text}")));
        }
        Ok(text)
    }

    /// Decodes the result as a `T`, from the structured content. Without structured content, the text is decoded as
    /// JSON.
    ///
    /// # Errors
    ///
    /// When the tool failed (the error contains the tool's text), or when the result cannot be decoded as `T`.
    pub fn decode<T: DeserializeOwned>(&self) -> Result<T> {
        let (what, decoded) = match &self.0.structured_content {
            Some(content) if !self.is_error() => ("structured content", content.decode()),
            _ => ("text", serde_json::from_str(&self.text()?)),
        };
        decoded.map_err(|error| {
            let message = format!("the tool's {what} cannot be decoded as the expected type");
            Error::new(ErrorKind::PeerMisbehaved, message).caused_by(error)
        })
    }

    /// The structured content as the server sent it.
    pub fn structured(&self) -> Option<&RawJson> {
        self.0.structured_content.as_ref()
    }

    /// Returns the inner result.
    pub fn into_inner(self) -> CallToolResult {
        self.0
    }

    fn texts(&self) -> String {
        let texts: Vec<_> = self.0.content.iter().filter_map(Content::as_text).collect();
        texts.join("\n")
    }
}

impl Deref for ToolResult {
    type Target = CallToolResult;

    fn deref(&self) -> &CallToolResult {
        &self.0
    }
}

impl From<CallToolResult> for ToolResult {
    fn from(result: CallToolResult) -> Self {
        Self(result)
    }
}

impl From<ToolResult> for CallToolResult {
    fn from(result: ToolResult) -> Self {
        result.0
    }
}

impl PartialEq<CallToolResult> for ToolResult {
    fn eq(&self, other: &CallToolResult) -> bool {
        self.0 == *other
    }
}
