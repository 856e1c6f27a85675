//! How is a server described as text? As a URL or as a command line.

use crate::client::connect::over_http::http_target;
use crate::client::process::command::Command;
use crate::client::wire::target::{IntoTarget, Target};
use crate::ground::error::Result;

/// A URL (`https://example.com/mcp`) or a command line (`npx -y server-filesystem "/my data"`). The command line is
/// split into words by the rules of a shell, but is run without a shell.
impl IntoTarget for &str {
    fn into_target(self) -> Result<Target> {
        match self.trim_start() {
            url if begins_with(url, "http://") || begins_with(url, "https://") => http_target(url.trim_end()),
            line => Command::parse(line)?.into_target(),
        }
    }
}

fn begins_with(text: &str, start: &str) -> bool {
    text.get(..start.len()).is_some_and(|head| head.eq_ignore_ascii_case(start))
}

impl IntoTarget for String {
    fn into_target(self) -> Result<Target> {
        self.as_str().into_target()
    }
}

impl IntoTarget for &String {
    fn into_target(self) -> Result<Target> {
        self.as_str().into_target()
    }
}
