//! How does this checkout compare with other SDKs, and with no SDK at all?
//!
//! Builds the servers of `bench/compare` (ours by its path), measures them in turn on this machine, and writes
//! `bench/RESULTS.md` and the plots beside it. It measures time, so it needs an idle machine; what can be counted is
//! counted by `cargo xtask counts`.

mod growth;
mod machine;
mod peers;
mod plot;
mod report;
mod rows;

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use serde_json::{Value, json};

use crate::arguments::Arguments;
use crate::run::{self, Result};
use crate::workspace::Workspace;
use peers::{OURS, Prepared};
use rows::Rows;

/// What to measure.
#[derive(Debug)]
pub(crate) struct Options {
    rounds: usize,
    /// A short run that shows that everything works. Its results are kept apart.
    is_quick: bool,
    /// Also on a busy machine.
    is_forced: bool,
    measures_builds: bool,
    part: Part,
    peers: Option<Vec<String>>,
    /// Only these works of the load generator. The results are kept apart, too.
    works: Option<String>,
    seconds: Option<String>,
}

/// How much of the command to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    All,
    /// Only builds what is measured.
    Build,
    /// Only writes the report of the last run again.
    Report,
}

impl Options {
    pub(crate) fn parse(mut arguments: Arguments) -> Result<Self> {
        let is_quick = arguments.flag("--quick");
        let rounds = match arguments.value("--rounds")? {
            Some(value) => value
                .parse()
                .ok()
                .filter(|rounds| *rounds > 0)
                .ok_or_else(|| format!("`--rounds {value}`: it takes a number from 1"))?,
            None if is_quick => 1,
            None => ROUNDS,
        };
        let part = match (arguments.flag("--only-build"), arguments.flag("--only-report")) {
            (false, false) => Part::All,
            (true, false) => Part::Build,
            (false, true) => Part::Report,
            (true, true) => return Err("`--only-build` and `--only-report` leave nothing to do".to_owned()),
        };
        let works = arguments.value("--work")?;
        let options = Self {
            rounds,
            is_quick,
            is_forced: arguments.flag("--force"),
            measures_builds: !arguments.flag("--no-build-cpu") && !is_quick && works.is_none(),
            part,
            peers: arguments
                .value("--peers")?
                .map(|list| list.split(',').map(|name| name.trim().to_owned()).collect()),
            works,
            seconds: arguments.value("--seconds")?,
        };
        arguments.finish()?;
        Ok(options)
    }

    /// The works of the load generator; a quick run leaves out those that take long.
    fn works(&self) -> &str {
        let all = if self.is_quick { QUICK_WORKS } else { ALL_WORKS };
        self.works.as_deref().unwrap_or(all)
    }

    /// The name of the folder for results that are not those of the project.
    fn scratch_name(&self) -> Option<&'static str> {
        match (self.is_quick, &self.works) {
            (true, _) => Some("quick"),
            (false, Some(_)) => Some("part"),
            (false, None) => None,
        }
    }

    fn wanted(&self, workspace: &Workspace) -> Result<Vec<String>> {
        match &self.peers {
            Some(peers) => {
                let mut peers = peers.clone();
                if !peers.iter().any(|peer| peer == OURS) {
                    peers.insert(0, OURS.to_owned());
                }
                Ok(peers)
            }
            None if self.is_quick => Ok(QUICK_PEERS.map(str::to_owned).to_vec()),
            None => Ok(peers::all(workspace)?.into_iter().map(|peer| peer.name).collect()),
        }
    }
}

/// `cargo xtask bench`.
pub(crate) fn run(workspace: &Workspace, options: &Options) -> Result {
    if !cfg!(target_os = "linux") {
        return Err("the figures come from /proc, so this needs Linux".to_owned());
    }
    let scratch = workspace.target.join("bench");
    fs::create_dir_all(&scratch).map_err(|error| format!("could not make {}: {error}", scratch.display()))?;
    let rounds = scratch.join(format!("{}.jsonl", options.scratch_name().unwrap_or("rounds")));
    let pages = options.scratch_name().map_or(workspace.root.join("bench"), |name| scratch.join(name));
    if options.part == Part::Report {
        return write_report(workspace, &rounds, &pages, options.is_quick);
    }

    let start = Instant::now();
    let wanted = options.wanted(workspace)?;
    let prepared = Prepared::build(workspace, &wanted, options.works().contains("client"))?;
    println!("bench: built in {}", report::minutes(start.elapsed().as_secs_f64()));
    if options.part == Part::Build {
        return Ok(());
    }
    let load = if options.is_quick || options.is_forced { machine::load()? } else { machine::settle()? };
    let is_busy = load > machine::IDLE_LOAD;
    if is_busy && !options.is_quick && !options.is_forced {
        return Err(format!(
            "the load of this machine is {load}, so the figures would be wrong: end what runs and try again, or add \
             `--force` to measure anyway, which the results will say; `--quick` shows that everything works"
        ));
    }
    let mut facts = machine::facts(workspace, load)?;
    let others = prepared.peers.iter().filter(|peer| peer.name != OURS);
    let others: Vec<_> = others.map(|peer| (peer.name.clone(), peer.version.clone())).collect();
    facts["busy"] = json!(is_busy);
    facts["quick"] = json!(options.is_quick);
    facts["pinned"] = json!(std::env::var("BENCH_PIN").as_deref() != Ok("0"));
    facts["versions"] = json!(prepared.versions());
    facts["others"] = json!(report::versions_line(&others));
    write_facts(&rounds, &prepared, &facts)?;

    let start = Instant::now();
    let measured = measure(workspace, options, &prepared, &rounds);
    println!("bench: measured in {}", report::minutes(start.elapsed().as_secs_f64()));
    if options.measures_builds {
        let start = Instant::now();
        for (peer, seconds) in prepared.build_seconds(workspace)? {
            let rows::Figure { mode, work, key } = report::BUILD;
            append(&rounds, &json!({"round": 0, "peer": peer, "mode": mode, "work": work, key: seconds}))?;
        }
        println!("bench: built from nothing in {}", report::minutes(start.elapsed().as_secs_f64()));
    }
    let reported = write_report(workspace, &rounds, &pages, options.is_quick);
    measured.and(reported)
}

