//! How is the authorization server of an MCP server found?

use ::http::HeaderMap;
use ::http::header::{HeaderName, HeaderValue};
use toolway_protocol::ProtocolVersion;
use toolway_protocol::oauth::{Answer, Challenge, Discovery, Found, Next};

use crate::client::oauth::context::{Flow, refused};
use crate::client::oauth::fetch::{Fetcher, MAX_REPLY};
use crate::ground::error::{Error, ErrorKind, Result};

impl Flow<'_> {
    /// Finds the authorization server of the MCP server. `known` is the document that a token was made with: many challenges,
    /// and requests ahead of one, name none.
    pub(super) async fn discover(&self, challenge: Option<&Challenge>, known: Option<&str>) -> Result<Found> {
        let document = challenge.and_then(|challenge| challenge.get("resource_metadata")).or(known);
        let discovery = Discovery::new(self.server, document)
            .map_err(|refusal| Error::new(ErrorKind::Misuse, refusal.to_string()))?
            .prefer(self.oauth.preferred_issuer.iter().chain(&self.oauth.identity.issuer).cloned())
            .accept(self.oauth.accepted_issuers.iter().cloned());
        self.search(discovery, self.fetcher).await
    }

    /// Fetches what a search needs.
    pub(super) async fn search(&self, mut discovery: Discovery, fetcher: &Fetcher) -> Result<Found> {
        let mut last_error = None;
        loop {
            let url = match discovery.next() {
                Next::Fetch(url) => url.to_owned(),
                Next::Found(found) => return Ok(found.clone()),
                Next::Refused(refusal) => {
                    let error = refused(refusal.to_string());
                    return Err(match last_error {
                        Some(cause) => error.caused_by(cause),
                        None => error,
                    });
                }
            };
            let mut headers = HeaderMap::new();
            if discovery.is_legacy() {
                let name = HeaderName::from_static("mcp-protocol-version");
                headers.insert(name, HeaderValue::from_static(ProtocolVersion::DEFAULT_HTTP.as_str()));
            }
            match fetcher.get(&url, headers, MAX_REPLY).await {
                Ok(reply) => {
                    last_error = None;
                    discovery.take(Answer::of(reply.status.as_u16(), &reply.body));
                }
                // The server leads to a place where it must not.
                Err(error) if error.kind() == ErrorKind::PeerMisbehaved => return Err(error),
                Err(error) => {
                    last_error = Some(error);
                    discovery.take(Answer::NoAnswer);
                }
            }
        }
    }
}
