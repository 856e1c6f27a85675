//! Replaces `over_http.rs` in a build without the feature `http`: connecting to a URL is an error.

use crate::client::wire::target::Target;
use crate::ground::error::{Error, ErrorKind, Result};

pub(super) fn http_target(_: &str) -> Result<Target> {
    let message =
        "a server at a URL needs the cargo feature `http` of toolway, and `tls` if it begins with https://";
    Err(Error::new(ErrorKind::Misuse, message))
}
