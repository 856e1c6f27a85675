//! Which known word was probably meant?

/// The known word that is closest to what was written, if one is close.
pub(crate) fn closest<'k>(written: &str, known: impl Iterator<Item = &'k str>) -> Option<&'k str> {
    let written = written.to_lowercase();
    let allowed = if written.len() < 5 { 1 } else { written.len().min(9) / 3 };
    known
        .map(|word| (if begins_alike(&written, word) { 1 } else { distance(&written, word) }, word))
        .filter(|(distance, _)| *distance <= allowed)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, word)| word)
}

/// `desc` is short for `description`, and `mime_type` says more than `mime`.
fn begins_alike(left: &str, right: &str) -> bool {
    left.len().min(right.len()) > 3 && (left.starts_with(right) || right.starts_with(left))
}

/// How many letters must be added, removed, changed or swapped.
pub(crate) fn distance(left: &str, right: &str) -> usize {
    let left: Vec<char> = left.chars().collect();
    let right: Vec<char> = right.chars().collect();
    let mut rows: Vec<Vec<usize>> = vec![(0..=right.len()).collect()];
    for row in 1..=left.len() {
        let mut next = vec![row];
        for column in 1..=right.len() {
            let is_other = usize::from(left[row - 1] != right[column - 1]);
            let mut best = (rows[row - 1][column] + 1).min(next[column - 1] + 1);
            best = best.min(rows[row - 1][column - 1] + is_other);
            if row > 1
                && column > 1
                && left[row - 1] == right[column - 2]
                && left[row - 2] == right[column - 1]
            {
                best = best.min(rows[row - 2][column - 2] + 1);
            }
            next.push(best);
        }
        rows.push(next);
    }
    rows[left.len()][right.len()]
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
