//! Which name does a tool get if a provider does not allow its own name?
//!
//! A name that a provider allows is kept. Any other name is rewritten with allowed characters and truncated, and a
//! short hash of the original name is appended. So the new name does not depend on the other tools, unless two names
//! collide. A table maps the new names back to tools. Within a list, no two tools get the same name for a provider, and
//! no tool gets the original name of another tool.

use std::collections::{BTreeMap, HashMap};

use toolway_schema::dialects::Provider;

/// The names of the tools of a list, for all providers.
#[derive(Debug, Clone, Default)]
pub(super) struct ProviderNames {
    /// The index of each tool, by its own name and by its names for providers.
    index: BTreeMap<String, usize>,
    /// The new name of each tool, for each provider that does not allow the tool's own name. The tool is given by its
    /// index.
    changed: HashMap<(Provider, usize), String>,
}

impl ProviderNames {
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

    /// Returns the index of the tool with this name, which may be its own name or its name for a provider.
    pub(super) fn find(&self, name: &str) -> Option<usize> {
        self.index.get(name).copied()
    }

    /// Returns the name of a tool for a provider, if that name differs from the tool's own name.
    pub(super) fn changed(&self, provider: Provider, tool: usize) -> Option<&str> {
        self.changed.get(&(provider, tool)).map(String::as_str)
    }

    /// Returns all names: the tools' own names and their names for providers.
    pub(super) fn all(&self) -> impl Iterator<Item = &str> {
        self.index.keys().map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(own: &[&str]) -> ProviderNames {
        ProviderNames::of(own.iter().copied())
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
