//! Which commands does the project have besides cargo's own?
//!
//! `cargo xtask COMMAND` runs everything that needs more than one cargo call: the whole test run, the check that CI runs, the
//! official conformance suite, interop with the other SDKs, the instruction counts and the official schemas. Each command
//! sets up what it needs under `target/` and has its own file or folder; this one only chooses between them.

#![expect(
    clippy::print_stdout,
    reason = "a tool run from a terminal: standard output is where its reader looks"
)]

mod arguments;
mod baseline;
mod check;
mod conformance;
mod counts;
mod dependencies;
mod fuzz;
mod interop;
#[cfg_attr(not(test), expect(dead_code, reason = "the next commits use it"))]
mod latency;
mod licence;
mod node;
mod python;
mod run;
mod schema;
mod serve;
mod suite;
mod test;
mod workspace;

use std::path::Path;
use std::process::ExitCode;

use arguments::Arguments;
use run::Result;
use workspace::Workspace;

fn main() -> ExitCode {
    match dispatch() {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("xtask: {message}");
            ExitCode::FAILURE
        }
    }
}

fn dispatch() -> Result {
    let (command, mut arguments) = Arguments::from_command_line();
    let command = command.unwrap_or_default();
    if matches!(command.as_str(), "" | "help" | "--help" | "-h") || arguments.flag("--help") {
        println!("{USAGE}");
        return Ok(());
    }
    match command.as_str() {
        "test" => {
            arguments.finish()?;
            test::run(&Workspace::find()?)
        }
        "check" => {
            arguments.finish()?;
            check::run(&Workspace::find()?)
        }
        "conformance" => {
            let options = conformance::Options::parse(arguments)?;
            conformance::run(&Workspace::find()?, &options)
        }
        "interop" => {
            let options = interop::Options::parse(arguments)?;
            interop::run(&Workspace::find()?, &options)
        }
        "counts" => {
            let mode = if arguments.flag("--bless") { counts::Mode::Bless } else { counts::Mode::Compare };
            arguments.finish()?;
            counts::run(&Workspace::find()?, mode)
        }
        "fuzz" => {
            let seconds = arguments.word("the number of seconds").map_or(Ok(fuzz::SECONDS), |word| {
                word.parse().map_err(|_| format!("`{word}` is no number of seconds for each fuzz target"))
            })?;
            arguments.finish()?;
            fuzz::run(&Workspace::find()?, seconds)
        }
        "schema" => {
            let directory = arguments.word("the directory of the official schemas")?;
            arguments.finish()?;
            schema::run(Path::new(&directory))
        }
        other => Err(format!("there is no command `{other}`; `cargo xtask help` lists them")),
    }
}

const USAGE: &str = "\
usage: cargo xtask COMMAND

  test          every test: unit, integration, doctests, conformance, interop
  check         everything CI runs: format, clippy, the tests, each feature alone, docs, dependency rules,
                typos, instruction counts, and the official schemas when they stand beside the checkout
  conformance   the official MCP conformance suite, strictly, against conformance/baseline.toml
                  --only SCENARIO          only this scenario
                  --side server|client     only this side
                  --revision REVISION      only this revision (2025-11-25 or 2026-07-28)
                  --bless                  rewrite the baseline from the results
  interop       the clients of the Python and TypeScript SDKs, mcp-remote and the inspector against our examples,
                and our client against real servers
                  --part NAME              only hello, everything or servers; all when it is not said
                  --transport NAME         only over stdio, http or sse; all when it is not said
                  --server 'COMMAND|URL'   only every feature, and against this server
  counts        instructions per operation against bench/budget.toml
                  --bless                  rewrite the budget from the results
  fuzz [SECS]   each target of fuzz/ for so many seconds, 60 when it is not said
  schema DIR    our types against the official schemas, DIR/REVISION/schema.json; SEED=NUMBER tries other values

Needs Rust, Node with npm, Python 3 with venv, and for `counts` valgrind; the rest is installed under target/.";
