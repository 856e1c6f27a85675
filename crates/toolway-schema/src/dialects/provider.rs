//! Which providers are there, and which names of tools and properties do they allow?
//!
//! A name that a provider allows is kept. Any other name is rewritten with allowed characters, truncated, and ends in a
//! hash of the whole name. So the rewritten name does not depend on any other name.

use std::borrow::Cow;

use crate::texts::legal_name::{fnv1a, with_hash};

/// The provider whose rules a list of tools must follow.
///
/// ```
/// use toolway_schema::dialects::Provider;
///
/// assert!(Provider::OpenAi.accepts_name("files__read-text"));
/// assert!(!Provider::OpenAi.accepts_name("files.read"));
/// assert!(Provider::Gemini.accepts_name("files.read"));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Provider {
    /// OpenAI without `strict`: the schema is advice to the model.
    OpenAi,
    /// OpenAI with `strict`: the model can write only what the schema allows.
    OpenAiStrict,
    /// Anthropic.
    Anthropic,
    /// Gemini.
    Gemini,
}

impl Provider {
    /// All providers.
    pub const ALL: [Self; 4] = [Self::OpenAi, Self::OpenAiStrict, Self::Anthropic, Self::Gemini];

    /// Returns whether a tool may have this name.
    pub fn accepts_name(self, name: &str) -> bool {
        self.tool_name_rule().accepts(name)
    }

    /// Returns the name of a tool, rewritten as this provider allows it. Different values of `round` give different
    /// hashes.
    pub fn legal_name(self, name: &str, round: u64) -> String {
        self.tool_name_rule().rewrite(name, round)
    }

    /// Returns the provider's name for a property. The model uses this name in calls, and
    /// [`Schema::restore`](crate::Schema::restore) replaces it by the original name.
    pub(crate) fn key(self, name: &str) -> Cow<'_, str> {
        let is_kept = match self {
            Self::OpenAi | Self::OpenAiStrict => true,
            Self::Anthropic => DOTTED.accepts(name),
            Self::Gemini => PLAIN.accepts(name),
        };
        if is_kept { name.into() } else { PLAIN.rewrite(name, 0).into() }
    }

    fn tool_name_rule(self) -> NameRule {
        let allows = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-');
        match self {
            Self::OpenAi | Self::OpenAiStrict => NameRule { max_length: 64, allows, allows_first: allows },
            Self::Anthropic => NameRule { max_length: 128, allows, allows_first: allows },
            Self::Gemini => NameRule { allows_first: PLAIN.allows_first, ..DOTTED },
        }
    }
}

/// A rule for allowed names. All allowed characters are one byte long.
struct NameRule {
    max_length: usize,
    allows: fn(char) -> bool,
    allows_first: fn(char) -> bool,
}

const PLAIN: NameRule = NameRule {
    max_length: 64,
    allows: |letter| letter.is_ascii_alphanumeric() || letter == '_',
    allows_first: |letter| letter.is_ascii_alphabetic() || letter == '_',
};

const DOTTED: NameRule = NameRule {
    max_length: 64,
    allows: |letter| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-' | '.'),
    allows_first: |_| true,
};

impl NameRule {
    fn accepts(&self, name: &str) -> bool {
        (1..=self.max_length).contains(&name.len())
            && name.chars().all(self.allows)
            && name.starts_with(self.allows_first)
    }

    fn rewrite(&self, name: &str, round: u64) -> String {
        let allowed = |letter: char| if (self.allows)(letter) { letter } else { '_' };
        let mut written: String = name.chars().map(allowed).take(self.max_length).collect();
        if !written.starts_with(self.allows_first) {
            written.insert(0, '_');
        }
        let seed = name.bytes().chain(round.to_le_bytes().into_iter().filter(|_| round > 0));
        with_hash(written, self.max_length, '_', &format!("{:08x}", fnv1a(seed) >> 32))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_each_provider_allows() {
        let long = "a".repeat(65);
        let very_long = "a".repeat(129);
        for (name, allowed) in [
            ("add", [true, true, true]),
            ("", [false, false, false]),
            ("files__read-2", [true, true, true]),
            ("2fast", [true, true, false]),
            ("-x", [true, true, false]),
            ("_x", [true, true, true]),
            ("files.read", [false, false, true]),
            ("files/read", [false, false, false]),
            ("read file", [false, false, false]),
            ("größe", [false, false, false]),
            (&long[1..], [true, true, true]),
            (&long, [false, true, false]),
            (&very_long[1..], [false, true, false]),
            (&very_long, [false, false, false]),
        ] {
            let actual =
                [Provider::OpenAi, Provider::Anthropic, Provider::Gemini].map(|who| who.accepts_name(name));
            assert_eq!(actual, allowed, "{name}");
            assert_eq!(Provider::OpenAiStrict.accepts_name(name), allowed[0]);
        }
    }
}
