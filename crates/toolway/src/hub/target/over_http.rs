//! How does a configured URL become a target to connect to?

use crate::client::{Http, IntoTarget, Target};
use crate::ground::error::Result;
use crate::hub::config::{OAuthConfig, ServerConfig};
use crate::hub::target::sign_in::with_sign_in;

pub(super) fn target(
    url: String,
    headers: Vec<(String, String)>,
    oauth: Option<&OAuthConfig>,
    config: Option<&ServerConfig>,
) -> Result<Target> {
    let server = headers.into_iter().fold(Http::new(url), |server, (name, value)| server.header(name, value));
    match oauth {
        Some(oauth) => with_sign_in(server, oauth, config).into_target(),
        None => server.into_target(),
    }
}
