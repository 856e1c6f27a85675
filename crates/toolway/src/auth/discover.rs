//! What does an issuer say about itself?

use std::time::Duration;

use ::http::HeaderMap;
use toolway_protocol::oauth::{Answer, Discovery, Next, ServerMetadata};

use crate::client::http::request::tls::{self, TlsSettings};
use crate::client::http::request::url::Url;
use crate::client::oauth::fetch::{Carrier, Fetcher, MAX_REPLY};
use crate::ground::error::{Error, ErrorKind, Result};

/// Makes a sender of requests to an issuer, which the author of the server has named.
pub(crate) fn fetcher(issuer: &str, allows_private: bool) -> Result<Fetcher> {
    let carrier = Carrier::BuiltIn { tls: TlsSettings::default(), connect_timeout: CONNECT_TIMEOUT };
    let url = Url::parse(issuer)?;
    if url.uri().scheme_str() == Some("https") {
        tls::check(&url)?;
    }
    Ok(Fetcher::new(url, allows_private, carrier))
}

/// Fetches the metadata of an issuer.
pub(crate) async fn metadata_of(issuer: &str, fetcher: &Fetcher) -> Result<ServerMetadata> {
    let refused = |refusal: String| Error::new(ErrorKind::PeerMisbehaved, refusal);
    let mut discovery = Discovery::of_issuer(issuer).map_err(|refusal| refused(refusal.to_string()))?;
    let mut last_error = None;
    loop {
        let url = match discovery.next() {
            Next::Fetch(url) => url.to_owned(),
            Next::Found(found) => return Ok(found.server.clone()),
            Next::Refused(refusal) => return Err(last_error.unwrap_or_else(|| refused(refusal.to_string()))),
        };
        match fetcher.get(&url, HeaderMap::new(), MAX_REPLY).await {
            Ok(reply) => discovery.take(Answer::of(reply.status.as_u16(), &reply.body)),
            Err(error) => {
                last_error = Some(error);
                discovery.take(Answer::NoAnswer);
            }
        }
    }
}

/// How long a connection to an issuer may take.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
