//! Which sentences do the sources show to users?
//!
//! A sentence is a string literal of several words, at least one of which is not a placeholder, outside of attributes,
//! log macros and assertions. The placeholders of a format are written as `…`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The literals of the sources, each with the files that contain it.
pub(crate) type Sayings = BTreeMap<String, Vec<String>>;

/// Returns every literal of the code that users run, without tests and macros: the messages of macros are shown by the
/// compiler, at the mistake.
pub(crate) fn literals() -> Sayings {
    let mut found = Sayings::new();
    for name in ["toolway", "toolway-protocol", "toolway-redis", "toolway-schema", "toolway-cli"] {
        walk(&root().join("crates").join(name).join("src"), &mut found);
    }
    assert!(found.len() > 1000, "the sources say something");
    found
}

/// Returns whether a literal is a sentence: a word that is not a placeholder, and something beside it.
pub(crate) fn is_sentence(literal: &str) -> bool {
    let is_word = |word: &str| word.chars().filter(|letter| letter.is_alphabetic()).count() > 1;
    literal.contains(' ') && literal.split(' ').any(is_word)
}

pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn walk(folder: &Path, found: &mut Sayings) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap();
        if path.is_dir() {
            walk(&path, found);
        } else if !name.ends_with("tests") {
            let text = std::fs::read_to_string(&path).unwrap();
            // Tests are at the end, unless they have their own file.
            let end = text.find("\n#[cfg(test)]\nmod tests {").unwrap_or(text.len());
            let file = path.strip_prefix(root().join("crates")).unwrap().to_str().unwrap().replace('\\', "/");
            for literal in Reader::new(&text[..end]).literals() {
                found.entry(literal).or_default().push(file.clone());
            }
        }
    }
}

/// Reads a file, token by token, as far as needed to find its literals.
struct Reader<'t> {
    rest: &'t str,
    /// The open brackets: what each of them belongs to.
    open: Vec<Opened>,
    /// The last name, and whether a `!` followed it.
    name: (&'t str, bool),
    found: Vec<String>,
}

/// Macros whose texts users do not see: they log, or report what cannot happen.
const SILENT: [&str; 14] = [
    "trace",
    "debug",
    "info",
    "warn",
    "error",
    "event",
    "debug_span",
    "info_span",
    "panic",
    "unreachable",
    "assert",
    "assert_eq",
    "debug_assert",
    "debug_assert_eq",
];

#[derive(Clone, Copy, PartialEq)]
enum Opened {
    /// The arguments of a formatting macro.
    Format,
    /// Users do not see anything in it.
    Silent,
    Other,
}

impl<'t> Reader<'t> {
    fn new(text: &'t str) -> Self {
        Self { rest: text, open: Vec::new(), name: ("", false), found: Vec::new() }
    }

    fn literals(mut self) -> Vec<String> {
        while let Some(letter) = self.rest.chars().next() {
            let word =
                self.rest.split(|letter: char| !letter.is_alphanumeric() && letter != '_').next().unwrap();
            let raw = self.rest.trim_start_matches('b');
            if self.rest.starts_with("//") {
                self.skip_to('\n');
            } else if word.len() <= 2
                && (raw.starts_with("r\"") || raw.starts_with("r#"))
                && !word.starts_with('_')
            {
                self.raw_string(raw);
            } else if raw.starts_with('"') && word.len() <= 1 {
                self.string(&raw[1..]);
            } else if letter == '\'' {
                self.character_or_lifetime();
            } else if self.rest.starts_with("#[") || self.rest.starts_with("#![") {
                self.advance(self.rest.find('[').unwrap());
                self.opens(Opened::Silent);
            } else if !word.is_empty() {
                self.name = (word, false);
                self.advance(word.len());
            } else {
                match letter {
                    '!' => self.name.1 = true,
                    '(' | '[' | '{' => {
                        let opened = self.kind();
                        self.opens(opened);
                        continue;
                    }
                    ')' | ']' | '}' => {
                        self.open.pop();
                        self.name = ("", false);
                    }
                    letter if letter.is_whitespace() => {}
                    _ => self.name = ("", false),
                }
                self.advance(letter.len_utf8());
            }
        }
        self.found
    }

    fn kind(&self) -> Opened {
        match self.name {
            ("format" | "write" | "writeln" | "format_args" | "concat" | "eprintln", true) => Opened::Format,
            // Log messages, and texts about what cannot happen.
            (name, true) if SILENT.contains(&name) => Opened::Silent,
            ("expect", false) => Opened::Silent,
            _ => Opened::Other,
        }
    }

    fn opens(&mut self, opened: Opened) {
        self.open.push(opened);
        self.name = ("", false);
        self.advance(1);
    }

    fn advance(&mut self, bytes: usize) {
        self.rest = &self.rest[bytes..];
    }

    fn skip_to(&mut self, letter: char) {
        self.advance(self.rest.find(letter).unwrap_or(self.rest.len()));
    }

    fn string(&mut self, inside: &'t str) {
        let mut text = String::new();
        let mut letters = inside.char_indices();
        while let Some((at, letter)) = letters.next() {
            match letter {
                '"' => {
                    self.rest = &inside[at + 1..];
                    return self.heard(text);
                }
                '\\' => match letters.next().unwrap().1 {
                    'n' | 'r' | 't' | '0' => text.push(' '),
                    '\n' => {
                        while letters.as_str().starts_with(char::is_whitespace) {
                            letters.next();
                        }
                    }
                    other => text.push(other),
                },
                letter => text.push(letter),
            }
        }
        panic!("a string does not end: {}", &inside[..50.min(inside.len())]);
    }

    fn raw_string(&mut self, raw: &'t str) {
        let hashes = raw[1..].len() - raw[1..].trim_start_matches('#').len();
        let Some(inside) = raw[1 + hashes..].strip_prefix('"') else {
            // `r#name`: a raw identifier.
            self.rest = &raw[1 + hashes..];
            return;
        };
        let end = format!("\"{}", "#".repeat(hashes));
        let (text, rest) = inside.split_once(&end).unwrap();
        self.rest = rest;
        self.heard(text.to_owned());
    }

    fn character_or_lifetime(&mut self) {
        let inside = &self.rest[1..];
        let length = if let Some(escaped) = inside.strip_prefix('\\') {
            2 + escaped[1..].find('\'').unwrap()
        } else {
            let letter = inside.chars().next().unwrap().len_utf8();
            if inside[letter..].starts_with('\'') { letter } else { 0 }
        };
        self.advance(if length == 0 { 1 } else { length + 2 });
    }

    fn heard(&mut self, text: String) {
        self.name = ("", false);
        if self.open.contains(&Opened::Silent) {
            return;
        }
        let is_format = self.open.last() == Some(&Opened::Format);
        let text = if is_format { filled_in(&text) } else { text };
        // On one line, as on the page.
        self.found.push(text.split_whitespace().collect::<Vec<_>>().join(" "));
    }
}

/// Returns the text of a format, with `…` for each placeholder.
fn filled_in(format: &str) -> String {
    let mut text = String::new();
    let mut rest = format;
    while let Some(at) = rest.find(['{', '}']) {
        text.push_str(&rest[..at]);
        rest = &rest[at..];
        if rest.starts_with("{{") || rest.starts_with("}}") {
            text.push_str(&rest[..1]);
            rest = &rest[2..];
        } else {
            if !text.ends_with('…') {
                text.push('…');
            }
            rest = rest.split_once('}').map_or("", |(_, rest)| rest);
        }
    }
    text.push_str(rest);
    text
}
