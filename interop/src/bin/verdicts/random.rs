//! Where does randomness come from, so that one number repeats a whole run?

/// A repeatable source of random numbers (xorshift64*). Each token has its own, so that a change in one does not change the
/// others.
#[derive(Debug)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64, case: u64) -> Self {
        let state = (seed ^ case.rotate_left(32)).wrapping_add(0x9e37_79b9_7f4a_7c15);
        let state = state.wrapping_mul(0xd6e8_feb8_6659_fd93);
        // 0 is the only state that xorshift never leaves.
        Self((state ^ (state >> 32)).max(1))
    }

    /// Returns a number below `limit`, which must not be 0.
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        let number = self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 32;
        usize::try_from(number % limit as u64).unwrap_or_default()
    }

    pub(crate) fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())]
    }
}
