//! How does a configured URL become a target to connect to?

use crate::client::{Http, IntoTarget, Target};
use crate::ground::error::Result;
use crate::hub::config::OAuthConfig;

pub(super) fn target(
    url: String,
    headers: Vec<(String, String)>,
    oauth: Option<&OAuthConfig>,
) -> Result<Target> {
    let server = headers.into_iter().fold(Http::new(url), |server, (name, value)| server.header(name, value));
    match oauth {
        Some(oauth) => with_sign_in(server, oauth).into_target(),
        None => server.into_target(),
    }
}

/// Signs in as the file says. The way of an application, `ClientBuilder::oauth`, takes the place of this one.
#[cfg(feature = "auth")]
fn with_sign_in(server: Http, oauth: &OAuthConfig) -> Http {
    server.oauth(oauth.apply_to(crate::client::OAuth::browser()))
}

/// Without the feature `auth`, a server that asks to sign in is an error of the call.
#[cfg(not(feature = "auth"))]
fn with_sign_in(server: Http, _: &OAuthConfig) -> Http {
    server
}
