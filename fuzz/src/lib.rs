//! Which properties must hold for every input, and how often is each tried?
//!
//! A property takes any bytes and panics when the library breaks a guarantee. Each has one row in [`TARGETS`], and two
//! programs run the rows: `tests/mutations.rs` with the stable compiler, in CI, and `libfuzzer/property.rs` with
//! libFuzzer, for as long as you like. `corpus/NAME/` has the inputs that both start from; an input that broke something
//! is added to it.
//!
//! | file | question |
//! |---|---|
//! | `protocol.rs` | Are messages, headers and templates read as they should be? |
//! | `streams.rs` | Does a stream mean the same, however it is cut into chunks? |
//! | `schemas.rs` | Do two engines agree about a value, and does a converted schema follow its provider's rules? |
//! | `servers.rs` | Is each request answered once, and is each forgery refused? |
//! | `sessions.rs` | Is each request answered once over HTTP, and does a session end when it is deleted? |
//! | `hubs.rs` | Do names lead back to where they came from, and what is a configuration? |
//! | `clients.rs` | Where do redirects lead, and what reaches a terminal? |
//! | `logins.rs` | What do the texts of OAuth mean, and can one of them reach a header or a log? |
//! | `callers.rs` | Whom does a protected server let in, and can anything but the right key open it? |
//! | `mutate.rs` | How is an input changed into another one that gets as far? |

#![expect(clippy::unwrap_used, reason = "a broken property is a panic")]

mod callers;
mod clients;
mod hubs;
mod logins;
pub mod mutate;
mod protocol;
mod schemas;
mod servers;
mod sessions;
mod streams;

use std::fs;
use std::path::Path;

use mutate::Corpus;

/// A property, and how often it is tried.
#[derive(Debug)]
pub struct Target {
    /// The name of the target, and of its folder in `corpus/`.
    pub name: &'static str,
    /// Panics if the input breaks the property.
    pub property: fn(&[u8]) -> Outcome,
    /// The number of executions in `cargo xtask deep --part rounds`; CI makes a fifth of them.
    pub executions: u32,
}

/// How far an input got.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The input was refused early, as it should be.
    Refused,
    /// The input was understood, and all of the property was checked.
    Accepted,
}

impl Outcome {
    fn of(is_accepted: bool) -> Self {
        if is_accepted { Self::Accepted } else { Self::Refused }
    }
}

/// Every target.
pub const TARGETS: [Target; 27] = [
    stateless("frame", protocol::frame),
    stateless("header", protocol::header),
    stateless("json", protocol::json),
    stateless("param_headers", protocol::param_headers),
    stateless("uri_template", protocol::uri_template),
    stateless("sse", streams::sse),
    stateless("lines", streams::lines),
    stateless("schema_check", schemas::check),
    slow("schema_dialects", schemas::dialects, 20_000),
    slow("conversation", servers::conversation, 2_000),
    slow("http_session", sessions::http_session, 1_000),
    slow("sealed_state", servers::sealed_state, 20_000),
    stateless("cursor", servers::cursor),
    slow("hub_names", hubs::names, 10_000),
    stateless("hub_config", hubs::config),
    stateless("env_file", hubs::env_file),
    stateless("redirect", clients::redirect),
    stateless("terminal", clients::terminal),
    slow("command_line", clients::command_line, 5_000),
    stateless("challenge", logins::challenge),
    stateless("resource_metadata", logins::resource_metadata),
    stateless("server_metadata", logins::server_metadata),
    stateless("callback", logins::callback),
    stateless("token_reply", logins::token_reply),
    stateless("access_token", callers::access_token),
    slow("key_set", callers::key_set, 20_000),
    stateless("proof", callers::proof),
];

const fn stateless(name: &'static str, property: fn(&[u8]) -> Outcome) -> Target {
    Target { name, property, executions: 100_000 }
}

/// A property that keeps state, or that takes more than half a millisecond without optimization.
const fn slow(name: &'static str, property: fn(&[u8]) -> Outcome, executions: u32) -> Target {
    Target { name, property, executions }
}

impl Target {
    /// Returns the target with this name.
    pub fn named(name: &str) -> Option<&'static Self> {
        TARGETS.iter().find(|target| target.name == name)
    }

    /// Reads the inputs in the target's folder.
    pub fn corpus(&self) -> Corpus {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(self.name);
        let mut files: Vec<_> = fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()).collect();
        // The order of a folder depends on the machine; the order of the inputs decides what a seed means.
        files.sort();
        Corpus { inputs: files.iter().map(|file| fs::read(file).unwrap()).collect() }
    }
}

/// Splits the input into the given number of lines. Lines that are missing are empty, and the last one has the rest.
fn split_lines<const COUNT: usize>(input: &str) -> [&str; COUNT] {
    let mut lines = input.splitn(COUNT, '\n');
    std::array::from_fn(|_| lines.next().unwrap_or_default())
}
