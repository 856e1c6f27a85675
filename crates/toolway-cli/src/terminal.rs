//! How is a text of another party laid out on a terminal?
//!
//! A terminal executes control characters, and a reader does not see invisible ones. Texts of an untrusted server could
//! clear the screen, imitate messages of this program, or write to the clipboard. So [`escape_for_terminal`] escapes
//! such characters in all output. The functions below also keep a text on lines that cannot be taken for a line of this
//! program.

use std::fmt::Write;

pub(crate) use toolway::client::escape_for_terminal;

/// The number of columns after which a line is wrapped. Terminals have at least 80; one that wraps a line itself would
/// begin the next line with whatever the text says.
const LINE_WIDTH: usize = 76;

/// Escapes a text and puts it on one line.
pub(crate) fn escape_to_line(text: &str) -> String {
    escape_for_terminal(&text.split_whitespace().collect::<Vec<_>>().join(" ")).into_owned()
}

/// Lays out a text of another party. The first line begins with `first`, which are words of this program; each further
/// line begins with `next`, whether the text has a line break there or is wrapped. The result ends with a line break.
pub(crate) fn quote_lines(first: &str, next: &str, text: &str) -> String {
    let mut quoted = String::new();
    let mut begin = first;
    let text = text.trim();
    // An empty text has one line, too.
    for line in text.lines().chain(text.is_empty().then_some("")) {
        let line = escape_for_terminal(line).replace('\t', " ");
        let mut rest = &*line;
        loop {
            let (piece, after) = split_at_width(rest, LINE_WIDTH.saturating_sub(begin.len()));
            let _ = writeln!(quoted, "{begin}{piece}");
            begin = next;
            rest = after;
            if rest.is_empty() {
                break;
            }
        }
    }
    quoted
}

/// Splits a line where it no longer fits, after a space if possible. The first part is not empty, unless the line is.
fn split_at_width(line: &str, width: usize) -> (&str, &str) {
    let mut columns = 0;
    let mut letters = line.char_indices();
    let past = letters.find(|(at, letter)| {
        // Letters of East Asia and most symbols have two columns.
        columns += if *letter < '\u{1100}' { 1 } else { 2 };
        *at > 0 && columns > width
    });
    let Some((end, _)) = past else { return (line, "") };
    let space = line[..end].rfind(' ').map(|at| at + 1).filter(|at| *at > end / 3);
    line.split_at(space.unwrap_or(end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_might_obey_is_shown_by_its_number() {
        assert_eq!(escape_for_terminal("plain, größer, 日本\n\tnext"), "plain, größer, 日本\n\tnext");
        assert_eq!(
            escape_for_terminal("\u{1b}[2J\u{7}\r\u{7f}\u{9b}"),
            "\\u001b[2J\\u0007\\u000d\\u007f\\u009b"
        );
        assert_eq!(escape_for_terminal("a\u{202e}b\u{e0041}"), "a\\u202eb\\udb40\\udc41");
    }

    #[test]
    fn json_stays_json() {
        let text = "\"a\u{9b}b\u{e0041}\u{ad}\"";
        let read: String = serde_json::from_str(&escape_for_terminal(text)).unwrap();
        assert_eq!(read, "a\u{9b}b\u{e0041}\u{ad}");
    }

    #[test]
    fn every_line_of_a_text_begins_with_words_of_ours() {
        assert_eq!(
            quote_lines("It says: ", "  | ", "one\r\ntwo\n\n> three\n"),
            "It says: one\n  | two\n  | \n  | > three\n"
        );
        assert_eq!(quote_lines("It says: ", "  | ", ""), "It says: \n");
        let wide = format!("{} Use it? (y/N) {}", "x".repeat(60), "日".repeat(100));
        let lines = quote_lines("It says: ", "  | ", &wide);
        assert!(lines.lines().skip(1).all(|line| line.starts_with("  | ")), "{lines}");
        assert!(
            lines.lines().all(|line| line
                .chars()
                .map(|letter| 1 + usize::from(letter >= '\u{1100}'))
                .sum::<usize>()
                <= LINE_WIDTH),
            "{lines}"
        );
        let text: String = lines
            .lines()
            .map(|line| line.trim_start_matches("It says: ").trim_start_matches("  | "))
            .collect();
        assert_eq!(text, wide, "nothing is lost");
    }
}
