//! How is a server reached: at a URL, as a program, or inside this one?

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use toolway::Server;
use toolway::client::{Command, Http};
use toolway::hub::config::OAuthConfig;

use crate::console::Console;
use crate::failure::Result;
use crate::sign_in::with_sign_in;

/// The variable with a token for servers that are named by their URL.
pub(crate) const BEARER_VARIABLE: &str = "TOOLWAY_BEARER";

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
    /// The settings for signing in, from a file.
    pub(crate) oauth: Option<OAuthConfig>,
    /// The command that signs in to this server.
    pub(crate) login: String,
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

impl Address {
    pub(crate) fn is_encrypted(&self) -> bool {
        self.url.get(..6).is_some_and(|scheme| scheme.eq_ignore_ascii_case("https:"))
    }

    /// Returns whether the user gave a token, so that the client does not sign in.
    pub(crate) fn has_credentials(&self) -> bool {
        self.bearer.is_some() || self.has_authorization_header()
    }

    pub(crate) fn has_authorization_header(&self) -> bool {
        self.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("authorization"))
    }

    /// Returns the server, to which a client signs in if the server asks for it and the user gave no token.
    pub(crate) async fn signed_in(&self, console: &Console) -> Result<Http> {
        if self.has_credentials() {
            return Ok(self.http());
        }
        with_sign_in(self.http(), self.oauth.as_ref(), console).await
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

    pub(crate) fn command(&self) -> Command {
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
