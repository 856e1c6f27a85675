//! The command `toolway`, as a library with a thin binary.
//!
//! | file | question |
//! |---|---|
//! | `args.rs` | What may be written on the command line? |
//! | `cmd/serve.rs` | How is a server run, and what is a person told about it? |
//! | `demo.rs` | What does the demo server offer? |

mod args;
mod cmd;
mod demo;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::Parser;
use toolway::Chain;

use args::{Arguments, Command};

/// Runs the command line of this process.
pub async fn main() -> ExitCode {
    run(std::env::args_os()).await
}

/// Runs a command line, the program's name first. Hints and errors go to stderr.
pub async fn run(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let arguments = match Arguments::try_parse_from(arguments) {
        Ok(arguments) => arguments,
        Err(error) => {
            // Help and version are what was asked for; everything else is a mistake on the command line.
            let asked_for = !error.use_stderr();
            let _ = error.print();
            return if asked_for { ExitCode::SUCCESS } else { ExitCode::from(1) };
        }
    };
    let outcome = match arguments.command {
        Command::Serve(serve) => cmd::serve::run(serve).await,
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("toolway: {}", Chain(&*error));
            ExitCode::from(1)
        }
    }
}
