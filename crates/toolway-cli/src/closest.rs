//! Which known name did the user probably mean with a misspelled name?

use crate::failure::Failure;

/// Returns the known name that was probably meant.
pub(crate) fn closest<'n>(name: &str, known: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    let wanted = normalize(name);
    known
        .into_iter()
        .map(|candidate| (strsim::damerau_levenshtein(&wanted, &normalize(candidate)), candidate))
        .filter(|(distance, candidate)| *distance <= 1 + candidate.len().min(name.len()) / 4)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// Returns "; did you mean `add`?", or an empty text.
pub(crate) fn did_you_mean<'n>(name: &str, known: impl IntoIterator<Item = &'n str>) -> String {
    closest(name, known).map(|meant| format!("; did you mean `{meant}`?")).unwrap_or_default()
}

/// Creates the failure for an unknown name; `known` are the existing names.
pub(crate) fn unknown_name(message: &str, name: &str, known: &[&str]) -> Failure {
    let meant = did_you_mean(name, known.iter().copied());
    let failure = Failure::not_found(format!("{message}{meant}"));
    if known.is_empty() { failure } else { failure.hint(format!("available: {}", known.join(", "))) }
}

/// Normalizes a name: letter case and word separators are ignored. Only the beginning of a long name is compared.
fn normalize(name: &str) -> String {
    let letters = name.chars().take(100);
    letters.filter(|letter| !matches!(letter, '-' | '_' | ' ')).flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_of_the_pen_is_recognised_and_another_word_is_not() {
        let known = ["add", "subtract", "read_file", "file:///a/b.txt"];
        assert_eq!(closest("ad", known), Some("add"));
        assert_eq!(closest("dad", known), Some("add"));
        assert_eq!(closest("readFile", known), Some("read_file"));
        assert_eq!(closest("file:///a/c.txt", known), Some("file:///a/b.txt"));
        assert_eq!(closest("weather", known), None);
        assert_eq!(closest("", known), None);
        assert_eq!(did_you_mean("substract", known), "; did you mean `subtract`?");
        assert_eq!(did_you_mean("weather", known), "");
    }
}
