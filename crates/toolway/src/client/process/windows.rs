//! How are a child and its descendants ended and waited for on Windows? They are a job.

use std::io;
use std::path::Path;

use process_wrap::tokio::{ChildWrapper, CommandWrap, JobObject, KillOnDrop};
use tokio::process::Command;

use crate::client::process::child_pipes::ChildPipes;
use crate::client::process::diagnosis::end;

/// Whether a file can be started: what its name ends with tells, and was looked at.
pub(super) fn is_program(file: &Path) -> bool {
    file.is_file()
}

/// A child and its descendants. Dropping it kills those that are left.
pub(super) struct Group(Box<dyn ChildWrapper>);

/// Lets others end the group; here nobody can who does not own it.
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

    /// Waits for the end of the first process; that of the whole job would wait for whatever it has started.
    pub(super) async fn exited(&mut self) -> String {
        end(self.0.inner_mut().wait().await.ok().and_then(|status| status.code()))
    }

    /// There is no way to ask.
    pub(super) fn terminate(&mut self) {
        self.kill();
    }

    pub(super) fn kill(&mut self) {
        let _ = self.0.start_kill();
    }

    /// The system needs no help to forget it.
    #[expect(clippy::unused_self, reason = "elsewhere it is needed")]
    pub(super) fn reap(&mut self) {}
}
