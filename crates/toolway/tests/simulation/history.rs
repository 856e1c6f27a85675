//! What happened in a run, in the order in which it happened, with the virtual time.
//!
//! The history contains nothing random, such as session ids, so that two runs of one seed can be compared.

use std::collections::BTreeSet;
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Mutex};

use tokio::time::Instant;

use crate::load::Call;

/// How a call ended, from the view of its caller.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum End {
    /// The text of the result.
    Result(String),
    /// The tool reported a failure, or panicked.
    ToolFailed(String),
    /// The caller dropped the call.
    Dropped,
    /// The request did not reach the server.
    Unsent,
    /// The request was sent, and the reply is lost.
    ReplyLost,
    /// The server did not answer in time.
    TimedOut,
    /// The server refused the request because it shuts down or has lost the session.
    Refused,
    /// Anything else, which no call may end with.
    Unexpected(String),
}

impl End {
    pub(crate) fn of(result: toolway::Result<String>) -> Self {
        use toolway::ErrorKind;
        match result {
            Ok(text) => Self::Result(text),
            Err(error) if error.kind() == ErrorKind::ToolFailed => {
                // The reference of a failure is random.
                let text = error.to_string();
                Self::ToolFailed(text.split("reference").next().unwrap_or_default().to_owned())
            }
            Err(error) if error.is_timeout() => Self::TimedOut,
            Err(error) if error.is_unsent() => Self::Unsent,
            Err(error) if error.is_reply_lost() => Self::ReplyLost,
            Err(error) if error.is_session_ended() || error.http_status() == Some(503) => Self::Refused,
            Err(error) => Self::Unexpected(format!("{error:?}")),
        }
    }
}

/// An event of a run.
#[derive(Debug, Clone, Hash)]
pub(crate) enum Event {
    /// A caller begins a call.
    Called(Call),
    /// A caller hears of the progress of its call.
    Heard {
        key: String,
        step: u64,
    },
    Ended {
        key: String,
        end: End,
    },
    /// A handler begins to run, and ends or is dropped.
    Ran {
        key: String,
    },
    Left {
        key: String,
        is_done: bool,
    },
    /// The effect of a call that asks, which happens once however often its function runs.
    Effect {
        key: String,
    },
    /// A client could connect, or could not.
    Connected {
        client: usize,
        link: String,
        is_ok: bool,
    },
    /// The client can no longer rely on its connections.
    Disturbed {
        client: usize,
        fault: String,
    },
    /// A client sends an HTTP request.
    Sent {
        client: usize,
        request: String,
    },
    /// A client learned of a change and read this value.
    Saw {
        client: usize,
        value: u64,
    },
    /// The server was replaced by its successor.
    Restarted,
    /// A rule was broken that is checked on the way.
    Broken(String),
}

/// The events of one run.
#[derive(Clone)]
pub(crate) struct History {
    start: Instant,
    events: Arc<Mutex<Vec<(u128, Event)>>>,
}

impl History {
    pub(crate) fn new() -> Self {
        Self { start: Instant::now(), events: Arc::default() }
    }

    pub(crate) fn add(&self, event: Event) {
        let millis = self.start.elapsed().as_millis();
        self.events.lock().unwrap().push((millis, event));
    }

    /// Returns the events, with the milliseconds since the start.
    pub(crate) fn events(&self) -> Vec<(u128, Event)> {
        self.events.lock().unwrap().clone()
    }

    /// Returns the kinds of events, of ends and of faults.
    pub(crate) fn kinds(&self) -> BTreeSet<String> {
        let mut kinds = BTreeSet::new();
        for (_, event) in self.events() {
            kinds.insert(first_word(&event));
            match event {
                Event::Ended { end, .. } => kinds.insert(first_word(&end)),
                Event::Disturbed { fault, .. } => kinds.insert(fault),
                Event::Sent { request, .. } if request.starts_with("resume") => {
                    kinds.insert("resume".to_owned())
                }
                _ => false,
            };
        }
        kinds
    }

    /// Returns a number that two histories share only if the same happened in each millisecond. The order within a
    /// millisecond does not count: a watch channel of tokio wakes its receivers in random order.
    pub(crate) fn digest(&self) -> u64 {
        let mut events = self.events();
        events.sort_by_cached_key(|(millis, event)| (*millis, format!("{event:?}")));
        let mut hasher = DefaultHasher::new();
        events.hash(&mut hasher);
        hasher.finish()
    }
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
