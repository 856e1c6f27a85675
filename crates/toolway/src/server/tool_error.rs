//! Failures of a tool: what may the model read, and what goes to the log only?

use std::error::Error as StdError;
use std::fmt;
use std::hash::{BuildHasher, RandomState};

use toolway_protocol::types::CallToolResult;

use crate::error::Chain;

/// The failure of a tool call.
///
/// [`ToolError::new`] makes one whose text the model reads, so that it can correct itself. Any other error
/// that comes through `?` is kept from the peer: the model gets a reference, the log gets the cause.
///
/// ```
/// use toolway::ToolError;
///
/// fn divide(a: f64, b: f64) -> Result<f64, ToolError> {
///     if b == 0.0 {
///         return Err(ToolError::new("division by zero: choose another `b`"));
///     }
///     Ok(a / b)
/// }
///
/// fn read() -> Result<String, ToolError> {
///     Ok(std::fs::read_to_string("/etc/secret")?) // the model does not see why this failed
/// }
/// ```
pub struct ToolError(Face);

enum Face {
    Visible(String),
    Hidden(Box<dyn StdError + Send + Sync>),
}

impl ToolError {
    /// A failure whose text the model reads.
    pub fn new(text: impl Into<String>) -> Self {
        Self(Face::Visible(text.into()))
    }

    pub(super) fn into_result(self, tool: &str) -> CallToolResult {
        match self.0 {
            Face::Visible(text) => CallToolResult::error(text),
            Face::Hidden(cause) => hide(tool, &*cause),
        }
    }
}

/// The cause goes to the log under a reference, the reference goes to the peer.
pub(super) fn hide(tool: &str, cause: &(dyn StdError + 'static)) -> CallToolResult {
    let reference = format!("{:016x}", RandomState::new().hash_one(tool));
    tracing::error!(tool, reference, error = %Chain(cause), "a tool call failed");
    CallToolResult::error(format!(
        "the tool `{tool}` failed; its operator finds the cause under reference {reference}"
    ))
}

/// `ToolError` itself is no `std::error::Error`: that is what lets every other error convert.
impl<E: StdError + Send + Sync + 'static> From<E> for ToolError {
    fn from(error: E) -> Self {
        Self(Face::Hidden(Box::new(error)))
    }
}

impl fmt::Debug for ToolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Face::Visible(text) => f.debug_tuple("ToolError").field(text).finish(),
            Face::Hidden(cause) => f.debug_tuple("ToolError").field(cause).finish(),
        }
    }
}
