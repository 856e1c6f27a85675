//! What goes wrong on the way between a client and the server, and when?
//!
//! Bytes are delayed, split and held up, and connections break: at a byte, after a time, in one direction or in both,
//! noticeably or silently. What is delivered is delivered in order. Everything is drawn from the generator of the
//! client, so the seed decides it.

use std::collections::BTreeMap;
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::SetOnce;
use tokio::time::sleep;

use crate::history::{Event, History};
use crate::random::Random;

/// The way between one client and the server.
#[derive(Clone)]
pub(crate) struct Nemesis {
    pub(crate) client: usize,
    history: History,
    seed: u64,
    /// How many connections in a hundred break.
    faults: u64,
    /// How many connections of each purpose there were.
    opened: Arc<Mutex<BTreeMap<String, u64>>>,
    calm: Arc<SetOnce<()>>,
    has_vanished: Arc<AtomicBool>,
}

/// When a connection breaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    Never,
    /// It cannot be opened.
    Unreachable,
    /// After this many bytes to the server.
    Up(u64),
    /// After this many bytes to the client.
    Down(u64),
    After(Duration),
}

/// How a connection breaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Break {
    Both,
    OneDirection,
    /// Nothing arrives any more, and neither side is told.
    Silent,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Never => "never",
            Self::Unreachable => "unreachable",
            Self::Up(_) => "up",
            Self::Down(_) => "down",
            Self::After(_) => "after a time",
        })
    }
}

/// How the bytes of one direction travel.
pub(crate) struct Pace {
    random: Random,
    /// The most bytes that travel together.
    pub(crate) chunk: usize,
    stalls: u32,
}

impl Nemesis {
    pub(crate) fn new(client: usize, history: &History, mut random: Random) -> Self {
        let faults = random.pick(&[0, 10, 30, 60]);
        let (history, seed) = (history.clone(), random.below(u64::MAX));
        Self {
            client,
            history,
            seed,
            faults,
            opened: Arc::default(),
            calm: Arc::default(),
            has_vanished: Arc::default(),
        }
    }

    /// Lets everything pass from now on.
    pub(crate) fn calm(&self) {
        let _ = self.calm.set(());
    }

    pub(crate) fn is_calm(&self) -> bool {
        self.calm.initialized()
    }

    pub(crate) async fn until_calm(&self) {
        self.calm.wait().await;
    }

    /// Lets nothing of the client reach the server any more, as if its machine had lost the network.
    pub(crate) fn vanish(&self) {
        self.has_vanished.store(true, Ordering::SeqCst);
    }

    pub(crate) fn has_vanished(&self) -> bool {
        self.has_vanished.load(Ordering::SeqCst)
    }

    /// Records a fault, unless it comes too late. Returns whether it happens.
    pub(crate) fn strike(&self, fault: impl fmt::Display) -> bool {
        let strikes = !self.is_calm();
        if strikes {
            self.history.add(Event::Disturbed { client: self.client, fault: fault.to_string() });
        }
        strikes
    }

    /// Chooses what happens to the next connection. The choice depends on the purpose of the connection, and on how many
    /// there were for this purpose, but not on other connections: the client may open several at the same moment, in any
    /// order.
    pub(crate) fn draw(&self, purpose: &str, most_bytes: u64) -> (Fault, Break, Random) {
        let mut opened = self.opened.lock().unwrap();
        let number = opened.entry(purpose.to_owned()).or_default();
        *number += 1;
        let mut hasher = DefaultHasher::new();
        (self.seed, purpose, *number).hash(&mut hasher);
        let mut random = Random::new(hasher.finish());
        let fault = match random.below(6) {
            _ if self.is_calm() || !random.chance(self.faults) => Fault::Never,
            0 => Fault::Unreachable,
            1 => Fault::Up(random.below(most_bytes)),
            2..4 => Fault::Down(random.below(most_bytes)),
            _ => Fault::After(random.millis(0, 3000)),
        };
        let way = match random.below(10) {
            0 => Break::Silent,
            1..4 => Break::OneDirection,
            _ => Break::Both,
        };
        (fault, way, random)
    }
}

impl Pace {
    pub(crate) fn new(random: &mut Random) -> Self {
        let stalls = u32::from(random.chance(10));
        let chunk = random.pick(&[11, 100, 1000, 1 << 16]);
        Self { random: random.split(), chunk, stalls }
    }

    /// Waits as long as the next bytes take.
    pub(crate) async fn travel(&mut self, nemesis: &Nemesis) {
        if nemesis.is_calm() {
            return;
        }
        if self.stalls > 0 && self.random.chance(10) {
            // A reader that does not read for a while. A client gives a message without a reply up after five seconds.
            self.stalls -= 1;
            sleep(self.random.millis(500, 4500)).await;
        } else if self.random.chance(30) {
            sleep(self.random.millis(1, 20)).await;
        }
    }
}
