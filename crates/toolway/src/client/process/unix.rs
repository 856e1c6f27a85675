//! How are a child process and its descendants ended and waited for on Unix? They form a process group.
//!
//! The child leads the group: its process id is the id of the group. The system cannot reuse the id until the child is
//! reaped. So the supervisor watches the child without reaping it, and reaps it only after the last signal to the
//! group.

use std::io;
use std::path::Path;
use std::sync::Arc;

use rustix::fs::{Access, access};
use rustix::io::retry_on_intr;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use tokio::process::{Child, Command};
use tokio::signal::unix::{SignalKind, signal};

use crate::client::process::child_pipes::ChildPipes;
use crate::client::process::diagnosis::describe_exit;
use crate::ground::mutex::Mutex;

/// Returns whether a file can be executed, judging by its permissions.
pub(super) fn is_program(file: &Path) -> bool {
    file.is_file() && access(file, Access::EXEC_OK).is_ok()
}

/// A child process and its descendants. Dropping the group before [`reap`](Self::reap) kills all its processes.
pub(super) struct ProcessGroup {
    child: Option<Child>,
    pid: Pid,
    handle: GroupHandle,
    child_signals: tokio::signal::unix::Signal,
}

/// A handle that can send signals to the group until the leader is reaped.
#[derive(Clone)]
pub(super) struct GroupHandle(Arc<Mutex<GroupState>>);

struct GroupState {
    /// `None` once the leader is reaped, because its process id may then be reused.
    pid: Option<Pid>,
    /// `true` once SIGTERM was sent.
    is_terminated: bool,
}

impl ProcessGroup {
    pub(super) fn spawn(mut command: Command) -> io::Result<(Self, ChildPipes)> {
        // Register for SIGCHLD before the process exists, so that no signal is missed.
        let children = signal(SignalKind::child())?;
        let mut child = command.process_group(0).spawn()?;
        let pipes = ChildPipes::new(child.stdin.take(), child.stdout.take(), child.stderr.take())?;
        let pid = child.id().and_then(|pid| Pid::from_raw(pid.try_into().ok()?));
        let pid = pid.ok_or_else(|| io::Error::other("the process has no id"))?;
        let leader = GroupHandle(Arc::new(Mutex::new(GroupState { pid: Some(pid), is_terminated: false })));
        Ok((Self { child: Some(child), pid, handle: leader, child_signals: children }, pipes))
    }

    pub(super) fn handle(&self) -> GroupHandle {
        self.handle.clone()
    }

    /// Waits until the child has exited, and returns a description of how it ended. The child stays a zombie until
    /// [`reap`](Self::reap).
    pub(super) async fn exited(&mut self) -> String {
        loop {
            match exit_status_without_reaping(self.pid) {
                Ok(None) => {}
                Ok(Some(end)) => return end,
                Err(_) => {
                    // The process is no longer a child of this program: other code has waited for it, and its id may
                    // have been reused.
                    self.handle.0.lock().pid = None;
                    return describe_exit(None);
                }
            }
            if self.child_signals.recv().await.is_none() {
                // SIGCHLD no longer arrives. The end of the pipes will show that the process has ended.
                std::future::pending::<()>().await;
            }
        }
    }

    /// Sends SIGTERM to the group, unless it was sent before.
    pub(super) fn terminate(&self) {
        self.handle.terminate();
    }

    pub(super) fn kill(&self) {
        self.handle.signal(Signal::KILL);
    }

    /// Reaps the child, which must have ended.
    pub(super) fn reap(&mut self) {
        // Holding the lock prevents a signal to a process id that is being released.
        let mut leading = self.handle.0.lock();
        leading.pid = None;
        if let Some(mut child) = self.child.take() {
            let _ = child.try_wait();
        }
    }
}

/// Kills the group if the child was not reaped, which happens if the runtime shuts down and drops the supervisor early.
impl Drop for ProcessGroup {
    fn drop(&mut self) {
        let Some(mut child) = self.child.take() else { return };
        self.kill();
        let (pid, leader) = (self.pid, self.handle.clone());
        let reap = move || {
            let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
            let _ = retry_on_intr(|| waitid(WaitId::Pid(pid), options));
            leader.0.lock().pid = None;
            let _ = child.try_wait();
        };
        // If the thread cannot be started, the child stays a zombie until this program ends.
        let _ = std::thread::Builder::new().name("toolway-reaper".to_owned()).spawn(reap);
    }
}

impl GroupHandle {
    /// Sends SIGTERM to the group, but only once: some programs abort their shutdown when they receive a second
    /// SIGTERM.
    pub(super) fn terminate(&self) {
        let mut leading = self.0.lock();
        if !std::mem::replace(&mut leading.is_terminated, true)
            && let Some(pid) = leading.pid
        {
            let _ = kill_process_group(pid, Signal::TERM);
        }
    }

    fn signal(&self, signal: Signal) {
        if let Some(pid) = self.0.lock().pid {
            // All processes may be gone already.
            let _ = kill_process_group(pid, signal);
        }
    }
}

/// Returns how the process has ended, without reaping it. Returns `None` while the process runs.
fn exit_status_without_reaping(pid: Pid) -> rustix::io::Result<Option<String>> {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    let Some(status) = retry_on_intr(|| waitid(WaitId::Pid(pid), options))? else { return Ok(None) };
    Ok(Some(match (status.terminating_signal(), status.exit_status()) {
        (Some(signal), _) => format!("was killed by signal {signal}"),
        (None, status) => describe_exit(status),
    }))
}
