//! How does a URL of a file become a way to a server?

use crate::client::{Http, IntoTarget, Target};
use crate::ground::error::Result;

pub(super) fn target(url: String, headers: Vec<(String, String)>) -> Result<Target> {
    let server = Http::new(url);
    headers.into_iter().fold(server, |server, (name, value)| server.header(name, value)).into_target()
}
