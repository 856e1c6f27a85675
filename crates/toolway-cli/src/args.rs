//! What does the command line accept?
//!
//! The program `toolway` works with any server, which the command line names. An author's own program works with the
//! server that is built into it. Both have the same commands; [`TargetKind`] holds the differences.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand};
use toolway::ProtocolVersion;

use crate::http_address::{HTTP_ADDRESS, insert_default_http_address};

/// A command line.
#[derive(Parser)]
pub(crate) struct CommandLine<K: TargetKind> {
    #[command(subcommand)]
    pub(crate) command: Command<K>,
}

/// The kind of server that the commands are about.
pub(crate) trait TargetKind: Send + Sync + 'static {
    /// The options that say where the server is.
    type LocationArgs: Args + Send + Sync;
    /// The options that say which server to run.
    type Serve: Args + Send + Sync;
    /// The commands that only this kind has.
    type OwnCommands: OwnCommands;
    /// The usage lines of each command, without the program and the command.
    const USAGE: &'static [(&'static str, &'static [&'static str])];
}

/// Any server, named on the command line.
pub(crate) enum AnyServer {}

impl TargetKind for AnyServer {
    type LocationArgs = LocationArgs;
    type Serve = ServeAny;
    type OwnCommands = AnyServerCommands;
    const USAGE: &'static [(&'static str, &'static [&'static str])] = &[
        ("list", &["[OPTIONS] TARGET", "[OPTIONS] -- COMMAND [ARG]..."]),
        (
            "call",
            &["[OPTIONS] TARGET TOOL [KEY=VALUE]...", "[OPTIONS] TOOL [KEY=VALUE]... -- COMMAND [ARG]..."],
        ),
        ("read", &["[OPTIONS] TARGET URI", "[OPTIONS] URI -- COMMAND [ARG]..."]),
        (
            "prompt",
            &["[OPTIONS] TARGET NAME [KEY=VALUE]...", "[OPTIONS] NAME [KEY=VALUE]... -- COMMAND [ARG]..."],
        ),
        (
            "complete",
            &[
                "[OPTIONS] TARGET prompt NAME ARGUMENT [TYPED] [KEY=VALUE]...",
                "[OPTIONS] TARGET template URI_TEMPLATE VARIABLE [TYPED] [KEY=VALUE]...",
            ],
        ),
        ("doctor", &["[OPTIONS] TARGET", "[OPTIONS] -- COMMAND [ARG]..."]),
        (
            "inspect",
            &[
                "[OPTIONS] TARGET",
                "[OPTIONS] -- COMMAND [ARG]...",
                "[OPTIONS] --config FILE",
                "[OPTIONS] RECORDING.jsonl",
                "[OPTIONS] --demo",
            ],
        ),
        ("serve", &["[OPTIONS] DIRECTORY", "[OPTIONS] --demo"]),
        ("proxy", &["[OPTIONS] TARGET", "[OPTIONS] -- COMMAND [ARG]..."]),
        ("trust", &["[OPTIONS] --list", "[OPTIONS] --revoke NAME"]),
        ("login", &["[OPTIONS] TARGET"]),
        ("logout", &["[OPTIONS] TARGET"]),
        ("whoami", &["[OPTIONS] TARGET"]),
    ];
}

/// The server that is built into the program.
pub(crate) enum OwnServer {}

impl TargetKind for OwnServer {
    type LocationArgs = NoLocationArgs;
    type Serve = ServeOwn;
    type OwnCommands = NoCommands;
    const USAGE: &'static [(&'static str, &'static [&'static str])] = &[
        ("list", &["[OPTIONS]"]),
        ("call", &["[OPTIONS] TOOL [KEY=VALUE]..."]),
        ("read", &["[OPTIONS] URI"]),
        ("prompt", &["[OPTIONS] NAME [KEY=VALUE]..."]),
        (
            "complete",
            &[
                "[OPTIONS] prompt NAME ARGUMENT [TYPED] [KEY=VALUE]...",
                "[OPTIONS] template URI_TEMPLATE VARIABLE [TYPED] [KEY=VALUE]...",
            ],
        ),
        ("doctor", &["[OPTIONS]"]),
        ("inspect", &["[OPTIONS]", "[OPTIONS] RECORDING.jsonl"]),
        ("serve", &["[OPTIONS]"]),
    ];
}

/// The program that the command line belongs to.
pub(crate) struct Program {
    /// The name of the executable.
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) about: String,
    pub(crate) after_help: String,
}

