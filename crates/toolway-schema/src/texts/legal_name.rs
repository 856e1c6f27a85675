//! What is a text called where not every letter, and not every length, is allowed? It is cut, and ends with a hash of the
//! whole. Names that are made so are remembered by models and files: they stay the same in every program and version.

/// The beginning of a text, a joint and a hash, in at most `room` bytes. The text has only letters that take one byte.
pub fn with_hash(mut text: String, room: usize, joint: char, hash: &str) -> String {
    text.truncate(room - hash.len() - 1);
    text.push(joint);
    text.push_str(hash);
    text
}

/// The first of several names that is free. The number of an attempt goes into the hash, so names do not run out.
pub fn first_free(name: impl Fn(u32) -> String, is_free: impl Fn(&String) -> bool) -> String {
    (0..=u32::MAX).map(name).find(is_free).expect("there are more hashes than names")
}

/// FNV-1a.
pub fn fnv1a(bytes: impl Iterator<Item = u8>) -> u64 {
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}
