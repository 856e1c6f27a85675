//! Which pipes does a child process have?

use std::io;

use tokio::process::{ChildStderr, ChildStdin, ChildStdout};

/// The standard streams of a child process, seen from this program.
pub(super) struct ChildPipes {
    pub(super) stdin: ChildStdin,
    pub(super) stdout: ChildStdout,
    pub(super) stderr: ChildStderr,
}

impl ChildPipes {
    /// Takes the three streams. Fails if one of them is missing.
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
