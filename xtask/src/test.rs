//! How are all tests run, from a fresh checkout to the last scenario?
//!
//! Every cargo call names the whole workspace with all features and a target that needs the dev-dependencies, even
//! where one program would be enough: cargo then chooses the same features for every dependency each time, and nothing
//! is built twice. This also needs the same debug information everywhere; see the profiles in the workspace's
//! `Cargo.toml`.

use std::fs;
use std::num::NonZero;
use std::process::ExitCode;
use std::thread;

use crate::arguments::Arguments;
use crate::conformance;
use crate::interop;
use crate::run::{self, Result};
use crate::steps::{self, BUILD, CheckCounter, Load, Needs, Plan, Stage, Step, StepSuccess};
use crate::test_report;
use crate::verdicts;
use crate::workspace::Workspace;

/// Which tests to run, and how often.
#[derive(Debug)]
pub(crate) struct Options {
    step: Option<String>,
    repeat: usize,
}

impl Options {
    /// Reads the options of `cargo xtask test`.
    pub(crate) fn parse(mut arguments: Arguments) -> Result<Self> {
        let step = arguments.value("--step")?;
        let repeat = arguments.times("--repeat")?;
        arguments.finish()?;
        Ok(Self { step, repeat })
    }
}

/// `cargo xtask test`.
pub(crate) fn run(workspace: &Workspace, options: &Options) -> Result<ExitCode> {
    let Some(name) = &options.step else {
        return PLAN.run(workspace, options.repeat).map(|()| ExitCode::SUCCESS);
    };
    let mut code = ExitCode::SUCCESS;
    let mut failed = 0;
    for round in 1..=options.repeat {
        match PLAN.run_step(workspace, name) {
            Ok(ended) => code = ended,
            Err(error) if options.repeat == 1 => return Err(error),
            Err(error) => {
                println!("round {round}: {error}");
                failed += 1;
            }
        }
    }
    if failed == 0 {
        Ok(code)
    } else {
        Err(format!("{name} failed in {failed} of {} rounds", options.repeat))
    }
}

/// Runs all tests `rounds` times.
pub(crate) fn run_all(workspace: &Workspace, rounds: usize) -> Result {
    PLAN.run(workspace, rounds)
}

const PLAN: Plan<'_> = Plan { command: "test", stages: &STAGES };

/// Conformance and interop mostly wait; the doctests, which use all cores, run beside them.
pub(crate) const STAGES: [Stage<'_>; 3] = [
    &[Step {
        name: BUILD,
        rerun_command: "cargo xtask test --step build",
        needs: Needs::Nothing,
        load: Load::Computes,
        work: |workspace| passed_if_ok(build(workspace)),
        counter: None,
    }],
    &[Step {
        name: TESTS,
        rerun_command: "cargo xtask test --step tests",
        needs: Needs::Build,
        load: Load::Computes,
        work: |workspace| passed_if_ok(run_tests(workspace, Rounds::Few, None)),
        counter: Some(CheckCounter { unit: "tests", in_log: passed_by_cargo }),
    }],
    &[
        Step {
            name: "conformance",
            rerun_command: "cargo xtask conformance",
            needs: Needs::Build,
            load: Load::Waits,
            work: |workspace| passed_if_ok(conformance::run(workspace, &conformance::Options::default())),
            counter: Some(CheckCounter { unit: "conformance scenarios", in_log: passed_by_conformance }),
        },
        Step {
            name: "interop",
            rerun_command: "cargo xtask interop",
            needs: Needs::Build,
            load: Load::Waits,
            work: |workspace| passed_if_ok(interop::run(workspace, &interop::Options::default())),
            counter: Some(CheckCounter { unit: "interop checks", in_log: passed_by_interop }),
        },
        Step {
            name: "interop-cluster",
            rerun_command: "cargo xtask test --step interop-cluster",
            needs: Needs::Build,
            load: Load::Waits,
            work: |workspace| interop::run_cluster(workspace, interop::ClientSet::Current),
            counter: Some(CheckCounter {
                unit: "interop checks on several nodes",
                in_log: passed_by_interop,
            }),
        },
        Step {
            name: "interop-auth",
            rerun_command: "cargo xtask test --step interop-auth",
            needs: Needs::Build,
            load: Load::Waits,
            work: |workspace| passed_if_ok(interop::run_auth(workspace)),
            counter: Some(CheckCounter { unit: "logins to real servers", in_log: passed_by_interop }),
        },
        Step {
            name: "verdicts",
            rerun_command: "cargo xtask verdicts",
            needs: Needs::Build,
            load: Load::Waits,
            work: |workspace| passed_if_ok(verdicts::run(workspace, verdicts::TOKENS_IN_CI)),
            counter: Some(CheckCounter {
                unit: "tokens judged by other libraries too",
                in_log: passed_by_verdicts,
            }),
        },
        Step {
            name: "doctests",
            rerun_command: "cargo xtask test --step doctests",
            needs: Needs::Build,
            load: Load::Computes,
            work: |workspace| {
                passed_if_ok(run::check_success(&mut workspace.cargo(&[
                    "test",
                    "--workspace",
                    "--all-features",
                    "--doc",
                ])))
            },
            counter: Some(CheckCounter { unit: "doctests", in_log: passed_by_cargo }),
        },
    ],
];

