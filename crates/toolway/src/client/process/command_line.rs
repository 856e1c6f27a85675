//! How is a command line split into words, and how is a command line shown? With the quoting of a shell, but without
//! other features of a shell.

use std::ffi::OsStr;

use crate::client::pipe::printable::printable;
use crate::ground::error::{Error, ErrorKind, Result};

/// Splits a command line into words. The result has at least one word, and the first word is not empty.
pub(super) fn parse(line: &str) -> Result<Vec<String>> {
    let mut words = Vec::new();
    let mut letters = line.char_indices().peekable();
    loop {
        while letters.next_if(|(_, letter)| letter.is_whitespace()).is_some() {}
        let Some((start, _)) = letters.peek().copied() else { break };
        let mut word = String::new();
        let mut is_plain = true;
        while let Some((at, letter)) = letters.next_if(|(_, letter)| !letter.is_whitespace()) {
            is_plain &= !matches!(letter, '\'' | '"' | '\\');
            match letter {
                '\'' => push_quoted(&mut letters, &mut word, '\'').ok_or_else(|| open_quote(line, at))?,
                '"' => push_quoted(&mut letters, &mut word, '"').ok_or_else(|| open_quote(line, at))?,
                '\\' => match letters.next_if(|(_, next)| is_special(*next)) {
                    Some((_, next)) => word.push(next),
                    // This is an ordinary backslash, as in a Windows path.
                    None => word.push('\\'),
                },
                _ => word.push(letter),
            }
        }
        if is_plain {
            reject_shell_syntax(line, start, &word, words.is_empty())?;
        }
        words.push(word);
    }
    if words.first().is_none_or(String::is_empty) {
        return Err(misuse("the command line names no program".to_owned()));
    }
    Ok(words)
}

type Letters<'l> = std::iter::Peekable<std::str::CharIndices<'l>>;

/// Appends the text up to the closing quote to `word`. Returns `None` if the closing quote is missing.
fn push_quoted(letters: &mut Letters<'_>, word: &mut String, quote: char) -> Option<()> {
    loop {
        let (_, letter) = letters.next()?;
        if letter == quote {
            return Some(());
        }
        let escaped = if letter == '\\' && quote == '"' {
            letters.next_if(|(_, next)| matches!(next, '"' | '\\' | '$' | '`'))
        } else {
            None
        };
        word.push(escaped.map_or(letter, |(_, escaped)| escaped));
    }
}

/// Returns whether a backslash before this character escapes it, outside of quotes.
fn is_special(letter: char) -> bool {
    letter.is_whitespace() || "\\'\"$`*?[](){}<>|&;#~!=".contains(letter)
}

/// Rejects words that only a shell would understand.
fn reject_shell_syntax(line: &str, start: usize, word: &str, is_first: bool) -> Result<()> {
    if ["&&", "||", "|", "&", ";", "<", ">", ">>", "2>", "2>&1"].contains(&word) {
        return Err(misuse(format!(
            "`{word}` at byte {start} of the command line `{}` needs a shell, but the command is started without one: \
             give one program and its arguments, or name the shell: sh -c '…'",
            printable(line.as_bytes(), MAX_SHOWN)
        )));
    }
    let is_variable = |name: &str| {
        !name.is_empty() && name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
    };
    match word.split_once('=') {
        Some((name, _)) if is_first && is_variable(name) => Err(misuse(format!(
            "the command line begins with `{name}=…` instead of a program: set variables with `Command::env`"
        ))),
        _ => Ok(()),
    }
}

fn open_quote(line: &str, at: usize) -> Error {
    misuse(format!(
        "the quote at byte {at} of the command line `{}` is not closed",
        printable(line.as_bytes(), MAX_SHOWN)
    ))
}

fn misuse(message: String) -> Error {
    Error::new(ErrorKind::Misuse, message)
}

/// Returns a command line that [`parse`] splits into these words. The line is truncated, because it is only shown.
pub(crate) fn format_line<'w>(words: impl Iterator<Item = &'w OsStr>) -> String {
    let mut line = String::new();
    for word in words {
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(&quote(&word.to_string_lossy()));
        // Further words would be cut off.
        if line.len() > 4 * MAX_SHOWN {
            break;
        }
    }
    printable(line.as_bytes(), MAX_SHOWN)
}

fn quote(word: &str) -> String {
    let is_plain = |letter: char| letter.is_alphanumeric() || "-_./:,@%+=^".contains(letter);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    if !word.contains('\'') {
        return format!("'{word}'");
    }
    let mut quoted = String::from("\"");
    for letter in word.chars() {
        if matches!(letter, '"' | '\\' | '$' | '`') {
            quoted.push('\\');
        }
        quoted.push(letter);
    }
    quoted + "\""
}

/// The maximum number of characters that are shown of a command line.
const MAX_SHOWN: usize = 200;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_those_of_a_shell() {
        for (line, expected) in [
            ("npx -y server /data", &["npx", "-y", "server", "/data"][..]),
            ("  npx\t-y\n server ", &["npx", "-y", "server"]),
            ("server '/my data' \"a b\"", &["server", "/my data", "a b"]),
            ("server --path=/my' 'data\"!\"", &["server", "--path=/my data!"]),
            ("server '' \"\"", &["server", "", ""]),
            (r"server a\ b \'x\' \\ \$HOME \*", &["server", "a b", "'x'", r"\", "$HOME", "*"]),
            (r#"server "a\"b\\c\d\$" 'a\b'"#, &["server", r#"a"b\c\d$"#, r"a\b"]),
            (r"C:\tools\server.exe \", &[r"C:\tools\server.exe", r"\"]),
            (
                "server $HOME ~/x *.txt a&b http://h/?a=1&b=2",
                &["server", "$HOME", "~/x", "*.txt", "a&b", "http://h/?a=1&b=2"],
            ),
            ("server A=1 '&&' \\| ö", &["server", "A=1", "&&", "|", "ö"]),
        ] {
            assert_eq!(parse(line).unwrap(), expected, "{line}");
        }
    }

    #[test]
    fn what_cannot_be_meant_is_said() {
        for (line, part) in [
            ("", "names no program"),
            ("  \n", "names no program"),
            ("''", "names no program"),
            ("'' x", "names no program"),
            ("server 'a b", "the quote at byte 7"),
            ("server \"a\\\"", "the quote at byte 7"),
            ("cd /x && server", "`&&` at byte 6"),
            ("server | tee log", "`|` at byte 7"),
            ("TOKEN=secret server", "`TOKEN=…` instead of a program"),
        ] {
            let error = parse(line).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Misuse);
            assert!(error.to_string().contains(part), "{line}: {error}");
            assert!(!error.to_string().contains("secret"));
        }
    }

    #[test]
    fn a_line_that_is_shown_means_the_same_words() {
        let words =
            ["npx", "", "/my data", "it's", "\"", "$a`\\", "\\", "a=b", "&&", "~", "C:\\x", "'\"", "ö"];
        let line = format_line(words.iter().map(OsStr::new));
        assert_eq!(parse(&line).unwrap(), words, "{line}");
    }

    #[test]
    fn a_long_line_is_cut_and_one_line() {
        let words = ["echo", "a\nb", &"x".repeat(10_000)];
        let line = format_line(words.iter().map(OsStr::new));
        assert!(
            line.starts_with("echo 'a\\u000ab' xxx") && line.ends_with('…') && line.len() < 300,
            "{line}"
        );
    }
}
