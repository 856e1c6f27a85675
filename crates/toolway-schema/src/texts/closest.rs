//! Which known name did the author of a misspelled name probably mean?

/// Returns the known name that is closest to `name`, if it is close enough to be a misspelling.
pub fn closest<'n>(name: &str, known: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    // A peer may send megabytes as a name, or list them; that is not a misspelling.
    if name.len() > 64 {
        return None;
    }
    let wanted = name.to_lowercase();
    known
        .filter(|candidate| candidate.len() <= 128)
        .map(|candidate| (strsim::levenshtein(&wanted, &candidate.to_lowercase()), candidate))
        .filter(|(distance, candidate)| *distance <= 1 + candidate.len().min(name.len()) / 4)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_of_the_pen_is_recognised_and_another_word_is_not() {
        let known = || ["add", "subtract", "city"].into_iter();
        assert_eq!(closest("ad", known()), Some("add"));
        assert_eq!(closest("Add", known()), Some("add"));
        assert_eq!(closest("substract", known()), Some("subtract"));
        assert_eq!(closest("weather", known()), None);
        assert_eq!(closest(&"a".repeat(1 << 20), known()), None);
        let long = "a".repeat(16 << 20);
        assert_eq!(closest("add", [&*long, "adds"].into_iter()), Some("adds"));
    }
}
