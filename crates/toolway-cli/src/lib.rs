//! The command `toolway`, and the same commands for your own server.
//!
//! A server whose `main` is [`main`] can be run, inspected and called from a terminal:
//!
//! ```no_run
//! use std::process::ExitCode;
//! use toolway::prelude::*;
//!
//! /// Add two numbers.
//! #[tool]
//! fn add(a: f64, b: f64) -> f64 {
//!     a + b
//! }
//!
//! #[tokio::main]
//! async fn main() -> ExitCode {
//!     toolway_cli::main(Server::new("calculator", "1.0.0").tools(tools![add])).await
//! }
//! ```
//!
//! ```text
//! $ calculator call add a=1 b=2
//! 3
//! $ calculator serve --http
//! ```
//!
//! | file | question |
//! |---|---|
//! | `args.rs` | What does the command line accept? |
//! | `http_address.rs` | Is the word after `--http` an address, or what is served there? |
//! | `location/` | Where is the server of a command, and how is it reached? |
//! | `cmd/` | What does each command do? |
//! | `doctor/` | What is wrong with a server, or with the connection to it? |
//! | `arguments/` | How do words of the command line become the arguments of a tool? |
//! | `ask/` | What happens when a server asks the user? |
//! | `sign_in/` | How does a command sign in to a server that asks for it? |
//! | `inspect/` | How does a user look into a server with a browser? |
//! | `proxy/` | How does a proxy pass messages on between a host and a server? |
//! | `show.rs`, `json.rs` | How is a result shown? |
//! | `progress.rs` | How is the progress of a request shown? |
//! | `typed_lines.rs` | What does a person type, line by line? |
//! | `console.rs`, `terminal.rs` | Where is output written, and how is a text of another party laid out on a terminal? |
//! | `run_on_thread.rs` | How does a task wait for blocking work that cannot be cancelled? |
//! | `failure.rs`, `closest.rs` | Why did a command fail, and how can it be fixed? |
//! | `demo.rs`, `files/` | What do the servers of `toolway serve` offer? |
//! | `store.rs`, `no_store.rs` | How do several servers share their sessions? |
//! | `fuzzing.rs` | Which private parts do the fuzz targets call? |

#![cfg_attr(docsrs, feature(doc_cfg))]

mod args;
mod arguments;
mod ask;
mod closest;
mod cmd;
mod console;
mod demo;
mod doctor;
mod failure;
mod files;
#[cfg(feature = "__fuzzing")]
#[doc(hidden)]
pub mod fuzzing;
mod http_address;
#[cfg(feature = "inspect")]
mod inspect;
#[cfg(not(feature = "inspect"))]
#[path = "inspect/absent.rs"]
mod inspect;
mod json;
mod location;
mod progress;
mod proxy;
mod run_on_thread;
mod show;
mod sign_in;
#[cfg(feature = "redis")]
mod store;
#[cfg(not(feature = "redis"))]
#[path = "no_store.rs"]
mod store;
mod terminal;
mod typed_lines;

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

use toolway::Server;
use toolway::server::ServerBuilder;

use args::{
    AnyServer, AnyServerCommands, Command, CommandLine, EXIT_CODES, OwnCommands, OwnServer, Program, TARGETS,
    TargetKind,
};
use cmd::CommandContext;
use cmd::serve::Serve;
use console::write_stderr;
use failure::{Failure, Fault};
use location::Find;

/// Runs the command line of this process for your server: `serve`, `list`, `call`, `read`, `prompt`, `complete`,
/// `doctor`, `inspect`.
///
/// All commands except `serve` call the server in this process; they need neither another client nor a network.
pub async fn main(server: impl IntoServer) -> ExitCode {
    run(server, std::env::args_os()).await
}

/// Runs a command line for your server, with the program's name first. Results go to stdout, everything else to
/// stderr.
///
/// ```
/// # use toolway::prelude::*;
/// # #[tool] fn add(a: f64, b: f64) -> f64 { a + b }
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// let server = Server::new("calculator", "1.0.0").tools(tools![add]);
/// let words = ["calculator", "call", "add", "a=1", "b=2"].map(Into::into);
/// let code = toolway_cli::run(server, words).await;
/// assert_eq!(code, std::process::ExitCode::SUCCESS);
/// # });
/// ```
pub async fn run(server: impl IntoServer, arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let arguments: Vec<_> = arguments.into_iter().collect();
    let server = match server.into_server() {
        Ok(server) => server,
        Err(error) => {
            let name = program_name(arguments.first()).unwrap_or_else(|| "server".to_owned());
            let failure = Failure::new(Fault::CannotStart, failure::chain(&error));
            return report_failure(&name, wants_json(&arguments), &failure);
        }
    };
    let info = server.info().clone();
    let program = Program {
        name: program_name(arguments.first()).unwrap_or_else(|| info.name.clone()),
        version: info.version.clone(),
        about: info.title.unwrap_or(info.name),
        after_help: EXIT_CODES.to_owned(),
    };
    execute::<OwnServer>(program, Some(server), arguments).await
}

