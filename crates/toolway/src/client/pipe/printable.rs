//! How is text from the server shown to a user? Without anything that a terminal executes or that is invisible.

use std::borrow::Cow;

use crate::ground::unprintable::{is_unprintable, push_escape};

/// Escapes the characters of a text that a terminal would execute, that change the direction of the text around them, or
/// that are invisible. Tabs and line breaks, also those of Windows (`\r\n`), stay as they are.
///
/// Use it for every text of a server that a program shows on a terminal: such characters could clear the screen, hide a
/// part of a URL, or imitate the program's own messages. The escapes are valid in JSON strings, so JSON stays JSON.
///
/// ```
/// use toolway::client::escape_for_terminal;
///
/// assert_eq!(escape_for_terminal("größer\n\u{1b}[2J"), "größer\n\\u001b[2J");
/// assert_eq!(escape_for_terminal("{\r\n}\rhidden"), "{\r\n}\\u000dhidden");
/// assert_eq!(escape_for_terminal("https://pay\u{ad}.example"), "https://pay\\u00ad.example");
/// ```
pub fn escape_for_terminal(text: &str) -> Cow<'_, str> {
    let is_kept = |letter: char| matches!(letter, '\n' | '\t') || !is_unprintable(letter);
    if text.chars().all(is_kept) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        // Before a line feed, a carriage return does nothing; elsewhere it lets a text overwrite its line.
        let ends_line = letter == '\r' && letters.peek() == Some(&'\n');
        if ends_line || is_kept(letter) {
            shown.push(letter);
        } else {
            push_escape(&mut shown, letter);
        }
    }
    Cow::Owned(shown)
}

/// Returns at most `max` characters of the text, and `…` if there are more. Replaces invalid UTF-8, removes colours,
/// and escapes control characters and invisible characters.
pub(crate) fn printable(text: &[u8], max: usize) -> String {
    // A character has at most four bytes, so only this part of the text is needed.
    let text = String::from_utf8_lossy(&text[..text.len().min(4 * max + 4)]);
    let text = without_colours(text.trim());
    let mut shown = String::new();
    for (index, letter) in text.chars().enumerate() {
        if index == max {
            shown.push('…');
            break;
        }
        match letter {
            '\t' => shown.push(' '),
            _ if is_unprintable(letter) => push_escape(&mut shown, letter),
            _ => shown.push(letter),
        }
    }
    shown
}

/// Removes the escape sequences that programs use for colours: `ESC [ … m` and similar.
fn without_colours(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("\u{1b}[") {
        plain.push_str(&rest[..at]);
        let sequence = &rest[at + 2..];
        let parameters = sequence.find(|letter: char| !matches!(letter, ' '..='?')).unwrap_or(sequence.len());
        rest = &sequence[parameters..];
        // Skip the final character of the sequence.
        if rest.starts_with(|letter: char| matches!(letter, '@'..='~')) {
            rest = &rest[1..];
        }
    }
    plain.push_str(rest);
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_cut_and_harmless() {
        for (text, expected) in [
            ("plain", "plain"),
            ("  \u{1b}[31;1mred\u{1b}[0m and \u{1b}[Kmore\t!\r", "red and more !"),
            ("bell\u{7} and \u{1b}]0;a title", "bell\\u0007 and \\u001b]0;a titl…"),
            ("a\nb", "a\\u000ab"),
            ("\u{202e}txt", "\\u202etxt"),
            ("a\u{ad}\u{e0041}b", "a\\u00ad\\udb40\\udc41b"),
            ("\u{1b}[31", ""),
            ("öäüöäüöäüöäüöäüöäüöäü", "öäüöäüöäüöäüöäüöäüöä…"),
        ] {
            assert_eq!(printable(text.as_bytes(), 20), expected);
        }
        assert_eq!(printable(b"\xff\xfe", 20), "\u{fffd}\u{fffd}");
        assert_eq!(printable(&[b'x'; 1000], 3), "xxx…");
    }
}
