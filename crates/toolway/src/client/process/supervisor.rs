//! How is a running server monitored and ended, and how does the client find out why the server ended?
//!
//! One task, the supervisor, owns the process and the three tasks that read and write its pipes. The supervisor ends
//! when the process is gone, and the other tasks end with it. It also ends the processes that the server has started.

use std::convert::Infallible;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt, DuplexStream, copy};
use tokio::process::{ChildStderr, ChildStdout};
use tokio::sync::{SetOnce, oneshot};
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::{sleep, timeout};

use crate::client::pipe::outbox::WriteQueue;
use crate::client::pipe::output_record::{LineHook, OutputRecord};
use crate::client::pipe::reader::{ReadEnd, read};
use crate::client::pipe::state::PipeState;
use crate::client::pipe::transport::{FarEnd, PipeTransport};
use crate::client::pipe::writer::write;
use crate::client::process::child_pipes::ChildPipes;
use crate::client::process::diagnosis::{PipeFailure, ProcessFacts};
use crate::client::process::platform::{GroupHandle, ProcessGroup};
use crate::client::record::Recorder;
use crate::client::wire::transport::Transport;
use crate::ground::error::{Error, ErrorKind, Result};
use crate::ground::future::BoxFuture;
use crate::transport::frame::MAX_MESSAGE;

/// The client's handle to a running server.
struct Process {
    facts: Arc<ProcessFacts>,
    /// A handle that can send SIGTERM to the server.
    group_handle: GroupHandle,
    shutdown: Arc<SetOnce<ShutdownState>>,
    /// Dropping this sender tells the supervisor not to wait for the server to exit on its own.
    _release_on_drop: oneshot::Sender<Infallible>,
}

/// The state of a process after the supervisor has ended it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ShutdownState {
    Exited,
    /// The process was killed, but the system has not ended it yet.
    StillExiting,
}

/// Starts the supervisor of a process. Dropping the returned transport ends the process.
pub(super) fn start(
    facts: ProcessFacts,
    group: ProcessGroup,
    pipes: ChildPipes,
    close_timeout: Duration,
    max_message: Option<usize>,
    on_stray_line: Option<LineHook>,
    recorder: Option<Recorder>,
) -> impl Transport {
    let (pipe, queue) = PipeState::new(recorder);
    if let Some(hook) = on_stray_line {
        pipe.output.set_stray_line_hook(hook);
    }
    let transport = supervise(facts, group, close_timeout, max_message, pipe, |supervisor| {
        supervisor.spawn_tasks(pipes, queue);
    });
    transport.set_max_message(MAX_MESSAGE);
    transport
}

/// Starts the supervisor of a process whose stdin and stdout are passed on through `far`. The transport cannot send; it
/// ends the process when it is dropped.
pub(super) fn start_unread(
    facts: ProcessFacts,
    group: ProcessGroup,
    pipes: ChildPipes,
    close_timeout: Duration,
    far: DuplexStream,
) -> impl Transport {
    let (pipe, _) = PipeState::new(None);
    supervise(facts, group, close_timeout, None, pipe, |supervisor| supervisor.spawn_unread_tasks(pipes, far))
}

fn supervise(
    facts: ProcessFacts,
    group: ProcessGroup,
    close_timeout: Duration,
    max_message: Option<usize>,
    pipe: PipeState,
    spawn_tasks: impl FnOnce(&mut Supervisor),
) -> PipeTransport<Process> {
    let (pipe, facts, gone) = (Arc::new(pipe), Arc::new(facts), Arc::new(SetOnce::new()));
    let (held, released) = oneshot::channel();
    let leader = group.handle();
    let mut supervisor = Supervisor {
        pipe: pipe.clone(),
        facts: facts.clone(),
        group,
        shutdown: gone.clone(),
        close_timeout,
        tasks: JoinSet::new(),
        writer_task: None,
        stdin_hold: None,
        pipe_failure: None,
        is_stdout_open: true,
        is_stderr_open: true,
    };
    spawn_tasks(&mut supervisor);
    tokio::spawn(supervisor.run(released));
    PipeTransport::new(
        pipe,
        max_message,
        Process { facts, group_handle: leader, shutdown: gone, _release_on_drop: held },
    )
}

impl FarEnd for Process {
    fn diagnosis(&self, received: &OutputRecord) -> Option<String> {
        Some(self.facts.diagnosis(received))
    }

