//! What dies, and when? Drawn from a seed.

use crate::proxy::{Cut, End};
use crate::wire::Wire;

/// Where the calls of one client are hit.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Strike {
    /// The process that serves is killed.
    Kill(When),
    /// So is the next one, as soon as it runs.
    KillTwice(When),
    /// The process dies by itself after so many bytes that it has read.
    DieReading(usize),
    /// Or written: in the middle of a line.
    DieWriting(usize),
    /// A connection is cut.
    Cut(Cut),
    /// All connections are cut.
    CutAll(When, End),
    /// The process is killed, and the first connections to the next one are cut after so many bytes.
    KillAndCut(When, [usize; 2], End),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum When {
    /// Before the calls.
    Idle,
    /// The call of this number was sent, as far as its caller knows.
    Asked(usize),
    /// The run of this number has begun.
    Begun(usize),
    /// The call of this number was answered.
    Ended(usize),
}

/// So many bytes belong to the opening, which nobody repeats for a new client.
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

    /// Whether something stands between the client and the server.
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

/// Numbers that are the same for the same seed.
#[derive(Debug)]
pub(crate) struct Random(u64);

impl Random {
    /// One for each point of a run.
    pub(crate) fn new(seed: u64, wire: Wire, point: u64) -> Self {
        let mut random = Self(seed ^ (wire as u64) << 56 ^ point << 32);
        // Seeds that are close to each other are to have nothing else in common.
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
