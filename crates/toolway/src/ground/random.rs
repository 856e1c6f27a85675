//! Random names that cannot be guessed.

/// Returns `N` random bytes of the operating system, in hexadecimal.
pub(crate) fn random_hex<const N: usize>() -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut bytes = [0; N];
    // Without randomness, sessions and clients could not be told apart safely, so this panics.
    getrandom::fill(&mut bytes).expect("the system has a source of randomness");
    bytes
        .iter()
        .flat_map(|byte| [byte >> 4, byte & 15])
        .map(|digit| char::from(DIGITS[usize::from(digit)]))
        .collect()
}
