//! What do joined names look like?

use crate::ground::error::{Error, ErrorKind, Result};

/// What joined names look like.
///
/// ```
/// use toolway::hub::{NameRules, Names};
///
/// // Names that OpenAI and Anthropic accept: they allow no dots.
/// let mut names = Names::new(NameRules::default().with_punctuation("_-"))?;
/// names.set("files", ["read.text"]);
/// assert!(names.name("files", "read.text").unwrap().starts_with("files__read-text-"));
/// # Ok::<(), toolway::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct NameRules {
    /// What stands between server and element; `__` by default.
    pub separator: String,
    /// How long a joined name may be; 64 by default.
    pub limit: usize,
    /// Which letters are allowed besides those of ASCII and digits; `_.-` by default.
    pub punctuation: String,
}

impl Default for NameRules {
    fn default() -> Self {
        Self { separator: "__".to_owned(), limit: MAX_JOINED, punctuation: "_.-".to_owned() }
    }
}

impl NameRules {
    /// Says what stands between server and element: some of the punctuation that is allowed.
    pub fn with_separator(mut self, separator: impl Into<String>) -> Self {
        self.separator = separator.into();
        self
    }

    /// Says how long a joined name may be: 32 or more.
    pub fn with_limit(mut self, limit: usize) -> Self {
        self.limit = limit;
        self
    }

    /// Says which letters are allowed besides those of ASCII and digits.
    pub fn with_punctuation(mut self, punctuation: impl Into<String>) -> Self {
        self.punctuation = punctuation.into();
        self
    }

    pub(crate) fn check(&self) -> Result<()> {
        let Self { separator, limit, punctuation } = self;
        let wrong = if !punctuation.bytes().all(|byte| byte.is_ascii_punctuation()) {
            format!("the punctuation of names must be punctuation of ASCII; found {punctuation:?}")
        } else if separator.is_empty() || !separator.chars().all(|letter| punctuation.contains(letter)) {
            format!("the separator of names must be made of {punctuation:?}; found {separator:?}")
        } else if separator.len() > LONGEST_SEPARATOR {
            format!("the separator of names must not be longer than {LONGEST_SEPARATOR}; found {separator:?}")
        } else if *limit < SHORTEST_JOINED {
            format!("the limit of names must be {SHORTEST_JOINED} or more; found {limit}")
        } else {
            return Ok(());
        };
        Err(Error::new(ErrorKind::Misuse, wrong))
    }

    pub(crate) fn allows(&self, letter: char) -> bool {
        letter.is_ascii_alphanumeric() || self.punctuation.contains(letter)
    }

    /// What stands for letters that are not allowed. It is not in the separator, so none arises.
    pub(crate) fn filler(&self) -> char {
        let usable = |letter: &char| self.punctuation.contains(*letter) && !self.separator.contains(*letter);
        ['-', '_', '.'].into_iter().find(usable).unwrap_or('x')
    }

    /// Half of what there is, so that there is always room for elements.
    pub(crate) fn longest_tag(&self) -> usize {
        (self.limit - self.separator.len()) / 2
    }

    /// Whether a server's name can stand before a separator and be found again: `a_` and `__` make `a___`, in which the first
    /// `__` comes too early.
    pub(crate) fn can_be_tag(&self, name: &str) -> bool {
        let joined = format!("{name}{}", self.separator);
        !name.is_empty()
            && name.chars().all(|letter| self.allows(letter))
            && joined.find(&self.separator) == Some(name.len())
    }

    pub(crate) fn tag_letter(&self, letter: char) -> char {
        if self.allows(letter) && !self.separator.contains(letter) { letter } else { self.filler() }
    }
}

/// How long a joined name may be, unless the rules say something else. Most models take no longer ones.
const MAX_JOINED: usize = 64;

/// The least that a limit can be: two halves, with a hash in each and something to read before it.
const SHORTEST_JOINED: usize = 32;

/// A separator that is longer says no more.
const LONGEST_SEPARATOR: usize = 8;
