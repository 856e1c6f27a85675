//! Which bytes of a string need no escape?

use memchr::memchr2;

/// Returns the number of leading bytes that need no escape in a string: up to a quote, a backslash or a control
/// character.
#[inline]
pub(super) fn plain_prefix(text: &[u8]) -> usize {
    let mut at = 0;
    while let Some(chunk) = text.get(at..at + 8) {
        let special = special_bytes(u64::from_le_bytes(chunk.try_into().expect("eight bytes")));
        if special != 0 {
            return at + (special.trailing_zeros() / 8) as usize;
        }
        at += 8;
    }
    at + text[at..].iter().take_while(|byte| PLAIN[**byte as usize]).count()
}

/// Returns the number of leading bytes that a string in JSON may hold as they are, up to its closing quote, an escape or a
/// control character. Long strings are searched with vector instructions. A control character ends the reading of a
/// text, so what is searched behind one is searched once.
#[inline]
pub(super) fn string_prefix(text: &[u8]) -> usize {
    let start = plain_prefix(text.get(..LONG).unwrap_or(text));
    if start < LONG { start } else { LONG + long_prefix(&text[LONG..]) }
}

/// Not inlined, so that the search in short strings stays small.
#[inline(never)]
fn long_prefix(text: &[u8]) -> usize {
    let text = &text[..memchr2(b'"', b'\\', text).unwrap_or(text.len())];
    if has_control_character(text) {
        return text.iter().take_while(|byte| **byte >= 0x20).count();
    }
    text.len()
}

/// Returns whether no byte of a text needs an escape. Fast for texts that are long, and mostly plain.
pub(super) fn is_plain(text: &[u8]) -> bool {
    memchr2(b'"', b'\\', text).is_none() && !has_control_character(text)
}

/// The smallest byte is found with vector instructions, which a search for the first such byte does not allow.
fn has_control_character(text: &[u8]) -> bool {
    text.iter().fold(u8::MAX, |least, byte| least.min(*byte)) < 0x20
}

/// The length of a string from which a call of `memchr` pays.
const LONG: usize = 64;

/// Finds the bytes that need an escape among eight bytes: the highest bit of each such byte is set. The subtraction may
/// borrow from a higher byte and set its bit by mistake, so only the lowest bit that is set is reliable.
#[inline]
pub(super) fn special_bytes(word: u64) -> u64 {
    let quote = word ^ (LOW_BITS * u64::from(b'"'));
    let backslash = word ^ (LOW_BITS * u64::from(b'\\'));
    let special = (quote.wrapping_sub(LOW_BITS) & !quote)
        | (backslash.wrapping_sub(LOW_BITS) & !backslash)
        | (word.wrapping_sub(LOW_BITS * 0x20) & !word);
    special & (LOW_BITS << 7)
}

/// The lowest bit of every byte.
const LOW_BITS: u64 = 0x0101_0101_0101_0101;

/// The bytes that need no escape in a string: all but the quote, the backslash and the control characters.
const PLAIN: [bool; 256] = {
    let mut table = [true; 256];
    let mut byte = 0;
    while byte < 0x20 {
        table[byte] = false;
        byte += 1;
    }
    table[b'"' as usize] = false;
    table[b'\\' as usize] = false;
    table
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::draws::Draws;

    #[test]
    fn all_ways_find_the_same_prefix() {
        let mut draws = Draws::new();
        for round in 0..20_000 {
            let mut draw = |count| draws.below(count);
            let length = draw(300);
            let text: Vec<u8> = (0..length)
                .map(|_| match draw(150) {
                    0 => [b'"', b'\\', b'\n', 0, 0x1f][draw(5)],
                    1 => [0x20, 0x7f, 0x80, 0xff, b'!', b'#', b'[', b']'][draw(8)],
                    _ => b'x',
                })
                .collect();
            let expected = text.iter().take_while(|byte| PLAIN[**byte as usize]).count();
            assert_eq!(plain_prefix(&text), expected, "round {round}");
            assert_eq!(string_prefix(&text), expected, "round {round}");
            assert_eq!(is_plain(&text), expected == text.len(), "round {round}");
        }
    }
}
