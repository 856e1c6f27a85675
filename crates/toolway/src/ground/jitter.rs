//! Random jitter, so that clients do not all retry at the same moment.

/// Returns a random number from 0 to 1.
pub(crate) fn random_fraction() -> f64 {
    if let Some(fraction) = FIXED_FRACTION.get() {
        return fraction;
    }
    let mut bytes = [0; 4];
    // Without a source of randomness the result is always 0, so the client retries without a random wait. That is
    // acceptable.
    let _ = getrandom::fill(&mut bytes);
    f64::from(u32::from_le_bytes(bytes)) / f64::from(u32::MAX)
}

thread_local! {
    /// The number that a test has set in place of the random ones of its thread.
    pub(crate) static FIXED_FRACTION: std::cell::Cell<Option<f64>> = const { std::cell::Cell::new(None) };
}
