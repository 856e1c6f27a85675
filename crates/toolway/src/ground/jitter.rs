//! Waits that nobody shares.

/// Any number from 0 to 1.
pub(crate) fn fraction() -> f64 {
    let mut bytes = [0; 4];
    // Without randomness everybody waits equally long, which is bad luck and nothing worse.
    let _ = getrandom::fill(&mut bytes);
    f64::from(u32::from_le_bytes(bytes)) / f64::from(u32::MAX)
}
