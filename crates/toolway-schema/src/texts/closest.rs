//! Which of the known names did somebody mean who wrote another one?

/// The known name that somebody who wrote `name` probably meant.
pub fn closest<'n>(name: &str, known: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    // A peer may send megabytes as a name; nobody misspells that much.
    if name.len() > 64 {
        return None;
    }
    known
        .map(|candidate| (distance(name, candidate), candidate))
        .filter(|(distance, candidate)| *distance <= 1 + candidate.len().min(name.len()) / 4)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// Edits between two names, letter case for free.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.to_lowercase().chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, left) in a.to_lowercase().chars().enumerate() {
        let mut diagonal = i;
        row[0] = i + 1;
        for (j, right) in b.iter().enumerate() {
            let substituted = diagonal + usize::from(left != *right);
            diagonal = row[j + 1];
            row[j + 1] = substituted.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
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
    }
}
