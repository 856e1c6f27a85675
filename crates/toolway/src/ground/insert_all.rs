//! How is a map or a set filled where it happens rarely? Not by `collect`, which sorts first: that is about ten kilobytes of machine
//! code for each type.

/// Makes a collection by inserting one entry after the other. The last one of a key counts, as with `collect`.
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
    fn the_last_entry_of_a_key_counts() {
        let map: BTreeMap<_, _> = insert_all([("b", 1), ("a", 2), ("b", 3)]);
        assert_eq!(map, BTreeMap::from([("a", 2), ("b", 3)]));
    }
}
