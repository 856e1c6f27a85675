//! How is a server reached that has a URL?

use crate::client::http::Http;
use crate::client::wire::target::{IntoTarget, Target};
use crate::error::Result;

pub(super) fn web(url: &str) -> Result<Target> {
    Http::new(url).into_target()
}
