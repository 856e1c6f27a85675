//! Which name does each tool have for providers that restrict names?
//!
//! A name that a provider allows is kept. Any other name is rewritten with allowed characters, truncated, and ends in a
//! few digits computed from the whole name, so that the result does not depend on the rest of the list. A table maps
//! names back to tools. No two tools of a list get the same name for any provider, and no tool gets the original name
//! of another.

use std::collections::{BTreeMap, HashMap};

use toolway_schema::dialects::Provider;

/// The names of the tools of a list, for all providers.
#[derive(Debug, Clone, Default)]
pub(super) struct Names {
    /// The index of the tool for each name: its own, and those for providers.
    index: BTreeMap<String, usize>,
    /// The names of tools for providers that do not allow their own name.
    changed: HashMap<(Provider, usize), String>,
}

impl Names {
    /// Creates the names for tools whose own names are distinct.
    pub(super) fn of<'n>(own: impl Iterator<Item = &'n str> + Clone) -> Self {
        let mut names = Self::default();
        names.index.extend(own.clone().enumerate().map(|(index, name)| (name.to_owned(), index)));
        for (index, name) in own.enumerate() {
            for provider in Provider::ALL.into_iter().filter(|provider| !provider.accepts_name(name)) {
                let free =
                    |candidate: &String| names.index.get(candidate).is_none_or(|known| *known == index);
                let mut candidates = (0..).map(|round| provider.legal_name(name, round));
                let Some(chosen) = candidates.find(free) else { continue };
                names.index.insert(chosen.clone(), index);
                names.changed.insert((provider, index), chosen);
            }
        }
        names
    }

    /// Returns the index of the tool with this name.
    pub(super) fn find(&self, name: &str) -> Option<usize> {
        self.index.get(name).copied()
    }

    /// Returns the name of a tool for a provider, if it differs from its own name.
    pub(super) fn changed(&self, provider: Provider, tool: usize) -> Option<&str> {
        self.changed.get(&(provider, tool)).map(String::as_str)
    }

    /// Returns all names.
    pub(super) fn all(&self) -> impl Iterator<Item = &str> {
        self.index.keys().map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(own: &[&str]) -> Names {
        Names::of(own.iter().copied())
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
        let first = Provider::OpenAi.legal_name(victim, 0);
        let second = Provider::OpenAi.legal_name(victim, 1);
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
