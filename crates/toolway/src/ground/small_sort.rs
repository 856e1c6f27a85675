//! How are things sorted where it happens rarely? With code that exists once: `sort_by` is about ten kilobytes of machine code
//! for each type.

use std::cmp::Ordering;

/// Returns the places `0..count` in the order of `compare`. Equal ones stay in the order they have.
pub(crate) fn sorted_places(count: usize, compare: &dyn Fn(usize, usize) -> Ordering) -> Vec<usize> {
    let mut places: Vec<usize> = (0..count).collect();
    places.sort_by(|one, other| compare(*one, *other));
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_ones_stay_in_their_order() {
        let words = ["pear", "fig", "plum", "kiwi", "nut"];
        let by_length = sorted_places(words.len(), &|one, other| words[one].len().cmp(&words[other].len()));
        assert_eq!(by_length, [1, 4, 0, 2, 3]);
    }
}
