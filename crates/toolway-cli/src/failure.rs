//! Why did a command fail, what may be done about it, and which exit code says so?

use std::fmt::Write;

use toolway::types::Keyed;
use toolway::{Error, ErrorKind};

/// What becomes of a command.
pub(crate) type Result<T, E = Failure> = std::result::Result<T, E>;

/// A command that failed.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) fault: Fault,
    pub(crate) message: String,
    pub(crate) hint: Option<String>,
    /// Whether a person has read it already, as a part of something longer.
    pub(crate) is_shown: bool,
}

/// What was wrong. Each has an exit code, and a name for programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The command line, or something of this machine.
    Usage,
    /// There is no such thing.
    NotFound,
    /// The server wants to know who is asking.
    AuthNeeded,
    /// The server cannot be started: its program cannot be run or ends at once, or the server cannot be built.
    CannotStart,
    /// The server cannot be reached, or not be spoken with.
    Unreachable,
    /// The tool or the server answered with an error.
    ToolError,
    /// The user pressed Ctrl-C.
    Interrupted,
}

impl Fault {
    pub(crate) fn exit_code(self) -> u8 {
        match self {
            Self::Usage => 1,
            Self::NotFound => 2,
            Self::AuthNeeded => 3,
            Self::CannotStart | Self::Unreachable => 4,
            Self::ToolError => 5,
            // As a shell says it of a program that a signal has ended.
            Self::Interrupted => 130,
        }
    }

    /// What programs know it by.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Usage => "usage",
            Self::NotFound => "not_found",
            Self::AuthNeeded => "auth_required",
            Self::CannotStart => "cannot_start",
            Self::Unreachable => "unreachable",
            Self::ToolError => "tool_error",
            Self::Interrupted => "interrupted",
        }
    }

    /// What an error of the client comes down to.
    pub(crate) fn of(error: &Error) -> Self {
        if matches!(error.http_status(), Some(401 | 403)) {
            return Self::AuthNeeded;
        }
        match error.kind() {
            // A server that forgets sessions has answered nothing.
            _ if error.is_session_ended() => Self::Unreachable,
            ErrorKind::NotAdmitted => Self::AuthNeeded,
            ErrorKind::PeerRefused | ErrorKind::ToolFailed | ErrorKind::Application | ErrorKind::TooLarge => {
                Self::ToolError
            }
            ErrorKind::Misuse => Self::Usage,
            _ => Self::Unreachable,
        }
    }
}

impl Failure {
    pub(crate) fn new(fault: Fault, message: impl Into<String>) -> Self {
        Self { fault, message: message.into(), hint: None, is_shown: false }
    }

    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::new(Fault::Usage, message)
    }

    pub(crate) fn not_found(message: impl Into<String>) -> Self {
        Self::new(Fault::NotFound, message)
    }

    pub(crate) fn interrupted() -> Self {
        Self::new(Fault::Interrupted, "interrupted")
    }

    /// Says what may be done about it.
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// For people: what happened, then what to do.
    pub(crate) fn words(&self, program: &str) -> String {
        let mut words = format!("{program}: {}\n", self.message);
        if let Some(hint) = &self.hint {
            let gap = if hint.contains('\n') { "\n" } else { "" };
            let _ = writeln!(words, "{gap}{hint}");
        }
        words
    }

    /// For programs: one line.
    pub(crate) fn envelope(&self) -> String {
        let members = [
            ("code", Some(self.fault.name())),
            ("message", Some(&*self.message)),
            ("hint", self.hint.as_deref()),
        ];
        let members = members.into_iter().filter_map(|(name, text)| Some((name.to_owned(), text?)));
        let envelope = Keyed(vec![("error".to_owned(), Keyed(members.collect()))]);
        serde_json::to_string(&envelope).expect("texts are written as JSON")
    }

    /// An error of the client, and which fault it is.
    pub(crate) fn of(fault: Fault, error: &Error) -> Self {
        let failure = Self::new(fault, chain(error));
        match fault {
            Fault::AuthNeeded => failure.hint(SAY_WHO),
            Fault::Unreachable if error.is_timeout() => {
                failure.hint("give it more time with --timeout SECONDS")
            }
            Fault::CannotStart | Fault::Unreachable => {
                failure.hint("the command `doctor` tells which step fails, and what may help")
            }
            _ => failure,
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::of(Fault::of(&error), &error)
    }
}

/// An error and everything underneath it; what is said already is not said again.
pub(crate) fn chain(error: &(dyn std::error::Error + 'static)) -> String {
    let mut words = error.to_string();
    for error in std::iter::successors(error.source(), |error| error.source()) {
        for (index, line) in error.to_string().lines().enumerate() {
            // What is known of a process is told by what failed, and again by what explains it.
            if !line.split("; ").all(|part| words.contains(part)) {
                words = format!("{words}{}{line}", if index == 0 { ": " } else { "\n" });
            }
        }
    }
    in_our_words(words)
}

/// What the library advises its programmers, for those who type.
fn in_our_words(words: String) -> String {
    let ours = [
        ("`Http::header` or `Http::bearer`", "--header or --bearer"),
        ("with `bearer`", "with --bearer"),
        ("raise `max_message` on the client", "raise what is taken here with --max-message SIZE"),
        ("add it with `Http::root_certificate` or to the file", "add it to the file"),
    ];
    ours.iter().fold(words, |words, (theirs, ours)| words.replace(theirs, ours))
}

pub(crate) const SAY_WHO: &str = "give a token with --bearer TOKEN or in the variable TOOLWAY_BEARER, or another header with --header 'NAME: VALUE'";
