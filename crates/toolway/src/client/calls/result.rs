//! What did a tool give back?

use std::ops::Deref;

use serde::de::DeserializeOwned;
use toolway_protocol::RawJson;
use toolway_protocol::types::{CallToolResult, Content};

use crate::ground::error::{Error, ErrorKind, Result};

/// What a tool gave back. Its members are those of [`CallToolResult`].
///
/// A tool that failed is no error of the call: models are to read what it says. [`text`](ToolResult::text) and
/// [`decode`](ToolResult::decode) make it one.
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
    /// All blocks of text, a line break between them.
    ///
    /// # Errors
    ///
    /// What the tool says when it failed ([`ErrorKind::ToolFailed`]).
    pub fn text(&self) -> Result<String> {
        let text = self.texts();
        if self.is_error() {
            return Err(Error::new(ErrorKind::ToolFailed, format!("the tool failed: {text}")));
        }
        Ok(text)
    }

    /// The result as a `T`: its structured content, or else its text as JSON.
    ///
    /// # Errors
    ///
    /// What the tool says when it failed, or where the result is no `T`.
    pub fn decode<T: DeserializeOwned>(&self) -> Result<T> {
        let (what, decoded) = match &self.0.structured_content {
            Some(content) if !self.is_error() => ("structured content", content.decode()),
            _ => ("text", serde_json::from_str(&self.text()?)),
        };
        decoded.map_err(|error| {
            let message = format!("the tool's {what} is not what was expected");
            Error::new(ErrorKind::PeerMisbehaved, message).caused_by(error)
        })
    }

    /// The structured content as it came.
    pub fn structured(&self) -> Option<&RawJson> {
        self.0.structured_content.as_ref()
    }

    /// The result itself.
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
