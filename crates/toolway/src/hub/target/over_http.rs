//! How does a configured URL become a target to connect to?

use crate::client::{Http, IntoTarget, Target};
use crate::ground::error::Result;

pub(super) fn target(url: String, headers: Vec<(String, String)>) -> Result<Target> {
    let server = Http::new(url);
    headers.into_iter().fold(server, |server, (name, value)| server.header(name, value)).into_target()
}
