//! Which program is a server, and how is it started?

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use crate::client::process::child_pipes::ChildPipes;
use crate::client::process::command_line;
use crate::client::process::diagnosis::ProcessFacts;
use crate::client::process::environment::{self, InheritedEnv};
use crate::client::process::platform::ProcessGroup;
use crate::client::process::program::{self, ProgramSearch};
use crate::client::process::program_io::{self, ServerProcess};
use crate::client::process::stderr::{LineHook, Stderr};
use crate::client::process::supervisor;
use crate::client::record::Recorder;
use crate::client::wire::target::{Connector, IntoTarget, Target};
use crate::client::wire::transport::Transport;
use crate::ground::error::{Error, ErrorKind, Result};
use crate::ground::future::BoxFuture;
use crate::transport::frame::message_limit;

/// A server that is started as a child process when a client connects. Client and server exchange messages over the
/// server's stdin and stdout.
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
/// let client = Client::builder().connect(files.connect().await?).await?;
/// # Ok(()) }
/// ```
///
/// **No shell** is used: each word is passed to the program unchanged. A program given as a bare name is looked up on
/// `PATH`. A program given with a folder, such as `./server`, is relative to the [working directory](Self::cwd) of the
/// server.
///
/// **Environment.** A server inherits the variables that programs need to run (`PATH`, `HOME`, `LANG`, `TMPDIR`, the
/// proxy variables, and similar ones). [`env`](Self::env) sets further variables. All other variables of this program,
/// such as tokens and keys, are not passed on, unless [`inherit_env`](Self::inherit_env) is called.
///
/// **Shutdown.** Closing the client closes the server's stdin, which tells the server that the client is gone. If the
/// server is still running after [two seconds](Self::close_timeout), it gets SIGTERM; after two more seconds it is
/// killed. Windows has no SIGTERM, so there the server is killed after the first two seconds. The processes that the
/// server has started are ended in the same way. On Linux, that includes processes that have left the process group of
/// the server, as `setsid` does: they are found by their parents, and by the variable `TOOLWAY_SERVER_MARK`, which they
/// inherit from the server. On other Unix systems such processes stay. Dropping the client also ends the server, but
/// without the first wait of two seconds. If the runtime shuts down first, the server is killed at
/// once; call `client.close().await` to let the server exit on its own.
///
/// **Failures.** If the server ends or does not answer, the error of a call says whether and how the process ended, and
/// shows the last lines of its stderr and the first line on its stdout that is not a message. All lines of stderr that
/// are not blank go to the log (`tracing`, target `toolway::stderr`, level debug) and to
/// [`on_stderr`](Self::on_stderr).
#[derive(Clone)]
pub struct Command {
    program: OsString,
    args: Vec<OsString>,
    inherit: InheritedEnv,
    /// The variables to set, or to remove if the value is `None`, in order.
    env: Vec<(OsString, Option<OsString>)>,
    cwd: Option<PathBuf>,
    close_timeout: Duration,
    max_message: Option<usize>,
    on_stderr: Option<LineHook>,
    on_stray_line: Option<LineHook>,
    /// The command line to show, if it differs from the real one.
    displayed_line: Option<String>,
    recorder: Option<Recorder>,
}

