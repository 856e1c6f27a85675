//! Might an object have a key twice?
//!
//! Two parsers may read such an object differently: most take the last member, some the first. So a server that checks
//! what another program then acts on must refuse it. The scanner passes each key once, at every depth, and this filter
//! keeps a fingerprint of each key of the open objects. Equal fingerprints are rare; only then does `duplicates.rs`
//! compare the keys themselves, in a second walk.

use super::plain::special_bytes;

/// The fingerprints of the keys of the open objects.
#[derive(Debug)]
pub(super) struct KeyFilter {
    /// The first entries need no allocation: most messages have no others.
    first: [u64; INLINE_ENTRIES],
    rest: Vec<u64>,
    count: usize,
    /// The index of the first key of the innermost object. The two entries before it are `object` and `seen` of the object outside.
    object: usize,
    /// One bit for each key of the innermost object. Different keys may have the same bit.
    seen: u64,
    is_suspicious: bool,
}

impl KeyFilter {
    pub(super) fn new() -> Self {
        Self {
            first: [0; INLINE_ENTRIES],
            rest: Vec::new(),
            count: 0,
            object: 0,
            seen: 0,
            is_suspicious: false,
        }
    }

    /// Returns whether an object might have a key twice, since the last call.
    #[inline]
    pub(super) fn take_suspicion(&mut self) -> bool {
        std::mem::take(&mut self.is_suspicious)
    }

    /// Begins an object.
    pub(super) fn open(&mut self) {
        self.push_entry(self.object as u64);
        self.push_entry(self.seen);
        self.object = self.count;
        self.seen = 0;
    }

    /// Adds a key to the innermost object.
    #[inline]
    pub(super) fn push(&mut self, fingerprint: u64) {
        let bit = 1 << (fingerprint.wrapping_mul(MIX) >> 58);
        if self.seen & bit != 0 {
            self.compare(fingerprint);
        }
        self.seen |= bit;
        self.push_entry(fingerprint);
    }

    /// Adds a key with escapes to the innermost object. With escapes, one key can be written in several ways.
    #[cold]
    pub(super) fn push_escaped(&mut self) {
        self.is_suspicious = true;
        self.push_entry(0);
    }

    /// Ends the innermost object.
    pub(super) fn close(&mut self) {
        if self.count - self.object > FEW_KEYS {
            self.compare_many();
        }
        self.count = self.object - 2;
        self.object = usize::try_from(self.get(self.count)).expect("it was an index");
        self.seen = self.get(self.count + 1);
        if !self.rest.is_empty() {
            self.rest.truncate(self.count.saturating_sub(INLINE_ENTRIES));
        }
    }

    #[inline]
    fn push_entry(&mut self, entry: u64) {
        match self.first.get_mut(self.count) {
            Some(place) => *place = entry,
            None => self.rest.push(entry),
        }
        self.count += 1;
    }

    fn get(&self, index: usize) -> u64 {
        match self.first.get(index) {
            Some(entry) => *entry,
            None => self.rest[index - INLINE_ENTRIES],
        }
    }

    /// Compares a key with the earlier keys of the innermost object. The keys of large objects are compared at the end.
    #[inline(never)]
    fn compare(&mut self, fingerprint: u64) {
        let keys = self.object..self.count;
        self.is_suspicious |=
            keys.len() < FEW_KEYS && keys.map(|index| self.get(index)).any(|key| key == fingerprint);
    }

    #[cold]
    fn compare_many(&mut self) {
        let mut keys: Vec<u64> = (self.object..self.count).map(|index| self.get(index)).collect();
        keys.sort_unstable();
        self.is_suspicious |= keys.windows(2).any(|pair| pair[0] == pair[1]);
    }
}

/// Finds the end of the key that begins at `start`, behind its quote. Returns the position of the closing quote and the
/// fingerprint of the key. Returns `None` if the key has escapes, if it is not valid, or near the end of the text.
#[inline]
pub(super) fn plain_key(text: &[u8], start: usize) -> Option<(usize, u64)> {
    let mut fingerprint = 0;
    let mut at = start;
    loop {
        let word = u64::from_le_bytes(text.get(at..at + 8)?.try_into().ok()?);
        let special = special_bytes(word);
        if special != 0 {
            let length = special.trailing_zeros() / 8;
            let end = at + length as usize;
            let fingerprint = mix(fingerprint, word & !(u64::MAX << (8 * length)));
            return (text[end] == b'"').then_some((end, fingerprint));
        }
        fingerprint = mix(fingerprint, word);
        at += 8;
    }
}

/// Returns the fingerprint of a key without escapes, as [`plain_key`] does.
#[cold]
pub(super) fn fingerprint(key: &[u8]) -> u64 {
    let (words, rest) = key.as_chunks();
    let last = rest.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte));
    mix(words.iter().fold(0, |sum, word| mix(sum, u64::from_le_bytes(*word))), last)
}

/// Adds the next bytes of a key to its fingerprint.
#[inline]
fn mix(fingerprint: u64, word: u64) -> u64 {
    fingerprint.wrapping_mul(MIX) ^ word
}

/// An odd number with half of its bits set, so that a product depends on all bits of the other factor.
const MIX: u64 = 0x9e37_79b9_7f4a_7c15;

/// The number of entries that are kept without an allocation.
const INLINE_ENTRIES: usize = 32;

/// The maximum number of keys that are compared one by one.
const FEW_KEYS: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_has_one_fingerprint_wherever_it_stands() {
        let key = "parameter-of-the-longest-name-that-is-needed";
        let mut known = Vec::new();
        for length in 0..key.len() {
            let text = format!(r#"{}": 1, "b": 2}}"#, &key[..length]);
            let (end, in_the_middle) = plain_key(text.as_bytes(), 0).unwrap();
            assert_eq!((end, in_the_middle), (length, fingerprint(&key.as_bytes()[..length])));
            assert!(!known.contains(&in_the_middle), "{length} characters");
            known.push(in_the_middle);
        }
    }

    #[test]
    fn only_objects_with_equal_keys_are_suspicious() {
        for keys in [1, 2, 15, 16, 17, 31, 32, 33, 500] {
            for equal in [false, true] {
                let mut filter = KeyFilter::new();
                filter.open();
                for key in 0..keys {
                    filter.push(key);
                    // The keys of the objects inside are others.
                    filter.open();
                    filter.push(key);
                    filter.close();
                }
                if equal {
                    filter.push(keys - 1);
                }
                filter.close();
                assert_eq!(filter.take_suspicion(), equal, "{keys} keys");
                assert_eq!((filter.count, filter.rest.len()), (0, 0));
            }
        }
    }
}
