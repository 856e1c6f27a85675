//! If connecting failed, which step was it, and what may help?

use toolway::{Code, Error, ErrorKind};

use super::session;
use crate::failure::{AUTH_HINT, Fault, chain};
use crate::location::{Address, Endpoint};

/// The diagnosis of a failed connection.
#[derive(Debug)]
pub(super) struct Diagnosis {
    /// The step that failed; the steps before it succeeded.
    pub(super) step: &'static str,
    pub(super) fault: Fault,
    pub(super) what: String,
    pub(super) fix: String,
}

impl Diagnosis {
    /// Finds the reason why a client could not connect, after all earlier checks succeeded.
    pub(super) fn of(error: &Error, way: &Endpoint) -> Self {
        let is_lost = matches!(way, Endpoint::Url(_)) && error.is_session_ended();
        let what = if is_lost { session::describe_loss(error) } else { strip_address(&chain(error)) };
        let (step, fault, fix) = match (way, error.http_status()) {
            (Endpoint::Url(_), _) if is_lost => ("session", Fault::Unreachable, session::FIX),
            (Endpoint::Url(address), Some(404 | 405 | 200..=299)) => {
                return Self { step: "http", fault: Fault::NotFound, what, fix: path_advice(&address.url) };
            }
            (Endpoint::Url(_), Some(status)) => diagnose_status(status),
            (Endpoint::Url(address), None) => diagnose_url(error, address),
            (Endpoint::Command(_), _) => diagnose_command(error),
            (Endpoint::Own(_), _) => ("era", Fault::CannotStart, "look at how the server is built"),
        };
        Self { step, fault, what, fix: fix.to_owned() }
    }
}

fn diagnose_url(error: &Error, address: &Address) -> (&'static str, Fault, &'static str) {
    match error.kind() {
        ErrorKind::NotAdmitted => ("http", Fault::AuthNeeded, AUTH_HINT),
        ErrorKind::Timeout => (
            "http",
            Fault::Unreachable,
            "the server accepts connections, but does not answer: look at its log, or allow more time with --timeout \
             SECONDS",
        ),
        // A connection succeeded a moment ago, so a later step must have failed.
        ErrorKind::Transport if error.is_unsent() && address.is_encrypted() => (
            "tls",
            Fault::Unreachable,
            if chain(error).contains("no connection was established within") {
                "the server accepts connections, but does not complete the TLS handshake: if it does not encrypt, its \
                 URL begins with http://; otherwise look at its log, or allow more time with --timeout SECONDS"
            } else {
                "if the server does not encrypt, its URL begins with http://; if your company issued its certificate, \
                 set the variable SSL_CERT_FILE to a file with your company's root certificate"
            },
        ),
        ErrorKind::Transport => (
            "http",
            Fault::Unreachable,
            "the server there does not speak HTTP, or speaks only https://: check the port and the URL",
        ),
        _ => diagnose_reply(error, NOT_MCP_SERVER),
    }
}

fn diagnose_status(status: u16) -> (&'static str, Fault, &'static str) {
    let (fault, fix) = match status {
        401 | 403 => (Fault::AuthNeeded, AUTH_HINT),
        300..=399 => (Fault::NotFound, "the server redirects: connect to the new URL if that is right"),
        406 | 415 => {
            (Fault::Unreachable, "the server there speaks HTTP, but not this protocol: check the path")
        }
        429 => (Fault::Unreachable, "the server received too many requests: try again later"),
        500..=599 => (
            Fault::Unreachable,
            "the server failed: look at its log, or at the log of the proxy in front of it",
        ),
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
        "there is no MCP server at this path: check the path, and whether a proxy forwards it".to_owned()
    } else {
        format!("there is no MCP server at this path; most servers are at /mcp: try {place}{path}/mcp")
    }
}

fn diagnose_command(error: &Error) -> (&'static str, Fault, &'static str) {
    match error.kind() {
        ErrorKind::Transport if error.is_unsent() => {
            let fix = "check that the program is executable, and that it was built for this machine";
            ("start", Fault::CannotStart, fix)
        }
        ErrorKind::Transport => (
            "start",
            Fault::CannotStart,
            "run the command by itself to see why it ends; pass variables that it needs with --env NAME=VALUE",
        ),
        ErrorKind::Timeout if chain(error).contains("its output has") => (
            "era",
            Fault::Unreachable,
            "a server may write only messages to stdout: text for people belongs on stderr",
        ),
        ErrorKind::Timeout => (
            "era",
            Fault::Unreachable,
            "the program runs, but writes nothing to stdout: check that it is a stdio server, or allow more time with \
             --timeout SECONDS",
        ),
        _ => diagnose_reply(error, NOT_MCP_PROGRAM),
    }
}

/// Finds the reason why an answer was not understood. `otherwise` is the advice for an error that does not reveal the
/// reason.
fn diagnose_reply(error: &Error, otherwise: &'static str) -> (&'static str, Fault, &'static str) {
    let fault = match Fault::of(error) {
        Fault::ToolError => Fault::Unreachable,
        fault => fault,
    };
    let fix = match error.kind() {
        _ if error.code() == Some(Code::UNSUPPORTED_VERSION) => UPDATE_ADVICE,
        ErrorKind::PeerIncompatible => UPDATE_ADVICE,
        ErrorKind::PeerRefused => {
            "the server refused the connection: its reason is above; its log may say more"
        }
        _ => otherwise,
    };
    ("era", fault, fix)
}

const NOT_MCP_SERVER: &str = "the server there does not follow this protocol: check the URL, update the server, or \
                              look at its log and at the log of the proxy in front of it";

const NOT_MCP_PROGRAM: &str =
    "the output of the program does not follow this protocol: a server may write only messages to stdout";

const UPDATE_ADVICE: &str = "update the server; or try another revision with --protocol REVISION";

/// Removes the address from the message, because the report already shows it.
fn strip_address(words: &str) -> String {
    match words.strip_prefix("failed to connect to ").and_then(|rest| rest.split_once(": ")) {
        Some((_, rest)) => rest.to_owned(),
        None => words.to_owned(),
    }
}
