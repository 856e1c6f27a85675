//! What does the command line ask for?
//!
//! Ten commands with at most six options each: too few to justify compiling an argument parser before every `cargo
//! xtask`.

use std::env;

use crate::run::Result;

/// The options that were given and not yet read.
#[derive(Debug)]
pub(crate) struct Arguments(Vec<String>);

impl Arguments {
    /// Splits the command line into the command's name and its options.
    pub(crate) fn from_command_line() -> (Option<String>, Self) {
        let mut words = env::args().skip(1);
        let command = words.next();
        (command, Self(words.collect()))
    }

    /// Options that another command passes.
    pub(crate) fn from_words(words: &[&str]) -> Self {
        Self(words.iter().map(ToString::to_string).collect())
    }

    /// Removes `name` and returns whether it was there.
    pub(crate) fn flag(&mut self, name: &str) -> bool {
        let before = self.0.len();
        self.0.retain(|word| word != name);
        self.0.len() < before
    }

    /// Removes `name VALUE` or `name=VALUE` and returns the value.
    pub(crate) fn value(&mut self, name: &str) -> Result<Option<String>> {
        let with_equals = format!("{name}=");
        let Some(at) = self.0.iter().position(|word| word == name || word.starts_with(&with_equals)) else {
            return Ok(None);
        };
        let word = self.0.remove(at);
        if let Some(value) = word.strip_prefix(&with_equals) {
            return Ok(Some(value.to_owned()));
        }
        if at < self.0.len() {
            Ok(Some(self.0.remove(at)))
        } else {
            Err(format!("`{name}` needs a value after it; `cargo xtask help` shows which"))
        }
    }

    /// Removes `name NUMBER`, a number of repetitions, and returns the number; 1 when it is missing.
    pub(crate) fn times(&mut self, name: &str) -> Result<usize> {
        let Some(value) = self.value(name)? else { return Ok(1) };
        value.parse().ok().filter(|times| *times > 0).ok_or_else(|| {
            format!(
                "`{name} {value}`: it takes a number from 1, how often to run; `cargo xtask help` shows it"
            )
        })
    }

    /// Removes the first word that is not an option; `what` names it in the error when it is missing.
    pub(crate) fn word(&mut self, what: &str) -> Result<String> {
        match self.0.iter().position(|word| !word.starts_with('-')) {
            Some(at) => Ok(self.0.remove(at)),
            None => Err(format!("{what} is missing after the command; `cargo xtask help` shows its place")),
        }
    }

    /// Refuses options that no command has read, so that a mistyped option does not silently run something else.
    pub(crate) fn finish(self) -> Result {
        match self.0.first() {
            None => Ok(()),
            Some(word) => {
                Err(format!("`{word}` is not an option of this command; `cargo xtask help` lists them"))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Arguments;

    fn arguments(words: &[&str]) -> Arguments {
        Arguments::from_words(words)
    }

    #[test]
    fn a_number_of_times_is_at_least_one() {
        assert_eq!(arguments(&["--repeat", "20"]).times("--repeat"), Ok(20));
        assert_eq!(arguments(&[]).times("--repeat"), Ok(1));
        for bad in ["0", "-1", "often"] {
            let error = arguments(&["--repeat", bad]).times("--repeat").unwrap_err();
            assert!(error.contains("a number from 1"), "{error}");
        }
    }

    #[test]
    fn values_may_follow_a_space_or_an_equals_sign() {
        let mut given = arguments(&["--only", "ping", "--side=server", "--bless"]);
        assert_eq!(given.value("--only").unwrap().as_deref(), Some("ping"));
        assert_eq!(given.value("--side").unwrap().as_deref(), Some("server"));
        assert_eq!(given.value("--revision").unwrap(), None);
        assert!(given.flag("--bless"));
        given.finish().unwrap();
    }

    #[test]
    fn a_word_is_found_among_options_and_missed_by_its_name() {
        let mut given = arguments(&["--bless", "folder"]);
        assert_eq!(given.word("the folder").unwrap(), "folder");
        assert!(given.word("the folder").unwrap_err().starts_with("the folder is missing"));
    }

    #[test]
    fn a_missing_value_and_an_unknown_option_are_refused() {
        assert!(arguments(&["--only"]).value("--only").unwrap_err().contains("needs a value"));
        assert!(arguments(&["--other"]).finish().unwrap_err().contains("--other"));
    }
}
