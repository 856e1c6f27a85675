//! How do tests draw numbers that are the same in each run?

/// A generator of numbers.
pub(super) struct Draws(u64);

impl Draws {
    pub(super) fn new() -> Self {
        Self(0x9E37_79B9_7F4A_7C15)
    }

    /// Draws a number below `count`.
    pub(super) fn below(&mut self, count: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % count as u64).expect("it is below a usize")
    }
}
