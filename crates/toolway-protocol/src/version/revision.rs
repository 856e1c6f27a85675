//! Which protocol revisions exist, in which order, and to which era does each belong?

use std::fmt;
use std::str::FromStr;

/// A published revision of the protocol. Later revisions compare greater.
///
/// ```
/// use toolway_protocol::{Era, ProtocolVersion};
///
/// let version: ProtocolVersion = "2025-11-25".parse()?;
/// assert_eq!(version.era(), Era::Handshake);
/// assert!(version < ProtocolVersion::LATEST);
/// # Ok::<(), toolway_protocol::version::UnknownVersion>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum ProtocolVersion {
    /// 2024-11-05, the first revision: HTTP with a separate event stream.
    V2024_11_05,
    /// 2025-03-26: Streamable HTTP, batches, annotations, audio.
    V2025_03_26,
    /// 2025-06-18: structured output, elicitation, titles; no batches.
    V2025_06_18,
    /// 2025-11-25: icons, URL elicitation, event streams that a client can poll.
    V2025_11_25,
    /// 2026-07-28: no handshake, no sessions; each request describes itself.
    V2026_07_28,
}

impl ProtocolVersion {
    /// Every revision, oldest first.
    pub const ALL: [Self; 5] =
        [Self::V2024_11_05, Self::V2025_03_26, Self::V2025_06_18, Self::V2025_11_25, Self::V2026_07_28];

    /// The newest revision.
    pub const LATEST: Self = Self::V2026_07_28;

    /// The newest revision with a handshake. It is the fallback answer to `initialize`.
    pub const LATEST_HANDSHAKE: Self = Self::V2025_11_25;

    /// The revision of a handshake-era HTTP request that does not name one (2025-06-18, Transports: a missing header
    /// means 2025-03-26).
    pub const DEFAULT_HTTP: Self = Self::V2025_03_26;

    /// Returns the name of the revision, a date such as `2025-11-25`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::V2024_11_05 => "2024-11-05",
            Self::V2025_03_26 => "2025-03-26",
            Self::V2025_06_18 => "2025-06-18",
            Self::V2025_11_25 => "2025-11-25",
            Self::V2026_07_28 => "2026-07-28",
        }
    }

    /// Returns the era of this revision: with or without a handshake.
    pub const fn era(self) -> Era {
        match self {
            Self::V2024_11_05 | Self::V2025_03_26 | Self::V2025_06_18 | Self::V2025_11_25 => Era::Handshake,
            Self::V2026_07_28 => Era::Stateless,
        }
    }

    /// Returns the names of the revisions of an era, newest first.
    pub fn names(era: Era) -> Vec<&'static str> {
        let newest_first = Self::ALL.into_iter().rev();
        newest_first.filter(|version| version.era() == era).map(Self::as_str).collect()
    }

    pub(crate) fn from_bytes(name: &[u8]) -> Option<Self> {
        Self::ALL.into_iter().find(|version| version.as_str().as_bytes() == name)
    }

    /// Returns whether a revision name is a date in the stateless era. The name may be unknown to this crate. Revision
    /// names are dates, so their text order is their time order.
    pub(crate) fn is_stateless_name(name: &str) -> bool {
        looks_like_a_date(name) && name >= Self::V2026_07_28.as_str()
    }
}

/// A group of revisions in which clients and servers begin to talk in the same way. The names describe the mechanism,
/// because a name like "modern" ages.
///
/// ```
/// use toolway_protocol::{Era, ProtocolVersion};
///
/// assert_eq!(ProtocolVersion::LATEST.era(), Era::Stateless);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Era {
    /// 2024-11-05 to 2025-11-25: `initialize` opens a conversation, and the server keeps the state of the conversation.
    Handshake,
    /// From 2026-07-28: each request describes itself, and the server keeps no state between requests.
    Stateless,
}

fn looks_like_a_date(name: &str) -> bool {
    name.len() == 10
        && name
            .bytes()
            .enumerate()
            .all(|(at, byte)| if at == 4 || at == 7 { byte == b'-' } else { byte.is_ascii_digit() })
}

impl fmt::Display for ProtocolVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for ProtocolVersion {
    type Err = UnknownVersion;

    fn from_str(name: &str) -> Result<Self, UnknownVersion> {
        Self::from_bytes(name.as_bytes()).ok_or_else(|| UnknownVersion(name.into()))
    }
}

/// The error for a revision name that was never published, or that is newer than this crate.
///
/// ```
/// use toolway_protocol::ProtocolVersion;
///
/// let error = "tomorrow".parse::<ProtocolVersion>().unwrap_err();
/// assert!(error.to_string().contains("known are 2024-11-05"));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownVersion(Box<str>);

impl fmt::Display for UnknownVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known = ProtocolVersion::ALL.map(ProtocolVersion::as_str).join(", ");
        write!(f, "unknown protocol version {:?}, known are {known}", self.0)
    }
}

impl std::error::Error for UnknownVersion {}
