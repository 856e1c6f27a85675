//! The error object of a reply, and the error codes that MCP defines.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, Error as _};
use serde_json::{Value, json};

use crate::capability::ClientCapabilities;
use crate::json::{Encode, Encoder, RawJson};
use crate::version::ProtocolVersion;

/// An error code. A peer may send any integer; the constants are the codes that the protocol defines.
///
/// ```
/// use toolway_protocol::jsonrpc::Code;
///
/// assert_eq!(Code::METHOD_NOT_FOUND, Code(-32601));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Deserialize)]
#[serde(transparent)]
pub struct Code(pub i64);

impl Code {
    /// The text is not JSON.
    pub const PARSE_ERROR: Self = Self(-32700);
    /// The frame is not a JSON-RPC message, or breaks a limit.
    pub const INVALID_REQUEST: Self = Self(-32600);
    /// The revision does not know the method, or the server does not offer it.
    pub const METHOD_NOT_FOUND: Self = Self(-32601);
    /// The parameters are wrong, or name something that does not exist.
    pub const INVALID_PARAMS: Self = Self(-32602);
    /// The fault is on the answering side.
    pub const INTERNAL_ERROR: Self = Self(-32603);
    /// The resource does not exist (handshake era).
    pub const RESOURCE_NOT_FOUND: Self = Self(-32002);
    /// A mirrored HTTP header is missing, malformed or differs from the body.
    pub const HEADER_MISMATCH: Self = Self(-32020);
    /// The request needs a capability that the client did not declare in this request.
    pub const MISSING_CAPABILITY: Self = Self(-32021);
    /// The revision is not served.
    pub const UNSUPPORTED_VERSION: Self = Self(-32022);
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The `error` member of a reply: a code, a short message and optional data.
///
/// The text is sent to the peer, so it must not contain secrets or internal details.
///
/// ```
/// use toolway_protocol::{RpcError, jsonrpc::Code};
///
/// let error = RpcError::invalid_params("no such tool: `ad`, did you mean `add`?");
/// assert_eq!(error.code, Code::INVALID_PARAMS);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RpcError {
    /// The kind of the error.
    pub code: Code,
    /// One short sentence for the peer.
    pub message: Cow<'static, str>,
    /// Additional data as JSON.
    pub data: Option<RawJson>,
}

/// Accepts only an object; a derived implementation would accept an array too.
impl<'de> Deserialize<'de> for RpcError {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(serde::Deserialize)]
        struct Members {
            code: Code,
            message: String,
            #[serde(default, deserialize_with = "present")]
            data: Option<RawJson>,
        }
        let text = RawJson::deserialize(deserializer)?;
        if !text.is_object() {
            return Err(D::Error::custom("an error must be an object"));
        }
        let Members { code, message, data } = text.decode().map_err(D::Error::custom)?;
        Ok(Self { code, message: message.into(), data })
    }
}

/// Reads `data` as `Some` if the member is present, even if its value is `null`.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<RawJson>, D::Error> {
    RawJson::deserialize(deserializer).map(Some)
}

impl RpcError {
    /// Creates an error with any code.
    pub fn new(code: Code, message: impl Into<Cow<'static, str>>) -> Self {
        Self { code, message: message.into(), data: None }
    }

    /// Creates an error for text that is not JSON.
    pub fn parse_error(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Code::PARSE_ERROR, message)
    }

    /// Creates an error for a frame that is not an acceptable JSON-RPC message.
    pub fn invalid_request(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Code::INVALID_REQUEST, message)
    }

    /// Creates an error for a method that is unknown or not offered.
    pub fn method_not_found(method: &str) -> Self {
        Self::new(Code::METHOD_NOT_FOUND, format!("no such method: {method}"))
    }

    /// Creates an error for wrong parameters.
    pub fn invalid_params(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Code::INVALID_PARAMS, message)
    }

    /// Creates an error for a fault on the answering side. The text should not reveal internal details.
    pub fn internal(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Code::INTERNAL_ERROR, message)
    }

    /// Creates an error for a mirrored header that is missing, malformed or different from the body.
    pub fn header_mismatch(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Code::HEADER_MISMATCH, message)
    }

    /// Creates an error for a request that needs a capability which the client did not declare. The data names the
    /// capability.
    ///
    /// ```
    /// use toolway_protocol::RpcError;
    /// use toolway_protocol::capability::{ClientCapabilities, JsonObject};
    ///
    /// let error = RpcError::missing_capability(&ClientCapabilities::new().with_sampling(JsonObject::new()));
    /// assert_eq!(error.data.unwrap().as_str(), r#"{"requiredCapabilities":{"sampling":{}}}"#);
    /// ```
    pub fn missing_capability(required: &ClientCapabilities) -> Self {
        let mut data = Vec::new();
        Encoder::new(&mut data, ProtocolVersion::LATEST)
            .object(|members| members.put("requiredCapabilities", required));
        let message = "the client did not declare a capability that this needs";
        Self {
            data: Some(RawJson::from_scanned(data.into())),
            ..Self::new(Code::MISSING_CAPABILITY, message)
        }
    }

    /// Creates an error for a revision that is not served. The data lists the supported revisions.
    pub fn unsupported_version(requested: &str, supported: &[&str]) -> Self {
        let message = format!("unsupported protocol version: {requested:?}");
        Self::new(Code::UNSUPPORTED_VERSION, message)
            .with_data(json!({"supported": supported, "requested": requested}))
    }

    /// Creates an error for a message that is longer than the receiver accepts. The data contains the limit.
    ///
    /// ```
    /// use toolway_protocol::RpcError;
    ///
    /// let error = RpcError::too_large(1000);
    /// assert_eq!(error.data.as_ref().unwrap().as_str(), r#"{"maxMessage":1000}"#);
    /// assert_eq!(error.max_message(), Some(1000));
    /// ```
    pub fn too_large(max_message: usize) -> Self {
        let message = format!(
            "the message is longer than {max_message} bytes, the receiver's `max_message`: send less, or raise it there"
        );
        Self::invalid_request(message).with_max_message(max_message)
    }

    /// Sets `data.maxMessage`, the maximum size of a message in bytes.
    pub fn with_max_message(self, bytes: usize) -> Self {
        self.with_data(json!({"maxMessage": bytes}))
    }

    /// Returns `data.maxMessage`, the maximum size of a message in bytes, if the error has it.
    pub fn max_message(&self) -> Option<usize> {
        #[derive(serde::Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Data {
            max_message: usize,
        }
        let data: Data = self.data.as_ref().filter(|data| data.is_object())?.decode().ok()?;
        Some(data.max_message)
    }

    /// Adds data for the peer.
    pub fn with_data(mut self, data: Value) -> Self {
        self.data = Some(data.into());
        self
    }
}

impl fmt::Display for RpcError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.message, self.code)
    }
}

impl std::error::Error for RpcError {}

impl Encode for RpcError {
    fn encode(&self, to: &mut Encoder<'_>) {
        to.object(|members| {
            members.put("code", &self.code.0);
            members.put("message", &*self.message);
            members.maybe("data", self.data.as_ref());
        });
    }
}
