//! Where does randomness come from, so that one number repeats a whole run?
//!
//! Xorshift, because only repeatable variety is needed. Every definition has its own stream, made from the seed and its
//! name: a new definition, or a new type in the table, does not change the values of the others.

#[derive(Clone, Debug)]
pub(super) struct Random(u64);

impl Random {
    /// The stream that belongs to `name` under `seed`.
    pub(super) fn new(seed: u64, name: &str) -> Self {
        // FNV-1a. `| 1` avoids zero, the only state that xorshift never leaves.
        let hash = name.bytes().fold(0xcbf2_9ce4_8422_2325 ^ seed, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
        });
        Self(hash | 1)
    }

    /// A number from zero up to, but not including, `limit`.
    pub(super) fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        // Takes the upper half: the lowest bits of a plain xorshift are the least random.
        let number = usize::try_from(self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 32).unwrap_or_default();
        number % limit.max(1)
    }

    /// Returns `true` once in `times` on average.
    pub(super) fn once_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    /// Picks one of `choices`, which must not be empty.
    pub(super) fn pick<'c, T>(&mut self, choices: &'c [T]) -> &'c T {
        &choices[self.below(choices.len())]
    }
}

#[cfg(test)]
mod tests {
    use super::Random;

    #[test]
    fn a_seed_and_a_name_repeat_the_stream_and_either_changes_it() {
        let stream = |seed, name| {
            let mut random = Random::new(seed, name);
            (0..32).map(|_| random.below(1000)).collect::<Vec<_>>()
        };
        assert_eq!(stream(7, "Tool"), stream(7, "Tool"));
        assert_ne!(stream(7, "Tool"), stream(8, "Tool"));
        assert_ne!(stream(7, "Tool"), stream(7, "Prompt"));
    }

    #[test]
    fn every_choice_comes_up() {
        let mut random = Random::new(0, "");
        let mut seen = [false; 7];
        for _ in 0..200 {
            seen[random.below(7)] = true;
        }
        assert_eq!(seen, [true; 7]);
    }
}
