//! Why does a search for an authorization server fail?

use std::fmt;

use super::url::HttpUrl;

/// The reasons why a search fails. A URL is shown without its path and query.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refusal {
    /// The URL of the MCP server is not one.
    NotAUrl,
    /// The document at this place speaks of another server.
    OtherResource {
        /// The origin of the document.
        at: String,
        /// The server that the document speaks of.
        resource: String,
    },
    /// The MCP server names no authorization server, or something that is not a URL.
    NoIssuer,
    /// An authorization server has another name in its own document.
    IssuerDiffers {
        /// The name that the MCP server uses.
        named: String,
        /// The name in the document.
        found: String,
    },
    /// No authorization server that the MCP server names has a document.
    NoServerMetadata {
        /// The last one that was looked at.
        issuer: String,
    },
    /// A server did not answer twice.
    NoAnswer {
        /// The origin of the server.
        at: String,
    },
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotAUrl => f.write_str("the URL of the server is not an HTTP URL"),
            Self::OtherResource { at, resource } => write!(
                f,
                "the document about this server at {at} speaks of another server, {:?}: its operator has to correct \
                 `resource`",
                origin_of(resource)
            ),
            Self::NoIssuer => {
                f.write_str("the server names no authorization server: its operator has to add one")
            }
            Self::IssuerDiffers { named, found } => write!(
                f,
                "the server names the authorization server {:?}, which calls itself {:?}: they must be the same, or the \
                 application has to accept the second name",
                origin_of(named),
                origin_of(found)
            ),
            Self::NoServerMetadata { issuer } => {
                write!(f, "the authorization server {issuer} does not describe itself")
            }
            Self::NoAnswer { at } => write!(f, "{at} does not answer: try again later"),
        }
    }
}

impl std::error::Error for Refusal {}

/// Returns scheme, host and port of a URL, which are all that is shown of it.
pub(super) fn origin_of(url: &str) -> String {
    HttpUrl::parse(url).map(|url| url.origin.to_owned()).unwrap_or_default()
}
