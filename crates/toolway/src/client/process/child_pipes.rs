//! Which pipes does a child process have?

use std::io;

use tokio::process::{ChildStderr, ChildStdin, ChildStdout};

/// The pipes of a child process.
pub(super) struct ChildPipes {
    pub(super) stdin: ChildStdin,
    pub(super) stdout: ChildStdout,
    pub(super) stderr: ChildStderr,
}

impl ChildPipes {
    pub(super) fn new(
        stdin: Option<ChildStdin>,
        stdout: Option<ChildStdout>,
        stderr: Option<ChildStderr>,
    ) -> io::Result<Self> {
        match (stdin, stdout, stderr) {
            (Some(stdin), Some(stdout), Some(stderr)) => Ok(Self { stdin, stdout, stderr }),
            _ => Err(io::Error::other("the process has no pipes")),
        }
    }
}
