//! What is known of a server that does not answer, and how is it told?

use std::sync::OnceLock;

use crate::client::pipe::received::Received;
use crate::client::pipe::state::because;
use crate::client::process::stderr::Stderr;
use crate::ground::error::{Error, ErrorKind};

/// What went wrong with the pipe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Trouble {
    OutputClosed,
    InputClosed,
    /// A line of more bytes than this.
    TooLong(usize),
}

/// What is known of one server.
pub(super) struct Facts {
    /// The command line.
    pub(super) name: String,
    pub(super) stderr: Stderr,
    /// How the process ended, in words that go on after its name.
    pub(super) end: OnceLock<String>,
}

/// How a process ended, if anything is known of that. Other code of this program may have waited for it.
pub(super) fn end(status: Option<i32>) -> String {
    status.map_or_else(|| "ended".to_owned(), |status| format!("ended with exit status {status}"))
}

impl Facts {
    /// Why nothing is carried any more.
    pub(super) fn over(&self, trouble: Option<Trouble>, received: &Received) -> Error {
        let name = &self.name;
        let (kind, message) = match (trouble, self.end.get()) {
            (Some(Trouble::TooLong(max)), _) => (
                ErrorKind::PeerMisbehaved,
                format!(
                    "the server `{name}` sent a line of more than {max} bytes that is not a message, and was closed"
                ),
            ),
            (_, Some(end)) => (ErrorKind::Transport, format!("the server `{name}` {end}")),
            (Some(Trouble::InputClosed), None) => (
                ErrorKind::Transport,
                format!("the server `{name}` closed its input and is still running; it is being ended"),
            ),
            (_, None) => (
                ErrorKind::Transport,
                format!("the server `{name}` closed its output and is still running; it is being ended"),
            ),
        };
        because(Error::new(kind, message), self.details(received))
    }

    /// What there is to say while the server is there and does not answer.
    pub(super) fn diagnosis(&self, received: &Received) -> String {
        let name = &self.name;
        let state = match (self.end.get(), received.any_message()) {
            (Some(end), _) => format!("the server `{name}` {end}"),
            (None, true) => format!("the server `{name}` is running"),
            (None, false) => format!("the server `{name}` is running, but has not sent a message yet"),
        };
        match self.details(received) {
            details if details.is_empty() => state,
            details => format!("{state}; {details}"),
        }
    }

    fn details(&self, received: &Received) -> String {
        let (output, stderr) = (received.to_string(), self.stderr.to_string());
        match (output.is_empty(), stderr.is_empty()) {
            (_, true) => output,
            (true, false) => format!("its stderr: {stderr}"),
            (false, false) => format!("{output}; its stderr: {stderr}"),
        }
    }
}
