//! What is written down of a run, for the checker?
//!
//! One JSON object for each line, in the order in which things happened in the test program. The journal of the nodes is a
//! file of its own, because nodes are killed.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The history of a run, which is written to a file.
#[derive(Debug)]
pub(crate) struct History {
    start: Instant,
    /// The start in milliseconds, by the clock that the nodes share.
    start_time: u64,
    file: Mutex<File>,
    pub(crate) path: PathBuf,
}

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Record {
    /// Milliseconds since the start.
    pub(crate) at: u64,
    #[serde(flatten)]
    pub(crate) fact: Fact,
}

/// A call is named by its key, `PRINCIPAL+CLIENT+REQUEST`. Each POST of it is an attempt.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "fact", rename_all = "snake_case")]
pub(crate) enum Fact {
    Killed {
        node: String,
    },
    /// A node does not run for a while, but is not dead.
    Frozen {
        node: String,
    },
    Listening {
        node: String,
    },
    StoreKilled,
    StoreListening,
    /// Changes of the store do not reach its replica any more, and are accepted nevertheless.
    StoreBehind,
    /// The replica is the store now, without these changes.
    StorePromoted,
    /// The store cannot reach the replica that must have each change.
    StoreApart,
    StoreTogether,
    Opened {
        principal: String,
        session: String,
        revision: String,
        node: String,
    },
    /// The session has subscribed to the resource of its principal.
    Subscribed {
        session: String,
    },
    /// The session is empty in the stateless era.
    Sent {
        call: String,
        attempt: u32,
        session: String,
        tool: String,
        node: String,
    },
    /// A message came on the reply of a call, or on a stream that resumes it.
    Event {
        call: String,
        attempt: u32,
        id: Option<String>,
        message: Value,
    },
    /// The reply, or the stream that resumed it, ended before the answer. `is_clean` if its end was regular.
    Ended {
        call: String,
        attempt: u32,
        node: String,
        is_clean: bool,
    },
    /// The client closed the connection.
    Cut {
        call: String,
        attempt: u32,
    },
    Resumed {
        call: String,
        attempt: u32,
        after: String,
        node: String,
        status: u16,
    },
    /// A call was answered with a status other than 200.
    Status {
        call: String,
        node: String,
        status: u16,
    },
    /// A node refused a request for now, and did not say when to try again.
    Unadvised {
        node: String,
    },
    /// The gate of a call was opened.
    Released {
        call: String,
    },
    /// The client begins to cancel a call.
    Cancelled {
        call: String,
    },
    /// The client takes a call for ended: it was cancelled, and its stream has ended.
    Closed {
        call: String,
    },
    /// The client has given up.
    Unended {
        call: String,
    },
    /// A message came on the notification stream of a session.
    News {
        principal: String,
        session: String,
        id: Option<String>,
        message: Value,
    },
    NewsResumed {
        session: String,
        after: Option<String>,
        node: String,
        status: u16,
    },
    /// A stream was opened that is bound to its node: the one of a conversation of 2024-11-05, whose name is the id of the
    /// conversation, or one of `subscriptions/listen`.
    Attached {
        stream: String,
        node: String,
        is_conversation: bool,
        /// When the stream was asked for.
        since: u64,
    },
    /// The stream ended, although the client had not closed it.
    Detached {
        stream: String,
    },
    /// The connection of a POST for a conversation of 2024-11-05 broke, so that the client ends the conversation.
    Unposted {
        stream: String,
        node: String,
    },
    /// A node does not know a conversation of 2024-11-05.
    Unfound {
        stream: String,
        node: String,
    },
    /// No notification followed an update.
    Untold {
        session: String,
        call: String,
        node: String,
    },
    Deleted {
        session: String,
    },
    /// A request to a session that was deleted.
    Visited {
        session: String,
        node: String,
        status: u16,
    },
    /// The notification stream of a session went on after its end.
    Outlived {
        session: String,
    },
    /// A request of a principal to something of the other one.
    Intruded {
        principal: String,
        node: String,
        status: u16,
        text: String,
    },
}

/// A line of the journal of the nodes.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Run {
    /// `run` or `stopped`.
    pub(crate) what: String,
    pub(crate) call: String,
    pub(crate) node: String,
    /// Milliseconds since the start.
    pub(crate) at: u64,
}

impl History {
    pub(crate) fn new(path: PathBuf) -> Self {
        let file = Mutex::new(File::create(&path).unwrap());
        let start_time = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis();
        Self { start: Instant::now(), start_time: u64::try_from(start_time).unwrap(), file, path }
    }

    /// Returns the time, in milliseconds since the start.
    pub(crate) fn now(&self) -> u64 {
        u64::try_from(self.start.elapsed().as_millis()).unwrap()
    }

    pub(crate) fn write(&self, fact: Fact) {
        let mut file = self.file.lock().unwrap();
        // Measured under the lock, so that the times are in the order of the lines.
        let at = self.now();
        let mut line = serde_json::to_vec(&Record { at, fact }).unwrap();
        line.push(b'\n');
        file.write_all(&line).unwrap();
    }

    /// Reads everything that was written.
    pub(crate) fn read(&self) -> Vec<Record> {
        let text = std::fs::read_to_string(&self.path).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// Reads the journal of the nodes.
    pub(crate) fn read_journal(&self, path: &Path) -> Vec<Run> {
        let text = std::fs::read_to_string(path).unwrap();
        let run = |line: &str| {
            let words: Vec<_> = line.split('\t').collect();
            let [what, call, node, _, time] = words[..] else {
                panic!("{line} is not a line of the journal")
            };
            let at = time.parse::<u64>().unwrap().saturating_sub(self.start_time);
            Run { what: what.to_owned(), call: call.to_owned(), node: node.to_owned(), at }
        };
        text.lines().map(run).collect()
    }
}

/// Returns the principal of a call.
pub(crate) fn principal_of(call: &str) -> &str {
    call.split('+').next().unwrap()
}
