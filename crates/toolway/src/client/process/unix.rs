//! How are a child and its descendants told apart from others, ended and waited for on Unix? They are a process group.
//!
//! The first process leads the group. While it is not reaped, its number belongs to the group and to nobody else: so it is
//! watched without being reaped, and reaped only after the last signal to the group.

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

/// Whether a file can be started, as far as its permissions tell.
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

/// Lets others end the group, as long as it is there.
#[derive(Clone)]
pub(super) struct Leader(Arc<Mutex<Leading>>);

struct Leading {
    /// None once it is reaped.
    pid: Option<Pid>,
    is_told: bool,
}

impl Group {
    pub(super) fn spawn(mut command: Command) -> io::Result<(Self, ChildPipes)> {
        // Listening begins before there is anything to hear, so that nothing is missed.
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

    /// Waits for the end of the first process. It stays a zombie until [`reap`](Self::reap).
    pub(super) async fn exited(&mut self) -> String {
        loop {
            match look(self.pid) {
                Ok(None) => {}
                Ok(Some(end)) => return end,
                Err(_) => {
                    // It is no child of ours any more: somebody has waited for it, and its number may be another's.
                    self.leader.0.lock().pid = None;
                    return end(None);
                }
            }
            if self.children.recv().await.is_none() {
                // Nothing is ever heard; the pipes will tell.
                std::future::pending::<()>().await;
            }
        }
    }

    /// Asks all of them to end, once.
    pub(super) fn terminate(&self) {
        self.leader.terminate();
    }

    pub(super) fn kill(&self) {
        self.leader.signal(Signal::KILL);
    }

    /// Lets the system forget the first process, which has ended.
    pub(super) fn reap(&mut self) {
        // No signal may be on its way to a number that is given to somebody else meanwhile.
        let mut leading = self.leader.0.lock();
        leading.pid = None;
        if let Some(mut child) = self.child.take() {
            let _ = child.try_wait();
        }
    }
}

/// Whoever watched over it is gone: the runtime was shut down.
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
        // Without a thread it stays a zombie until this program ends.
        let _ = std::thread::Builder::new().name("toolway-reaper".to_owned()).spawn(reap);
    }
}

impl Leader {
    /// Asks the group to end, once: some programs give up at once when they are asked again.
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
            // They may all be gone.
            let _ = kill_process_group(pid, signal);
        }
    }
}

/// How the process has ended, if it has, without reaping it.
fn look(pid: Pid) -> rustix::io::Result<Option<String>> {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    let Some(status) = retry_on_intr(|| waitid(WaitId::Pid(pid), options))? else { return Ok(None) };
    Ok(Some(match (status.terminating_signal(), status.exit_status()) {
        (Some(signal), _) => format!("was killed by signal {signal}"),
        (None, status) => end(status),
    }))
}
