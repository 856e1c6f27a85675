//! Which commands does the project have besides cargo's own?
//!
//! `cargo xtask COMMAND` runs everything that needs more than one cargo call: the whole test run, the check that CI
//! runs, the official conformance suite, interop with the other SDKs, the instruction counts and the official schemas.
//! Each command sets up what it needs under `target/` or in a cache, and has its own file or folder; this one only
//! chooses between them.

#![expect(
    clippy::print_stdout,
    reason = "a tool run from a terminal: standard output is where its reader looks"
)]

mod arguments;
mod baseline;
mod bench;
mod busy;
mod cache;
mod check;
mod conformance;
mod counts;
mod cross;
mod deep;
mod dependencies;
mod exported;
mod features;
mod fuzz;
mod interop;
mod latency;
mod licence;
mod newcomers;
mod node;
mod page;
mod proxies;
mod publish;
mod python;
mod run;
mod schema;
mod server_process;
mod steps;
mod suite;
mod surface;
mod test;
mod test_report;
mod verdicts;
mod workspace;

use std::path::Path;
use std::process::ExitCode;

use arguments::Arguments;
use busy::BusyLoops;
use run::Result;
use steps::StepSuccess;
use workspace::Workspace;

fn main() -> ExitCode {
    dispatch().unwrap_or_else(|message| {
        eprintln!("xtask: {message}");
        ExitCode::FAILURE
    })
}

fn dispatch() -> Result<ExitCode> {
    let (command, mut arguments) = Arguments::from_command_line();
    let command = command.unwrap_or_default();
    if matches!(command.as_str(), "" | "help" | "--help" | "-h") || arguments.flag("--help") {
        println!("{USAGE}");
        return Ok(ExitCode::SUCCESS);
    }
    let workspace = Workspace::find;
    let loops = if let Some(number) = arguments.value("--busy")? {
        number.parse().map_err(|_| format!("`--busy {number}`: it takes a number of busy loops"))?
    } else {
        0
    };
    let _busy = BusyLoops::start(loops);
    match command.as_str() {
        "test" => return test::run(&workspace()?, &test::Options::parse(arguments)?),
        "check" => return check::run(&workspace()?, arguments),
        "deep" => return deep::run(&workspace()?, arguments),
        "conformance" => conformance::run(&workspace()?, &conformance::Options::parse(arguments)?),
        "conformance-client" => conformance::run_client_with_latency(arguments),
        "interop" => interop::run(&workspace()?, &interop::Options::parse(arguments)?),
        "sign-in" => {
            arguments.finish()?;
            interop::try_sign_in(&workspace()?)
        }
        "verdicts" => {
            let tokens = verdicts::parse(arguments)?;
            verdicts::run(&workspace()?, tokens)
        }
        "counts" => {
            let options = counts::Options::parse(arguments)?;
            counts::run(&workspace()?, &options)
        }
        "bench" => bench::run(&workspace()?, &bench::Options::parse(arguments)?),
        "surface" => {
            let mode = if arguments.flag("--bless") { surface::Mode::Bless } else { surface::Mode::Compare };
            arguments.finish()?;
            not_skipped(surface::run(&workspace()?, mode)?)
        }
        "cross" => {
            arguments.finish()?;
            not_skipped(cross::run(&workspace()?)?)
        }
        "newcomers" => {
            arguments.finish()?;
            newcomers::run(&workspace()?)
        }
        "page" => page::run(&workspace()?, &page::Job::parse(arguments)?),
        "fuzz" => {
            let options = fuzz::Options::parse(arguments)?;
            fuzz::run(&workspace()?, &options)
        }
        "schema" => {
            let directory = arguments.word("the directory of the official schemas")?;
            arguments.finish()?;
            schema::run(Path::new(&directory))
        }
        other => Err(format!("there is no command `{other}`; `cargo xtask help` lists them")),
    }
    .map(|()| ExitCode::SUCCESS)
}

/// Returns an error if the step could not run here: a command that was asked for must run.
fn not_skipped(success: StepSuccess) -> Result {
    match success {
        StepSuccess::Passed => Ok(()),
        StepSuccess::Skipped(why) => Err(why),
    }
}

