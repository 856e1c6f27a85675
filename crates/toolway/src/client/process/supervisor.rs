//! How is a running server monitored and ended, and how does the client find out why the server ended?
//!
//! One task, the supervisor, owns the process and the three tasks that read and write its pipes. The supervisor ends
//! when the process is gone, and the other tasks end with it. It also ends the processes that the server has started.

use std::convert::Infallible;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::ChildStdout;
use tokio::sync::{SetOnce, oneshot};
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::timeout;

use crate::client::pipe::outbox::WriteQueue;
use crate::client::pipe::reader::{Ended, read};
use crate::client::pipe::received::{Hook, Received};
use crate::client::pipe::state::PipeState;
use crate::client::pipe::transport::{FarEnd, PipeTransport};
use crate::client::pipe::writer::write;
use crate::client::process::child_pipes::ChildPipes;
use crate::client::process::diagnosis::{Facts, Trouble};
use crate::client::process::platform::{Group, Leader};
use crate::client::wire::transport::Transport;
use crate::ground::error::{Error, ErrorKind, Result};
use crate::ground::future::BoxFuture;
use crate::transport::frame::MAX_MESSAGE;

/// The client's handle to a running server.
struct Process {
    facts: Arc<Facts>,
    /// A handle that can send SIGTERM to the server.
    leader: Leader,
    gone: Arc<SetOnce<Gone>>,
    /// Dropping this sender tells the supervisor not to wait for the server to exit on its own.
    _held: oneshot::Sender<Infallible>,
}

/// The state of a process after the supervisor has ended it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Gone {
    Yes,
    /// The process was killed, but the system has not ended it yet.
    NotYet,
}

/// Starts the supervisor of a process. Dropping the returned transport ends the process.
pub(super) fn start(
    facts: Facts,
    group: Group,
    pipes: ChildPipes,
    close_timeout: Duration,
    max_message: Option<usize>,
    on_stray_line: Option<Hook>,
) -> impl Transport {
    let (pipe, queue) = PipeState::new();
    if let Some(hook) = on_stray_line {
        pipe.received.tell_of_stray_lines(hook);
    }
    let (pipe, facts, gone) = (Arc::new(pipe), Arc::new(facts), Arc::new(SetOnce::new()));
    let (held, released) = oneshot::channel();
    let leader = group.leader();
    let mut supervisor = Supervisor {
        pipe: pipe.clone(),
        facts: facts.clone(),
        group,
        gone: gone.clone(),
        close_timeout,
        tasks: JoinSet::new(),
        writing: None,
        trouble: None,
        is_stdout_open: true,
        is_stderr_open: true,
    };
    supervisor.begin(pipes, queue);
    tokio::spawn(supervisor.run(released));
    let transport = PipeTransport::new(pipe, max_message, Process { facts, leader, gone, _held: held });
    transport.use_max_message(MAX_MESSAGE);
    transport
}

impl FarEnd for Process {
    fn diagnosis(&self, received: &Received) -> Option<String> {
        Some(self.facts.diagnosis(received))
    }

    fn closed(&self) -> BoxFuture<'_, Result<()>> {
        Box::pin(async {
            match self.gone.wait().await {
                Gone::Yes => Ok(()),
                Gone::NotYet => Err(Error::new(
                    ErrorKind::Timeout,
                    format!(
                        "the server `{}` was killed, but the system has not ended it yet",
                        self.facts.name
                    ),
                )),
            }
        })
    }

    /// Sends SIGTERM from here and not from the supervisor, because the runtime of the supervisor may not be running at
    /// the moment.
    fn abandon(&self) {
        self.leader.terminate();
    }
}

struct Supervisor {
    pipe: Arc<PipeState>,
    facts: Arc<Facts>,
    group: Group,
    gone: Arc<SetOnce<Gone>>,
    close_timeout: Duration,
    tasks: JoinSet<Event>,
    writing: Option<AbortHandle>,
    trouble: Option<Trouble>,
    is_stdout_open: bool,
    is_stderr_open: bool,
}

/// The events that the tasks of the supervisor report when they end.
enum Event {
    Read(Ended, ChildStdout),
    Written(io::Result<()>),
    StdoutDrained,
    StderrDrained,
}

impl Supervisor {
    /// Starts the tasks that read stdout, write stdin and read stderr.
    fn begin(&mut self, pipes: ChildPipes, queue: WriteQueue) {
        let ChildPipes { stdin, mut stdout, stderr } = pipes;
        let pipe = self.pipe.clone();
        self.tasks.spawn(async move {
            let ended = read(&mut stdout, &pipe).await;
            Event::Read(ended, stdout)
        });
        let pipe = self.pipe.clone();
        self.writing =
            Some(self.tasks.spawn(async move { Event::Written(write(stdin, &pipe, queue).await) }));
        let facts = self.facts.clone();
        self.tasks.spawn(async move {
            facts.stderr.drain(stderr, &facts.name).await;
            Event::StderrDrained
        });
    }

