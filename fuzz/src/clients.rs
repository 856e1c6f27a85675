//! Where do redirects lead, and what reaches a terminal?

use std::borrow::Cow;

use http::{HeaderValue, Method, StatusCode, Uri};
use serde_json::Value;
use toolway::client::escape_for_terminal;
use toolway::fuzzing::{follow_redirect, printable};
use toolway_cli::fuzzing::{ProgramKind, parse_command_line, quote_lines};

use crate::{Outcome, split_lines};

/// A redirect that is followed stays at its origin, and an error does not repeat a query. The lines are the URL, the
/// status, and the location.
pub(crate) fn redirect(input: &[u8]) -> Outcome {
    let Ok(text) = std::str::from_utf8(input) else { return Outcome::Refused };
    let [from, status, location] = split_lines(text);
    let (Ok(value), Ok(status)) =
        (HeaderValue::from_str(location), StatusCode::from_bytes(status.as_bytes()))
    else {
        return Outcome::Refused;
    };
    let method = if location.len() % 2 == 0 { Method::GET } else { Method::POST };
    match follow_redirect(from, &method, status, value) {
        None | Some(Ok(None)) => Outcome::Refused,
        Some(Err(error)) => {
            let is_query = |url: &str| url.split_once('?').is_some_and(|(path, _)| !path.contains(SECRET));
            if is_query(from) && is_query(location) {
                assert!(!error.to_string().contains(SECRET), "{error}");
            }
            Outcome::Accepted
        }
        Some(Ok(Some(to))) => {
            assert!(status.is_redirection());
            let from: Uri = from.parse().unwrap();
            assert_eq!(origin(&to), origin(&from), "{from} redirects to {to}");
            assert!(!to.authority().unwrap().as_str().contains('@') && !to.to_string().contains('#'), "{to}");
            let has_own_path =
                !location.is_empty() && !location.starts_with(['?', '#']) && !location.contains(':');
            let has_dots = to.path().split('/').any(|segment| matches!(segment, "." | ".."));
            assert!(!has_own_path || location.starts_with("//") || !has_dots, "{to} climbs");
            Outcome::Accepted
        }
    }
}

/// The scheme, the host and the port, without the name of a default port.
fn origin(uri: &Uri) -> (String, String) {
    let scheme = uri.scheme_str().unwrap().to_ascii_lowercase();
    let authority = uri.authority().unwrap().as_str().to_ascii_lowercase();
    let default = if scheme == "https" { ":443" } else { ":80" };
    let host = authority.strip_suffix(default).or_else(|| authority.strip_suffix(':')).unwrap_or(&authority);
    (scheme, host.to_owned())
}

/// A text that was escaped has nothing that a terminal executes, JSON stays JSON, and no line of another party can be
/// taken for a line of ours.
pub(crate) fn terminal(input: &[u8]) -> Outcome {
    let shown = printable(input, 40);
    assert!(!shown.chars().any(|letter| letter.is_control() || is_hidden(letter)), "{shown:?}");
    assert!(shown.chars().count() <= 12 * 40 + 1);
    let text = String::from_utf8_lossy(input);
    let escaped = escape_for_terminal(&text);
    let is_safe = |letter: char| matches!(letter, '\n' | '\t') || !letter.is_control() && !is_hidden(letter);
    assert!(escaped.replace("\r\n", "\n").chars().all(is_safe), "{escaped:?}");
    assert_eq!(escape_for_terminal(&escaped), escaped, "what was escaped stays as it is");
    if text.chars().all(is_safe) && text.is_ascii() {
        assert!(matches!(escaped, Cow::Borrowed(_)));
        assert_eq!(escaped, text);
    }
    // Between the tokens of JSON, only a carriage return alone is escaped.
    let has_lone_return = text.replace("\r\n", "\n").contains('\r');
    if let (Ok(value), false) = (serde_json::from_str::<Value>(&text), has_lone_return) {
        assert_eq!(serde_json::from_str::<Value>(&escaped).ok(), Some(value), "{escaped}");
    }
    for line in quote_lines("1> ", "2> ", &text).split_terminator('\n').enumerate() {
        let (number, line) = line;
        assert!(line.starts_with(if number == 0 { "1> " } else { "2> " }), "{line:?}");
        assert!(!line.chars().any(|letter| letter.is_control() || is_hidden(letter)), "{line:?}");
        assert!(line.chars().count() <= 80, "{line:?}");
    }
    Outcome::of(!text.is_empty())
}

/// Marks of direction, letters without width, and tags.
fn is_hidden(letter: char) -> bool {
    matches!(letter, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}' | '\u{e0000}'..='\u{e0fff}')
}

/// Any command line is a command, or an error that says what is wrong. Each line is a word.
pub(crate) fn command_line(input: &[u8]) -> Outcome {
    let Ok(text) = std::str::from_utf8(input) else { return Outcome::Refused };
    let (kind, words) = match text.strip_prefix('+') {
        Some(words) => (ProgramKind::OwnServer, words),
        None => (ProgramKind::AnyServer, text),
    };
    let words = std::iter::once("toolway").chain(words.lines().take(30)).map(Into::into).collect();
    match parse_command_line(kind, words) {
        Ok(()) => Outcome::Accepted,
        Err(error) => {
            assert!(!error.trim().is_empty());
            Outcome::Refused
        }
    }
}

const SECRET: &str = "s3cret";
