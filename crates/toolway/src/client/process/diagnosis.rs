//! What is known about a server that has ended or does not answer, and how do errors report it?

use std::sync::OnceLock;

use crate::client::pipe::output_record::OutputRecord;
use crate::client::pipe::state::with_cause;
use crate::client::process::stderr::Stderr;
use crate::ground::error::{Error, ErrorKind};

/// A problem with the pipes of a server, after which the server is ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PipeFailure {
    OutputClosed,
    InputClosed,
    /// The server sent a line that is longer than this limit in bytes, and that is not a message or has no end.
    TooLong(usize),
}

/// The facts about one server that errors report.
pub(super) struct ProcessFacts {
    /// The command line, as it is shown.
    pub(super) name: String,
    pub(super) stderr: Stderr,
    /// The end of the process as a predicate, to follow the server's name in a sentence: "ended with exit status 1".
    /// Unset while the process runs.
    pub(super) end_description: OnceLock<String>,
}

/// Describes how a process ended. `status` is `None` if the exit status is unknown, for example because other code of
/// this program has waited for the process.
pub(super) fn describe_exit(status: Option<i32>) -> String {
    status.map_or_else(|| "ended".to_owned(), |status| format!("ended with exit status {status}"))
}

impl ProcessFacts {
    /// Returns the error with which calls fail after the pipe has ended.
    pub(super) fn end_error(&self, trouble: Option<PipeFailure>, received: &OutputRecord) -> Error {
        let name = &self.name;
        let (kind, message) = match (trouble, self.end_description.get()) {
            (Some(PipeFailure::TooLong(max)), _) => (
                ErrorKind::PeerMisbehaved,
                format!(
                    "the server `{name}` sent a line of more than {max} bytes that is not a message, and was closed"
                ),
            ),
            (_, Some(end)) => (ErrorKind::Transport, format!("the server `{name}` {end}")),
            (Some(PipeFailure::InputClosed), None) => (
                ErrorKind::Transport,
                format!("the server `{name}` closed its input and is still running; it is being ended"),
            ),
            (_, None) => (
                ErrorKind::Transport,
                format!("the server `{name}` closed its output and is still running; it is being ended"),
            ),
        };
        with_cause(Error::new(kind, message), self.details(received))
    }

    /// Describes the state of a server that does not answer.
    pub(super) fn diagnosis(&self, received: &OutputRecord) -> String {
        let name = &self.name;
        let state = match (self.end_description.get(), received.has_message()) {
            (Some(end), _) => format!("the server `{name}` {end}"),
            (None, true) => format!("the server `{name}` is running"),
            (None, false) => format!("the server `{name}` is running, but has not sent a message yet"),
        };
        match self.details(received) {
            details if details.is_empty() => state,
            details => format!("{state}; {details}"),
        }
    }

    fn details(&self, received: &OutputRecord) -> String {
        let (output, stderr) = (received.to_string(), self.stderr.to_string());
        match (output.is_empty(), stderr.is_empty()) {
            (_, true) => output,
            (true, false) => format!("its stderr: {stderr}"),
            (false, false) => format!("{output}; its stderr: {stderr}"),
        }
    }
}
