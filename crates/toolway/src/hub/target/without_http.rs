//! Replaces `over_http.rs` in a build without HTTP: a URL is always an error.

use crate::client::Target;
use crate::ground::error::{Error, ErrorKind, Result};
use crate::hub::config::{OAuthConfig, ServerConfig};

pub(super) fn target(
    _url: String,
    _headers: Vec<(String, String)>,
    _oauth: Option<&OAuthConfig>,
    _config: Option<&ServerConfig>,
) -> Result<Target> {
    Err(Error::new(
        ErrorKind::Misuse,
        "the server is reached over HTTP, which this build does not support: enable the feature `http`",
    ))
}
