//! What is wrong with a file, where, and how can it be corrected?
//!
//! All mistakes of a file are reported together, each with its position, server and field. Messages repeat
//! strings of the file only if they are names: values may be secrets.

use std::fmt;
use std::path::{Path, PathBuf};

use crate::ground::error::{Error, ErrorKind};

/// All mistakes in a configuration.
///
/// ```
/// use toolway::hub::Config;
///
/// let error = Config::parse(r#"{
///   "servers": {
///     "github": { "command": "npx", "args": ["-y", 5] },
///     "weather": { "url": "weather.example.com", "timeout": "long" }
///   }
/// }"#).unwrap_err();
/// assert_eq!(error.to_string(), "\
/// there are 3 mistakes
///   3:50: servers.github.args[1] must be a string; found 5
///   4:25: servers.weather.url must begin with `https://` or `http://`
///   4:59: servers.weather.timeout must be a number of milliseconds; found a string");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigError {
    file: Option<PathBuf>,
    mistakes: Vec<Mistake>,
    more: usize,
}

/// One mistake in a configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Mistake {
    /// The server that the mistake is about, if any.
    pub server: Option<String>,
    /// The path in the file's objects: `mcpServers.github.args[1]`. Empty for the file as a whole.
    pub field: String,
    /// The position in the file's text.
    pub position: Option<SourcePosition>,
    /// A sentence that describes the mistake and how to correct it.
    pub message: String,
}

/// A position in a text; both numbers start at 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub struct SourcePosition {
    /// The line.
    pub line: usize,
    /// The column, in characters.
    pub column: usize,
}

impl ConfigError {
    /// Returns all mistakes, in the order of the file.
    pub fn mistakes(&self) -> &[Mistake] {
        &self.mistakes
    }

    /// Returns the file, if the text was read from one.
    pub fn file(&self) -> Option<&Path> {
        self.file.as_deref()
    }

    pub(super) fn new(file: Option<&Path>, Mistakes { all: mut mistakes, more }: Mistakes) -> Self {
        mistakes.sort_by_key(|mistake| mistake.position);
        Self { file: file.map(Path::to_owned), mistakes, more }
    }

    /// Creates an error with one mistake without a position.
    pub(super) fn from_message(file: Option<&Path>, message: impl Into<String>) -> Self {
        Self::new(file, Mistake::of_file(None, message).into())
    }
}

impl Mistake {
    /// Creates a mistake about the file as a whole.
    pub(super) fn of_file(place: Option<SourcePosition>, message: impl Into<String>) -> Self {
        Self { server: None, field: String::new(), position: place, message: message.into() }
    }
}

/// The mistakes found so far: the first ones, and the number of further ones.
#[derive(Debug, Clone, Default)]
pub(super) struct Mistakes {
    all: Vec<Mistake>,
    more: usize,
}

impl Mistakes {
    pub(super) fn push(&mut self, mistake: Mistake) {
        if self.all.len() < MAX_MISTAKES {
            self.all.push(mistake);
        } else {
            self.more += 1;
        }
    }

    pub(super) fn extend(&mut self, others: Self) {
        others.all.into_iter().for_each(|mistake| self.push(mistake));
        self.more += others.more;
    }

    pub(super) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }
}

impl From<Mistake> for Mistakes {
    fn from(mistake: Mistake) -> Self {
        Self { all: vec![mistake], more: 0 }
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let file = self.file.as_ref().map(|file| file.display());
        if let ([mistake], 0) = (&*self.mistakes, self.more) {
            return match (file, mistake.position) {
                (Some(file), Some(_)) => write!(f, "{file}:{mistake}"),
                (Some(file), None) => write!(f, "{file}: {mistake}"),
                (None, _) => write!(f, "{mistake}"),
            };
        }
        let number = self.mistakes.len() + self.more;
        match file {
            Some(file) => write!(f, "{file} has {number} mistakes")?,
            None => write!(f, "there are {number} mistakes")?,
        }
        for mistake in &self.mistakes {
            write!(f, "\n  {mistake}")?;
        }
        if self.more > 0 {
            write!(f, "\n  and {} more", self.more)?;
        }
        Ok(())
    }
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(SourcePosition { line, column }) = self.position {
            write!(f, "{line}:{column}: ")?;
        }
        if !self.field.is_empty() {
            write!(f, "{} ", self.field)?;
        }
        f.write_str(&self.message)
    }
}

impl std::error::Error for ConfigError {}

/// Converts to [`ErrorKind::Misuse`]: the program or its files have to be corrected.
impl From<ConfigError> for Error {
    fn from(error: ConfigError) -> Self {
        Self::new(ErrorKind::Misuse, error.to_string())
    }
}

/// Formats a name from the file for messages: on one line, escaped and truncated.
pub(super) fn format_name(name: &str) -> String {
    let mut letters = name.chars();
    let mut shown: String = letters.by_ref().take(MAX_SHOWN_NAME).flat_map(char::escape_debug).collect();
    if letters.next().is_some() {
        shown.push('…');
    }
    shown
}

/// Returns the path of a member: `mcpServers` and `github` give `mcpServers.github`.
pub(super) fn member_path(path: &str, name: &str) -> String {
    let is_plain = !name.is_empty()
        && name.chars().all(|letter| letter.is_ascii_alphanumeric() || "_-".contains(letter));
    match (path.is_empty(), is_plain) {
        (true, true) => format_name(name),
        (false, true) => format!("{path}.{}", format_name(name)),
        (_, false) => format!("{path}[\"{}\"]", format_name(name)),
    }
}

/// The maximum number of mistakes in a report.
const MAX_MISTAKES: usize = 100;

/// The number of characters of a name that are shown.
const MAX_SHOWN_NAME: usize = 60;
