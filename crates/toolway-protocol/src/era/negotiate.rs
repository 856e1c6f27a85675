//! Negotiation: which revision will both sides use?

use serde::Deserialize;

use crate::jsonrpc::{Code, RpcError};
use crate::version::{Era, ProtocolVersion};

/// Returns the server's answer to the revision that `initialize` requests: the same revision if it belongs to the
/// handshake era, otherwise the newest revision of the handshake era. The answer is never a stateless revision, even if
/// the client requests one.
///
/// ```
/// use toolway_protocol::{ProtocolVersion, era::negotiate::answer};
///
/// assert_eq!(answer("2025-06-18").as_str(), "2025-06-18");
/// assert_eq!(answer("2026-07-28"), ProtocolVersion::LATEST_HANDSHAKE);
/// assert_eq!(answer("tomorrow"), ProtocolVersion::LATEST_HANDSHAKE);
/// ```
pub fn answer(requested: &str) -> ProtocolVersion {
    match requested.parse::<ProtocolVersion>() {
        Ok(version) if version.era() == Era::Handshake => version,
        _ => ProtocolVersion::LATEST_HANDSHAKE,
    }
}

/// The conclusion that a client draws from the reply to its first `server/discover`.
///
/// ```
/// use toolway_protocol::era::negotiate::{Verdict, choose};
///
/// assert_eq!(choose(&["2025-11-25".to_owned()]), Verdict::Handshake);
/// assert_eq!(choose(&["2099-01-01".to_owned()]), Verdict::NoCommonVersion);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The server supports this stateless revision.
    Stateless(ProtocolVersion),
    /// The server needs `initialize`.
    Handshake,
    /// The server supports MCP, but shares no revision with the client.
    NoCommonVersion,
}

/// Chooses a revision from the list that a server supports.
///
/// ```
/// use toolway_protocol::era::negotiate::{Verdict, choose};
/// use toolway_protocol::ProtocolVersion;
///
/// let supported = ["2099-01-01".to_owned(), "2026-07-28".to_owned()];
/// assert_eq!(choose(&supported), Verdict::Stateless(ProtocolVersion::LATEST));
/// ```
pub fn choose(supported: &[String]) -> Verdict {
    let known = supported.iter().filter_map(|name| name.parse::<ProtocolVersion>().ok());
    match known.max() {
        Some(version) if version.era() == Era::Stateless => Verdict::Stateless(version),
        Some(_) => Verdict::Handshake,
        None => Verdict::NoCommonVersion,
    }
}

/// Judges a reply to the first `server/discover` by its HTTP status, if the reply contains no JSON-RPC message. Returns
/// `None` if the cause is the caller or a temporary problem (authorization, overload, a broken proxy), because such a
/// status does not show the era.
///
/// ```
/// use toolway_protocol::era::negotiate::{Verdict, judge_status};
///
/// assert_eq!(judge_status(405), Some(Verdict::Handshake));
/// assert_eq!(judge_status(401), None);
/// assert_eq!(judge_status(503), None);
/// ```
pub fn judge_status(status: u16) -> Option<Verdict> {
    match status {
        401 | 403 | 407 | 408 | 425 | 429 => None,
        400..=499 => Some(Verdict::Handshake),
        _ => None,
    }
}

/// Judges an error reply to the first `server/discover`. Only the error codes of the stateless era prove that the
/// server supports this era. Any other error may come from an older server that does not know the method.
///
/// ```
/// use toolway_protocol::RpcError;
/// use toolway_protocol::era::negotiate::{Verdict, judge_error};
///
/// assert_eq!(judge_error(&RpcError::method_not_found("server/discover")), Verdict::Handshake);
/// ```
pub fn judge_error(error: &RpcError) -> Verdict {
    #[derive(Deserialize)]
    struct Supported {
        supported: Vec<String>,
    }
    match error.code {
        Code::UNSUPPORTED_VERSION => {
            match error.data.as_ref().and_then(|data| data.decode::<Supported>().ok()) {
                Some(data) => choose(&data.supported),
                None => Verdict::NoCommonVersion,
            }
        }
        Code::HEADER_MISMATCH | Code::MISSING_CAPABILITY => Verdict::Stateless(ProtocolVersion::LATEST),
        _ => Verdict::Handshake,
    }
}