/// The result of a step that always runs.
pub(crate) fn passed_if_ok(outcome: Result) -> Result<StepSuccess> {
    outcome.map(|()| StepSuccess::Passed)
}

pub(crate) fn build(workspace: &Workspace) -> Result {
    run::check_success(&mut workspace.cargo(&[
        "build",
        "--workspace",
        "--all-features",
        "--lib",
        "--bins",
        "--examples",
        "--tests",
    ]))
}

/// Builds programs, which are named as for cargo, such as `--bin=toolway`.
///
/// An example is always one of them: it needs the dev-dependencies, so cargo chooses the same features as for the tests.
/// Otherwise most of the workspace would be built once more. A step beside others starts no cargo if everything is built:
/// it would wait for the build of another step.
pub(crate) fn build_programs(workspace: &Workspace, programs: &[&str]) -> Result {
    if steps::is_built() {
        return Ok(());
    }
    let mut cargo =
        workspace.cargo(&["build", "--quiet", "--workspace", "--all-features", "--example=hello"]);
    run::check_success(cargo.args(programs))
}

/// How many rounds the repeating tests run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rounds {
    /// Enough for every change.
    Few,
    /// All of them; set with the variable `TOOLWAY_ROUNDS`.
    Full,
}

/// Runs the unit and integration tests, or those that nextest's `filter` selects, and prints the slowest.
pub(crate) fn run_tests(workspace: &Workspace, rounds: Rounds, filter: Option<&str>) -> Result {
    let has_nextest = run::output(&mut workspace.cargo(&["nextest", "--version"])).is_ok();
    let mut command = workspace.cargo(match (has_nextest, filter) {
        (true, _) => &["nextest", "run", "--workspace", "--all-features", "--no-fail-fast"],
        (false, None) => &["test", "--workspace", "--all-features", "--tests", "--no-fail-fast"],
        (false, Some(_)) => {
            return Err(
                "a choice of tests needs cargo-nextest: `cargo install --locked cargo-nextest`".to_owned()
            );
        }
    });
    if let Some(filter) = filter {
        command.args(["-E", filter]);
    }
    if has_nextest {
        // Many tests mostly wait, and one of them always does; see `.config/nextest.toml`.
        let cores = thread::available_parallelism().map_or(2, NonZero::get);
        command.arg(format!("--test-threads={}", 2 * cores));
    }
    if rounds == Rounds::Full {
        command.env("TOOLWAY_ROUNDS", "full");
    }
    if !has_nextest {
        println!(
            "cargo-nextest is not installed, so a test that hangs is not ended, and the slowest are not shown"
        );
        let (said, outcome) = run::tee(&mut command);
        record_summary(workspace, &said);
        return outcome;
    }
    let report = workspace.target.join("nextest/default/junit.xml");
    // A run that fails before it writes a report must not show the report of the last run.
    let _ = fs::remove_file(&report);
    let outcome = run::check_success(&mut command);
    let cases = test_report::parse(&fs::read_to_string(&report).unwrap_or_default());
    let passed = cases.iter().filter(|case| case.passed).count();
    record_summary(workspace, &format!("test result: ok. {passed} passed;\n"));
    if !cases.is_empty() {
        print!("{}", test_report::table(cases));
    }
    outcome
}

