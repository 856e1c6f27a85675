//! What happened in a cluster, in the order in which it happened, with the virtual time.
//!
//! Sessions, streams and exchanges are numbers in the order of their first appearance, so that two runs of a seed can be
//! compared.

use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Mutex};

use tokio::time::Instant;

/// What a client asks for.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Purpose {
    Open,
    Ready,
    /// The call with this key. `is_copy` if something on the way sent the request a second time.
    Call {
        key: String,
        is_copy: bool,
    },
    /// A stream is resumed after an event.
    Resume {
        stream: usize,
        after: u64,
        key: Option<String>,
    },
    Listen,
    Cancel(String),
    /// The answer to the question of a call.
    Answer(String),
    Ping,
    Delete,
    /// A call without a session.
    Stateless,
    /// Something of another principal.
    Trespass,
}

/// A message as a client gets it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Heard {
    /// An event without a message.
    Primer,
    Progress {
        key: String,
        step: u64,
    },
    Question {
        key: String,
    },
    /// The end of a call.
    End {
        key: String,
        end: End,
    },
    /// The list of tools has changed.
    Changed,
    Other,
}

/// How a call ended.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum End {
    Result(String),
    ToolFailed,
    /// The server that ran it has died.
    Lost,
    /// It was not let in, because a request with its id runs.
    Refused,
    Error(i64),
}

/// How the reply to a request ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Over {
    /// The server ended it.
    Complete,
    /// The connection broke.
    Broken,
    /// The client left.
    Left,
}

/// How a call was concluded by its client.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Conclusion {
    Answered,
    /// With this status.
    Refused(u16),
    /// The connection broke before there was an event id.
    Broken,
    /// The stream ended without an answer, however often it was resumed.
    NoAnswer,
    /// The stream cannot be resumed; with this status.
    Forgotten(u16),
    /// Nothing happened for too long.
    Hung,
}

/// A change of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Fate {
    Started,
    Killed,
    Frozen,
    Thawed,
    /// It was asked to stop, and has stopped.
    Stopping,
    Stopped,
}

/// A fault of the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum StoreFault {
    NotDone,
    UnknownBefore,
    UnknownAfter,
    Slow,
    Away,
    Back,
    LostTail,
    MessageLost,
    MessageDoubled,
    MessagesSwapped,
}

/// An event of a run.
#[derive(Debug, Clone, Hash)]
pub(crate) enum Event {
    /// Entries are in the log of a stream. They are known by their hashes.
    Stored {
        session: usize,
        stream: usize,
        first: u64,
        entries: Vec<u64>,
        ends: bool,
    },
    /// The record of a session was deleted.
    Erased {
        session: usize,
    },
    Fault {
        node: usize,
        fault: StoreFault,
    },
    Node {
        node: usize,
        fate: Fate,
    },
    /// A handler began, and ended or was dropped.
    Ran {
        key: String,
        node: usize,
    },
    Left {
        key: String,
        node: usize,
    },
    /// A node announced that its tools have changed.
    Announced {
        node: usize,
    },
    Sent {
        exchange: usize,
        session: usize,
        node: usize,
        purpose: Purpose,
    },
    Head {
        exchange: usize,
        status: u16,
        has_retry_after: bool,
    },
    /// The server has handed over the end of a call.
    HandedOver {
        key: String,
    },
    Got {
        exchange: usize,
        id: Option<(usize, u64)>,
        hash: u64,
        heard: Heard,
    },
    Over {
        exchange: usize,
        over: Over,
    },
    Concluded {
        key: String,
        session: usize,
        conclusion: Conclusion,
    },
    /// Nothing goes wrong from now on.
    Calm,
    /// A rule was broken that is checked on the way.
    Broken(String),
}

/// The events of one run.
#[derive(Clone)]
pub(crate) struct History {
    start: Instant,
    events: Arc<Mutex<Vec<(u64, Event)>>>,
    names: Arc<Mutex<HashMap<String, usize>>>,
}

impl History {
    pub(crate) fn new() -> Self {
        Self { start: Instant::now(), events: Arc::default(), names: Arc::default() }
    }

    pub(crate) fn add(&self, event: Event) {
        let millis = u64::try_from(self.start.elapsed().as_millis()).unwrap();
        self.events.lock().unwrap().push((millis, event));
    }

    /// Returns the number of a random name.
    pub(crate) fn number(&self, name: &str) -> usize {
        let mut names = self.names.lock().unwrap();
        let next = names.len();
        *names.entry(name.to_owned()).or_insert(next)
    }

    /// Returns the events, with the milliseconds since the start.
    pub(crate) fn events(&self) -> Vec<(u64, Event)> {
        self.events.lock().unwrap().clone()
    }

    /// Returns the kinds of events, faults, ends and conclusions.
    pub(crate) fn kinds(&self) -> BTreeSet<String> {
        let mut kinds = BTreeSet::new();
        for (_, event) in self.events.lock().unwrap().iter() {
            kinds.insert(match event {
                Event::Fault { fault, .. } => format!("{fault:?}"),
                Event::Node { fate, .. } => format!("{fate:?}"),
                Event::Sent { purpose, .. } => first_word(purpose),
                Event::Head { status, .. } => status.to_string(),
                Event::Got { heard: Heard::End { end, .. }, .. } => format!("end {}", first_word(end)),
                Event::Got { heard, id: None, .. } => format!("{} without id", first_word(heard)),
                Event::Got { heard, .. } => first_word(heard),
                Event::Over { over, .. } => format!("{over:?}"),
                Event::Concluded { conclusion, .. } => format!("{conclusion:?}"),
                other => first_word(other),
            });
        }
        kinds
    }

    /// Returns a number that two histories share only if the same happened in each millisecond, in any order.
    pub(crate) fn digest(&self) -> u64 {
        let mut events = self.events();
        // The bytes of an entry contain random ids.
        for (_, event) in &mut events {
            match event {
                Event::Stored { entries, .. } => entries.fill(0),
                Event::Got { hash, .. } => *hash = 0,
                _ => {}
            }
        }
        events.sort_by_cached_key(|(millis, event)| (*millis, format!("{event:?}")));
        hash_of(&events)
    }
}

/// Returns the hash of a value.
pub(crate) fn hash_of(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

fn first_word(value: &impl fmt::Debug) -> String {
    format!("{value:?}").chars().take_while(char::is_ascii_alphanumeric).collect()
}

impl fmt::Display for History {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (millis, event) in self.events.lock().unwrap().iter() {
            writeln!(f, "{millis:>7} ms  {event:?}")?;
        }
        Ok(())
    }
}
