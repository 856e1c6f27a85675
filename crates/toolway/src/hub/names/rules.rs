//! What do joined names look like?

use crate::ground::error::{Error, ErrorKind, Result};

/// The rules for joined names.
///
/// ```
/// use toolway::hub::NameRules;
/// use toolway::prelude::*;
///
/// // Names that OpenAI and Anthropic accept: they allow no dots, so `read.text` becomes `read-text` and a hash.
/// let hub = Hub::builder().names(NameRules::default().with_punctuation("_-")).build()?;
/// # Ok::<(), toolway::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct NameRules {
    /// The text between server and element; `__` by default.
    pub separator: String,
    /// The maximum length of a joined name, in characters; 64 by default.
    pub limit: usize,
    /// The characters that are allowed in addition to ASCII letters and digits; `_.-` by default.
    pub punctuation: String,
}

impl Default for NameRules {
    fn default() -> Self {
        Self { separator: "__".to_owned(), limit: DEFAULT_LIMIT, punctuation: "_.-".to_owned() }
    }
}

impl NameRules {
    /// Sets the text between server and element. It must consist of allowed punctuation.
    pub fn with_separator(mut self, separator: impl Into<String>) -> Self {
        self.separator = separator.into();
        self
    }

    /// Sets the maximum length of a joined name: 32 or more.
    pub fn with_limit(mut self, limit: usize) -> Self {
        self.limit = limit;
        self
    }

    /// Sets the characters that are allowed in addition to ASCII letters and digits.
    pub fn with_punctuation(mut self, punctuation: impl Into<String>) -> Self {
        self.punctuation = punctuation.into();
        self
    }

    pub(crate) fn check(&self) -> Result<()> {
        let Self { separator, limit, punctuation } = self;
        let wrong = if !punctuation.bytes().all(|byte| byte.is_ascii_punctuation()) {
            format!("the punctuation of names must be ASCII punctuation; found {punctuation:?}")
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

    /// Returns the replacement for characters that are not allowed. It is not part of the separator, so that a
    /// replacement never creates a separator.
    pub(crate) fn filler(&self) -> char {
        let usable = |letter: &char| self.punctuation.contains(*letter) && !self.separator.contains(*letter);
        ['-', '_', '.'].into_iter().find(usable).unwrap_or('x')
    }

    /// Returns the maximum length of a tag: half of the available length, so that there is always room for the element.
    pub(crate) fn max_tag_len(&self) -> usize {
        (self.limit - self.separator.len()) / 2
    }

    /// Returns whether a server's name can be its tag: the first separator in a joined name must directly follow the
    /// tag. `a_` cannot be a tag before the separator `__`, because the first `__` in `a___` begins one character too
    /// early.
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

/// The default maximum length of a joined name. Most models do not accept longer names.
const DEFAULT_LIMIT: usize = 64;

/// The minimum of [`NameRules::limit`]. It leaves room for a hash and some readable characters in both halves of a
/// name.
const SHORTEST_JOINED: usize = 32;

/// The maximum length of a separator.
const LONGEST_SEPARATOR: usize = 8;
