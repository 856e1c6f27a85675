//! How is a text turned into a name where only some characters and lengths are allowed? It is truncated, and ends
//! with a hash of the whole text. Models and files remember these names, so they must stay the same in every program
//! and version.

/// Returns the beginning of a text, a separator and a hash, in at most `room` bytes. The text must contain only
/// one-byte characters.
pub fn with_hash(mut text: String, room: usize, joint: char, hash: &str) -> String {
    text.truncate(room - hash.len() - 1);
    text.push(joint);
    text.push_str(hash);
    text
}

/// Returns the first candidate that is free. The number of the attempt goes into the hash, so there is always another
/// candidate.
pub fn first_free(name: impl Fn(u32) -> String, is_free: impl Fn(&String) -> bool) -> String {
    (0..=u32::MAX).map(name).find(is_free).expect("there are more hashes than names")
}

/// Returns the FNV-1a hash.
pub fn fnv1a(bytes: impl Iterator<Item = u8>) -> u64 {
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}