fn write_facts(rounds: &Path, prepared: &Prepared, facts: &Value) -> Result {
    let _ = fs::remove_file(rounds);
    append(rounds, &json!({"machine": facts}))?;
    let names = |is_wanted: fn(&peers::Peer) -> bool| {
        let found = prepared.peers.iter().filter(|peer| is_wanted(peer));
        found.map(|peer| peer.name.clone()).collect::<Vec<_>>()
    };
    let left_out: Vec<String> =
        prepared.left_out.iter().map(|(peer, reason)| format!("{peer}: {reason}")).collect();
    append(
        rounds,
        &json!({"peers": names(|_| true), "native": names(|peer| peer.is_native), "left_out": left_out}),
    )
}

/// Runs all rounds.
fn measure(workspace: &Workspace, options: &Options, prepared: &Prepared, rounds: &Path) -> Result {
    let names: Vec<&str> = prepared.peers.iter().map(|peer| peer.name.as_str()).collect();
    let mut command = prepared.generator();
    command.arg("run").arg(peers_file(workspace)).arg(rounds).args(["--only", &names.join(",")]);
    command.args(["--rounds", &options.rounds.to_string(), "--work", options.works()]);
    let seconds = options.seconds.as_deref().unwrap_or(if options.is_quick { "0.3" } else { SECONDS });
    command.args(["--seconds", seconds]);
    if options.is_quick {
        command.arg("--quick");
    }
    run::check_success(&mut command)
}

/// Writes the page and the plots. A plot of an older run that this one does not have is removed.
fn write_report(workspace: &Workspace, rounds: &Path, pages: &Path, is_quick: bool) -> Result {
    let text = fs::read_to_string(rounds).map_err(|error| {
        format!("could not read {}: {error}; run without `--only-report`", rounds.display())
    })?;
    let mut tables = Command::new(workspace.root.join(peers::FOLDER).join("target/release/mcp-bench"));
    let tables = run::output(tables.arg("report").arg(peers_file(workspace)).arg(rounds))?;
    let report = report::make(&Rows::parse(&text)?, &tables);
    let plots = pages.join("plots");
    let written = || {
        if plots.exists() {
            fs::remove_dir_all(&plots)?;
        }
        fs::create_dir_all(&plots)?;
        for (file, svg) in &report.plots {
            fs::write(plots.join(file), svg)?;
        }
        fs::write(pages.join("RESULTS.md"), &report.text)
    };
    written().map_err(|error| format!("could not write {}: {error}", pages.display()))?;
    println!("bench: wrote {} and {} plots", pages.join("RESULTS.md").display(), report.plots.len());
    for what in &report.wrong {
        println!("bench: {what}");
    }
    if report.wrong.is_empty() || is_quick {
        Ok(())
    } else {
        Err(format!("bench: {} figures grow faster than they should", report.wrong.len()))
    }
}

fn append(rounds: &Path, row: &Value) -> Result {
    let written = || writeln!(OpenOptions::new().create(true).append(true).open(rounds)?, "{row}");
    written().map_err(|error| format!("could not write {}: {error}", rounds.display()))
}

fn peers_file(workspace: &Workspace) -> PathBuf {
    workspace.root.join(peers::FOLDER).join("peers.json")
}

const ALL_WORKS: &str = "W1,W2,W3,W4,W5,W6,W7,client,growth";
const QUICK_WORKS: &str = "W1,W2,W3,W4,W5,W7,growth";
const ROUNDS: usize = 6;
/// Of one measurement of a call under load; shorter ones take a part of it.
const SECONDS: &str = "2";
/// The fewest that show everything.
const QUICK_PEERS: [&str; 2] = [OURS, "limit-hyper"];

#[cfg(test)]
mod tests {
    use super::{Options, ROUNDS};
    use crate::arguments::Arguments;

    #[test]
    fn a_quick_run_is_one_round_and_builds_nothing_from_nothing() {
        let parse = |words: &[&str]| Options::parse(Arguments::from_words(words));
        let full = parse(&[]).unwrap();
        assert_eq!((full.rounds, full.measures_builds), (ROUNDS, true));
        let quick = parse(&["--quick"]).unwrap();
        assert_eq!((quick.rounds, quick.measures_builds), (1, false));
        assert_eq!(parse(&["--quick", "--rounds", "2"]).unwrap().rounds, 2);
        assert!(parse(&["--rounds", "0"]).is_err());
        assert_eq!(parse(&["--peers", "rmcp, pmcp"]).unwrap().peers.unwrap(), ["rmcp", "pmcp"]);
    }
}