impl Command {
    /// A server whose program is started without arguments.
    pub fn new(program: impl AsRef<OsStr>) -> Self {
        Self {
            program: program.as_ref().to_owned(),
            args: Vec::new(),
            inherit: InheritedEnv::Basics,
            env: Vec::new(),
            cwd: None,
            close_timeout: CLOSE_TIMEOUT,
            max_message: None,
            on_stderr: None,
            on_stray_line: None,
            displayed_line: None,
            recorder: None,
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
        self.inherit = InheritedEnv::All;
        self
    }

    /// Lets the server inherit no variables, and removes the variables that were set before. Without `PATH`, the
    /// program must be given by its full path.
    pub fn env_clear(mut self) -> Self {
        self.inherit = InheritedEnv::Nothing;
        self.env.clear();
        self
    }

    /// Sets the working directory of the server; by default the working directory of this program.
    pub fn cwd(mut self, folder: impl AsRef<Path>) -> Self {
        self.cwd = Some(folder.as_ref().to_owned());
        self
    }

    /// Sets how long the server may take to exit after its input was closed, and again after it got SIGTERM. The
    /// default is two seconds for each. After that, the server is killed.
    pub fn close_timeout(mut self, time: Duration) -> Self {
        self.close_timeout = time;
        self
    }

    /// Sets the maximum length in bytes of a message to or from this server. This limit overrides the limit of [the
    /// client](crate::client::ClientBuilder::max_message). A longer request is not sent, and a call whose reply is
    /// longer fails. If the server sends a line that is longer than the limit, and that is not a message or has no end,
    /// the client ends the server.
    pub fn max_message(mut self, bytes: usize) -> Self {
        self.max_message = Some(message_limit(bytes));
        self
    }

    /// Calls a function with each line that the server writes to its stderr. Blank lines are left out. Lines are
    /// truncated to 4 KiB.
    ///
    /// The function must return quickly: no more of the server's stderr is read until the function returns.
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

    /// Calls a function with each line on the server's stdout that is not a message. Lines are truncated to 200
    /// characters, and control characters in them are escaped.
    ///
    /// This client skips such lines, but other clients may treat the server as broken. The lines usually come from code
    /// that prints before the server starts. The function must return quickly: no further messages of the server are
    /// read until the function returns.
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

    /// Records the lines that the server writes to stderr, and hides the server's environment from the recording. A
    /// client with a [recorder](crate::client::ClientBuilder::recorder) does this by itself, and records the messages
    /// too.
    ///
    /// ```
    /// use toolway::client::Command;
    /// use toolway::client::record::Recorder;
    ///
    /// let recorder = Recorder::new();
    /// let command = Command::new("server").env("API_KEY", "never recorded").recorder(&recorder);
    /// ```
    pub fn recorder(mut self, recorder: &Recorder) -> Self {
        recorder.set_transport("pipe");
        self.hide_environment(recorder);
        self.recorder = Some(recorder.clone());
        self
    }

    /// Returns the program.
    pub fn get_program(&self) -> &OsStr {
        &self.program
    }

    /// Returns the arguments.
    pub fn get_args(&self) -> impl ExactSizeIterator<Item = &OsStr> {
        self.args.iter().map(OsString::as_os_str)
    }

    /// Returns the full path of the file that would be started. A bare name is looked up on the `PATH` of the server, and
    /// the result is `None` if it is not there. A path with a folder is made absolute; the file may be missing.
    ///
    /// Use it to show a user what runs before it runs. To be sure that the same file is started later, create a command
    /// with this path.
    ///
    /// ```
    /// use toolway::client::Command;
    ///
    /// let command = Command::new("./server").cwd("/opt/shop");
    /// assert_eq!(command.program_file().unwrap(), std::path::absolute("/opt/shop/./server")?);
    /// assert_eq!(Command::new("server").env("PATH", "/no/such/folder").program_file(), None);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn program_file(&self) -> Option<PathBuf> {
        let variables = self.variables();
        program::full_path(&self.search(&variables))
    }

