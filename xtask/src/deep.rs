//! What is too long for CI, and is run by hand before a piece of work is done?
//!
//! Each part takes at most an hour on two cores. Two busy loops beside a part make the machine slow and change the
//! order of events, which reveals races.

use std::fs;
use std::process::ExitCode;

use crate::arguments::Arguments;
use crate::busy::BusyLoops;
use crate::conformance;
use crate::counts;
use crate::features;
use crate::fuzz;
use crate::interop;
use crate::run::{self, Result};
use crate::steps::{Load, Needs, Plan, Stage, Step, StepSuccess};
use crate::test::{self, Rounds, passed_if_ok};
use crate::verdicts;
use crate::workspace::Workspace;

/// `cargo xtask deep`: every part, or one.
pub(crate) fn run(workspace: &Workspace, mut arguments: Arguments) -> Result<ExitCode> {
    let part = arguments.value("--part")?;
    let executions = fuzz::Effort::executions(&mut arguments)?;
    arguments.finish()?;
    if let Some(effort) = executions {
        return match part.as_deref() {
            Some("fuzz") => run_fuzz(workspace, effort).map(|()| ExitCode::SUCCESS),
            _ => Err("`--executions` is for `--part fuzz`".to_owned()),
        };
    }
    let Some(name) = part else {
        return Plan { command: "deep", stages: &PARTS }.run(workspace, 1).map(|()| ExitCode::SUCCESS);
    };
    let Some(stage) = PARTS.iter().find(|stage| stage[0].name == name) else {
        let names: Vec<&str> = PARTS.iter().map(|stage| stage[0].name).collect();
        return Err(format!("`--part {name}`: there are {}", names.join(", ")));
    };
    Plan { command: "deep", stages: &[stage] }.run(workspace, 1).map(|()| ExitCode::SUCCESS)
}

const fn part(name: &'static str, repeat: &'static str, work: fn(&Workspace) -> Result<StepSuccess>) -> Step {
    Step { name, rerun_command: repeat, needs: Needs::Nothing, load: Load::Computes, work, counter: None }
}

const PARTS: [Stage<'_>; 16] = [
    &[part("suite", "cargo xtask deep --part suite", |workspace| {
        test::build(workspace)?;
        let _busy = BusyLoops::start(BUSY_LOOPS);
        passed_if_ok(test::run_all(workspace, 2))
    })],
    &[part("races", "cargo xtask deep --part races", |workspace| {
        test::build(workspace)?;
        let _busy = BusyLoops::start(BUSY_LOOPS);
        passed_if_ok(run_repeatedly(20, || test::run_tests(workspace, Rounds::Few, Some(RACE_TESTS))))
    })],
    &[part("conformance-client", "cargo xtask deep --part conformance-client", |workspace| {
        let _busy = BusyLoops::start(BUSY_LOOPS);
        passed_if_ok(with_options(&["--side", "client", "--repeat", "20"], |arguments| {
            conformance::run(workspace, &conformance::Options::parse(arguments)?)
        }))
    })],
    &[part("conformance-server", "cargo xtask deep --part conformance-server", |workspace| {
        let _busy = BusyLoops::start(BUSY_LOOPS);
        passed_if_ok(with_options(&["--side", "server", "--repeat", "20"], |arguments| {
            conformance::run(workspace, &conformance::Options::parse(arguments)?)
        }))
    })],
    &[part("interop", "cargo xtask deep --part interop", |workspace| {
        passed_if_ok(run_repeatedly(3, || interop::run(workspace, &interop::Options::default())))
    })],
    &[part("latency", "cargo xtask deep --part latency", |workspace| {
        let conformance = with_options(&["--latency", LATENCY], |arguments| {
            conformance::run(workspace, &conformance::Options::parse(arguments)?)
        });
        let interop = with_options(&["--latency", LATENCY], |arguments| {
            interop::run(workspace, &interop::Options::parse(arguments)?)
        });
        passed_if_ok(conformance.and(interop))
    })],
    &[part("cluster", "cargo xtask deep --part cluster", |workspace| run_in_turn(workspace, CLUSTER_STEPS))],
    &[part("verdicts", "cargo xtask deep --part verdicts", |workspace| {
        passed_if_ok(verdicts::run(workspace, verdicts::TOKENS))
    })],
    &[part("rounds", "cargo xtask deep --part rounds", |workspace| {
        passed_if_ok(test::run_tests(workspace, Rounds::Full, None))
    })],
    &[part("simulation", "cargo xtask deep --part simulation", |workspace| {
        passed_if_ok(test::run_tests(workspace, Rounds::Full, Some("binary(simulation)")))
    })],
    &[part("memory", "cargo xtask deep --part memory", |workspace| {
        passed_if_ok(run_memory_tests(workspace))
    })],
    &[part("soak", "cargo xtask deep --part soak", |workspace| passed_if_ok(run_soak(workspace)))],
    &[part("counts", "cargo xtask deep --part counts", |workspace| {
        passed_if_ok(with_options(&[], |arguments| {
            counts::run(workspace, &counts::Options::parse(arguments)?)
        }))
    })],
    &[part("features", "cargo xtask deep --part features", features::run)],
    &[part("inspect-size", "cargo xtask deep --part inspect-size", |workspace| {
        passed_if_ok(check_inspect_size(workspace))
    })],
    &[part("fuzz", "cargo xtask deep --part fuzz", |workspace| {
        passed_if_ok(run_fuzz(workspace, fuzz::Effort::Seconds(FUZZ_SECONDS)))
    })],
];

