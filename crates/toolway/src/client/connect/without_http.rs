//! What happens with a URL in a build without HTTP?

use crate::client::wire::target::Target;
use crate::ground::error::{Error, ErrorKind, Result};

pub(super) fn web(_: &str) -> Result<Target> {
    let message =
        "a server at a URL needs the cargo feature `http` of toolway, and `tls` if it begins with https://";
    Err(Error::new(ErrorKind::Misuse, message))
}
