//! What is wrong with a file, where, and what to do about it?
//!
//! Every mistake of a file is told at once, with its place, the server and the field. Texts of the file are repeated only
//! where they are names: values may be secrets.

use std::fmt;
use std::path::{Path, PathBuf};

use crate::ground::error::{Error, ErrorKind};

/// What is wrong with a configuration, all of it.
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

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Mistake {
    /// The server it is about, if it is about one.
    pub server: Option<String>,
    /// Where in the file's objects: `mcpServers.github.args[1]`. Empty if it is about the file.
    pub field: String,
    /// Where in the file's text.
    pub place: Option<Place>,
    /// What is wrong, and what to do.
    pub message: String,
}

/// A place in a text; both numbers begin with 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub struct Place {
    /// The line.
    pub line: usize,
    /// The character in the line.
    pub column: usize,
}

impl ConfigError {
    /// Everything that is wrong, in the order of the file.
    pub fn mistakes(&self) -> &[Mistake] {
        &self.mistakes
    }

    /// The file, if it came from one.
    pub fn file(&self) -> Option<&Path> {
        self.file.as_deref()
    }

    pub(super) fn new(file: Option<&Path>, Mistakes { all: mut mistakes, more }: Mistakes) -> Self {
        mistakes.sort_by_key(|mistake| mistake.place);
        Self { file: file.map(Path::to_owned), mistakes, more }
    }

    /// One mistake that has no place in a text.
    pub(super) fn about(file: Option<&Path>, message: impl Into<String>) -> Self {
        Self::new(file, Mistake::of_file(None, message).into())
    }
}

impl Mistake {
    /// One that is about the file as a whole.
    pub(super) fn of_file(place: Option<Place>, message: impl Into<String>) -> Self {
        Self { server: None, field: String::new(), place, message: message.into() }
    }
}

/// Mistakes as they are found: the first ones, and how many more there are.
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
            return match (file, mistake.place) {
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
        if let Some(Place { line, column }) = self.place {
            write!(f, "{line}:{column}: ")?;
        }
        if !self.field.is_empty() {
            write!(f, "{} ", self.field)?;
        }
        f.write_str(&self.message)
    }
}

impl std::error::Error for ConfigError {}

/// The program or its files are to blame: [`ErrorKind::Misuse`].
impl From<ConfigError> for Error {
    fn from(error: ConfigError) -> Self {
        Self::new(ErrorKind::Misuse, error.to_string())
    }
}

/// A name from the file as it is shown: on one line, and not longer than anybody reads.
pub(super) fn shown(name: &str) -> String {
    let mut letters = name.chars();
    let mut shown: String = letters.by_ref().take(SHOWN).flat_map(char::escape_debug).collect();
    if letters.next().is_some() {
        shown.push('…');
    }
    shown
}

/// The path of a member: `mcpServers` and `github` are `mcpServers.github`.
pub(super) fn member(path: &str, name: &str) -> String {
    let is_plain = !name.is_empty()
        && name.chars().all(|letter| letter.is_ascii_alphanumeric() || "_-".contains(letter));
    match (path.is_empty(), is_plain) {
        (true, true) => shown(name),
        (false, true) => format!("{path}.{}", shown(name)),
        (_, false) => format!("{path}[\"{}\"]", shown(name)),
    }
}

/// Mistakes that are told at once.
const MAX_MISTAKES: usize = 100;

/// Characters of a name that are repeated.
const SHOWN: usize = 60;