/// Runs the command line of this process as `toolway`, whose commands take the location of a server.
pub async fn toolway() -> ExitCode {
    let program = Program {
        name: "toolway".to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        about: "Run and inspect Model Context Protocol servers".to_owned(),
        after_help: format!("{TARGETS}{EXIT_CODES}"),
    };
    execute::<AnyServer>(program, None, std::env::args_os().collect()).await
}

/// A type that can become a server: a server, a builder, or the result of either.
pub trait IntoServer {
    /// Builds the server.
    ///
    /// # Errors
    ///
    /// Returns an error if the server cannot be built.
    fn into_server(self) -> toolway::Result<Server>;
}

impl IntoServer for Server {
    fn into_server(self) -> toolway::Result<Server> {
        Ok(self)
    }
}

impl IntoServer for ServerBuilder {
    fn into_server(self) -> toolway::Result<Server> {
        self.build()
    }
}

impl<S: IntoServer> IntoServer for toolway::Result<S> {
    fn into_server(self) -> toolway::Result<Server> {
        self.and_then(IntoServer::into_server)
    }
}

/// Returns whether the output is JSON, as far as can be told before the command line is parsed.
fn wants_json(arguments: &[OsString]) -> bool {
    arguments.iter().take_while(|word| *word != "--").any(|word| word == "--json")
}

/// Returns the name of the executable.
fn program_name(first: Option<&OsString>) -> Option<String> {
    Some(Path::new(first?).file_stem()?.to_str()?.to_owned())
}

async fn execute<K: TargetKind<LocationArgs: Find, Serve: Serve>>(
    program: Program,
    own: Option<Server>,
    arguments: Vec<OsString>,
) -> ExitCode {
    let wants_json = wants_json(&arguments);
    let line = match CommandLine::<K>::read(&program, arguments) {
        Ok(line) => line,
        // Help and version were requested; everything else is a mistake on the command line.
        Err(error) if error.use_stderr() && wants_json => {
            let words = error.render().to_string();
            return report_failure(
                &program.name,
                true,
                &Failure::usage(words.trim_start_matches("error: ").trim_end()),
            );
        }
        Err(error) => {
            let asked_for = !error.use_stderr();
            let _ = error.print();
            return ExitCode::from(if asked_for { 0 } else { Fault::Usage.exit_code() });
        }
    };
    let wants_json = line.command.wants_json();
    let here = CommandContext { program: program.name, own_server: own };
    let outcome = match line.command {
        Command::List(list) => cmd::list::run(&here, list).await,
        Command::Call(call) => cmd::call::run(&here, call).await,
        Command::Read(read) => cmd::read::run(&here, read).await,
        Command::Prompt(prompt) => cmd::prompt::run(&here, prompt).await,
        Command::Complete(complete) => cmd::complete::run(&here, complete).await,
        Command::Doctor(doctor) => doctor::run(&here, doctor).await,
        Command::Inspect(inspect) => inspect::run(&here, inspect).await,
        Command::Serve(serve) => cmd::serve::run(&here, serve).await,
        Command::Own(command) => match command.into_command() {
            AnyServerCommands::Trust(trust) => cmd::trust::run(&trust),
            AnyServerCommands::Proxy(proxy) => cmd::proxy::run(&here, proxy).await,
            AnyServerCommands::Login(login) => cmd::login::login(login).await,
            AnyServerCommands::Logout(target) => cmd::login::logout(target).await,
            AnyServerCommands::Whoami(target) => cmd::login::whoami(target).await,
        },
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => report_failure(&here.program, wants_json, &failure),
    }
}

fn report_failure(program: &str, wants_json: bool, failure: &Failure) -> ExitCode {
    match (failure.fault, wants_json) {
        // A user who pressed Ctrl-C needs no message.
        (Fault::Interrupted, false) => {}
        (_, true) => write_stderr(&format!("{}\n", failure.to_json())),
        (_, false) if failure.is_shown => {}
        (_, false) => write_stderr(&failure.to_text(program)),
    }
    ExitCode::from(failure.fault.exit_code())
}
