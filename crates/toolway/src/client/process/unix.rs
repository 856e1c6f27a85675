//! How are a child process and its descendants ended and waited for on Unix? They form a process group. Processes that
//! have left the group are found one by one (`descendants.rs`).
//!
//! The child leads the group: its process id is the id of the group. The system cannot reuse the id until the child is
//! reaped. So the supervisor watches the child without reaping it, and reaps it only after the last signal to the
//! group.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use rustix::fs::{Access, access};
use rustix::io::retry_on_intr;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use tokio::process::{Child, Command};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::oneshot;
use tokio::time::timeout;

use crate::client::process::child_pipes::ChildPipes;
use crate::client::process::descendants::{self, Descendant, outside_of_group};
use crate::client::process::diagnosis::describe_exit;
use crate::client::process::environment::InheritedEnv;
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
    /// The mark in the environment of the child and its descendants.
    mark: Option<String>,
    /// The descendants outside of the group that were found so far.
    outsiders: Vec<Descendant>,
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
    pub(super) fn spawn(mut command: Command, inherit: InheritedEnv) -> io::Result<(Self, ChildPipes)> {
        let mark = descendants::mark(&mut command, inherit);
        // Register for SIGCHLD before the process exists, so that no signal is missed.
        let children = signal(SignalKind::child())?;
        let mut child = command.process_group(0).spawn()?;
        let pipes = ChildPipes::new(child.stdin.take(), child.stdout.take(), child.stderr.take())?;
        let pid = child.id().and_then(|pid| Pid::from_raw(pid.try_into().ok()?));
        let pid = pid.ok_or_else(|| io::Error::other("the process has no id"))?;
        let leader = GroupHandle(Arc::new(Mutex::new(GroupState { pid: Some(pid), is_terminated: false })));
        let (child, outsiders) = (Some(child), Vec::new());
        Ok((Self { child, pid, handle: leader, child_signals: children, mark, outsiders }, pipes))
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

    /// Looks for descendants outside of the group. They are found most reliably while their parents run.
    pub(super) async fn find_outsiders(&mut self) {
        // Without a leader it is not certain which processes are its descendants.
        let Some(leader) = self.handle.0.lock().pid else { return };
        let (sender, found) = oneshot::channel();
        let mark = self.mark.clone();
        // The system may be slow to describe a process that hangs. So this is not a thread that the runtime waits for.
        let search = move || drop(sender.send(outside_of_group(leader, mark.as_deref())));
        let _ = std::thread::Builder::new().name("toolway-search".to_owned()).spawn(search);
        if let Ok(Ok(found)) = timeout(SEARCH_TIMEOUT, found).await {
            self.outsiders.retain(|known| found.iter().all(|other| !other.is(known)));
            self.outsiders.extend(found);
        }
        self.outsiders.retain(Descendant::is_running);
    }

    /// Returns whether a descendant outside of the group still runs.
    pub(super) fn has_outsiders(&self) -> bool {
        self.outsiders.iter().any(Descendant::is_running)
    }

    /// Sends SIGTERM to the group, unless it was sent before, and to the descendants outside of it that were found.
    pub(super) fn terminate(&self) {
        self.handle.terminate();
        for outsider in &self.outsiders {
            outsider.signal(Signal::TERM);
        }
    }

    /// Kills the group, and the descendants outside of it that were found.
    pub(super) fn kill(&self) {
        self.handle.signal(Signal::KILL);
        for outsider in &self.outsiders {
            outsider.signal(Signal::KILL);
        }
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
        let (pid, leader, mark) = (self.pid, self.handle.clone(), self.mark.take());
        let reap = move || {
            let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
            let ended = retry_on_intr(|| waitid(WaitId::Pid(pid), options));
            if ended.is_ok() {
                for outsider in outside_of_group(pid, mark.as_deref()) {
                    outsider.signal(Signal::KILL);
                }
            }
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

/// The time that a search for descendants may take.
const SEARCH_TIMEOUT: Duration = Duration::from_secs(1);