fn run_fuzz(workspace: &Workspace, effort: fuzz::Effort) -> Result {
    fuzz::run(workspace, &fuzz::Options { effort, target: None })
}

/// A step of a part: its name, and the work.
type PartStep = (&'static str, fn(&Workspace) -> Result<StepSuccess>);

/// Several nodes that are one server.
const CLUSTER_STEPS: &[PartStep] = &[("every client behind a balancer", |workspace| {
    interop::run_cluster(workspace, interop::ClientSet::All)
})];

/// Runs the steps of a part one after the other, also after a failure. The part is skipped if one of them was, and none
/// failed.
fn run_in_turn(workspace: &Workspace, steps: &[PartStep]) -> Result<StepSuccess> {
    let (mut failed, mut skipped) = (Vec::new(), Vec::new());
    for (name, work) in steps {
        println!("==== {name}");
        match work(workspace) {
            Ok(StepSuccess::Passed) => {}
            Ok(StepSuccess::Skipped(why)) => skipped.push(format!("{name}: {why}")),
            Err(error) => failed.push(format!("{name}: {error}")),
        }
    }
    match (failed.is_empty(), skipped.is_empty()) {
        (false, _) => Err(failed.join("\n")),
        (true, false) => Ok(StepSuccess::Skipped(skipped.join("\n"))),
        (true, true) => Ok(StepSuccess::Passed),
    }
}

/// Runs the tests with a limit on memory in a build with optimization, in which they try more often.
fn run_memory_tests(workspace: &Workspace) -> Result {
    let profile = ["--profile", OPTIMIZED, "-p", "toolway", "--all-features"];
    run::check_success(workspace.cargo(&["build"]).args(profile).args(["--example", "memory-fixture"]))?;
    let tests = ["--test", "hostile_http", "--test", "hostile_server", "limited::"];
    run::check_success(workspace.cargo(&["test"]).args(profile).args(tests))
}

fn run_soak(workspace: &Workspace) -> Result {
    run::check_success(&mut workspace.cargo(&["run", "--profile", OPTIMIZED, "-p", "bench", "--bin", "soak"]))
}

/// Compares the sizes of the command, as it is released, with and without the inspector.
fn check_inspect_size(workspace: &Workspace) -> Result {
    let size = |features: &[&str]| {
        // The profile removes the symbols.
        let mut cargo = workspace.cargo(&["build", "--release", "-p", "toolway-cli", "--bin", "toolway"]);
        run::check_success(cargo.args(features))?;
        let program =
            workspace.target.join("release").join(format!("toolway{}", std::env::consts::EXE_SUFFIX));
        fs::metadata(&program)
            .map(|file| file.len())
            .map_err(|error| format!("could not read the size of {}: {error}", program.display()))
    };
    let without = size(&["--no-default-features", "--features", "redis"])?;
    let with = size(&[])?;
    let added = with.saturating_sub(without);
    println!("inspect-size: {with} bytes, {added} of them by the inspector, of at most {INSPECT_SIZE}");
    if added > INSPECT_SIZE {
        return Err(format!(
            "the inspector adds {added} bytes to the command, and its budget is {INSPECT_SIZE}"
        ));
    }
    Ok(())
}

fn with_options(words: &[&str], work: impl FnOnce(Arguments) -> Result) -> Result {
    work(Arguments::from_words(words))
}

/// Runs `work` `times` times, also after a failure, and reports how often it failed.
fn run_repeatedly(times: usize, work: impl Fn() -> Result) -> Result {
    let mut failures = Vec::new();
    for round in 1..=times {
        println!("==== round {round} of {times}");
        failures.extend(work().err().map(|error| format!("round {round}: {error}")));
    }
    if failures.is_empty() {
        Ok(())
    } else {
        Err(format!("{} of {times} rounds failed\n{}", failures.len(), failures.join("\n")))
    }
}

/// The most bytes that the inspector may add to the command.
const INSPECT_SIZE: u64 = 500 * 1024;
/// The number of cores of a small machine.
const BUSY_LOOPS: usize = 2;
/// Milliseconds in each direction.
const LATENCY: &str = "20";
/// The profile of `cargo xtask counts`.
const OPTIMIZED: &str = "counts";
/// For each of the targets, which share the hour of a part.
const FUZZ_SECONDS: u64 = 150;
/// The tests that depend most on the order of events, as a nextest filter. Those that repeat themselves a thousand times,
/// or measure memory, are left out: `rounds` and `memory` run them.
const RACE_TESTS: &str = "(binary(process) or binary(kills) or binary(resume) or binary(hostile_http) \
                     or (binary(it) and (test(client) or test(http) or test(hub) or test(sessions) or test(watching)))) \
                     and not (test(/wherever/) or test(/^limited/))";

#[cfg(test)]
mod tests {
    use super::{PARTS, run_repeatedly};
    use std::cell::Cell;

    #[test]
    fn each_part_names_the_command_that_repeats_it() {
        for stage in &PARTS {
            let [step] = stage else { panic!("parts run one after the other") };
            assert_eq!(step.rerun_command, format!("cargo xtask deep --part {}", step.name));
        }
    }

    #[test]
    fn every_round_runs_and_the_failed_ones_are_named() {
        let rounds = Cell::new(0);
        let work = || {
            rounds.set(rounds.get() + 1);
            if rounds.get() == 2 { Err("it hangs".to_owned()) } else { Ok(()) }
        };
        assert_eq!(run_repeatedly(3, work), Err("1 of 3 rounds failed\nround 2: it hangs".to_owned()));
        assert_eq!(rounds.get(), 3);
    }
}
