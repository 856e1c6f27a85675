//! Which known word was probably meant?

use strsim::osa_distance;

/// Returns the known word that is closest to the written one, if it is close enough.
pub(crate) fn closest<'k>(written: &str, known: impl Iterator<Item = &'k str>) -> Option<&'k str> {
    let written = written.to_lowercase();
    let allowed = if written.len() < 5 { 1 } else { written.len().min(9) / 3 };
    known
        .map(|word| (if begins_alike(&written, word) { 1 } else { osa_distance(&written, word) }, word))
        .filter(|(distance, _)| *distance <= allowed)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, word)| word)
}

/// Returns whether one word is a prefix of the other: `desc` is short for `description`, and `mime_type` is longer
/// than `mime`.
fn begins_alike(left: &str, right: &str) -> bool {
    left.len().min(right.len()) > 3 && (left.starts_with(right) || right.starts_with(left))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_of_the_finger_is_recognised_and_another_word_is_not() {
        let known = || ["name", "title", "description", "read_only"].into_iter();
        assert_eq!(closest("nmae", known()), Some("name"));
        assert_eq!(closest("nam", known()), Some("name"));
        assert_eq!(closest("readonly", known()), Some("read_only"));
        assert_eq!(closest("descripton", known()), Some("description"));
        assert_eq!(closest("desc", known()), Some("description"));
        assert_eq!(closest("titles_of", known()), Some("title"));
        assert_eq!(closest("colour", known()), None);
    }
}