    /// Monitors the server until it ends, has a problem, or is closed. Then ends the pipe and the process.
    async fn run(mut self, mut released: oneshot::Receiver<Infallible>) {
        let pipe = self.pipe.clone();
        while self.trouble.is_none() && !self.has_exited() {
            tokio::select! {
                () = pipe.ended() => break,
                () = self.step() => {}
            }
        }
        pipe.fade();
        tokio::select! {
            biased;
            () = pipe.ended() => {}
            () = self.find_out() => {}
        }
        self.pipe.end(self.facts.over(self.trouble, &self.pipe.received));
        self.take_down(&mut released).await;
    }

    /// Waits for the next event and handles it.
    async fn step(&mut self) {
        tokio::select! {
            end = self.group.exited(), if self.facts.end.get().is_none() => {
                let _ = self.facts.end.set(end);
            }
            // A task that was aborted reports no event.
            Some(event) = self.tasks.join_next() => if let Ok(event) = event {
                self.take(event);
            },
            else => std::future::pending().await,
        }
    }

    fn take(&mut self, event: Event) {
        match event {
            Event::Read(ended, stdout) => {
                let trouble = match ended {
                    // Continue to read, because otherwise a server that writes much before it exits would block.
                    Ended::Over => {
                        self.tasks.spawn(async move {
                            drain(stdout).await;
                            Event::StdoutDrained
                        });
                        return;
                    }
                    Ended::TooLong => Trouble::TooLong(self.pipe.max_message()),
                    Ended::Closed | Ended::Broke(_) => Trouble::OutputClosed,
                };
                self.is_stdout_open = false;
                self.trouble = Some(trouble);
            }
            Event::Written(Ok(())) => {}
            Event::Written(Err(error)) => {
                tracing::debug!(server = self.facts.name, %error, "writing to the server failed");
                self.trouble = self.trouble.or(Some(Trouble::InputClosed));
            }
            Event::StdoutDrained => self.is_stdout_open = false,
            Event::StderrDrained => self.is_stderr_open = false,
        }
    }

    /// Handles events until `is_so` returns `true`, but no longer than `within`.
    async fn until(&mut self, within: Duration, is_so: impl Fn(&Self) -> bool) {
        let waiting = async {
            while !is_so(self) {
                self.step().await;
            }
        };
        // The caller checks the condition again, so a timeout is not an error.
        let _ = timeout(within, waiting).await;
    }

    fn has_exited(&self) -> bool {
        self.facts.end.get().is_some()
    }

    /// Returns whether the process has exited, and its stdout and stderr are closed, so that no descendant holds them
    /// open.
    fn is_quiet(&self) -> bool {
        self.has_exited() && !self.is_stdout_open && !self.is_stderr_open
    }

    /// Waits a moment for the exit status and the last output, so that errors can report them. The pipes of a process
    /// close before the process has ended, and its last output can arrive after its end.
    async fn find_out(&mut self) {
        if matches!(self.trouble, Some(Trouble::TooLong(_))) {
            return;
        }
        self.until(A_MOMENT, Self::has_exited).await;
        if self.has_exited() && !self.is_quiet() {
            // The pipes are still open, because processes that the server has started hold them.
            self.group.terminate();
            self.until(A_MOMENT, Self::is_quiet).await;
        }
    }

    /// Ends the process and all processes that it has started. Waits for the server to exit after its input was closed,
    /// then sends SIGTERM, then kills the processes.
    async fn take_down(mut self, released: &mut oneshot::Receiver<Infallible>) {
        let patience = self.close_timeout;
        tokio::select! {
            biased;
            // The transport was dropped, which has sent SIGTERM already.
            _ = released => {}
            () = self.until(patience, Self::has_exited) => {}
        }
        // Aborting the writer closes the server's input even if the server does not read.
        if let Some(writing) = self.writing.take() {
            writing.abort();
        }
        if !self.is_quiet() {
            self.group.terminate();
            self.until(patience, Self::is_quiet).await;
        }
        self.group.kill();
        self.until(MAX_DYING, Self::has_exited).await;
        if !self.has_exited() {
            let _ = self.gone.set(Gone::NotYet);
            while !self.has_exited() {
                self.step().await;
            }
        }
        self.group.reap();
        let _ = self.gone.set(Gone::Yes);
    }
}

/// Ends the pipe however the supervisor ends, so that no call waits forever.
impl Drop for Supervisor {
    fn drop(&mut self) {
        self.pipe.end(Error::new(
            ErrorKind::Transport,
            format!("the server `{}` was ended: the runtime it belonged to was shut down", self.facts.name),
        ));
        let _ = self.gone.set(Gone::Yes);
    }
}

/// Reads and discards everything up to the end.
async fn drain(mut reader: impl AsyncRead + Unpin) {
    let mut buffer = [0; 8 << 10];
    while let Ok(1..) = reader.read(&mut buffer).await {}
}

/// How long the supervisor waits for the exit of a server whose pipe was closed, and for the pipes of a server that has
/// exited. After that, calls fail with the facts that are known.
const A_MOMENT: Duration = Duration::from_secs(1);
/// How long the system may take to end a process that was killed.
const MAX_DYING: Duration = Duration::from_secs(5);
