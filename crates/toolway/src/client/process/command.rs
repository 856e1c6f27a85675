//! Which program is a server, and how is it started?

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use crate::client::process::command_line;
use crate::client::process::diagnosis::Facts;
use crate::client::process::environment::{self, Inherit};
use crate::client::process::platform::Group;
use crate::client::process::program::{self, Search};
use crate::client::process::stderr::{Hook, Stderr};
use crate::client::process::supervisor;
use crate::client::wire::target::{Connector, IntoTarget, Target};
use crate::client::wire::transport::Transport;
use crate::ground::error::{Error, ErrorKind, Result};
use crate::ground::future::BoxFuture;
use crate::transport::frame::message_limit;

/// A server that is a program. It is started as a child process when a client connects, and talks over its stdin and
/// stdout.
///
/// ```no_run
/// use toolway::client::{Command, Connector};
/// use toolway::prelude::*;
///
/// # async fn run() -> toolway::Result<()> {
/// let files = Command::new("npx")
///     .args(["-y", "@modelcontextprotocol/server-filesystem"])
///     .arg("/my data")
///     .env("NODE_ENV", "production");
/// let client = Client::builder().connect(files.reach().await?).await?;
/// # Ok(()) }
/// ```
///
/// **No shell** is used: each word is passed to the program unchanged. A program given as a bare name is looked up on
/// `PATH`. One with a folder in it (`./server`) is relative to the [working directory](Self::cwd) of the server.
///
/// **Environment.** A server gets the variables that programs need to run (`PATH`, `HOME`, `LANG`, `TMPDIR`, the
/// proxies, and similar ones), and those that are [set](Self::env) for it. Tokens and keys in the environment of this
/// program are not passed on, unless [`inherit_env`](Self::inherit_env) is called.
///
/// **Shutdown.** Closing the client closes the server's stdin, which tells the server that the client is gone. If it is
/// still running after [two seconds](Self::close_timeout), it gets SIGTERM; after two more seconds it is killed.
/// Windows has no SIGTERM, so there it is killed after the first two seconds. The same happens to the processes that it
/// has started, unless they have left its process group. Dropping the client does the same without the first wait. If
/// the runtime shuts down first, the server is killed; call `client.close().await` to let it exit on its own.
///
/// **Failures** are explained by the errors of calls: how the process ended, the last lines of its stderr, and the
/// lines on its stdout that are not messages. All of its stderr goes to the log (`tracing`, target `toolway::stderr`,
/// level debug) and to [`on_stderr`](Self::on_stderr).
#[derive(Clone)]
pub struct Command {
    program: OsString,
    args: Vec<OsString>,
    inherit: Inherit,
    env: Vec<(OsString, Option<OsString>)>,
    cwd: Option<PathBuf>,
    close_timeout: Duration,
    max_message: Option<usize>,
    on_stderr: Option<Hook>,
    on_stray_line: Option<Hook>,
    /// The command line to show, if it differs from the real one.
    shown: Option<String>,
}

impl Command {
    /// A program without arguments.
    pub fn new(program: impl AsRef<OsStr>) -> Self {
        Self {
            program: program.as_ref().to_owned(),
            args: Vec::new(),
            inherit: Inherit::Basics,
            env: Vec::new(),
            cwd: None,
            close_timeout: CLOSE_TIMEOUT,
            max_message: None,
            on_stderr: None,
            on_stray_line: None,
            shown: None,
        }
    }

    /// Parses a command line: words separated by spaces, with quotes and backslashes as in a shell.
    ///
    /// Other features of a shell are not supported: variables, patterns and `~` stay as they are, and there is only one
    /// command.
    ///
    /// ```
    /// use toolway::client::{Command, Connector};
    ///
    /// let command = Command::parse("npx -y @modelcontextprotocol/server-filesystem /my\\ data")?;
    /// assert_eq!(command.name(), "`npx -y @modelcontextprotocol/server-filesystem '/my data'`");
    /// assert!(Command::parse("server 'an open quote").is_err());
    /// # Ok::<(), toolway::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// When the line does not name a program, when a quote is not closed, when a word is a shell operator such as `|`
    /// or `>`, and when the line begins with a variable assignment.
    pub fn parse(line: &str) -> Result<Self> {
        let mut words = command_line::parse(line)?.into_iter();
        Ok(Self::new(words.next().unwrap_or_default()).args(words))
    }

    /// Adds an argument.
    pub fn arg(mut self, arg: impl AsRef<OsStr>) -> Self {
        self.args.push(arg.as_ref().to_owned());
        self
    }

