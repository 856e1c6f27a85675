//! What is the state of a server of a hub?

use std::fmt;
use std::time::{Duration, Instant};

use toolway_protocol::ProtocolVersion;
use toolway_protocol::types::Implementation;

/// A server of a hub and its state, returned by [`Hub::status`](super::Hub::status).
///
/// `{}` prints one line: `weather: unavailable for 12s, next try in 3s: failed to connect to …`.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ServerStatus {
    /// The name of the server in the hub.
    pub name: String,
    /// The command or address of the server, without secrets.
    pub target: String,
    /// The state of the server.
    pub state: ServerState,
}

/// The state of a server.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum ServerState {
    /// The first attempt to connect is not over yet.
    Connecting,
    /// The server is connected, as far as the hub knows.
    #[non_exhaustive]
    Ready {
        /// The number of its tools.
        tools: usize,
        /// The number of its prompts.
        prompts: usize,
        /// The number of its resources.
        resources: usize,
        /// The number of its resource templates.
        templates: usize,
        /// The protocol revision in use.
        version: ProtocolVersion,
        /// The name and version that the server reports.
        server: Option<Implementation>,
        /// Problems with the lists of the server: a list could not be read, and its previous content is kept, or a list
        /// is too long, and the rest of it is left out.
        problems: Vec<String>,
    },
    /// The server cannot be reached. Its elements stay in the lists, and calls fail.
    #[non_exhaustive]
    Unavailable {
        /// The reason.
        error: String,
        /// The time at which the server became unavailable.
        since: Instant,
        /// The time of the next attempt; `None` if the hub does not retry, because the server's entry in the file has
        /// mistakes.
        next_try: Option<Instant>,
    },
    /// The file disables the server.
    Disabled,
}

impl ServerStatus {
    /// Returns whether the server is connected.
    pub fn is_ready(&self) -> bool {
        matches!(self.state, ServerState::Ready { .. })
    }

    /// Returns whether the server cannot be reached.
    pub fn is_unavailable(&self) -> bool {
        matches!(self.state, ServerState::Unavailable { .. })
    }
}

impl fmt::Display for ServerStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.name, self.state)
    }
}

impl fmt::Display for ServerState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Connecting => f.write_str("connecting"),
            Self::Disabled => f.write_str("disabled"),
            Self::Ready { tools, prompts, resources, templates, problems, .. } => {
                f.write_str("ready")?;
                let counts = [
                    (*tools, "tool", "tools"),
                    (*prompts, "prompt", "prompts"),
                    (*resources, "resource", "resources"),
                    (*templates, "resource template", "resource templates"),
                ];
                for (number, one, several) in counts.into_iter().filter(|(number, ..)| *number > 0) {
                    write!(f, ", {number} {}", if number == 1 { one } else { several })?;
                }
                problems.iter().try_for_each(|problem| write!(f, "; {problem}"))
            }
            Self::Unavailable { error, since, next_try } => {
                write!(f, "unavailable for {}", seconds(since.elapsed()))?;
                if let Some(next) = next_try {
                    write!(f, ", next try in {}", seconds(next.saturating_duration_since(Instant::now())))?;
                }
                write!(f, ": {error}")
            }
        }
    }
}

fn seconds(time: Duration) -> String {
    format!("{}s", time.as_secs())
}
