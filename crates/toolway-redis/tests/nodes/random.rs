//! Which pseudorandom numbers does a seed give?

/// Numbers that a seed repeats.
#[derive(Debug, Clone)]
pub(crate) struct Random(u64);

impl Random {
    /// Creates the source for one part of a run.
    pub(crate) fn new(seed: u64, part: u64) -> Self {
        let mut random = Self(seed ^ (part << 32));
        // Makes neighbouring seeds give unrelated numbers.
        for _ in 0..4 {
            random.next();
        }
        random
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub(crate) fn below(&mut self, limit: usize) -> usize {
        usize::try_from((self.next() >> 32) % limit as u64).unwrap()
    }

    /// Returns `true` once in so many times.
    pub(crate) fn one_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }
}
