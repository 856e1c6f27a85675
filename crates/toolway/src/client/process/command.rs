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

/// A server that is a program: started as a child process when a client connects, and spoken to over its stdin and stdout.
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
/// **No shell** is used: words are arguments, whatever is in them. A program that is a bare name is looked for on `PATH`; one
/// with a folder in it (`./server`) is taken from the [working directory](Self::cwd) of the server.
///
/// **Environment.** A server gets the variables that programs need to run (`PATH`, `HOME`, `LANG`, `TMPDIR`, the proxies,
/// and such), and those that are [set](Self::env) for it. Tokens and keys that this program has in its environment are not
/// passed on to every server it uses, unless [`inherit_env`](Self::inherit_env) says so.
///
/// **The end.** Closing the client closes the server's stdin, which tells a server that nobody is there any more. One that is
/// still there after [two seconds](Self::close_timeout) is asked to end (SIGTERM), after two more it is killed; and so is
/// whatever it has started, as long as that has not left its process group. Dropping the client does the same without the
/// first wait. If the runtime ends before, the server is killed: `client.close().await` is the way to let it end by itself.
///
/// **What goes wrong** is told by the errors of calls: how the process ended, the last lines of its stderr, and what it
/// printed to stdout that is no message. All of its stderr goes to the log (`tracing`, target `toolway::stderr`, level debug)
/// and to [`on_stderr`](Self::on_stderr).
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
    /// The command line as it is shown, if that is another one.
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

    /// A command line as one would type it: words between spaces, with quotes and backslashes as in a shell.
    ///
    /// There is nothing else of a shell in it: no variables, no patterns, no `~`, and no second command.
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
    /// When it names no program, when a quote is not closed, and when it has what only a shell understands.
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

    /// Sets a variable of the server's environment. Its value is shown nowhere.
    pub fn env(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        self.env.push((name.as_ref().to_owned(), Some(value.as_ref().to_owned())));
        self
    }

    /// Sets variables of the server's environment.
    pub fn envs(self, variables: impl IntoIterator<Item = (impl AsRef<OsStr>, impl AsRef<OsStr>)>) -> Self {
        variables.into_iter().fold(self, |command, (name, value)| command.env(name, value))
    }

    /// Takes a variable away that the server would have: one that it inherits, or one that was set before.
    pub fn env_remove(mut self, name: impl AsRef<OsStr>) -> Self {
        self.env.push((name.as_ref().to_owned(), None));
        self
    }

    /// Lets the server inherit the whole environment of this program, and whatever secrets are in it.
    pub fn inherit_env(mut self) -> Self {
        self.inherit = Inherit::All;
        self
    }

    /// Lets the server inherit nothing, and forgets the variables that were set before. Without `PATH`, programs are found by
    /// their whole paths only.
    pub fn env_clear(mut self) -> Self {
        self.inherit = Inherit::Nothing;
        self.env.clear();
        self
    }

    /// The folder in which the server runs; that of this program, if nothing is said.
    pub fn cwd(mut self, folder: impl AsRef<Path>) -> Self {
        self.cwd = Some(folder.as_ref().to_owned());
        self
    }

    /// How long the server may take to end after its input was closed, and again after it was asked to end: two seconds each,
    /// if nothing is said. Then it is killed.
    pub fn close_timeout(mut self, time: Duration) -> Self {
        self.close_timeout = time;
        self
    }

    /// How many bytes a message to or from this server may have, whatever
    /// [the client](crate::client::ClientBuilder::max_message) says about others. A longer request is not sent, and a call whose reply is
    /// longer fails. A server that sends a longer line which is not a message, or a line without an end, is ended.
    pub fn max_message(mut self, bytes: usize) -> Self {
        self.max_message = Some(message_limit(bytes));
        self
    }

    /// Calls a function with each line that the server writes to its stderr, cut after 4 KiB.
    ///
    /// It must not take long: nobody reads the server's stderr meanwhile.
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

    /// Calls a function with each line that the server writes to its stdout and that is not a message, cut after 200 characters.
    ///
    /// Such lines are skipped here, but other clients may take them for a broken server. They mostly come from code that prints
    /// before the server starts. The function must not take long: nothing that the server says is heard meanwhile.
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

    /// Shows these words wherever the command line is shown, in errors for one: what stands in a file, and not the secrets that
    /// it stands for.
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
    /// Starts the program, and a task that watches over it. It must be called in a runtime.
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

/// Shows the command line, and of its variables the names.
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

/// How long a server may take to end after its input was closed, and again after it was asked to.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);
