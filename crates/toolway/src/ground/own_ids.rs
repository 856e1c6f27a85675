//! How are the requests that this side has sent found by their ids?

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use toolway_protocol::Id;

/// Values by the ids of requests that this side has sent.
///
/// This side counts its requests, so a peer chooses which id is looked up, but not which ids there are. So the map needs
/// no hash that withstands chosen keys.
pub(crate) type OwnIds<V> = HashMap<Id, V, BuildHasherDefault<IdHasher>>;

/// Multiplies, which spreads numbers that follow each other over all places.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct IdHasher(u64);

/// An odd number with half of its bits set, so that a product depends on all bits of the other factor.
const MIX: u64 = 0x9e37_79b9_7f4a_7c15;

impl Hasher for IdHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u64(u64::from(*byte));
        }
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = (self.0 ^ number).wrapping_mul(MIX);
    }

    fn write_i64(&mut self, number: i64) {
        self.write_u64(number.cast_unsigned());
    }

    /// The kind of an id. Nearly all ids are numbers, so it is left out.
    fn write_isize(&mut self, _: isize) {}
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::hash::BuildHasher;

    use super::*;

    #[test]
    fn ids_that_follow_each_other_have_places_of_their_own() {
        let hasher = BuildHasherDefault::<IdHasher>::default();
        for bits in [0, 57] {
            let places: HashSet<_> =
                (0..128).map(|id| (hasher.hash_one(Id::Number(id)) >> bits) & 127).collect();
            assert!(places.len() > 64, "{} places at bit {bits}", places.len());
        }
    }

    #[test]
    fn a_number_and_its_text_are_two_keys() {
        let ids = OwnIds::from_iter([(Id::from(7), 1), (Id::from("7"), 2), (Id::from("seven"), 3)]);
        assert_eq!(ids.len(), 3);
        assert_eq!(ids.get(&"seven".into()), Some(&3));
    }
}
