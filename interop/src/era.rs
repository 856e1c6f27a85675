//! Which era is used with a server, and by which program?

use std::fmt;

use toolway::ProtocolVersion;
use toolway::client::ClientBuilder;

/// A column of the table of results.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Era {
    name: &'static str,
    by: By,
    /// `true` if the revision is fixed, `false` if it is negotiated.
    is_pinned: bool,
    version: ProtocolVersion,
}

/// The program that talks to the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum By {
    Client,
    /// The `toolway` command.
    Toolway,
}

impl Era {
    pub(crate) fn read(text: &str) -> Result<Self, String> {
        let (name, version) = text.split_once(' ').ok_or_else(|| format!("`{text}` names no revision"))?;
        let known = NAMES.iter().find(|(known, ..)| *known == name);
        let (name, by, is_pinned) = *known.ok_or_else(|| format!("there is no era `{name}`"))?;
        let version = version.parse().map_err(|error| format!("`{text}`: {error}"))?;
        Ok(Self { name, by, is_pinned, version })
    }

    pub(crate) fn by(self) -> By {
        self.by
    }

    /// The revision that must be negotiated.
    pub(crate) fn version(self) -> ProtocolVersion {
        self.version
    }

    /// The revision as text. Revisions are dates, so texts can be compared.
    pub(crate) fn revision(self) -> &'static str {
        self.version.as_str()
    }

    pub(crate) fn dress(self, client: ClientBuilder) -> ClientBuilder {
        if self.is_pinned { client.protocol(self.version) } else { client }
    }

    /// Returns the same choice as command-line options.
    pub(crate) fn options(self) -> Vec<&'static str> {
        if self.is_pinned { vec!["--protocol", self.revision()] } else { Vec::new() }
    }
}

impl fmt::Display for Era {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.name, self.version)
    }
}

const NAMES: &[(&str, By, bool)] = &[
    ("auto", By::Client, false),
    ("handshake", By::Client, true),
    ("stateless", By::Client, true),
    ("toolway", By::Toolway, false),
    ("toolway-pinned", By::Toolway, true),
];
