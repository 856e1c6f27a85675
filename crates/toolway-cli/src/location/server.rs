//! Where can a server be, and how does a command use it?

use std::io;
use std::path::PathBuf;
use std::pin::pin;
use std::time::Duration;

use toolway::client::{ClientBuilder, Connector, IntoTarget, Target};
use toolway::types::LogLevel;
use toolway::{Client, Error, ErrorKind};

use super::endpoint::{Address, BEARER_VARIABLE, Endpoint};
use super::interrupted::interrupted;
use super::untrusted::UntrustedServer;
use crate::args::ConnectionArgs;
use crate::ask;
use crate::console::Console;
use crate::failure::{Failure, Fault, Result};
use crate::terminal::escape_to_line;

/// The time limit for closing the connection to a server.
pub(crate) const CLOSE_TIMEOUT: Duration = Duration::from_secs(6);

/// A server, and what its configuration says.
pub(crate) struct ServerLocation {
    pub(crate) endpoint: Endpoint,
    /// The file that describes the server, if there is one.
    pub(crate) file: Option<PathBuf>,
    /// The question for the user's consent, if `file` belongs to the project in the current directory. Another person
    /// may have written such a file.
    pub(super) untrusted: Option<UntrustedServer>,
    /// The time limit of a request, as set in `file`.
    pub(crate) timeout: Option<Duration>,
    /// The maximum size of a message in bytes, as set in `file`.
    pub(crate) max_message: Option<usize>,
    /// The maximum number of items and of bytes of a list, as set in `file`.
    pub(crate) max_list: (Option<usize>, Option<usize>),
}

impl From<Endpoint> for ServerLocation {
    fn from(way: Endpoint) -> Self {
        Self {
            endpoint: way,
            file: None,
            untrusted: None,
            timeout: None,
            max_message: None,
            max_list: (None, None),
        }
    }
}

impl ServerLocation {
    /// Asks for the user's consent, if the server comes from a file of the project. The caller starts and sends nothing
    /// before this has returned.
    pub(crate) async fn ask_consent(&self, console: &Console) -> Result<()> {
        match &self.untrusted {
            Some(stranger) => stranger.ask_consent(console).await,
            None => Ok(()),
        }
    }

    /// Returns the location of the server, without secrets.
    pub(crate) fn name(&self) -> String {
        match &self.endpoint {
            Endpoint::Url(address) => address.http().name(),
            Endpoint::Command(start) => start.command().name(),
            Endpoint::Own(server) => server.info().name.clone(),
        }
    }

    /// Returns the failure for a connection that could not be established.
    pub(crate) fn failure(&self, error: &Error) -> Failure {
        let fault = match Fault::of(error) {
            Fault::Unreachable if matches!(self.endpoint, Endpoint::Command(_)) && is_not_found(error) => {
                Fault::NotFound
            }
            // The program could not be run, or exited before it answered.
            Fault::Unreachable
                if matches!(self.endpoint, Endpoint::Command(_)) && error.kind() == ErrorKind::Transport =>
            {
                Fault::CannotStart
            }
            // The server refused the connection, so no tool was called.
            Fault::ToolError => Fault::Unreachable,
            fault => fault,
        };
        self.advise(Failure::from_error(fault, error))
    }

    /// Says how to sign in, if that is what a failed command needs.
    fn advise(&self, failure: Failure) -> Failure {
        match &self.endpoint {
            Endpoint::Url(address) if failure.fault == Fault::AuthNeeded && !address.has_credentials() => {
                let hint = login_hint(address);
                failure.hint(hint)
            }
            _ => failure,
        }
    }

    /// Returns the target for a client.
    pub(crate) async fn target(&self, console: &Console) -> Result<Target> {
        Ok(match &self.endpoint {
            Endpoint::Url(address) => address.signed_in(console).await?.into_target()?,
            Endpoint::Command(start) => start.with_stderr_to(console).into_target()?,
            Endpoint::Own(server) => (&**server).into_target()?,
        })
    }
}

/// Connects to a server, runs the work, and closes the connection. Ctrl-C cancels the work.
pub(crate) async fn with_client<T, F: Future<Output = Result<T>>>(
    place: &ServerLocation,
    builder: ClientBuilder,
    console: &Console,
    work: impl FnOnce(Client) -> F,
) -> Result<T> {
    let target = place.target(console).await?;
    // Both steps share one signal future, which is polled first, so that Ctrl-C between the two steps is received too.
    let mut stop = pin!(interrupted());
    let client = tokio::select! {
        biased;
        () = &mut stop => return Err(Failure::interrupted()),
        client = builder.connect(target) => client.map_err(|error| place.failure(&error))?,
    };
    let outcome = tokio::select! {
        biased;
        () = &mut stop => Err(Failure::interrupted()),
        outcome = run_work(&client, console, work) => outcome,
    };
    console.clear_progress();
    // The work is done, so the wait for a server that does not respond to the close is limited.
    tokio::select! {
        _ = tokio::time::timeout(CLOSE_TIMEOUT, client.close()) => {}
        () = interrupted() => {}
    }
    outcome.map_err(|failure| place.advise(failure))
}

/// Returns the advice for a server that asks to sign in.
pub(crate) fn login_hint(address: &Address) -> String {
    format!(
        "sign in with `{}`, or give a token with --bearer TOKEN or in the variable {BEARER_VARIABLE}",
        address.login
    )
}

async fn run_work<T, F: Future<Output = Result<T>>>(
    client: &Client,
    console: &Console,
    work: impl FnOnce(Client) -> F,
) -> Result<T> {
    if console.is_verbose && client.server_capabilities().logging.is_some() {
        client.set_log_level(LogLevel::Debug).await?;
    }
    work(client.clone()).await
}

/// Returns a client builder with the settings of every command.
pub(crate) fn builder(talk: &ConnectionArgs, place: &ServerLocation, console: &Console) -> ClientBuilder {
    let mut builder = Client::builder().info("toolway", env!("CARGO_PKG_VERSION"));
    if let Some(limit) = talk.timeout.or(place.timeout) {
        builder = builder.timeout(limit);
    }
    if let Some(limit) = talk.timeout {
        builder = builder.connect_timeout(limit);
    }
    if let Some(bytes) = talk.max_message.or(place.max_message) {
        builder = builder.max_message(bytes);
    }
    let (items, bytes) = place.max_list;
    builder = builder.max_list(talk.max_list_items.or(items), talk.max_list_bytes.or(bytes));
    if let Some(limit) = talk.deadline {
        builder = builder.deadline(limit);
    }
    if let Some(version) = talk.protocol {
        builder = builder.protocol(version);
    }
    if console.is_verbose {
        let console = console.clone();
        builder = builder.on_log(move |message| console.write_lines(&log_line(message)));
    }
    ask::register_handlers(builder, console)
}

fn log_line(message: &toolway::types::LogMessage) -> String {
    let logger =
        message.logger.as_deref().map(|name| format!(" {}", escape_to_line(name))).unwrap_or_default();
    let begin = format!("[{}{logger}] ", message.level.as_str());
    // A line break in the text must not begin a line that looks like one of this program.
    format!("{begin}{}", crate::json::text(&message.data).replace('\n', "\n  | "))
}

/// Returns whether the program does not exist.
fn is_not_found(error: &Error) -> bool {
    let first: &(dyn std::error::Error + 'static) = error;
    std::iter::successors(Some(first), |error| error.source())
        .filter_map(|error| error.downcast_ref::<io::Error>())
        .any(|error| error.kind() == io::ErrorKind::NotFound)
}
