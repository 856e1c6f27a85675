//! How does the user agree to open a web page?
//!
//! The URL is only displayed. The program does not open it: a URL from an untrusted server must not become a command
//! line.

use toolway::client::Answer;

use super::line::confirm;
use crate::terminal::{escape_to_line, quote_lines};
use crate::typed_lines::Lines;

/// Shows the page and waits for the user's consent.
pub(super) async fn confirm_page(
    message: &str,
    url: &str,
    lines: &mut Lines,
    say: &mut (impl FnMut(&str) + Send),
) -> Answer {
    say(&format!("\n{}", quote_lines("The server asks: ", "  | ", message)));
    say(&format!("It wants you to open this page:\n\n  {}\n\n", escape_to_line(url)));
    if let Some(host) = host(url) {
        say(&format!("It is at {host}. "));
    }
    say("If you trust it, open it in your browser.\n");
    match confirm("Do you agree? (y/n) ", None, lines, say).await {
        Ok(true) => Answer::consent(),
        Ok(false) => Answer::decline(),
        Err(answer) => answer,
    }
}

/// Returns the host of the URL, ignoring everything before an `@`.
fn host(url: &str) -> Option<&str> {
    let (_, rest) = url.split_once("://")?;
    let authority = rest.split(['/', '?', '#', '\\']).next()?;
    let host = authority.rsplit('@').next()?;
    (!host.is_empty()).then_some(host)
}
