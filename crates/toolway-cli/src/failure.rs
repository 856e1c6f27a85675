//! Why did a command fail, how can it be fixed, and which exit code does it have?

use std::fmt::Write;

use toolway::types::OrderedMap;
use toolway::{Error, ErrorKind};

/// The result of a command.
pub(crate) type Result<T, E = Failure> = std::result::Result<T, E>;

/// The failure of a command.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) fault: Fault,
    pub(crate) message: String,
    pub(crate) hint: Option<String>,
    /// `true` if the user has already seen the failure, as a part of a longer output.
    pub(crate) is_shown: bool,
}

/// The kind of a failure. Each kind has an exit code, and a name for programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The command line is wrong, or something on this machine is wrong, such as a file that cannot be written.
    Usage,
    /// The requested item does not exist.
    NotFound,
    /// The server requires authentication.
    AuthNeeded,
    /// The server cannot be started: its program cannot be run or exits immediately, or the server cannot be built.
    CannotStart,
    /// The server cannot be reached, or the communication with it fails.
    Unreachable,
    /// The tool or the server answered with an error.
    ToolError,
    /// The user of the inspector refused to answer a question of the server, and the protocol has no answer that says so.
    Declined,
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
            Self::ToolError | Self::Declined => 5,
            // The exit code that shells use for a program that was ended by SIGINT.
            Self::Interrupted => 130,
        }
    }

    /// Returns the name for programs.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Usage => "usage",
            Self::NotFound => "not_found",
            Self::AuthNeeded => "auth_required",
            Self::CannotStart => "cannot_start",
            Self::Unreachable => "unreachable",
            Self::ToolError => "tool_error",
            Self::Declined => "declined",
            Self::Interrupted => "interrupted",
        }
    }

    /// Classifies an error of the client.
    pub(crate) fn of(error: &Error) -> Self {
        if matches!(error.http_status(), Some(401 | 403)) || error.needs_sign_in() {
            return Self::AuthNeeded;
        }
        match error.kind() {
            // A server that does not know the session did not handle the request.
            _ if error.is_session_ended() => Self::Unreachable,
            ErrorKind::NotAdmitted => Self::AuthNeeded,
            ErrorKind::PeerRefused | ErrorKind::ToolFailed | ErrorKind::Application | ErrorKind::TooLarge => {
                Self::ToolError
            }
            ErrorKind::Misuse => Self::Usage,
            // Closed clients are above: this is a question that was refused.
            ErrorKind::Cancelled => Self::Declined,
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

    /// Sets a hint on how to fix the failure.
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Returns the text for people: what happened, and what to do.
    pub(crate) fn to_text(&self, program: &str) -> String {
        let mut words = format!("{program}: {}\n", self.message);
        if let Some(hint) = &self.hint {
            let gap = if hint.contains('\n') { "\n" } else { "" };
            let _ = writeln!(words, "{gap}{hint}");
        }
        words
    }

    /// Returns the JSON for programs, on one line.
    pub(crate) fn to_json(&self) -> String {
        let members = [
            ("code", Some(self.fault.name())),
            ("message", Some(&*self.message)),
            ("hint", self.hint.as_deref()),
        ];
        let members = members.into_iter().filter_map(|(name, text)| Some((name.to_owned(), text?)));
        let envelope = OrderedMap(vec![("error".to_owned(), OrderedMap(members.collect()))]);
        serde_json::to_string(&envelope).expect("strings can be written as JSON")
    }

    /// Creates a failure from an error of the client.
    pub(crate) fn from_error(fault: Fault, error: &Error) -> Self {
        let failure = Self::new(fault, chain(error));
        match fault {
            Fault::AuthNeeded => failure.hint(AUTH_HINT),
            Fault::Unreachable if error.is_timeout() => {
                failure.hint("allow more time with --timeout SECONDS")
            }
            Fault::CannotStart | Fault::Unreachable => {
                failure.hint("run the command `doctor` to see which step fails, and what may help")
            }
            _ => failure,
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::from_error(Fault::of(&error), &error)
    }
}

/// Returns the text of an error and of all its sources, without repetitions.
pub(crate) fn chain(error: &(dyn std::error::Error + 'static)) -> String {
    let mut words = error.to_string();
    for error in std::iter::successors(error.source(), |error| error.source()) {
        for (index, line) in error.to_string().lines().enumerate() {
            // Facts about a process are in the error and again in its source.
            if !line.split("; ").all(|part| words.contains(part)) {
                words = format!("{words}{}{line}", if index == 0 { ": " } else { "\n" });
            }
        }
    }
    with_cli_options(words)
}

/// Replaces the library's advice for programmers by the options of the command line.
fn with_cli_options(words: String) -> String {
    let ours = [
        ("`Http::header` or `Http::bearer`", "--header or --bearer"),
        // The advice below the error names the command for it.
        ("sign in with `oauth`, or give", "give"),
        ("with `bearer`", "with --bearer"),
        ("raise `max_message` on the client", "raise the limit of this command with --max-message SIZE"),
        (
            "raise `max_list` on the client",
            "raise the limit of this command with --max-list-items NUMBER or --max-list-bytes SIZE",
        ),
        ("raise `deadline` on the client", "raise the limit of this command with --deadline SECONDS"),
        ("add it with `Http::root_certificate` or to the file", "add it to the file"),
        ("with `OAuth::client_id`", "with `toolway login TARGET --client-id ID`"),
        ("name it with `OAuth::for_issuer`", "name it with --issuer URL"),
    ];
    ours.iter().fold(words, |words, (theirs, ours)| words.replace(theirs, ours))
}

pub(crate) const AUTH_HINT: &str = "give a token with --bearer TOKEN or in the variable TOOLWAY_BEARER, or another header with --header 'NAME: VALUE'";
