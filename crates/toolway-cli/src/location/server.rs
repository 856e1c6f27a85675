//! Where can a server be, and how does a command use it?

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::pin::pin;
use std::time::Duration;

use toolway::client::{ClientBuilder, Command, Connector, Http, IntoTarget, Target};
use toolway::types::LogLevel;
use toolway::{Client, Error, ErrorKind, Server};

use super::interrupted::interrupted;
use super::untrusted::UntrustedServer;
use crate::args::ConnectionArgs;
use crate::ask;
use crate::console::Console;
use crate::failure::{Failure, Fault, Result};

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
}

/// How to reach a server. The values may contain secrets that must not be shown, so the type does not implement
/// `Debug`.
pub(crate) enum Endpoint {
    Url(Address),
    Command(CommandSpec),
    /// The server that is built into the program.
    Own(Box<Server>),
}

/// A server that is reached over HTTP.
pub(crate) struct Address {
    pub(crate) url: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) bearer: Option<String>,
    /// `true` if the token comes from the environment.
    pub(crate) is_from_environment: bool,
    /// The time limit for connecting and for the TLS handshake. `None` leaves the limit to the client.
    pub(crate) connect_timeout: Option<Duration>,
}

/// A server that is a program.
pub(crate) struct CommandSpec {
    pub(crate) program: OsString,
    pub(crate) args: Vec<OsString>,
    pub(crate) env: Vec<(OsString, OsString)>,
    pub(crate) cwd: Option<PathBuf>,
    /// The program and its arguments as written in the configuration file, if there is one. Messages show this text,
    /// because the values of variables may be secrets.
    pub(crate) written: Option<Vec<String>>,
}

impl From<Endpoint> for ServerLocation {
    fn from(way: Endpoint) -> Self {
        Self { endpoint: way, file: None, untrusted: None, timeout: None, max_message: None }
    }
}

impl Address {
    pub(crate) fn is_encrypted(&self) -> bool {
        self.url.get(..6).is_some_and(|scheme| scheme.eq_ignore_ascii_case("https:"))
    }

    pub(crate) fn http(&self) -> Http {
        let mut http = Http::new(&self.url);
        for (name, value) in &self.headers {
            http = http.header(name, value);
        }
        if let Some(limit) = self.connect_timeout {
            http = http.connect_timeout(limit);
        }
        if let Some(token) = &self.bearer {
            http = http.bearer(token);
        }
        http
    }
}

impl CommandSpec {
    /// Returns the command to start. With `--verbose`, its stderr is shown to the user.
    pub(crate) fn with_stderr_to(&self, console: &Console) -> Command {
        let command = self.command();
        if !console.is_verbose {
            return command;
        }
        let console = console.clone();
        command.on_stderr(move |line| console.write_lines(line))
    }

    fn command(&self) -> Command {
        let variables = self.env.iter().map(|(name, value)| (name, value));
        let mut command = Command::new(&self.program).args(&self.args).envs(variables);
        if let Some(words) = &self.written {
            command = command.display_as(words);
        }
        if let Some(cwd) = &self.cwd {
            command = command.cwd(cwd);
        }
        command
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
    fn failure(&self, error: Error) -> Failure {
        let fault = match Fault::of(&error) {
            Fault::Unreachable if matches!(self.endpoint, Endpoint::Command(_)) && is_not_found(&error) => {
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
        Failure::from_error(fault, &error)
    }

    /// Returns the target for a client.
    pub(crate) fn target(&self, console: &Console) -> Result<Target> {
        Ok(match &self.endpoint {
            Endpoint::Url(address) => address.http().into_target()?,
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
    let target = place.target(console)?;
    // Both steps share one signal future, which is polled first, so that Ctrl-C between the two steps is received too.
    let mut stop = pin!(interrupted());
    let client = tokio::select! {
        biased;
        () = &mut stop => return Err(Failure::interrupted()),
        client = builder.connect(target) => client.map_err(|error| place.failure(error))?,
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
    outcome
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
    let logger = message.logger.as_deref().map(|name| format!(" {name}")).unwrap_or_default();
    format!("[{}{logger}] {}", message.level.as_str(), crate::json::text(&message.data))
}

/// Returns whether the program does not exist.
fn is_not_found(error: &Error) -> bool {
    let first: &(dyn std::error::Error + 'static) = error;
    std::iter::successors(Some(first), |error| error.source())
        .filter_map(|error| error.downcast_ref::<io::Error>())
        .any(|error| error.kind() == io::ErrorKind::NotFound)
}