impl<K: TargetKind> CommandLine<K> {
    /// Parses a command line; the first word is the program.
    pub(crate) fn read(
        program: &Program,
        words: impl IntoIterator<Item = OsString>,
    ) -> Result<Self, clap::Error> {
        let Program { name, version, about, after_help } = program;
        let mut command = Self::command()
            .name(name.clone())
            .bin_name(name)
            .version(version.clone())
            .about(about)
            .after_help(after_help);
        for (word, lines) in K::USAGE {
            let usage: Vec<_> = lines.iter().map(|line| format!("{name} {word} {line}")).collect();
            command = command.mut_subcommand(word, |sub| sub.override_usage(usage.join("\n       ")));
        }
        let mut matches = command.try_get_matches_from_mut(insert_default_http_address(words))?;
        Self::from_arg_matches_mut(&mut matches).map_err(|error| error.format(&mut command))
    }
}

#[derive(Subcommand)]
pub(crate) enum Command<K: TargetKind> {
    /// Show what a server offers.
    List(List<K>),
    /// Call a tool.
    #[command(after_help = ARGUMENTS)]
    Call(Call<K>),
    /// Read a resource.
    Read(Read<K>),
    /// Fill in a prompt.
    #[command(after_help = TEXTS)]
    Prompt(Prompt<K>),
    /// Complete an argument of a prompt, or a variable of a resource template.
    #[command(after_help = COMPLETING)]
    Complete(Target<K>),
    /// Find out what is wrong with a server, or with the connection to it.
    Doctor(Target<K>),
    /// Look into a server with a browser: its elements, frames and times.
    Inspect(Inspect<K>),
    /// Run a server, by default on stdin and stdout.
    Serve(K::Serve),
    #[command(flatten)]
    Own(K::OwnCommands),
}

/// The commands that only one kind of program has.
pub(crate) trait OwnCommands: Subcommand + Send + Sync {
    /// Returns the command.
    fn into_command(self) -> AnyServerCommands;

    /// Returns whether the output is JSON, for another program.
    fn wants_json(&self) -> bool;
}

/// The commands of `toolway` that are not about one server.
#[derive(Subcommand)]
pub(crate) enum AnyServerCommands {
    /// Show or revoke your agreements to use servers that files of projects describe.
    Trust(Trust),
    /// Stand between a host and its server: start it again when it ends, record, or reach it in another way.
    Proxy(Proxy),
    /// Sign in to a server, and keep the token for all commands.
    Login(Login),
    /// Sign out of a server: forget the token, and give it back.
    Logout(SignInTarget),
    /// Show as whom you are signed in to a server.
    Whoami(SignInTarget),
}

impl OwnCommands for AnyServerCommands {
    fn into_command(self) -> AnyServerCommands {
        self
    }

    fn wants_json(&self) -> bool {
        match self {
            Self::Trust(trust) => trust.json,
            Self::Proxy(_) => false,
            Self::Login(Login { target, .. }) | Self::Logout(target) | Self::Whoami(target) => target.json,
        }
    }
}

/// No further commands.
#[derive(Subcommand)]
pub(crate) enum NoCommands {}

impl OwnCommands for NoCommands {
    fn into_command(self) -> AnyServerCommands {
        match self {}
    }

    fn wants_json(&self) -> bool {
        match *self {}
    }
}

#[derive(Args)]
pub(crate) struct Proxy {
    #[arg(hide = true, num_args = 0..)]
    pub(crate) words: Vec<String>,
    /// Record everything in this file, without secrets. An existing file is replaced.
    #[arg(long, value_name = "FILE")]
    pub(crate) record: Option<PathBuf>,
    /// Serve hosts that only take URLs, at the path `/mcp` of this address of this machine, instead of one host on stdin
    /// and stdout.
    #[arg(long, value_name = "ADDRESS", num_args = 0..=1, default_missing_value = HTTP_ADDRESS)]
    pub(crate) http: Option<SocketAddr>,
    /// The maximum size of a message that is sent or received over HTTP: in bytes, or with a unit such as 64M; by default
    /// 16M.
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub(crate) max_message: Option<usize>,
    #[command(flatten)]
    pub(crate) location: LocationArgs,
}

#[derive(Args)]
pub(crate) struct Trust {
    /// List the servers that you agreed to use.
    #[arg(long, required_unless_present = "revoke", conflicts_with = "revoke")]
    pub(crate) list: bool,
    /// Forget the agreement about this server, in every project that has a server of this name.
    #[arg(long, value_name = "NAME")]
    pub(crate) revoke: Option<String>,
    /// Print JSON: the list on stdout, errors as one line on stderr.
    #[arg(long)]
    pub(crate) json: bool,
}