    fn closed(&self) -> BoxFuture<'_, Result<()>> {
        Box::pin(async {
            match self.shutdown.wait().await {
                ShutdownState::Exited => Ok(()),
                ShutdownState::StillExiting => Err(Error::new(
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
    fn on_drop(&self) {
        self.group_handle.terminate();
    }
}

struct Supervisor {
    pipe: Arc<PipeState>,
    facts: Arc<ProcessFacts>,
    group: ProcessGroup,
    shutdown: Arc<SetOnce<ShutdownState>>,
    close_timeout: Duration,
    tasks: JoinSet<TaskEvent>,
    writer_task: Option<AbortHandle>,
    /// Keeps the server's input open after the last message. Dropping it closes the input.
    stdin_hold: Option<oneshot::Sender<Infallible>>,
    pipe_failure: Option<PipeFailure>,
    is_stdout_open: bool,
    is_stderr_open: bool,
}

/// The events that the tasks of the supervisor report when they end.
enum TaskEvent {
    Read(ReadEnd, ChildStdout),
    Written(io::Result<()>),
    StdoutDrained,
    StderrDrained,
}

impl Supervisor {
    /// Starts the tasks that read stdout, write stdin and read stderr.
    fn spawn_tasks(&mut self, pipes: ChildPipes, queue: WriteQueue) {
        let ChildPipes { mut stdin, mut stdout, stderr } = pipes;
        let pipe = self.pipe.clone();
        self.tasks.spawn(async move {
            let ended = read(&mut stdout, &pipe).await;
            TaskEvent::Read(ended, stdout)
        });
        let pipe = self.pipe.clone();
        let (hold, released) = oneshot::channel();
        self.stdin_hold = Some(hold);
        self.writer_task = Some(self.tasks.spawn(async move {
            let outcome = write(&mut stdin, &pipe, queue).await;
            if outcome.is_ok() {
                let _ = released.await;
            }
            TaskEvent::Written(outcome)
        }));
        self.spawn_stderr_task(stderr);
    }

    /// Starts the tasks that pass stdout and stdin on, and read stderr.
    fn spawn_unread_tasks(&mut self, pipes: ChildPipes, far: DuplexStream) {
        let ChildPipes { mut stdin, mut stdout, stderr } = pipes;
        let (mut from_near, mut to_near) = tokio::io::split(far);
        // What the server has written is passed on even after it has ended, however slowly it is read. So this task
        // belongs to the near end: it ends when that is dropped.
        let copying = tokio::spawn(async move {
            let copied = copy(&mut stdout, &mut to_near).await;
            let _ = to_near.shutdown().await;
            (copied.map_or_else(ReadEnd::Failed, |_| ReadEnd::Closed), stdout)
        });
        self.tasks.spawn(async move {
            match copying.await {
                Ok((ended, stdout)) => TaskEvent::Read(ended, stdout),
                Err(_) => TaskEvent::StdoutDrained,
            }
        });
        let pipe = self.pipe.clone();
        self.writer_task = Some(self.tasks.spawn(async move {
            let outcome = tokio::select! {
                biased;
                () = pipe.sending_stopped() => Ok(()),
                copied = copy(&mut from_near, &mut stdin) => copied.map(drop),
            };
            let _ = stdin.shutdown().await;
            TaskEvent::Written(outcome)
        }));
        self.spawn_stderr_task(stderr);
    }

    fn spawn_stderr_task(&mut self, stderr: ChildStderr) {
        let facts = self.facts.clone();
        self.tasks.spawn(async move {
            facts.stderr.drain(stderr, &facts.name).await;
            TaskEvent::StderrDrained
        });
    }

    /// Monitors the server until it ends, has a problem, or is closed. Then ends the pipe and the process.
    async fn run(mut self, mut released: oneshot::Receiver<Infallible>) {
        let pipe = self.pipe.clone();
        while self.pipe_failure.is_none() && !self.has_exited() {
            tokio::select! {
                () = pipe.ended() => break,
                () = self.step() => {}
            }
        }
        // The processes that the server has started are known by their parents only while these run. So the search comes
        // before the server learns that the client is gone.
        self.group.find_outsiders().await;
        self.stdin_hold = None;
        pipe.stop_sending();
        tokio::select! {
            biased;
            () = pipe.ended() => {}
            () = self.collect_exit_details() => {}
        }
        self.pipe.end(self.facts.end_error(self.pipe_failure, &self.pipe.output));
        self.shut_down(&mut released).await;
    }

    /// Waits for the next event and handles it.
    async fn step(&mut self) {
        tokio::select! {
            end = self.group.exited(), if self.facts.end_description.get().is_none() => {
                let _ = self.facts.end_description.set(end);
            }
            // A task that was aborted reports no event.
            Some(event) = self.tasks.join_next() => if let Ok(event) = event {
                self.handle_event(event);
            },
            else => std::future::pending().await,
        }
    }

    fn handle_event(&mut self, event: TaskEvent) {
        match event {
            TaskEvent::Read(ended, stdout) => {
                let trouble = match ended {
                    // Continue to read, because otherwise a server that writes much before it exits would block.
                    ReadEnd::PipeEnded => {
                        self.tasks.spawn(async move {
                            drain(stdout).await;
                            TaskEvent::StdoutDrained
                        });
                        return;
                    }
                    ReadEnd::TooLong => PipeFailure::TooLong(self.pipe.max_message()),
                    ReadEnd::Closed | ReadEnd::Failed(_) => PipeFailure::OutputClosed,
                };
                self.is_stdout_open = false;
                self.pipe_failure = Some(trouble);
            }
            TaskEvent::Written(Ok(())) => {}
            TaskEvent::Written(Err(error)) => {
                tracing::debug!(server = self.facts.name, %error, "writing to the server failed");
                self.pipe_failure = self.pipe_failure.or(Some(PipeFailure::InputClosed));
            }
            TaskEvent::StdoutDrained => self.is_stdout_open = false,
            TaskEvent::StderrDrained => self.is_stderr_open = false,
        }
    }

    /// Handles events until `is_so` returns `true`, but no longer than `within`.
    async fn run_until(&mut self, within: Duration, is_so: impl Fn(&Self) -> bool) {
        let waiting = async {
            while !is_so(self) {
                self.step().await;
            }
        };
        // The caller checks the condition again, so a timeout is not an error.
        let _ = timeout(within, waiting).await;
    }

    /// Waits until the server and all processes that it has started have ended, but no longer than `within`.
    async fn wait_for_all(&mut self, within: Duration) {
        let waiting = async {
            while !self.has_finished() {
                self.step().await;
            }
            self.wait_for_outsiders().await;
        };
        let _ = timeout(within, waiting).await;
    }

    /// Waits until the processes outside of the server's group have ended. They are not children of this program, so the
    /// system does not report their end.
    async fn wait_for_outsiders(&self) {
        while self.group.has_outsiders() {
            sleep(OUTSIDER_POLL_INTERVAL).await;
        }
    }

    fn has_exited(&self) -> bool {
        self.facts.end_description.get().is_some()
    }

    /// Returns whether the process has exited, and its stdout and stderr are closed, so that no descendant holds them
    /// open.
    fn has_finished(&self) -> bool {
        self.has_exited() && !self.is_stdout_open && !self.is_stderr_open
    }

    /// Waits a moment for the exit status and the last output, so that errors can report them. The pipes of a process
    /// close before the process has ended, and its last output can arrive after its end.
    async fn collect_exit_details(&mut self) {
        if matches!(self.pipe_failure, Some(PipeFailure::TooLong(_))) {
            return;
        }
        self.run_until(EXIT_DETAILS_TIMEOUT, Self::has_exited).await;
        if self.has_exited() && !self.has_finished() {
            // The pipes are still open, because processes that the server has started hold them.
            self.group.terminate();
            self.run_until(EXIT_DETAILS_TIMEOUT, Self::has_finished).await;
        }
    }

    /// Ends the process and all processes that it has started. Waits for the server to exit after its input was closed,
    /// then sends SIGTERM, then kills the processes.
    async fn shut_down(mut self, released: &mut oneshot::Receiver<Infallible>) {
        let patience = self.close_timeout;
        tokio::select! {
            biased;
            // The transport was dropped, which has sent SIGTERM already.
            _ = released => {}
            () = self.run_until(patience, Self::has_exited) => {}
        }
        // Aborting the writer closes the server's input even if the server does not read.
        if let Some(writing) = self.writer_task.take() {
            writing.abort();
        }
        self.group.find_outsiders().await;
        if !self.has_finished() || self.group.has_outsiders() {
            self.group.terminate();
            self.wait_for_all(patience).await;
            // A process may have started others since.
            self.group.find_outsiders().await;
        }
        self.group.kill();
        self.run_until(KILL_TIMEOUT, Self::has_exited).await;
        let _ = timeout(KILL_TIMEOUT, self.wait_for_outsiders()).await;
        if !self.has_exited() {
            let _ = self.shutdown.set(ShutdownState::StillExiting);
            while !self.has_exited() {
                self.step().await;
            }
        }
        self.group.reap();
        let _ = self.shutdown.set(ShutdownState::Exited);
    }
}

/// Ends the pipe however the supervisor ends, so that no call waits forever.
impl Drop for Supervisor {
    fn drop(&mut self) {
        self.pipe.end(Error::new(
            ErrorKind::Transport,
            format!("the server `{}` was ended: the runtime it belonged to was shut down", self.facts.name),
        ));
        let _ = self.shutdown.set(ShutdownState::Exited);
    }
}

/// Reads and discards everything up to the end.
async fn drain(mut reader: impl AsyncRead + Unpin) {
    let mut buffer = [0; 8 << 10];
    while let Ok(1..) = reader.read(&mut buffer).await {}
}

/// How long the supervisor waits for the exit of a server whose pipe was closed, and for the pipes of a server that has
/// exited. After that, calls fail with the facts that are known.
const EXIT_DETAILS_TIMEOUT: Duration = Duration::from_secs(1);
/// How long the system may take to end a process that was killed.
const KILL_TIMEOUT: Duration = Duration::from_secs(5);
/// The interval at which the supervisor checks whether the processes outside of the server's group have ended.
const OUTSIDER_POLL_INTERVAL: Duration = Duration::from_millis(20);
