//! What dies, and when? Chosen by a seed.

use crate::proxy::{Cut, End};
use crate::wire::Wire;

/// How the calls of one client are hit.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Strike {
    /// The server process is killed.
    Kill(When),
    /// So is the next one, as soon as it runs.
    KillTwice(When),
    /// The process exits after it has read this many bytes.
    DieReading(usize),
    /// The process exits after it has written this many bytes, in the middle of a line.
    DieWriting(usize),
    /// A connection is cut.
    Cut(Cut),
    /// All connections are cut.
    CutAll(When, End),
    /// The process is killed, and the first connections to the next one are cut after these numbers of bytes.
    KillAndCut(When, [usize; 2], End),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum When {
    /// Before the calls.
    Idle,
    /// The call with this number was sent, as far as its caller knows.
    Asked(usize),
    /// The run with this number has begun.
    Begun(usize),
    /// The call with this number was answered.
    Ended(usize),
}

/// These first bytes belong to connecting, which is not retried for a new client.
const FIRST: usize = 8_000;

impl Strike {
    pub(crate) fn draw(wire: Wire, random: &mut Random) -> Self {
        match (wire.is_http(), random.below(10)) {
            (_, 0..=2) => Self::Kill(When::draw(random)),
            (_, 3) => Self::KillTwice(When::draw(random)),
            (false, 4..=5) => Self::DieReading(FIRST + random.below(30_000)),
            (false, 6..=8) => Self::DieWriting(FIRST + random.below(30_000)),
            (false, _) => Self::Kill(When::Idle),
            (true, 4..=6) => {
                Self::Cut(Cut { up: random.coin(), after: 1 + random.below(30_000), end: End::draw(random) })
            }
            (true, 7) => Self::CutAll(When::draw(random), End::draw(random)),
            (true, 8) => Self::CutAll(When::Idle, End::draw(random)),
            (true, _) => {
                let after = [random.below(700), random.below(700)];
                Self::KillAndCut(When::draw(random), after, End::draw(random))
            }
        }
    }

    pub(crate) fn when(self) -> Option<When> {
        match self {
            Self::Kill(when) | Self::KillTwice(when) | Self::CutAll(when, _) | Self::KillAndCut(when, ..) => {
                Some(when)
            }
            Self::DieReading(_) | Self::DieWriting(_) | Self::Cut(_) => None,
        }
    }

    /// Returns whether a proxy is needed between the client and the server.
    pub(crate) fn needs_proxy(self) -> bool {
        matches!(self, Self::Cut(_) | Self::CutAll(..) | Self::KillAndCut(..))
    }
}

impl When {
    fn draw(random: &mut Random) -> Self {
        match random.below(7) {
            0 => Self::Idle,
            1..=2 => Self::Asked(1 + random.below(20)),
            3..=4 => Self::Begun(1 + random.below(20)),
            _ => Self::Ended(1 + random.below(20)),
        }
    }
}

/// Pseudorandom numbers that a seed repeats.
#[derive(Debug)]
pub(crate) struct Random(u64);

impl Random {
    /// Creates the source for one point of a run.
    pub(crate) fn new(seed: u64, wire: Wire, point: u64) -> Self {
        let mut random = Self(seed ^ (wire as u64) << 56 ^ point << 32);
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

    pub(crate) fn coin(&mut self) -> bool {
        self.below(2) == 0
    }
}
