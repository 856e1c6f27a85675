//! How is text from the server shown to a user? On one line, truncated, and without terminal control sequences.

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
            _ if letter.is_control() || is_invisible(letter) => shown.extend(letter.escape_unicode()),
            _ => shown.push(letter),
        }
    }
    shown
}

/// Returns whether a character is invisible or changes the writing direction. Such characters can make a text look like
/// a different text.
fn is_invisible(letter: char) -> bool {
    matches!(letter, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
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
    use super::printable;

    #[test]
    fn text_is_cut_and_harmless() {
        for (text, expected) in [
            ("plain", "plain"),
            ("  \u{1b}[31;1mred\u{1b}[0m and \u{1b}[Kmore\t!\r", "red and more !"),
            ("bell\u{7} and \u{1b}]0;a title", "bell\\u{7} and \\u{1b}]0;a titl…"),
            ("a\nb", "a\\u{a}b"),
            ("\u{202e}txt", "\\u{202e}txt"),
            ("\u{1b}[31", ""),
            ("öäüöäüöäüöäüöäüöäüöäü", "öäüöäüöäüöäüöäüöäüöä…"),
        ] {
            assert_eq!(printable(text.as_bytes(), 20), expected);
        }
        assert_eq!(printable(b"\xff\xfe", 20), "\u{fffd}\u{fffd}");
        assert_eq!(printable(&[b'x'; 1000], 3), "xxx…");
    }
}