const USAGE: &str = "\
usage: cargo xtask COMMAND

  test          every test: unit, integration, doctests, conformance, interop
                  --step NAME              only build, tests, conformance, interop, interop-cluster, interop-auth,
                                           verdicts or doctests
                  --repeat N               run N times; shows which rounds failed
  check         everything CI runs: the tests, format, typos, dependency rules, the guide's proxy configurations, other
                systems with each feature alone, newcomers' programs, clippy, docs, and the official schemas if they are
                beside the checkout
                  --step NAME              only this step; an unknown name lists all
  deep          what takes too long for CI: all tests with busy loops, repeated, full rounds, latency, several nodes,
                verdicts, instruction counts, each feature alone on this system, the size of the inspector, fuzzing
                  --part NAME              only this part, at most an hour; an unknown name lists all
                  --executions N           with --part fuzz: N executions of each target, however long they take
  conformance   the official MCP conformance suite, strictly, against conformance/baseline.toml
                  --only SCENARIO          only this scenario
                  --side server|client     only this side
                  --revision REVISION      only this revision (2025-11-25 or 2026-07-28)
                  --repeat N               run N times; every round must pass
                  --latency MS             through a proxy that delays each direction
                  --bless                  rewrite the baseline from the results
  interop       the clients of the Python and TypeScript SDKs, mcp-remote and the inspector against our examples,
                and our client against real servers
                  --part NAME              only hello, everything, servers, proxy or auth; by default all but auth
                  --transport NAME         only over stdio, http or sse; by default all
                  --latency MS             delay each direction by MS milliseconds; stdio is left out
                  --server 'COMMAND|URL'   only the part everything, against this server
                  --cluster                only the part everything, against three nodes on a Redis behind HAProxy
  sign-in       try it: the command signs in to the example protected, with an identity provider and your browser
  verdicts      our verdicts about access tokens against those of jose and joserfc; SEED=NUMBER makes other tokens
                  --tokens N               N tokens, by default 10,000
  cross         the library and the command compile for Windows, the library for macOS
  surface       the public items of the libraries against their public-api.txt
                  --bless                  rewrite the files
  page          the inspector's page: type-checks it and builds crates/toolway-cli/page/dist
                  --check                  compares a fresh build with the committed files instead
                  --watch                  builds after each change
                  --test                   its tests, in Chromium
                  --only TEXT              with --test: only tests with this in their name
                  --screenshots            makes the guide's pictures again
  newcomers     small programs with the library as a dependency compile and run (newcomers/)
  counts        instructions, bytes moved and allocations per operation, and sizes, against bench/budget.toml
                  --only KIND              only instructions, bytes-moved, allocations or stripped-bytes
                  --bless                  rewrite the budget from the results
  bench         compares this checkout with other SDKs on an idle machine; writes bench/RESULTS.md and bench/plots/
                  --rounds N               N rounds instead of 6
                  --quick                  one short round of few servers, into target/bench/quick
                  --peers A,B              only these of bench/compare/peers.json, and ours
                  --work W1,growth         only these works of bench/compare/README.md, into target/bench/part
                  --seconds S              of each measurement, by default 2
                  --force                  also on a busy machine; the results say so
                  --no-build-cpu           do not build the servers from nothing, which shows what a build costs
                  --only-build             only build what is measured
                  --only-report            only write the report of the last run again
  fuzz [SECS]   each target of fuzz/ for SECS seconds, by default 60
                  --executions N           N executions of each target instead
                  --target NAME            only this target; an unknown name lists all
  schema DIR    our types against the official schemas, DIR/REVISION/schema.json; SEED=NUMBER tries other values

  --busy N      with any command: N busy loops beside it, which shows races

Needs Rust, Node with npm, Python 3 with venv, for several nodes redis-server and haproxy, for `counts` valgrind and for
`cross` rustup and mingw. Packages are installed in a cache that all clones share: TOOLWAY_CACHE, or the user's own cache
folder.";
