//! Servers that are child processes: is their output read, is their end reported, and does nothing of them remain?
//!
//! The children are real. Tests wait for their state in `/proc`, never for a fixed time.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod ending;
mod environment;
mod noise;
mod queue;
mod starting;
mod trouble;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use rustix::process::Pid;
use toolway::client::{Command, Connector, Inbox, OutgoingMessage, Transport};
use toolway::prelude::*;
use toolway::{BoxFuture, Error};
use toolway_protocol::Message;

/// The fixture in one of its modes, with a mark to find its process and all descendants.
struct Fixture {
    command: Command,
    mark: String,
}

impl Fixture {
    fn new(mode: &str) -> Self {
        Self::marked(Command::new(path()).arg(mode))
    }

    /// A fixture that ignores SIGTERM, as do its children.
    fn stubborn(mode: &str) -> Self {
        let script = "trap '' TERM; exec \"$0\" \"$@\"";
        Self::marked(Command::new("sh").args(["-c", script]).arg(path()).arg(mode))
    }

    fn marked(command: Command) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let mark = format!("{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        // Most tests let this timeout expire.
        let command = command.env("TOOLWAY_TEST_MARK", &mark).close_timeout(Duration::from_millis(300));
        Self { command, mark }
    }

    fn with(mut self, change: impl FnOnce(Command) -> Command) -> Self {
        self.command = change(self.command);
        self
    }

    async fn reach(&self) -> Kept {
        Kept(Arc::new(self.command.connect().await.unwrap()))
    }

    async fn connect(&self) -> Client {
        let (client, _) = self.connect_kept().await;
        client
    }

    async fn connect_kept(&self) -> (Client, Kept) {
        let transport = self.reach().await;
        let client = soon(Client::builder().connect(transport.clone())).await;
        (client.unwrap_or_else(|error| panic!("{error:?}")), transport)
    }

    /// Returns the processes that run now.
    fn processes(&self) -> Vec<Process> {
        let mark = format!("TOOLWAY_TEST_MARK={}", self.mark);
        let mut found = Vec::new();
        for entry in std::fs::read_dir("/proc").unwrap() {
            let Ok(pid) = entry.unwrap().file_name().to_str().unwrap().parse() else { continue };
            // The process may be gone, or of another user.
            let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            if environment.split(|byte| *byte == 0).any(|variable| variable == mark.as_bytes()) {
                found.push(Process(pid));
            }
        }
        found
    }

    /// Waits until there are `count` of them.
    async fn wait_for(&self, count: usize) -> Vec<Process> {
        soon(async {
            loop {
                match self.processes() {
                    processes if processes.len() == count => return processes,
                    _ => tokio::task::yield_now().await,
                }
            }
        })
        .await
    }
}

impl Fixture {
    /// Waits until there are `count` processes, and each of them but the server leads a session.
    async fn wait_for_sessions(&self, count: usize) -> Vec<Process> {
        soon(async {
            loop {
                let processes = self.processes();
                let leaders = processes.iter().filter(|process| process.leads_session()).count();
                if processes.len() == count && leaders + 1 == count {
                    return processes;
                }
                tokio::task::yield_now().await;
            }
        })
        .await
    }
}

/// A process, by its id.
#[derive(Debug, Clone, Copy)]
struct Process(i32);

impl Process {
    /// Waits until it has ended; a zombie counts only if it is not a child of ours.
    async fn gone(self) {
        soon(async {
            while !matches!(self.state(), None | Some(('Z', false))) {
                tokio::task::yield_now().await;
            }
        })
        .await;
    }

    /// Checks that a child of ours has ended and was reaped.
    #[track_caller]
    fn is_reaped(self) {
        assert!(!matches!(self.state(), Some((_, true))), "{self:?} is still there");
    }

    /// Returns its state, and whether it is a child of ours. The process that adopts orphans may leave them as zombies.
    fn state(self) -> Option<(char, bool)> {
        let [state, parent, ..] = self.stat()?;
        Some((state.chars().next()?, parent.parse() == Ok(std::process::id())))
    }

    /// Returns whether it leads its session. The number of a session whose leader is outside the container is 0.
    fn leads_session(self) -> bool {
        self.stat().is_some_and(|[.., session]| session.parse() == Ok(self.0))
    }

    /// Reads its state, parent, group and session.
    fn stat(self) -> Option<[String; 4]> {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.0)).ok()?;
        let (_, rest) = stat.rsplit_once(") ")?;
        let fields: Vec<_> = rest.split(' ').take(4).map(str::to_owned).collect();
        fields.try_into().ok()
    }

    fn kill(self) {
        rustix::process::kill_process(Pid::from_raw(self.0).unwrap(), rustix::process::Signal::KILL).unwrap();
    }
}

fn path() -> PathBuf {
    // Examples are built beside the tests: target/PROFILE/deps/process-… and target/PROFILE/examples/….
    let tests = std::env::current_exe().unwrap();
    tests.ancestors().nth(2).unwrap().join("examples/process-fixture")
}

/// A transport that a test can inspect while a client uses it. It ends when both are dropped.
#[derive(Clone)]
struct Kept(Arc<Box<dyn Transport>>);

impl Transport for Kept {
    fn send(&self, outgoing: OutgoingMessage) -> BoxFuture<'_, toolway::Result<Option<Message>>> {
        self.0.send(outgoing)
    }

    fn set_inbox(&self, inbox: Inbox) {
        self.0.set_inbox(inbox);
    }

    fn is_connected(&self) -> bool {
        self.0.is_connected()
    }

    fn diagnosis(&self) -> Option<String> {
        self.0.diagnosis()
    }

    fn close(&self) -> BoxFuture<'_, toolway::Result<()>> {
        self.0.close()
    }
}

impl Kept {
    /// Waits until the diagnosis contains this text.
    async fn says(&self, part: &str) -> String {
        soon(async {
            loop {
                match self.diagnosis().unwrap() {
                    diagnosis if diagnosis.contains(part) => return diagnosis,
                    _ => tokio::task::yield_now().await,
                }
            }
        })
        .await
    }
}

/// Fails if the work hangs.
async fn soon<T>(work: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(20), work).await.expect("it hangs")
}

/// Checks that an error contains these texts in both of its printed forms.
#[track_caller]
fn tells(error: &Error, parts: &[&str]) {
    let (lines, line) = (format!("{error:?}"), toolway::Chain(error).to_string());
    for part in parts {
        assert!(lines.contains(part) && line.contains(part), "{part:?} is not in {lines}");
    }
}
