//! How are things sorted where it happens rarely? With code that exists once, not once for each type.
//!
//! `sort_by` and the `collect` of a `BTreeMap`, which sorts too, are about ten kilobytes of machine code for each type.

use std::cmp::Ordering;

/// Returns the places `0..count` in the order of `compare`. Equal ones stay in the order they have.
pub(crate) fn sorted_places(count: usize, compare: &dyn Fn(usize, usize) -> Ordering) -> Vec<usize> {
    let mut places: Vec<usize> = (0..count).collect();
    places.sort_by(|one, other| compare(*one, *other));
    places
}

/// Makes a map by inserting one entry after the other. The last one of a key counts, as with `collect`.
pub(crate) fn insert_all<M: Default + Extend<T>, T>(entries: impl IntoIterator<Item = T>) -> M {
    let mut map = M::default();
    map.extend(entries);
    map
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn equal_ones_stay_in_their_order() {
        let words = ["pear", "fig", "plum", "kiwi", "nut"];
        let by_length = sorted_places(words.len(), &|one, other| words[one].len().cmp(&words[other].len()));
        assert_eq!(by_length, [1, 4, 0, 2, 3]);
    }

    #[test]
    fn the_last_entry_of_a_key_counts() {
        let map: BTreeMap<_, _> = insert_all([("b", 1), ("a", 2), ("b", 3)]);
        assert_eq!(map, BTreeMap::from([("a", 2), ("b", 3)]));
    }
}
