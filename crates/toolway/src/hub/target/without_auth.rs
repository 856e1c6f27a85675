//! Replaces `sign_in.rs` in a build without the feature `auth`: a server that asks to sign in is an error of the call.

use crate::client::Http;
use crate::hub::config::{OAuthConfig, ServerConfig};

pub(super) fn with_sign_in(server: Http, _: &OAuthConfig, _: Option<&ServerConfig>) -> Http {
    server
}
