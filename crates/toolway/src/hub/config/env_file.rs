//! Which variables are in a file of `NAME=value` lines?
//!
//! VS Code and Cursor name such a file with `envFile`. A line is empty, a comment with `#`, or `NAME=value`, with an
//! optional `export` before it. A value may be in single quotes, where all characters are literal, or in double quotes,
//! where `\n`, `\r`, `\t`, `\"`, `\$` and `\\` are escapes. A value without quotes ends at the end of the line or at
//! ` #`. Variables in values are not expanded.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::io::Read;
use std::path::Path;

use super::checks::wrong_variable_name;

/// Reads a file of variables, or returns what is wrong with the file. If a name occurs twice, the later value is used.
/// Mistakes name the file as `shown`.
pub(super) fn read(path: &Path, shown: &str) -> Result<Vec<(String, String)>, String> {
    let mut bytes = Vec::new();
    let cannot = |error| format!("names the file {shown}, which cannot be read: {error}");
    // Reading from a pipe or a terminal could block.
    if !std::fs::metadata(path).map_err(cannot)?.is_file() {
        return Err(format!("names {shown}, which is not a file"));
    }
    let file = std::fs::File::open(path).map_err(cannot)?;
    file.take(MAX_ENV_FILE + 1).read_to_end(&mut bytes).map_err(cannot)?;
    if bytes.len() as u64 > MAX_ENV_FILE {
        return Err(format!("names the file {shown}, which is longer than {MAX_ENV_FILE} bytes"));
    }
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes);
    let text = str::from_utf8(bytes)
        .map_err(|_| format!("names the file {shown}, which is not UTF-8: save it as UTF-8"))?;
    parse(text).map_err(|(line, reason)| format!("names the file {shown}, whose line {line} {reason}"))
}

/// Parses the text of such a file. An error is the number of a line, and what is wrong there.
pub(crate) fn parse(text: &str) -> Result<Vec<(String, String)>, (usize, &'static str)> {
    let mut all: Vec<(String, String)> = Vec::new();
    let mut places: HashMap<&str, usize> = HashMap::new();
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let wrong = |reason| (index + 1, reason);
        let (name, value) = line.split_once('=').ok_or(wrong("has no `=`: write `NAME=value`"))?;
        let name = name.strip_prefix("export ").unwrap_or(name).trim();
        let is_comment = name.starts_with('#');
        if is_comment || wrong_variable_name(name).is_some() || name.contains(char::is_whitespace) {
            return Err(wrong("has no name before its `=`: write `NAME=value`"));
        }
        let value = parse_value(value.trim()).map_err(wrong)?;
        if value.contains('\0') {
            return Err(wrong("has a NUL character: remove it"));
        }
        match places.entry(name) {
            Entry::Occupied(place) => all[*place.get()].1 = value,
            Entry::Vacant(place) => {
                place.insert(all.len());
                all.push((name.to_owned(), value));
            }
        }
    }
    Ok(all)
}

fn parse_value(written: &str) -> Result<String, &'static str> {
    if let Some(inside) = written.strip_prefix('\'') {
        let (value, rest) = inside.split_once('\'').ok_or("has a quote that does not end: close it")?;
        return expect_end(rest).map(|()| value.to_owned());
    }
    let Some(inside) = written.strip_prefix('"') else {
        let end = written.find(" #").or_else(|| written.find("\t#")).unwrap_or(written.len());
        return Ok(written[..end].trim_end().to_owned());
    };
    let mut value = String::new();
    let mut letters = inside.chars();
    loop {
        match letters.next().ok_or("has a quote that does not end: close it")? {
            '"' => return expect_end(letters.as_str()).map(|()| value),
            '\\' => match letters.next().ok_or("has a quote that does not end: close it")? {
                'n' => value.push('\n'),
                'r' => value.push('\r'),
                't' => value.push('\t'),
                letter @ ('"' | '\\' | '$') => value.push(letter),
                letter => value.extend(['\\', letter]),
            },
            letter => value.push(letter),
        }
    }
}

fn expect_end(rest: &str) -> Result<(), &'static str> {
    let rest = rest.trim_start();
    if rest.is_empty() || rest.starts_with('#') {
        Ok(())
    } else {
        Err("has text after its closing quote: close the quote at the end")
    }
}

/// The maximum size of a file of variables, in bytes.
const MAX_ENV_FILE: u64 = 1 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_variables() {
        let text = "\
            # a comment\r\n\
            \n\
            A=1\n\
            export B = two words # and a comment\n\
            C='it is $A # text'\n\
            D=\"a\\tb\\n\\\"c\\\" \\$A \\x\" # a comment\n\
            E=\n\
            F=a#b=c\n\
            A=2\n";
        let all = parse(text).unwrap();
        let all: Vec<_> = all.iter().map(|(name, value)| (&**name, &**value)).collect();
        let expected = [
            ("A", "2"),
            ("B", "two words"),
            ("C", "it is $A # text"),
            ("D", "a\tb\n\"c\" $A \\x"),
            ("E", ""),
            ("F", "a#b=c"),
        ];
        assert_eq!(all, expected);
    }

    #[test]
    fn what_is_wrong_is_told_by_its_line() {
        for (text, line) in [
            ("A=1\nB", 2),
            ("=1", 1),
            ("A B=1", 1),
            ("A='s3cret", 1),
            ("\n\nA=\"s3cret", 3),
            ("A=\"s3cret\\", 1),
            ("A='s3cret' x", 1),
            ("A=a\0b", 1),
            ("export #A=1", 1),
        ] {
            let (found, reason) = parse(text).unwrap_err();
            assert_eq!(found, line, "{text}: {reason}");
            assert!(!reason.contains("s3cret"));
        }
    }
}