impl<K: TargetKind> Command<K> {
    /// Returns whether the output is JSON, for another program.
    pub(crate) fn wants_json(&self) -> bool {
        match self {
            Self::List(List { target, .. })
            | Self::Call(Call { target, .. })
            | Self::Read(Read { target, .. })
            | Self::Prompt(Prompt { target, .. })
            | Self::Complete(target)
            | Self::Doctor(target)
            | Self::Inspect(Inspect { target, .. }) => target.talk.json,
            Self::Serve(_) => false,
            Self::Own(command) => command.wants_json(),
        }
    }
}

#[derive(Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of its own")]
pub(crate) struct List<K: TargetKind> {
    /// List the tools.
    #[arg(long)]
    pub(crate) tools: bool,
    /// List the resources.
    #[arg(long)]
    pub(crate) resources: bool,
    /// List the resource templates.
    #[arg(long)]
    pub(crate) templates: bool,
    /// List the prompts.
    #[arg(long)]
    pub(crate) prompts: bool,
    #[command(flatten)]
    pub(crate) target: Target<K>,
}

#[derive(Args)]
pub(crate) struct Call<K: TargetKind> {
    /// All arguments as a JSON object, sent as it is: the text itself, @FILE, or - for stdin.
    #[arg(long, value_name = "JSON", allow_hyphen_values = true)]
    pub(crate) input_json: Option<String>,
    /// Write images, sounds and files of the result into this directory.
    #[arg(long, value_name = "DIRECTORY")]
    pub(crate) save: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) target: Target<K>,
}

#[derive(Args)]
pub(crate) struct Inspect<K: TargetKind> {
    /// Serve the page at this port of 127.0.0.1; by default 6270, or any free one.
    #[arg(long, value_name = "PORT")]
    pub(crate) port: Option<u16>,
    /// Only show the link; do not open a browser.
    #[arg(long)]
    pub(crate) no_open: bool,
    /// Record everything in this file, without secrets. An existing file is replaced.
    #[arg(long, value_name = "FILE")]
    pub(crate) record: Option<PathBuf>,
    /// Show what is added to the recording.
    #[arg(long)]
    pub(crate) follow: bool,
    #[command(flatten)]
    pub(crate) target: Target<K>,
}

#[derive(Args)]
pub(crate) struct Read<K: TargetKind> {
    /// Write the resource to this file instead of stdout.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) target: Target<K>,
}

#[derive(Args)]
pub(crate) struct Prompt<K: TargetKind> {
    /// Write images, sounds and files of the messages into this directory.
    #[arg(long, value_name = "DIRECTORY")]
    pub(crate) save: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) target: Target<K>,
}

/// The server that a command is about, how one speaks with it, and what is asked of it.
#[derive(Args)]
pub(crate) struct Target<K: TargetKind> {
    #[arg(hide = true, num_args = 0..)]
    pub(crate) words: Vec<String>,
    #[command(flatten)]
    pub(crate) talk: ConnectionArgs,
    #[command(flatten)]
    pub(crate) reach: K::LocationArgs,
}

/// How one speaks with a server.
#[derive(Args, Default)]
pub(crate) struct ConnectionArgs {
    /// Print JSON: results as the server sent them on stdout, errors as one line on stderr.
    #[arg(long)]
    pub(crate) json: bool,
    /// Show on stderr the server's log, its progress, and the stderr of its program.
    #[arg(short, long)]
    pub(crate) verbose: bool,
    /// Do not ask the user: questions of the server are declined.
    #[arg(long)]
    pub(crate) no_input: bool,
    /// How long the server may be silent before a request times out.
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub(crate) timeout: Option<Duration>,
    /// How long a request may take in total, even if the server reports progress; by default an hour.
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub(crate) deadline: Option<Duration>,
    /// The maximum size of a message that is sent or received: in bytes, or with a unit such as 64M; by default 16M.
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub(crate) max_message: Option<usize>,
    /// The maximum number of items in a list of the server; by default 10000.
    #[arg(long, value_name = "NUMBER")]
    pub(crate) max_list_items: Option<usize>,
    /// The maximum size of a list of the server: in bytes, or with a unit such as 64M; by default 32M.
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub(crate) max_list_bytes: Option<usize>,
    /// Use this protocol revision instead of negotiating one.
    #[arg(long, value_name = "REVISION", value_parser = revision)]
    pub(crate) protocol: Option<ProtocolVersion>,
}

