//! How are a child and its descendants ended and waited for on Windows? They form a job.

use std::io;
use std::path::Path;

use process_wrap::tokio::{ChildWrapper, CommandWrap, JobObject, KillOnDrop};
use tokio::process::Command;

use crate::client::process::child_pipes::ChildPipes;
use crate::client::process::diagnosis::end;

/// Returns whether a file can be executed. The caller has already checked its extension.
pub(super) fn is_program(file: &Path) -> bool {
    file.is_file()
}

/// A child and its descendants. Dropping it kills those that are left.
pub(super) struct Group(Box<dyn ChildWrapper>);

/// The counterpart of the Unix handle. It does nothing, because only the owner of the job can end it.
pub(super) struct Leader;

impl Leader {
    #[expect(clippy::unused_self, reason = "elsewhere it is needed")]
    pub(super) fn terminate(&self) {}
}

impl Group {
    pub(super) fn spawn(command: Command) -> io::Result<(Self, ChildPipes)> {
        let mut child = CommandWrap::from(command).wrap(KillOnDrop).wrap(JobObject).spawn()?;
        let (stdin, stdout, stderr) = (child.stdin().take(), child.stdout().take(), child.stderr().take());
        let pipes = ChildPipes::new(stdin, stdout, stderr)?;
        Ok((Self(child), pipes))
    }

    #[expect(clippy::unused_self, reason = "elsewhere it is needed")]
    pub(super) fn leader(&self) -> Leader {
        Leader
    }

    /// Waits until the first process has exited. Waiting for the whole job would include every process that it has
    /// started.
    pub(super) async fn exited(&mut self) -> String {
        end(self.0.inner_mut().wait().await.ok().and_then(|status| status.code()))
    }

    /// Kills the job, because Windows cannot ask it to exit.
    pub(super) fn terminate(&mut self) {
        self.kill();
    }

    pub(super) fn kill(&mut self) {
        let _ = self.0.start_kill();
    }

    /// Does nothing: Windows needs no reaping.
    #[expect(clippy::unused_self, reason = "elsewhere it is needed")]
    pub(super) fn reap(&mut self) {}
}
