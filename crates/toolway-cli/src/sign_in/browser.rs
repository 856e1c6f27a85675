//! How is a page opened in the browser of the user? No shell reads the URL.

use std::process::{Command, Stdio};

/// Opens a page. Fails with the name of the program that could not be run.
pub(super) fn open(url: &str) -> Result<(), String> {
    let chosen = std::env::var("BROWSER").ok().filter(|name| !name.is_empty());
    let (program, arguments) = command(chosen);
    // An authorization server names the URL, and other schemes start other programs.
    if !(url.starts_with("https://") || url.starts_with("http://")) {
        return Err(program);
    }
    let mut command = Command::new(&program);
    command.args(arguments).arg(url).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let Ok(mut child) = command.spawn() else { return Err(program) };
    // A browser that was not running becomes this process, and stays.
    std::thread::spawn(move || child.wait());
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

    #[test]
    fn only_pages_on_the_web_are_opened() {
        for url in ["file:///etc/passwd", "javascript:alert(1)", "-x", ""] {
            assert!(open(url).is_err(), "{url}");
        }
    }
}
