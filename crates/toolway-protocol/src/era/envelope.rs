//! The envelope of a stateless request: which revision, capabilities and client does the request name?

use serde::de::DeserializeOwned;

use crate::capability::ClientCapabilities;
use crate::json::{Members, RawJson, message_without_position};
use crate::jsonrpc::{Id, Params, RpcError};
use crate::meta::Key;
use crate::types::{Implementation, LogLevel};
use crate::version::{Era, ProtocolVersion};

/// The members of `_meta` that describe a stateless request.
///
/// ```
/// use toolway_protocol::capability::ClientCapabilities;
/// use toolway_protocol::era::Envelope;
/// use toolway_protocol::types::Implementation;
/// use toolway_protocol::ProtocolVersion;
///
/// let envelope = Envelope::new(ProtocolVersion::LATEST, ClientCapabilities::new(), Implementation::new("me", "1"));
/// assert_eq!(envelope.supported_version(), Ok(ProtocolVersion::LATEST));
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Envelope {
    /// The revision that the request names. It may be unknown to this crate.
    pub requested: RequestedVersion,
    /// The capabilities of the client, for this request.
    pub capabilities: ClientCapabilities,
    /// The client that sends the request, for display only.
    pub client_info: Option<Implementation>,
    /// The lowest level of the log messages that the client wants to receive for this request.
    pub log_level: Option<LogLevel>,
    /// The progress token of a request to send. It is `None` in a received envelope.
    pub progress_token: Option<Id>,
}

impl Envelope {
    /// Creates an envelope to send.
    pub fn new(
        version: ProtocolVersion,
        capabilities: ClientCapabilities,
        client_info: Implementation,
    ) -> Self {
        Self {
            requested: RequestedVersion::Known(version),
            capabilities,
            client_info: Some(client_info),
            log_level: None,
            progress_token: None,
        }
    }

    /// Reads the envelope of a stateless request.
    pub fn read(params: &Params) -> Result<Self, RpcError> {
        let (Some(requested), Some(capabilities)) =
            (params.meta_member(Key::ProtocolVersion), params.meta_member(Key::ClientCapabilities))
        else {
            return Err(missing_members(params));
        };
        let requested = RequestedVersion::read(&requested)?;
        let capabilities = match capabilities.as_bytes() {
            // The usual case: the client declares no capabilities.
            b"{}" => ClientCapabilities::new(),
            _ => decode_object(Key::ClientCapabilities, &capabilities)?,
        };
        let client_info = params.meta_member(Key::ClientInfo);
        let log_level = params.meta_member(Key::LogLevel);
        Ok(Self {
            requested,
            capabilities,
            client_info: client_info.map(|text| decode_object(Key::ClientInfo, &text)).transpose()?,
            log_level: log_level.map(|text| decode(Key::LogLevel, &text)).transpose()?,
            // The progress token is decoded only when a handler reports progress.
            progress_token: None,
        })
    }

    /// Returns the revision, if it belongs to the stateless era. An older revision is refused too, because it needs
    /// `initialize`.
    pub fn supported_version(&self) -> Result<ProtocolVersion, RpcError> {
        match self.requested {
            RequestedVersion::Known(version) if version.era() == Era::Stateless => Ok(version),
            _ => Err(RpcError::unsupported_version(
                self.requested.as_str(),
                &ProtocolVersion::names(Era::Stateless),
            )),
        }
    }

    /// Writes the envelope as members of a `_meta` object.
    pub fn put(&self, members: &mut Members<'_, '_>) {
        members.put(Key::ProtocolVersion.name(), self.requested.as_str());
        members.put(Key::ClientCapabilities.name(), &self.capabilities);
        members.maybe(Key::ClientInfo.name(), self.client_info.as_ref());
        members.maybe(Key::LogLevel.name(), self.log_level.as_ref());
        members.maybe(Key::ProgressToken.name(), self.progress_token.as_ref());
    }
}

/// The revision that a request names.
///
/// ```
/// use toolway_protocol::era::envelope::RequestedVersion;
///
/// assert_eq!(RequestedVersion::Unknown("tomorrow".into()).as_str(), "tomorrow");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RequestedVersion {
    /// A published revision.
    Known(ProtocolVersion),
    /// Any other text.
    Unknown(String),
}

impl RequestedVersion {
    fn read(text: &RawJson) -> Result<Self, RpcError> {
        // The usual case needs no copy: a plain string that names a known revision.
        let inner = text.as_bytes().strip_prefix(b"\"").and_then(|rest| rest.strip_suffix(b"\""));
        if let Some(version) = inner.and_then(ProtocolVersion::from_bytes) {
            return Ok(Self::Known(version));
        }
        let name: String = decode(Key::ProtocolVersion, text)?;
        Ok(ProtocolVersion::from_bytes(name.as_bytes()).map_or(Self::Unknown(name), Self::Known))
    }

    /// Returns the name of the revision.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Known(version) => version.as_str(),
            Self::Unknown(name) => name,
        }
    }
}

fn decode<T: DeserializeOwned>(key: Key, text: &RawJson) -> Result<T, RpcError> {
    text.decode().map_err(|error| {
        RpcError::invalid_params(format!(
            "wrong `{}` in `params._meta`: {}",
            key.name(),
            message_without_position(&error)
        ))
    })
}

fn decode_object<T: DeserializeOwned>(key: Key, text: &RawJson) -> Result<T, RpcError> {
    if text.is_object() {
        return decode(key, text);
    }
    Err(RpcError::invalid_params(format!("`{}` in `params._meta` must be an object", key.name())))
}

/// Returns the error for a request without the members that every stateless request must have.
pub(super) fn missing_members(params: &Params) -> RpcError {
    let missing: Vec<_> = [Key::ProtocolVersion, Key::ClientCapabilities]
        .into_iter()
        .filter(|key| params.meta_member(*key).is_none())
        .map(|key| format!("`{}`", key.name()))
        .collect();
    RpcError::invalid_params(format!("`params._meta` lacks {}", missing.join(" and ")))
}
