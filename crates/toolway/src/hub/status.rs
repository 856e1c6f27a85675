//! How is a server of a hub?

use std::fmt;
use std::time::{Duration, Instant};

use toolway_protocol::ProtocolVersion;
use toolway_protocol::types::Implementation;

/// A server of a hub, and how it is. Made by [`Hub::status`](super::Hub::status).
///
/// `{}` is a line for people: `weather: unavailable for 12s, next try in 3s: failed to connect to …`.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ServerStatus {
    /// What the hub calls it.
    pub name: String,
    /// Where it is, in words and without secrets.
    pub target: String,
    /// How it is.
    pub state: ServerState,
}

/// How a server is.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum ServerState {
    /// It was not reached yet, and it is not known that it cannot be.
    Connecting,
    /// It is there, as far as anybody knows.
    #[non_exhaustive]
    Ready {
        /// How many tools it has.
        tools: usize,
        /// How many prompts.
        prompts: usize,
        /// How many resources.
        resources: usize,
        /// How many families of resources.
        templates: usize,
        /// The revision that is spoken.
        version: ProtocolVersion,
        /// Who it says it is.
        server: Option<Implementation>,
        /// Lists of it that cannot be read, and why. What was known of them before is kept.
        problems: Vec<String>,
    },
    /// It cannot be reached. What it has stays in the lists, and calls fail.
    #[non_exhaustive]
    Unavailable {
        /// Why.
        error: String,
        /// Since when.
        since: Instant,
        /// When it is tried again; `None` for one that cannot be tried, because its entry in the file is wrong.
        next_try: Option<Instant>,
    },
    /// The file says that it is not to be used.
    Disabled,
}

impl ServerStatus {
    /// Whether it is there.
    pub fn is_ready(&self) -> bool {
        matches!(self.state, ServerState::Ready { .. })
    }

    /// Whether it cannot be reached.
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
                    (*templates, "family of resources", "families of resources"),
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
