//! How are a child and its descendants identified, ended and waited for on Unix? They form a process group.
//!
//! The first process leads the group. Until it is reaped, its process id cannot be reused for another group. So the
//! supervisor watches it without reaping it, and reaps it only after the last signal to the group.

use std::io;
use std::path::Path;
use std::sync::Arc;

use rustix::fs::{Access, access};
use rustix::io::retry_on_intr;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use tokio::process::{Child, Command};
use tokio::signal::unix::{SignalKind, signal};

use crate::client::process::child_pipes::ChildPipes;
use crate::client::process::diagnosis::end;
use crate::ground::mutex::Mutex;

/// Returns whether a file can be executed, judging by its permissions.
pub(super) fn is_program(file: &Path) -> bool {
    file.is_file() && access(file, Access::EXEC_OK).is_ok()
}

/// A child and its descendants. Dropping it kills those that are left.
pub(super) struct Group {
    child: Option<Child>,
    pid: Pid,
    leader: Leader,
    children: tokio::signal::unix::Signal,
}

/// A handle that can end the group as long as it exists.
#[derive(Clone)]
pub(super) struct Leader(Arc<Mutex<Leading>>);

struct Leading {
    /// `None` once the process is reaped.
    pid: Option<Pid>,
    is_told: bool,
}

impl Group {
    pub(super) fn spawn(mut command: Command) -> io::Result<(Self, ChildPipes)> {
        // Register for the signal before the process exists, so that none is missed.
        let children = signal(SignalKind::child())?;
        let mut child = command.process_group(0).spawn()?;
        let pipes = ChildPipes::new(child.stdin.take(), child.stdout.take(), child.stderr.take())?;
        let pid = child.id().and_then(|pid| Pid::from_raw(pid.try_into().ok()?));
        let pid = pid.ok_or_else(|| io::Error::other("the process has no number"))?;
        let leader = Leader(Arc::new(Mutex::new(Leading { pid: Some(pid), is_told: false })));
        Ok((Self { child: Some(child), pid, leader, children }, pipes))
    }

    pub(super) fn leader(&self) -> Leader {
        self.leader.clone()
    }

    /// Waits until the first process has exited. It stays a zombie until [`reap`](Self::reap).
    pub(super) async fn exited(&mut self) -> String {
        loop {
            match look(self.pid) {
                Ok(None) => {}
                Ok(Some(end)) => return end,
                Err(_) => {
                    // It is no longer a child of this program: other code has waited for it, and its id may have been
                    // reused.
                    self.leader.0.lock().pid = None;
                    return end(None);
                }
            }
            if self.children.recv().await.is_none() {
                // The signal never arrives; the pipes will show the end.
                std::future::pending::<()>().await;
            }
        }
    }

    /// Sends SIGTERM to the group, once.
    pub(super) fn terminate(&self) {
        self.leader.terminate();
    }

    pub(super) fn kill(&self) {
        self.leader.signal(Signal::KILL);
    }

    /// Reaps the first process, which has ended.
    pub(super) fn reap(&mut self) {
        // Holding the lock prevents a signal to an id that is being reused.
        let mut leading = self.leader.0.lock();
        leading.pid = None;
        if let Some(mut child) = self.child.take() {
            let _ = child.try_wait();
        }
    }
}

/// Runs when the supervisor is dropped early because the runtime shuts down.
impl Drop for Group {
    fn drop(&mut self) {
        let Some(mut child) = self.child.take() else { return };
        self.kill();
        let (pid, leader) = (self.pid, self.leader.clone());
        let reap = move || {
            let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
            let _ = retry_on_intr(|| waitid(WaitId::Pid(pid), options));
            leader.0.lock().pid = None;
            let _ = child.try_wait();
        };
        // Without a thread the process stays a zombie until this program ends.
        let _ = std::thread::Builder::new().name("toolway-reaper".to_owned()).spawn(reap);
    }
}

impl Leader {
    /// Sends SIGTERM to the group, once: some programs abort their shutdown when they receive it again.
    pub(super) fn terminate(&self) {
        let mut leading = self.0.lock();
        if !std::mem::replace(&mut leading.is_told, true)
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

/// How the process has ended, without reaping it; `None` while it runs.
fn look(pid: Pid) -> rustix::io::Result<Option<String>> {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    let Some(status) = retry_on_intr(|| waitid(WaitId::Pid(pid), options))? else { return Ok(None) };
    Ok(Some(match (status.terminating_signal(), status.exit_status()) {
        (Some(signal), _) => format!("was killed by signal {signal}"),
        (None, status) => end(status),
    }))
}