/// Where a server is. What may be secret here is never shown, so it has no `Debug`.
#[derive(Args, Default)]
pub(crate) struct LocationArgs {
    /// Send this header with every request.
    #[arg(long, value_name = "NAME: VALUE", help_heading = WHERE)]
    pub(crate) header: Vec<String>,
    /// Send this token with every request. For a URL, the environment variable `TOOLWAY_BEARER` does the same and
    /// hides the token from other users.
    #[arg(long, value_name = "TOKEN", help_heading = WHERE)]
    pub(crate) bearer: Option<String>,
    /// Set an environment variable for the command; without VALUE, pass on the value from the current environment.
    #[arg(long, value_name = "NAME[=VALUE]", help_heading = WHERE)]
    pub(crate) env: Vec<String>,
    /// Start the command in this directory.
    #[arg(long, value_name = "DIRECTORY", help_heading = WHERE)]
    pub(crate) cwd: Option<PathBuf>,
    /// Look up server names in this file only.
    #[arg(long, value_name = "FILE", help_heading = WHERE)]
    pub(crate) config: Option<PathBuf>,
    /// The demo server of `toolway serve --demo`, instead of a TARGET.
    #[arg(long, help_heading = WHERE, conflicts_with_all = ["config", "line", "command"])]
    pub(crate) demo: bool,
    /// The command line that starts the server, instead of a TARGET; it is split as in a shell, but no shell runs it.
    #[arg(long = "command", value_name = "LINE", help_heading = WHERE, conflicts_with = "command")]
    pub(crate) line: Option<String>,
    /// The command that starts the server, with its arguments, instead of a TARGET.
    #[arg(last = true, value_name = "COMMAND", help_heading = WHERE)]
    pub(crate) command: Vec<OsString>,
}

const WHERE: &str = "Where the server is";

/// The server is this program.
#[derive(Args)]
pub(crate) struct NoLocationArgs {}

#[derive(Args)]
pub(crate) struct ServeAny {
    /// Serve the files of this directory.
    #[arg(value_name = "DIRECTORY", required_unless_present = "demo", conflicts_with = "demo")]
    pub(crate) directory: Option<PathBuf>,
    /// Run the built-in demo server.
    #[arg(long)]
    pub(crate) demo: bool,
    /// Allow clients to write files, too.
    #[arg(long, conflicts_with = "demo")]
    pub(crate) write: bool,
    /// Show files whose names begin with a dot, too.
    #[arg(long, conflicts_with = "demo")]
    pub(crate) all: bool,
    /// Keep sessions and streams in this Redis or Valkey. All servers with the same store are one server to their
    /// clients. The URL is `redis://HOST`, `rediss://HOST` with TLS, `redis+sentinel://A,B,C/NAME` or
    /// `redis+cluster://A,B,C`. The environment variable `TOOLWAY_STORE` does the same and hides the password from other
    /// users.
    #[arg(long, value_name = "URL", requires = "http")]
    pub(crate) store: Option<String>,
    #[command(flatten)]
    pub(crate) door: ListenArgs,
}

#[derive(Args)]
pub(crate) struct ServeOwn {
    #[command(flatten)]
    pub(crate) door: ListenArgs,
}

/// How a server is reached.
#[derive(Args)]
pub(crate) struct ListenArgs {
    /// Serve HTTP, at the path `/mcp` of this address, instead of stdin and stdout.
    #[arg(long, value_name = "ADDRESS", num_args = 0..=1, default_missing_value = HTTP_ADDRESS)]
    pub(crate) http: Option<SocketAddr>,
    /// Accept clients from other machines, without authentication. Without this option, only loopback addresses are
    /// allowed.
    #[arg(long, requires = "http")]
    pub(crate) public: bool,
    /// The maximum size of a message that is sent or received: in bytes, or with a unit such as 64M.
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub(crate) max_message: Option<usize>,
}

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.parse().map_err(|_| "not a number of seconds".to_owned())?;
    Duration::try_from_secs_f64(seconds)
        .ok()
        .filter(|time| !time.is_zero())
        .ok_or_else(|| "it must be more than 0".to_owned())
}

