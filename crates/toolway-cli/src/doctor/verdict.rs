//! If connecting failed, which step was it, and what may help?

use toolway::{Code, Error, ErrorKind};

use super::session;
use crate::failure::{Fault, SAY_WHO, chain};
use crate::place::{Address, Way};

/// The diagnosis of a failed connection.
#[derive(Debug)]
pub(super) struct Verdict {
    /// The step that failed; the steps before it succeeded.
    pub(super) step: &'static str,
    pub(super) fault: Fault,
    pub(super) what: String,
    pub(super) fix: String,
}

impl Verdict {
    /// Finds the reason why a client could not connect, after all earlier checks succeeded.
    pub(super) fn of(error: &Error, way: &Way) -> Self {
        let is_lost = matches!(way, Way::Url(_)) && error.is_session_ended();
        let what = if is_lost { session::what(error) } else { without_place(&chain(error)) };
        let (step, fault, fix) = match (way, error.http_status()) {
            (Way::Url(_), _) if is_lost => ("session", Fault::Unreachable, session::FIX),
            (Way::Url(address), Some(404 | 405 | 200..=299)) => {
                return Self { step: "http", fault: Fault::NotFound, what, fix: path_advice(&address.url) };
            }
            (Way::Url(_), Some(status)) => of_status(status),
            (Way::Url(address), None) => of_url(error, address),
            (Way::Command(_), _) => of_command(error),
            (Way::Own(_), _) => ("era", Fault::CannotStart, "look at how the server is built"),
        };
        Self { step, fault, what, fix: fix.to_owned() }
    }
}

fn of_url(error: &Error, address: &Address) -> (&'static str, Fault, &'static str) {
    match error.kind() {
        ErrorKind::NotAdmitted => ("http", Fault::AuthNeeded, SAY_WHO),
        ErrorKind::Timeout => (
            "http",
            Fault::Unreachable,
            "it takes connections and says nothing: look at the server's log, or give it more time with --timeout SECONDS",
        ),
        // A connection succeeded a moment ago, so a later step must have failed.
        ErrorKind::Transport if error.is_unsent() && address.is_encrypted() => (
            "tls",
            Fault::Unreachable,
            if chain(error).contains("no connection was established within") {
                "it takes connections and agrees upon no keys: if it does not encrypt, its URL begins with http://; else look at its \
                 log, or give it more time with --timeout SECONDS"
            } else {
                "if the server does not encrypt, its URL begins with http://; if its certificate is your company's, name that in \
                 the variable SSL_CERT_FILE"
            },
        ),
        ErrorKind::Transport => (
            "http",
            Fault::Unreachable,
            "what listens there does not speak HTTP, or only https://: check the port and the URL",
        ),
        _ => of_speech(error, STRANGE_SERVER),
    }
}

fn of_status(status: u16) -> (&'static str, Fault, &'static str) {
    let (fault, fix) = match status {
        401 | 403 => (Fault::AuthNeeded, SAY_WHO),
        300..=399 => (Fault::NotFound, "connect to where it leads, if that is right"),
        406 | 415 => (Fault::Unreachable, "what is there speaks HTTP, but not this protocol: check the path"),
        429 => (Fault::Unreachable, "it has heard too much from here: try again later"),
        500..=599 => {
            (Fault::Unreachable, "the server failed: look at its log, or at that of the proxy before it")
        }
        _ => (Fault::Unreachable, "look at the server's log"),
    };
    ("http", fault, fix)
}

fn path_advice(url: &str) -> String {
    let (place, path) = url.split_once("://").map_or((url, ""), |(scheme, rest)| {
        let host = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        (&url[..scheme.len() + 3 + host], &rest[host..])
    });
    let path = path.split(['?', '#']).next().unwrap_or_default().trim_end_matches('/');
    if path.ends_with("/mcp") {
        "nothing at this path is a server of tools: check the path, and whether a proxy passes it on"
            .to_owned()
    } else {
        format!("nothing at this path is a server of tools; most are at /mcp: try {place}{path}/mcp")
    }
}

fn of_command(error: &Error) -> (&'static str, Fault, &'static str) {
    match error.kind() {
        ErrorKind::Transport if error.is_unsent() => {
            ("start", Fault::CannotStart, "check that it may be run, and that it is for this machine")
        }
        ErrorKind::Transport => (
            "start",
            Fault::CannotStart,
            "run the command by itself and see why it ends; variables that it needs are given with --env NAME=VALUE",
        ),
        ErrorKind::Timeout if chain(error).contains("its output has") => (
            "era",
            Fault::Unreachable,
            "on stdout, a server writes messages and nothing else: what it has to say to people belongs on stderr",
        ),
        ErrorKind::Timeout => (
            "era",
            Fault::Unreachable,
            "it runs and says nothing on its stdout: check that it is a server for stdio, or give it more time with --timeout \
             SECONDS",
        ),
        _ => of_speech(error, STRANGE_PROGRAM),
    }
}

/// Finds the reason why an answer was not understood. `otherwise` is the advice for an error that does not reveal the
/// reason.
fn of_speech(error: &Error, otherwise: &'static str) -> (&'static str, Fault, &'static str) {
    let fault = match Fault::of(error) {
        Fault::ToolError => Fault::Unreachable,
        fault => fault,
    };
    let fix = match error.kind() {
        _ if error.code() == Some(Code::UNSUPPORTED_VERSION) => UPDATE,
        ErrorKind::PeerIncompatible => UPDATE,
        ErrorKind::PeerRefused => "the server refuses to begin: what it says is above; its log may say more",
        _ => otherwise,
    };
    ("era", fault, fix)
}

const STRANGE_SERVER: &str = "what answers there does not keep to this protocol: check the URL, update the server, or look at its log \
    and at that of the proxy before it";

const STRANGE_PROGRAM: &str =
    "what it says is not this protocol: on stdout, a server writes messages and nothing else";

const UPDATE: &str = "update the server; or try another revision with --protocol REVISION";

/// Removes the address from the message, because the report already shows it.
fn without_place(words: &str) -> String {
    match words.strip_prefix("failed to connect to ").and_then(|rest| rest.split_once(": ")) {
        Some((_, rest)) => rest.to_owned(),
        None => words.to_owned(),
    }
}
