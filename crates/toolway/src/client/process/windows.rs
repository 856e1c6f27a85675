//! How are a child process and its descendants ended and waited for on Windows? They form a job object.

use std::io;
use std::path::Path;

use process_wrap::tokio::{ChildWrapper, CommandWrap, JobObject, KillOnDrop};
use tokio::process::Command;

use crate::client::process::child_pipes::ChildPipes;
use crate::client::process::diagnosis::describe_exit;
use crate::client::process::environment::InheritedEnv;

/// Returns whether the file exists. The caller has checked that the name has an extension.
pub(super) fn is_program(file: &Path) -> bool {
    file.is_file()
}

/// A child process and its descendants. Dropping the group kills the processes that are still running.
pub(super) struct ProcessGroup(Box<dyn ChildWrapper>);

/// The counterpart of the handle in `unix.rs`. It does nothing, because only the owner of the job object can end the
/// job.
pub(super) struct GroupHandle;

impl GroupHandle {
    #[expect(clippy::unused_self, reason = "other platforms need `self`")]
    pub(super) fn terminate(&self) {}
}

impl ProcessGroup {
    pub(super) fn spawn(command: Command, _inherit: InheritedEnv) -> io::Result<(Self, ChildPipes)> {
        let mut child = CommandWrap::from(command).wrap(KillOnDrop).wrap(JobObject).spawn()?;
        let (stdin, stdout, stderr) = (child.stdin().take(), child.stdout().take(), child.stderr().take());
        let pipes = ChildPipes::new(stdin, stdout, stderr)?;
        Ok((Self(child), pipes))
    }

    #[expect(clippy::unused_self, reason = "other platforms need `self`")]
    pub(super) fn handle(&self) -> GroupHandle {
        GroupHandle
    }

    /// Waits until the child has exited, and returns a description of how it ended. Waiting for the whole job would
    /// also wait for every process that the child has started.
    pub(super) async fn exited(&mut self) -> String {
        describe_exit(self.0.inner_mut().wait().await.ok().and_then(|status| status.code()))
    }

    /// Does nothing: a process cannot leave the job.
    #[expect(clippy::unused_async, clippy::unused_self, reason = "other platforms need both")]
    pub(super) async fn find_outsiders(&mut self) {}

    #[expect(clippy::unused_self, reason = "other platforms need `self`")]
    pub(super) fn has_outsiders(&self) -> bool {
        false
    }

    /// Kills the job, because Windows has no SIGTERM to ask the processes to exit.
    pub(super) fn terminate(&mut self) {
        self.kill();
    }

    pub(super) fn kill(&mut self) {
        let _ = self.0.start_kill();
    }

    /// Does nothing: Windows needs no reaping.
    #[expect(clippy::unused_self, reason = "other platforms need `self`")]
    pub(super) fn reap(&mut self) {}
}
