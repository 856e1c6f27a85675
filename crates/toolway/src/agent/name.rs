//! What is each tool called where not every name is allowed?
//!
//! A name that a provider allows is kept. Any other is written with the letters that it allows, cut, and ends in a few
//! digits that follow from the whole name, so that it stays the same whatever else is in the list. Names are found back by
//! a table, not by undoing that: no two tools of a list get the same name, of whichever provider, and none gets another
//! tool's own.

use std::collections::{BTreeMap, HashMap};

use crate::legal_name::{first_free, fnv1a, with_hash};

/// Whose rules a list of tools is written by.
///
/// ```
/// use toolway::agent::Provider;
///
/// assert!(Provider::OpenAi.accepts_name("files__read-text"));
/// assert!(!Provider::OpenAi.accepts_name("files.read"));
/// assert!(Provider::Gemini.accepts_name("files.read"));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Provider {
    /// OpenAI, where the schema is advice to the model.
    OpenAi,
    /// OpenAI with `strict`, where the model can write nothing that the schema does not allow.
    OpenAiStrict,
    /// Anthropic.
    Anthropic,
    /// Gemini.
    Gemini,
}

impl Provider {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::OpenAi, Self::OpenAiStrict, Self::Anthropic, Self::Gemini];

    /// Whether a tool may have this name.
    pub fn accepts_name(self, name: &str) -> bool {
        let Rule { longest, allows, begins } = self.rule();
        (1..=longest).contains(&name.len())
            && name.chars().all(allows)
            && name.chars().next().is_some_and(begins)
    }

    fn rule(self) -> Rule {
        let plain = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-');
        match self {
            Self::OpenAi | Self::OpenAiStrict => Rule { longest: 64, allows: plain, begins: plain },
            Self::Anthropic => Rule { longest: 128, allows: plain, begins: plain },
            Self::Gemini => Rule {
                longest: 64,
                allows: |letter| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-' | '.'),
                begins: |letter| letter.is_ascii_alphabetic() || letter == '_',
            },
        }
    }
}

struct Rule {
    longest: usize,
    allows: fn(char) -> bool,
    begins: fn(char) -> bool,
}

/// What the tools of a list are called, by everybody.
#[derive(Debug, Clone, Default)]
pub(super) struct Names {
    /// Which tool a name means, its own or a provider's.
    index: BTreeMap<String, usize>,
    /// What each tool is called by those providers that do not allow its own name.
    changed: HashMap<(Provider, usize), String>,
}

impl Names {
    /// Names for tools with these names, which differ.
    pub(super) fn of<'n>(own: impl Iterator<Item = &'n str> + Clone) -> Self {
        let mut names = Self::default();
        names.index.extend(own.clone().enumerate().map(|(index, name)| (name.to_owned(), index)));
        for (index, name) in own.enumerate() {
            for provider in Provider::ALL.into_iter().filter(|provider| !provider.accepts_name(name)) {
                let free =
                    |candidate: &String| names.index.get(candidate).is_none_or(|known| *known == index);
                let chosen = first_free(|round| written(provider, name, round.into()), free);
                names.index.insert(chosen.clone(), index);
                names.changed.insert((provider, index), chosen);
            }
        }
        names
    }

    /// The tool that is called so.
    pub(super) fn find(&self, name: &str) -> Option<usize> {
        self.index.get(name).copied()
    }

    /// What a provider calls a tool, if not by its own name.
    pub(super) fn changed(&self, provider: Provider, tool: usize) -> Option<&str> {
        self.changed.get(&(provider, tool)).map(String::as_str)
    }

    /// Every name.
    pub(super) fn all(&self) -> impl Iterator<Item = &str> {
        self.index.keys().map(String::as_str)
    }
}

/// A name as a provider allows it. Rounds differ in the digits only.
fn written(provider: Provider, name: &str, round: u64) -> String {
    let Rule { longest, allows, begins } = provider.rule();
    let mut written: String =
        name.chars().map(|letter| if allows(letter) { letter } else { '_' }).take(longest).collect();
    if !written.chars().next().is_some_and(begins) {
        written.insert(0, '_');
    }
    // Every letter that is allowed is one byte.
    with_hash(written, longest, '_', &format!("{:08x}", digest(name, round) >> 32))
}

/// A hash that is the same everywhere and for ever.
pub(super) fn digest(name: &str, round: u64) -> u64 {
    fnv1a(name.bytes().chain(round.to_le_bytes().into_iter().filter(|_| round > 0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(own: &[&str]) -> Names {
        Names::of(own.iter().copied())
    }

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

    #[test]
    fn a_changed_name_is_allowed_stays_the_same_and_is_found() {
        let own = ["add", "files.read", "files/read", "größe 2", "", "7", &"x".repeat(1000), "files.read "];
        let all = names(&own);
        for (index, name) in own.iter().enumerate() {
            assert_eq!(all.find(name), Some(index));
            for provider in Provider::ALL {
                let changed = all.changed(provider, index);
                assert_eq!(changed.is_none(), provider.accepts_name(name), "{provider:?} {name}");
                if let Some(changed) = changed {
                    assert!(provider.accepts_name(changed), "{provider:?} {changed}");
                    assert_eq!(all.find(changed), Some(index), "{changed}");
                    assert_eq!(names(&[name]).changed(provider, 0), Some(changed), "whatever else is there");
                }
            }
        }
        assert_eq!(all.changed(Provider::OpenAi, 1), Some("files_read_d5ab421f"), "the same for ever");
    }

    #[test]
    fn nobody_gets_a_name_that_another_tool_has() {
        let victim = "files.read";
        let first = written(Provider::OpenAi, victim, 0);
        let second = written(Provider::OpenAi, victim, 1);
        for own in [[victim, &first, &second], [&second, &first, victim]] {
            let all = names(&own);
            for (index, name) in own.iter().enumerate() {
                assert_eq!(all.find(name), Some(index));
            }
            let index = own.iter().position(|name| *name == victim).unwrap();
            let changed = all.changed(Provider::OpenAi, index).unwrap();
            assert!(![&first, &second].contains(&&changed.to_owned()), "{changed}");
            assert_eq!(all.find(changed), Some(index));
        }
    }
}
