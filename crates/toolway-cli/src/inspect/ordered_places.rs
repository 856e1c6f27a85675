//! How is a list put in order? With one sort for all lists: that of the standard library is five kilobytes of machine code for
//! each type.

/// Returns the places `0..count` in the order of their keys. Equal ones stay in the order they have.
pub(super) fn ordered_places(count: usize, key: &dyn Fn(usize) -> Option<usize>) -> Vec<usize> {
    let mut places: Vec<(Option<usize>, usize)> = (0..count).map(|place| (key(place), place)).collect();
    places.sort_unstable();
    places.into_iter().map(|(_, place)| place).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_in_the_order_of_their_keys() {
        let keys = [Some(3), None, Some(1), Some(3), Some(2), None];
        assert_eq!(ordered_places(keys.len(), &|place| keys[place]), [1, 5, 2, 4, 0, 3]);
        assert_eq!(ordered_places(0, &|_| None), [0; 0]);
    }
}
