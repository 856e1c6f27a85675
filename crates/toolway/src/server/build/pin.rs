//! Which revisions does a server serve, and which one does it answer `initialize` with?

use toolway_protocol::{Era, ProtocolVersion};

/// A revision to [pin](crate::server::ServerBuilder::protocol): a [`ProtocolVersion`], its name, or `None` to pin none.
///
/// ```
/// use toolway::ProtocolVersion;
/// use toolway::prelude::*;
/// use toolway::server::ProtocolPin;
///
/// let pins: [ProtocolPin; 3] = [ProtocolVersion::LATEST_HANDSHAKE.into(), "2025-03-26".into(), None.into()];
/// ```
#[derive(Debug, Clone, Default)]
pub struct ProtocolPin(Option<Result<ProtocolVersion, String>>);

impl From<ProtocolVersion> for ProtocolPin {
    fn from(version: ProtocolVersion) -> Self {
        Self(Some(Ok(version)))
    }
}

impl From<Option<ProtocolVersion>> for ProtocolPin {
    fn from(version: Option<ProtocolVersion>) -> Self {
        Self(version.map(Ok))
    }
}

impl From<&str> for ProtocolPin {
    fn from(name: &str) -> Self {
        Self(Some(name.parse::<ProtocolVersion>().map_err(|error| error.to_string())))
    }
}

impl From<String> for ProtocolPin {
    fn from(name: String) -> Self {
        name.as_str().into()
    }
}

/// Returns the only era that is served, or `None` for both, and the pinned revision.
pub(crate) fn resolve_revisions(
    eras: Option<&[Era]>,
    pin: ProtocolPin,
    mistakes: &mut Vec<String>,
) -> (Option<Era>, Option<ProtocolVersion>) {
    let serves = |era| eras.is_none_or(|eras| eras.contains(&era));
    let only = match (serves(Era::Handshake), serves(Era::Stateless)) {
        (true, true) => None,
        (true, false) => Some(Era::Handshake),
        (false, true) => Some(Era::Stateless),
        (false, false) => {
            mistakes.push("`eras` is empty: a server must serve at least one era".to_owned());
            None
        }
    };
    let version = match pin.0 {
        None => None,
        Some(Ok(version)) if version.era() == Era::Stateless => {
            mistakes.push(format!(
                "`protocol` pins a revision with a handshake, and {version} has no handshake: \
                 to serve only {version}, call `.eras([Era::Stateless])`"
            ));
            None
        }
        Some(Ok(version)) => {
            if only == Some(Era::Stateless) {
                mistakes.push(format!("`protocol` pins {version}, but `eras` leaves out `Era::Handshake`"));
            }
            Some(version)
        }
        Some(Err(error)) => {
            mistakes.push(format!("`protocol`: {error}"));
            None
        }
    };
    (only, version)
}