/// Parses a number of bytes: `1048576`, `1024K`, `1M`, `1MiB`, `1G`.
fn size(text: &str) -> Result<usize, String> {
    let digits = text.trim_end_matches(|letter: char| !letter.is_ascii_digit());
    let unit = match &*text[digits.len()..].trim().to_ascii_lowercase() {
        "" | "b" => 0,
        "k" | "kb" | "kib" => 10,
        "m" | "mb" | "mib" => 20,
        "g" | "gb" | "gib" => 30,
        _ => return Err("not a number of bytes, such as 67108864, 65536K or 64M".to_owned()),
    };
    let number: u32 =
        digits.parse().map_err(|_| "not a number of bytes, such as 67108864, 65536K or 64M".to_owned())?;
    let bytes = u64::from(number) << unit;
    match u32::try_from(bytes) {
        Ok(bytes @ 1..) => Ok(bytes as usize),
        _ => Err("it must be between one byte and 4G".to_owned()),
    }
}

fn revision(text: &str) -> Result<ProtocolVersion, String> {
    let known = || ProtocolVersion::ALL.map(ProtocolVersion::as_str).join(", ");
    text.parse().map_err(|_| format!("the known revisions are {}", known()))
}

const ARGUMENTS: &str = "\
Arguments of the tool
  key=value     converted to the type in the tool's schema: 5 is a number if the schema has a number
  key=a,b       a list; or key=a key=b
  key:=JSON     a JSON value, sent as it is
  key=@FILE     the content of a file, or of stdin if FILE is -; @@ is a literal @
  a.b=value     a member of the object a
  '{\"key\": 1}'  all arguments at once, sent as they are";

const TEXTS: &str = "\
Arguments of the prompt
  key=value     a text
  key=@FILE     the content of a file, or of stdin if FILE is -; @@ is a literal @";

const COMPLETING: &str = "\
NAME and ARGUMENT name the argument to complete, TYPED is the text typed so far, and key=value gives known arguments.";

/// The text after the help of `toolway`.
pub(crate) const TARGETS: &str = "\
TARGET is one of
  https://example.com/mcp       a URL
  weather, cursor:weather       a server in an mcp.json file (--config FILE, or the files of the hosts on this machine)
  ./target/debug/my-server      a program
  -- npx -y some-server ARG...  a command with its arguments, at the end of the line, instead of a TARGET
  --demo                        the demo server of this program, instead of a TARGET

";

/// The text after the help of every program.
pub(crate) const EXIT_CODES: &str = "\
Exit codes, and the names of errors with --json
  0  success
  1  usage: the command line is wrong, or something on this machine
  2  not_found: the server, tool, prompt or resource does not exist
  3  auth_required: the server requires authentication
  4  cannot_start: the server cannot be started
     unreachable: the server cannot be reached, or does not speak the protocol
  5  tool_error: the tool, or the server, answered with an error
  130  interrupted: Ctrl-C was pressed

Only results are written to stdout.";

#[derive(Args)]
pub(crate) struct Login {
    /// Show the URL of the page to sign in, and do not open a browser. If the browser is on another machine, forward the
    /// port of --redirect to this one, or paste the URL at which the browser ends.
    #[arg(long, conflicts_with = "device")]
    pub(crate) no_browser: bool,
    /// Sign in on another device, with a code.
    #[arg(long)]
    pub(crate) device: bool,
    /// The id of a client that you have registered at the authorization server.
    #[arg(long, value_name = "ID")]
    pub(crate) client_id: Option<String>,
    /// A file with the secret of that client.
    #[arg(long, value_name = "FILE", requires = "client_id", requires = "issuer")]
    pub(crate) client_secret_file: Option<PathBuf>,
    /// The authorization server to use. The id and the secret of a client are sent to no other one.
    #[arg(long, value_name = "URL")]
    pub(crate) issuer: Option<String>,
    /// The URL of this machine to which the browser returns, such as `http://localhost:3118/callback`.
    #[arg(long, value_name = "URL", conflicts_with = "device")]
    pub(crate) redirect: Option<String>,
    /// A scope to ask for, instead of those that the server names. The option can be repeated.
    #[arg(long, value_name = "SCOPE")]
    pub(crate) scope: Vec<String>,
    #[command(flatten)]
    pub(crate) target: SignInTarget,
}

/// A server to which a user signs in.
#[derive(Args)]
pub(crate) struct SignInTarget {
    /// The URL of the server, or its name in an mcp.json file.
    pub(crate) target: String,
    /// Print JSON: the result on stdout, errors as one line on stderr.
    #[arg(long)]
    pub(crate) json: bool,
    /// Do not ask the user anything on the terminal.
    #[arg(long)]
    pub(crate) no_input: bool,
    /// Look up server names in this file only.
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Send this header with every request to the server.
    #[arg(long, value_name = "NAME: VALUE")]
    pub(crate) header: Vec<String>,
}

#[cfg(test)]
mod tests;