    /// Adds arguments.
    pub fn args(mut self, args: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Self {
        self.args.extend(args.into_iter().map(|arg| arg.as_ref().to_owned()));
        self
    }

    /// Sets a variable of the server's environment. Its value is never shown.
    pub fn env(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        self.env.push((name.as_ref().to_owned(), Some(value.as_ref().to_owned())));
        self
    }

    /// Sets variables of the server's environment.
    pub fn envs(self, variables: impl IntoIterator<Item = (impl AsRef<OsStr>, impl AsRef<OsStr>)>) -> Self {
        variables.into_iter().fold(self, |command, (name, value)| command.env(name, value))
    }

    /// Removes a variable from the server's environment, whether it is inherited or was set before.
    pub fn env_remove(mut self, name: impl AsRef<OsStr>) -> Self {
        self.env.push((name.as_ref().to_owned(), None));
        self
    }

    /// Lets the server inherit the whole environment of this program, including any secrets in it.
    pub fn inherit_env(mut self) -> Self {
        self.inherit = Inherit::All;
        self
    }

    /// Lets the server inherit no variables, and removes those that were set before. Without `PATH`, programs must be
    /// given by their full path.
    pub fn env_clear(mut self) -> Self {
        self.inherit = Inherit::Nothing;
        self.env.clear();
        self
    }

    /// The folder in which the server runs; by default that of this program.
    pub fn cwd(mut self, folder: impl AsRef<Path>) -> Self {
        self.cwd = Some(folder.as_ref().to_owned());
        self
    }

    /// How long the server may take to exit after its input was closed, and again after it got SIGTERM; by default two
    /// seconds each. Then it is killed.
    pub fn close_timeout(mut self, time: Duration) -> Self {
        self.close_timeout = time;
        self
    }

    /// The maximum length in bytes of a message to or from this server. It overrides the limit of [the
    /// client](crate::client::ClientBuilder::max_message). A longer request is not sent, and a call whose reply is
    /// longer fails. The client ends a server that sends a longer line that is not a message, or a line without an end.
    pub fn max_message(mut self, bytes: usize) -> Self {
        self.max_message = Some(message_limit(bytes));
        self
    }

    /// Calls a function with each line that the server writes to its stderr. Lines are truncated to 4 KiB.
    ///
    /// The function must return quickly: the server's stderr is not read until it does.
    ///
    /// ```
    /// use toolway::client::Command;
    ///
    /// let command = Command::new("server").on_stderr(|line| eprintln!("server: {line}"));
    /// ```
    pub fn on_stderr(mut self, hear: impl Fn(&str) + Send + Sync + 'static) -> Self {
        self.on_stderr = Some(Arc::new(hear));
        self
    }

    /// Calls a function with each line that the server writes to its stdout and that is not a message. Lines are
    /// truncated to 200 characters.
    ///
    /// This client skips such lines, but other clients may treat the server as broken. The lines usually come from code
    /// that prints before the server starts. The function must return quickly: nothing else from the server is read
    /// until it does.
    ///
    /// ```
    /// use toolway::client::Command;
    ///
    /// let command = Command::new("server").on_stray_line(|line| eprintln!("not a message: {line}"));
    /// ```
    pub fn on_stray_line(mut self, hear: impl Fn(&str) + Send + Sync + 'static) -> Self {
        self.on_stray_line = Some(Arc::new(hear));
        self
    }

    /// The program.
    pub fn get_program(&self) -> &OsStr {
        &self.program
    }

    /// The arguments.
    pub fn get_args(&self) -> impl ExactSizeIterator<Item = &OsStr> {
        self.args.iter().map(OsString::as_os_str)
    }

    /// Shows these words wherever the command line is shown, for example in errors. This way a placeholder from a
    /// configuration file is shown in place of the secret.
    ///
    /// ```
    /// use toolway::client::{Command, Connector};
    ///
    /// # let token = "s3cret";
    /// let command = Command::new("server").args(["--token", token]).shown_as(["server", "--token", "${TOKEN}"]);
    /// assert_eq!(command.name(), "`server --token '${TOKEN}'`");
    /// ```
    pub fn shown_as(mut self, words: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Self {
        let words: Vec<_> = words.into_iter().collect();
        self.shown = Some(command_line::line(words.iter().map(AsRef::as_ref)));
        self
    }

    fn line(&self) -> String {
        if let Some(shown) = &self.shown {
            return shown.clone();
        }
        command_line::line(std::iter::once(self.get_program()).chain(self.get_args()))
    }

    fn start(&self) -> Result<Box<dyn Transport>> {
        let variables = environment::variables(self.inherit, std::env::vars_os(), &self.env);
        let path = variables.iter().find(|(name, _)| name.eq_ignore_ascii_case("PATH"));
        let path = path.map(|(_, value)| value.as_os_str());
        let search = Search { program: &self.program, cwd: self.cwd.as_deref(), path };
        let mut command = tokio::process::Command::new(program::file(&search));
        command.args(&self.args).env_clear().envs(variables.iter().map(|(name, value)| (name, value)));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        if let Some(folder) = &self.cwd {
            command.current_dir(folder);
        }
        let (group, pipes) = Group::spawn(command).map_err(|error| {
            Error::new(ErrorKind::Transport, format!("failed to connect to `{}`", self.line()))
                .caused_by(program::failure(&search, error))
                .unsent()
        })?;
        let facts =
            Facts { name: self.line(), stderr: Stderr::new(self.on_stderr.clone()), end: OnceLock::new() };
        let (close_timeout, max_message) = (self.close_timeout, self.max_message);
        let on_stray_line = self.on_stray_line.clone();
        Ok(Box::new(supervisor::start(facts, group, pipes, close_timeout, max_message, on_stray_line)))
    }
}

impl Connector for Command {
    /// Starts the program, and a task that monitors it. Must be called in a runtime.
    fn reach(&self) -> BoxFuture<'_, Result<Box<dyn Transport>>> {
        Box::pin(async { self.start() })
    }

    fn name(&self) -> String {
        format!("`{}`", self.line())
    }

    fn key(&self) -> Option<String> {
        let parts: Vec<_> = std::iter::once(&self.program).chain(&self.args).collect();
        Some(format!("{parts:?} in {:?}", self.cwd))
    }
}

impl IntoTarget for Command {
    fn into_target(self) -> Result<Target> {
        Ok(Target::new(self))
    }
}

/// Shows the command line, and only the names of the variables.
impl fmt::Debug for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let variables: Vec<_> = self.env.iter().map(|(name, _)| name).collect();
        f.debug_struct("Command")
            .field("line", &self.line())
            .field("inherit", &self.inherit)
            .field("env", &variables)
            .field("cwd", &self.cwd)
            .field("close_timeout", &self.close_timeout)
            .field("max_message", &self.max_message)
            .finish_non_exhaustive()
    }
}

/// How long a server may take to exit after its input was closed, and again after it got SIGTERM.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);
