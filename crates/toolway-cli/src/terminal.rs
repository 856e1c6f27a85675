//! What may be shown on a terminal?
//!
//! A terminal executes control characters. Texts of an untrusted server could clear the screen, imitate messages of
//! this program, or write to the clipboard. So control characters are shown as escapes.

use std::borrow::Cow;
use std::fmt::Write;

/// Escapes everything that a terminal might execute, as in `\u001b`. Line breaks and tabs are kept.
///
/// The escapes are valid inside JSON strings, so JSON stays valid.
pub(crate) fn escape_control(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_control) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    let mut buffer = [0; 2];
    for letter in text.chars() {
        if is_control(letter) {
            for unit in letter.encode_utf16(&mut buffer) {
                let _ = write!(shown, "\\u{unit:04x}");
            }
        } else {
            shown.push(letter);
        }
    }
    Cow::Owned(shown)
}

/// Escapes a text and puts it on one line.
pub(crate) fn escape_to_line(text: &str) -> String {
    escape_control(&text.split_whitespace().collect::<Vec<_>>().join(" ")).into_owned()
}

fn is_control(letter: char) -> bool {
    match letter {
        '\n' | '\t' => false,
        // Characters that change the direction of text, or that are invisible.
        '\u{061c}'
        | '\u{200b}'
        | '\u{200e}'
        | '\u{200f}'
        | '\u{feff}'
        | '\u{2028}'..='\u{202e}'
        | '\u{2066}'..='\u{2069}'
        | '\u{e0000}'..='\u{e007f}' => true,
        _ => letter.is_control(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_might_obey_is_shown_by_its_number() {
        assert_eq!(escape_control("plain, größer, 日本\n\tnext"), "plain, größer, 日本\n\tnext");
        assert_eq!(escape_control("\u{1b}[2J\u{7}\r\u{7f}\u{9b}"), "\\u001b[2J\\u0007\\u000d\\u007f\\u009b");
        assert_eq!(escape_control("a\u{202e}b\u{e0041}"), "a\\u202eb\\udb40\\udc41");
    }

    #[test]
    fn json_stays_json() {
        let text = "\"a\u{9b}b\u{e0041}\"";
        let read: String = serde_json::from_str(&escape_control(text)).unwrap();
        assert_eq!(read, "a\u{9b}b\u{e0041}");
    }
}