    /// Shows these words in place of the real command line, for example in errors. Use it if an argument is a secret,
    /// to show a placeholder for the secret.
    ///
    /// ```
    /// use toolway::client::{Command, Connector};
    ///
    /// # let token = "s3cret";
    /// let command = Command::new("server").args(["--token", token]).display_as(["server", "--token", "${TOKEN}"]);
    /// assert_eq!(command.name(), "`server --token '${TOKEN}'`");
    /// ```
    pub fn display_as(mut self, words: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Self {
        let words: Vec<_> = words.into_iter().collect();
        self.displayed_line = Some(command_line::format_line(words.iter().map(AsRef::as_ref)));
        self
    }

    fn display_line(&self) -> String {
        if let Some(shown) = &self.displayed_line {
            return shown.clone();
        }
        command_line::format_line(std::iter::once(self.get_program()).chain(self.get_args()))
    }

    /// Returns the environment of the server.
    fn variables(&self) -> Vec<(OsString, OsString)> {
        environment::variables(self.inherit, std::env::vars_os(), &self.env)
    }

    /// Hides the variables of the server's environment from a recording, except those that every program has.
    fn hide_environment(&self, recorder: &Recorder) {
        let set: Vec<_> = self.env.iter().map(|(name, _)| name).collect();
        for (name, value) in self.variables() {
            // A path on this machine describes it, and occurs in many messages.
            let path = Path::new(&value);
            let is_path = path.is_absolute() && path.exists();
            if set.contains(&&name) || !(is_path || environment::is_public(&name)) {
                recorder.hide(&value.to_string_lossy());
            }
        }
    }

    fn search<'s>(&'s self, variables: &'s [(OsString, OsString)]) -> ProgramSearch<'s> {
        let path = variables.iter().find(|(name, _)| name.eq_ignore_ascii_case("PATH"));
        let path = path.map(|(_, value)| value.as_os_str());
        ProgramSearch { program: &self.program, cwd: self.cwd.as_deref(), path }
    }

    fn spawn(&self) -> Result<Box<dyn Transport>> {
        let (facts, group, pipes) = self.start_process()?;
        let (close_timeout, max_message) = (self.close_timeout, self.max_message);
        let (on_stray_line, recorder) = (self.on_stray_line.clone(), self.recorder.clone());
        Ok(Box::new(supervisor::start(
            facts,
            group,
            pipes,
            close_timeout,
            max_message,
            on_stray_line,
            recorder,
        )))
    }

    /// Starts the program without a client. The program at the other end decides what the bytes mean; this is for
    /// proxies. Lines of stderr go to [`on_stderr`](Self::on_stderr) as usual. Must be called within a Tokio runtime.
    ///
    /// ```no_run
    /// use tokio::io::{AsyncReadExt, AsyncWriteExt};
    /// use toolway::client::Command;
    ///
    /// # async fn run() -> Result<(), Box<dyn std::error::Error>> {
    /// let (mut stdout, mut stdin, process) = Command::new("server").spawn_io()?.into_parts();
    /// stdin.write_all(b"{}\n").await?;
    /// let mut answer = [0; 1024];
    /// let length = stdout.read(&mut answer).await?;
    /// process.close().await?;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    ///
    /// When the program cannot be started.
    pub fn spawn_io(&self) -> Result<ServerProcess> {
        let (facts, group, pipes) = self.start_process()?;
        let (near, far) = tokio::io::duplex(program_io::BUFFER);
        Ok(ServerProcess::new(near, supervisor::start_unread(facts, group, pipes, self.close_timeout, far)))
    }

    fn start_process(&self) -> Result<(ProcessFacts, ProcessGroup, ChildPipes)> {
        let variables = self.variables();
        let search = self.search(&variables);
        let mut command = tokio::process::Command::new(program::program_file(&search));
        command.args(&self.args).env_clear().envs(variables.iter().map(|(name, value)| (name, value)));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        if let Some(folder) = &self.cwd {
            command.current_dir(folder);
        }
        let (group, pipes) = ProcessGroup::spawn(command, self.inherit).map_err(|error| {
            Error::new(ErrorKind::Transport, format!("failed to connect to `{}`", self.display_line()))
                .caused_by(program::start_error(&search, error))
                .unsent()
        })?;
        let facts = ProcessFacts {
            name: self.display_line(),
            stderr: Stderr::new(self.on_stderr.clone(), self.recorder.clone()),
            end_description: OnceLock::new(),
        };
        Ok((facts, group, pipes))
    }
}

impl Connector for Command {
    /// Starts the program, and a task that monitors the process. Must be called within a Tokio runtime.
    fn connect(&self) -> BoxFuture<'_, Result<Box<dyn Transport>>> {
        Box::pin(async { self.spawn() })
    }

    fn name(&self) -> String {
        format!("`{}`", self.display_line())
    }

    fn recorded(&self, recorder: &Recorder) -> Option<Target> {
        Some(Target::new(self.clone().recorder(recorder)))
    }

    fn cache_key(&self) -> Option<String> {
        let parts: Vec<_> = std::iter::once(&self.program).chain(&self.args).collect();
        Some(format!("{parts:?} in {:?}", self.cwd))
    }
}

impl IntoTarget for Command {
    fn into_target(self) -> Result<Target> {
        Ok(Target::new(self))
    }
}

/// Shows the command line, and the names of the variables without their values.
impl fmt::Debug for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let variables: Vec<_> = self.env.iter().map(|(name, _)| name).collect();
        f.debug_struct("Command")
            .field("line", &self.display_line())
            .field("inherit", &self.inherit)
            .field("env", &variables)
            .field("cwd", &self.cwd)
            .field("close_timeout", &self.close_timeout)
            .field("max_message", &self.max_message)
            .finish_non_exhaustive()
    }
}

/// The default time that a server may take to exit after its input was closed, and again after it got SIGTERM.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);
