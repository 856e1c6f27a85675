//! How is a web page shown to the user?

use std::process::Stdio;

use toolway_protocol::oauth::HttpUrl;

use crate::ground::error::{Error, ErrorKind, Result};

/// Opens a URL with the browser of the user. No shell reads the URL.
///
/// # Errors
///
/// If the URL is not a page on the web, or if no browser can be started.
pub async fn open_browser(url: String) -> Result<()> {
    // A server names the URL, and other schemes start other programs.
    if HttpUrl::parse(&url).is_none() {
        return Err(Error::new(
            ErrorKind::PeerMisbehaved,
            "the authorization server names a page that is not on the web",
        ));
    }
    let (program, arguments) = command(std::env::var("BROWSER").ok().filter(|name| !name.is_empty()));
    let mut command = tokio::process::Command::new(&program);
    command.args(arguments).arg(&url).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let failed = |error: std::io::Error| {
        let message = format!(
            "no browser could be opened with `{program}`: show the URL with `OAuth::open_with` instead"
        );
        Error::new(ErrorKind::Application, message).caused_by(error)
    };
    let mut child = command.spawn().map_err(failed)?;
    // A browser that is not running yet becomes this process, and stays.
    tokio::spawn(async move { child.wait().await });
    Ok(())
}

/// Returns the program that opens a URL, and its arguments before the URL.
fn command(chosen: Option<String>) -> (String, &'static [&'static str]) {
    match chosen {
        Some(program) => (program, &[]),
        None if cfg!(target_os = "macos") => ("open".to_owned(), &[]),
        None if cfg!(windows) => ("rundll32".to_owned(), &["url.dll,FileProtocolHandler"]),
        None => ("xdg-open".to_owned(), &[]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn only_pages_on_the_web_are_opened() {
        for url in [
            "file:///etc/passwd",
            "javascript:alert(1)",
            "-x",
            "https://a.example/$(touch x) y",
            "https://u@a.example/",
        ] {
            let error = open_browser(url.to_owned()).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::PeerMisbehaved, "{url}");
        }
    }
}
