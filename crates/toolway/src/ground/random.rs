//! Names that nobody can guess.

/// So many bytes from the system's source of randomness, in hexadecimal.
pub(crate) fn random<const N: usize>() -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut bytes = [0; N];
    // A machine without randomness cannot keep anybody apart; there is nothing to go on with.
    getrandom::fill(&mut bytes).expect("the system has a source of randomness");
    bytes
        .iter()
        .flat_map(|byte| [byte >> 4, byte & 15])
        .map(|digit| char::from(DIGITS[usize::from(digit)]))
        .collect()
}
