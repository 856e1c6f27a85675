//! Which bytes of a string need no escape?

/// Returns the number of leading bytes that need no escape in a string: up to a quote, a backslash or a control
/// character.
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