/// Records what the last line of the run should count for this step.
fn record_summary(workspace: &Workspace, text: &str) {
    let log = steps::log_path_by_name(workspace, TESTS);
    // A missing count should not fail the step.
    let _ = log.parent().map(fs::create_dir_all);
    let _ = fs::write(log, text);
}

/// Adds up the lines `test result: ok. 12 passed; …`.
pub(crate) fn passed_by_cargo(log: &str) -> u64 {
    let results = log.lines().filter_map(|line| line.trim_start().strip_prefix("test result: "));
    results.filter_map(|result| number_before(result, " passed")).sum()
}

/// Finds the line `conformance: 12 passed, …`.
fn passed_by_conformance(log: &str) -> u64 {
    let results = log.lines().filter(|line| line.starts_with("conformance: "));
    results.filter_map(|line| number_before(line, " passed")).sum()
}

/// Adds up the lines `interop: 12 passed, …` and `interop, TITLE: 12 passed, …`.
fn passed_by_interop(log: &str) -> u64 {
    let results = log.lines().filter(|line| line.starts_with("interop"));
    results.filter_map(|line| number_before(line, " passed,")).sum()
}

/// Finds the line `verdicts: 12 passed, …`.
fn passed_by_verdicts(log: &str) -> u64 {
    let results = log.lines().filter(|line| line.starts_with("verdicts: "));
    results.filter_map(|line| number_before(line, " passed,")).sum()
}

fn number_before(text: &str, word: &str) -> Option<u64> {
    text.split_once(word)?.0.rsplit(' ').next()?.parse().ok()
}

const TESTS: &str = "tests";

#[cfg(test)]
mod tests {
    use super::{STAGES, passed_by_cargo, passed_by_conformance, passed_by_interop, passed_by_verdicts};

    #[test]
    fn what_passed_is_counted_in_what_each_step_writes() {
        let cargo = "running 3 tests\ntest result: ok. 12 passed; 0 failed;\n\ntest result: FAILED. 3 passed; 1 failed;\n";
        assert_eq!(passed_by_cargo(cargo), 15);
        let conformance = "side  revision\nconformance: 131 passed, 0 failed, 2 in the baseline\n";
        assert_eq!(passed_by_conformance(conformance), 131);
        let interop = "interop: 6 passed, 0 failed\nx passed, y\ninterop, real servers: 40 passed, 0 failed, 2 could not be asked\n";
        assert_eq!(passed_by_interop(interop), 46);
        let verdicts = "verdicts: 7 tokens with the seed 1\nverdicts: 7 passed, none that only we accept\n";
        assert_eq!(passed_by_verdicts(verdicts), 7);
        assert_eq!(passed_by_cargo("nothing"), 0);
    }

    #[test]
    fn each_step_names_the_command_that_repeats_it() {
        for step in STAGES.iter().flat_map(|stage| stage.iter()) {
            let own = format!("cargo xtask {}", step.name);
            let by_name = format!("cargo xtask test --step {}", step.name);
            assert!(
                step.rerun_command == own || step.rerun_command == by_name,
                "{}: {}",
                step.name,
                step.rerun_command
            );
        }
    }
}
