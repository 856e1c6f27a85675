//! How does a long run go through its steps, and what does it print?
//!
//! A run is a list of stages. A stage with one step runs on the terminal. The steps of a larger stage run concurrently,
//! each in its own process (`cargo xtask COMMAND --step NAME`); the output of each goes to a file and is shown when the
//! step is done. Beside a step that uses all cores runs one that mostly waits, so neither cores nor time are wasted. A
//! failed step does not stop the steps after it, except those that need a build when the build failed. A failure names
//! the command that repeats just this step.

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::path::PathBuf;
use std::process::{Command, ExitCode};
use std::thread;
use std::time::{Duration, Instant};

use crate::run::{self, KillOnDrop, Result};
use crate::workspace::Workspace;

/// One step of a command.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Step {
    pub(crate) name: &'static str,
    /// The command that runs nothing but this step.
    pub(crate) rerun_command: &'static str,
    pub(crate) needs: Needs,
    pub(crate) load: Load,
    pub(crate) work: fn(&Workspace) -> Result<StepSuccess>,
    /// How to count the checks in the file that the step has written, if at all.
    pub(crate) counter: Option<CheckCounter>,
}

/// The precondition of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Needs {
    Nothing,
    /// The step called [`BUILD`].
    Build,
}

/// What a step mostly does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Load {
    /// It waits for other programs.
    Waits,
    /// It uses all cores, mostly for the compiler. Such steps run one after the other: cargo has a lock for all of its builds.
    Computes,
}

/// Whether the programs that a step starts are there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Programs {
    /// This run has built all of them.
    Built,
    /// This run could not build them.
    Broken,
    /// The step has to build its own.
    Unknown,
}

/// The end of a step that did not fail.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum StepSuccess {
    Passed,
    /// The step cannot run here, for this reason.
    Skipped(String),
}

/// How the passed checks of a step are counted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CheckCounter {
    /// Their name in the last line.
    pub(crate) unit: &'static str,
    pub(crate) in_log: fn(&str) -> u64,
}

/// Steps that run at the same time.
pub(crate) type Stage<'a> = &'a [Step];

/// A command with all its steps.
#[derive(Debug)]
pub(crate) struct Plan<'a> {
    /// Its name after `cargo xtask`.
    pub(crate) command: &'static str,
    pub(crate) stages: &'a [Stage<'a>],
}

impl Plan<'_> {
    /// Runs every stage `rounds` times, prints what ran and for how long. An error if a step failed.
    pub(crate) fn run(&self, workspace: &Workspace, rounds: usize) -> Result {
        let mut report = Report::new(self.command, rounds);
        for round in 1..=rounds {
            if rounds > 1 {
                println!("==== {} round {round} of {rounds}\n", self.command);
            }
            self.run_once(workspace, round, &mut report);
        }
        let (table, verdict) = report.summary();
        print!("{table}");
        verdict
    }

    /// Runs the step with this name.
    pub(crate) fn run_step(&self, workspace: &Workspace, name: &str) -> Result<ExitCode> {
        let step = self.steps().find(|step| step.name == name).ok_or_else(|| {
            let names: Vec<&str> = self.steps().map(|step| step.name).collect();
            format!("`--step {name}`: `cargo xtask {}` has {}", self.command, names.join(", "))
        })?;
        match (step.work)(workspace)? {
            StepSuccess::Passed => Ok(ExitCode::SUCCESS),
            StepSuccess::Skipped(why) => {
                println!("{why}");
                Ok(ExitCode::from(SKIPPED_EXIT_CODE))
            }
        }
    }

    fn steps(&self) -> impl Iterator<Item = &Step> {
        self.stages.iter().flat_map(|stage| stage.iter())
    }

    fn run_once(&self, workspace: &Workspace, round: usize, report: &mut Report) {
        let total = self.steps().count();
        let mut begun = 0;
        let mut programs = Programs::Unknown;
        for stage in self.stages {
            let (ready, blocked): (Vec<&Step>, Vec<&Step>) =
                stage.iter().partition(|step| programs != Programs::Broken || step.needs == Needs::Nothing);
            for step in blocked {
                begun += 1;
                report.add(step, round, 0.0, Outcome::Skipped(NOT_BUILT.to_owned()), 0);
            }
            let first = begun + 1;
            begun += ready.len();
            match ready.as_slice() {
                [] => {}
                [step] => {
                    println!("== {first}/{total} {} …", step.name);
                    let log = log_path(workspace, step);
                    // The file of an older run must not be counted.
                    let _ = fs::remove_file(&log);
                    let start = Instant::now();
                    let outcome = Outcome::of((step.work)(workspace));
                    if step.name == BUILD {
                        programs = match outcome {
                            Outcome::Failed(_) => Programs::Broken,
                            Outcome::Passed | Outcome::Skipped(_) => Programs::Built,
                        };
                    }
                    let said = fs::read_to_string(&log).unwrap_or_default();
                    report.add(step, round, start.elapsed().as_secs_f64(), outcome, step.count(&said));
                }
                several => {
                    let names: Vec<&str> = several.iter().map(|step| step.name).collect();
                    println!("== {first}-{begun}/{total} side by side: {} …", names.join(", "));
                    self.run_concurrently(workspace, several, programs, round, report);
                }
            }
        }
    }

    fn run_concurrently(
        &self,
        workspace: &Workspace,
        steps: &[&Step],
        programs: Programs,
        round: usize,
        report: &mut Report,
    ) {
        let mut waiting: VecDeque<&Step> = steps.iter().copied().collect();
        let mut running: Vec<RunningStep<'_>> = Vec::new();
        let mut told = Instant::now();
        loop {
            while running.len() < MAX_CONCURRENT
                && let Some(at) = next_step(&waiting, &running)
                && let Some(step) = waiting.remove(at)
            {
                match RunningStep::start(workspace, self.command, step, programs) {
                    Ok(started) => running.push(started),
                    Err(error) => report.add(step, round, 0.0, Outcome::Failed(error), 0),
                }
            }
            if running.is_empty() {
                return;
            }
            let mut at = 0;
            while at < running.len() {
                match running[at].outcome() {
                    None => at += 1,
                    Some(outcome) => {
                        let ended = running.swap_remove(at);
                        let said = ended.output();
                        println!("== {} wrote:\n{}", ended.step.name, said.trim_end());
                        let seconds = ended.start.elapsed().as_secs_f64();
                        report.add(ended.step, round, seconds, outcome, ended.step.count(&said));
                    }
                }
            }
            if told.elapsed() >= PROGRESS_INTERVAL {
                told = Instant::now();
                for step in &running {
                    println!("   {}", step.progress());
                }
            }
            thread::sleep(Duration::from_millis(50));
        }
    }
}

/// Returns which of these steps to start beside those that run: one that computes if none does, or else one that waits.
fn next_step(steps: &VecDeque<&Step>, running: &[RunningStep<'_>]) -> Option<usize> {
    let first = |wanted| steps.iter().position(|step| step.load == wanted);
    let computing = running.iter().any(|running| running.step.load == Load::Computes);
    first(Load::Computes).filter(|_| !computing).or_else(|| first(Load::Waits))
}

impl Step {
    fn count(&self, log: &str) -> u64 {
        self.counter.map_or(0, |counted| (counted.in_log)(log))
    }
}

/// The file that holds the output of a step, or what it wants to be counted.
pub(crate) fn log_path(workspace: &Workspace, step: &Step) -> PathBuf {
    log_path_by_name(workspace, step.name)
}

/// The same file, by the step's name.
pub(crate) fn log_path_by_name(workspace: &Workspace, name: &str) -> PathBuf {
    workspace.target.join("xtask").join(format!("{}.log", name.replace(' ', "-")))
}

/// A step in its own process.
struct RunningStep<'a> {
    step: &'a Step,
    process: KillOnDrop,
    log: PathBuf,
    start: Instant,
}

impl<'a> RunningStep<'a> {
    fn start(workspace: &Workspace, command: &str, step: &'a Step, programs: Programs) -> Result<Self> {
        let log = log_path(workspace, step);
        let not_written = |error: std::io::Error| format!("could not write {}: {error}", log.display());
        if let Some(folder) = log.parent() {
            fs::create_dir_all(folder).map_err(not_written)?;
        }
        let file = File::create(&log).map_err(not_written)?;
        let mut program = Command::new(&workspace.xtask);
        program.args([command, "--step", step.name]).current_dir(&workspace.root);
        program.stdout(file.try_clone().map_err(not_written)?).stderr(file);
        if programs == Programs::Built {
            program.env(BUILT, "1");
        }
        Ok(Self { step, process: KillOnDrop::spawn(&mut program)?, log, start: Instant::now() })
    }

    fn outcome(&mut self) -> Option<Outcome> {
        let status = match self.process.try_wait() {
            Ok(None) => return None,
            Ok(Some(status)) => status,
            Err(error) => return Some(Outcome::Failed(error)),
        };
        let said = self.output();
        let last = last_line(&said).to_owned();
        Some(match status.code() {
            Some(0) => Outcome::Passed,
            Some(code) if code == i32::from(SKIPPED_EXIT_CODE) => Outcome::Skipped(last),
            Some(_) => Outcome::Failed(last.strip_prefix("xtask: ").unwrap_or(&last).to_owned()),
            None => Outcome::Failed(run::describe_exit(status)),
        })
    }

    fn output(&self) -> String {
        String::from_utf8_lossy(&fs::read(&self.log).unwrap_or_default()).into_owned()
    }

    fn progress(&self) -> String {
        let said = self.output();
        let last: String = last_line(&said).chars().take(90).collect();
        format!("{} has run for {:.0} s: {}", self.step.name, self.start.elapsed().as_secs_f64(), last.trim())
    }
}

#[derive(Debug)]
enum Outcome {
    Passed,
    Failed(String),
    Skipped(String),
}

impl Outcome {
    fn of(done: Result<StepSuccess>) -> Self {
        match done {
            Ok(StepSuccess::Passed) => Self::Passed,
            Ok(StepSuccess::Skipped(why)) => Self::Skipped(why),
            Err(message) => Self::Failed(message),
        }
    }
}

/// The results of every step in every round.
#[derive(Debug)]
struct Report {
    command: &'static str,
    rounds: usize,
    start: Instant,
    rows: Vec<Row>,
}

/// One step in all rounds.
#[derive(Debug)]
struct Row {
    name: &'static str,
    repeat: &'static str,
    unit: Option<&'static str>,
    seconds: f64,
    counted: u64,
    passed: usize,
    /// The rounds in which it failed, and the first message.
    failed: Vec<usize>,
    message: String,
    skipped: Option<String>,
}

impl Report {
    fn new(command: &'static str, rounds: usize) -> Self {
        Self { command, rounds, start: Instant::now(), rows: Vec::new() }
    }

    /// Records the end of a step and prints it.
    fn add(&mut self, step: &Step, round: usize, seconds: f64, outcome: Outcome, counted: u64) {
        let Step { name, rerun_command: repeat, .. } = *step;
        let row = match self.rows.iter_mut().position(|row| row.name == name) {
            Some(at) => &mut self.rows[at],
            None => {
                let unit = step.counter.map(|counted| counted.unit);
                self.rows.push(Row {
                    name,
                    repeat,
                    unit,
                    seconds: 0.0,
                    counted: 0,
                    passed: 0,
                    failed: Vec::new(),
                    message: String::new(),
                    skipped: None,
                });
                let last = self.rows.len() - 1;
                &mut self.rows[last]
            }
        };
        row.seconds += seconds;
        row.counted += counted;
        match outcome {
            Outcome::Passed => {
                row.passed += 1;
                println!("== {name} … {seconds:.1} s\n");
            }
            Outcome::Failed(message) => {
                println!("{message}");
                println!("== {name} … FAILED after {seconds:.1} s; to repeat just this: {repeat}\n");
                if row.failed.is_empty() {
                    first_line(&message).clone_into(&mut row.message);
                }
                row.failed.push(round);
            }
            Outcome::Skipped(why) => {
                println!("== {name} … not run: {why}\n");
                row.skipped = Some(why);
            }
        }
    }

    fn summary(&self) -> (String, Result) {
        let mut table = String::from("seconds  step\n");
        let [mut passed, mut failed, mut left_out] = <[Vec<&str>; 3]>::default();
        for row in &self.rows {
            let Row { name, seconds, message, .. } = row;
            let line = if !row.failed.is_empty() {
                failed.push(*name);
                let rounds = if self.rounds > 1 {
                    let numbers: Vec<String> = row.failed.iter().map(usize::to_string).collect();
                    format!(" in {} of {} rounds ({})", row.failed.len(), self.rounds, numbers.join(", "))
                } else {
                    String::new()
                };
                format!(
                    "{seconds:7.1}  {name}: FAILED{rounds}, {message}\n         to repeat just this: {}",
                    row.repeat
                )
            } else if row.passed > 0 {
                passed.push(*name);
                format!("{seconds:7.1}  {name}")
            } else {
                left_out.push(*name);
                format!("{:>7}  {name}: not run, {}", "-", row.skipped.as_deref().unwrap_or_default())
            };
            let _ = writeln!(table, "{line}");
        }
        let total = self.start.elapsed().as_secs_f64();
        let command = self.command;
        let _ = writeln!(table, "{total:7.1}  in all, some of it side by side\n");
        let _ = writeln!(table, "{command}: {} steps passed ({})", passed.len(), passed.join(", "));
        if !left_out.is_empty() {
            let _ = writeln!(table, "{command}: {} steps not run ({})", left_out.len(), left_out.join(", "));
        }
        let counts: Vec<String> = self
            .rows
            .iter()
            .filter(|row| row.counted > 0)
            .filter_map(|row| row.unit.map(|unit| format!("{} {unit}", row.counted)))
            .collect();
        let outcome = match (counts.is_empty(), failed.is_empty()) {
            (true, true) => "passed".to_owned(),
            (true, false) => "failed".to_owned(),
            (false, true) => format!("{} passed", counts.join(", ")),
            (false, false) => format!("{} passed, but not everything", counts.join(", ")),
        };
        let _ = writeln!(table, "{command}: {outcome}, in {total:.0} s");
        let verdict = if failed.is_empty() {
            Ok(())
        } else {
            Err(format!(
                "{command}: {} of {} steps failed ({}); the table shows how to repeat each",
                failed.len(),
                passed.len() + failed.len(),
                failed.join(", ")
            ))
        };
        (table, verdict)
    }
}

/// Returns whether this process runs a step after the step called [`BUILD`].
pub(crate) fn is_built() -> bool {
    std::env::var_os(BUILT).is_some()
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}

fn last_line(text: &str) -> &str {
    text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default()
}

/// If this step fails, the steps that need a build do not run.
pub(crate) const BUILD: &str = "build";
/// The variable that tells a step that everything is built.
const BUILT: &str = "TOOLWAY_XTASK_BUILT";
const NOT_BUILT: &str = "the workspace does not build";
/// The exit code of `--step` when the step cannot run here.
const SKIPPED_EXIT_CODE: u8 = 77;
/// The number of steps that run concurrently: the number of cores of a small machine. A step that waits leaves its core
/// to the other one.
const MAX_CONCURRENT: usize = 2;
/// The interval between progress lines while steps run concurrently.
const PROGRESS_INTERVAL: Duration = Duration::from_secs(30);

#[cfg(test)]
mod tests {
    use super::{BUILD, CheckCounter, Load, Needs, Outcome, Report, Step, StepSuccess, last_line};
    use crate::workspace::Workspace;

    fn step(name: &'static str, counted: Option<CheckCounter>) -> Step {
        let work = |_: &Workspace| Ok(StepSuccess::Passed);
        Step {
            name,
            rerun_command: "cargo xtask test --step it",
            needs: Needs::Build,
            load: Load::Waits,
            work,
            counter: counted,
        }
    }

    #[test]
    fn a_failed_step_fails_the_whole_and_tells_how_to_repeat_it() {
        let mut report = Report::new("check", 1);
        report.add(&step("one", None), 1, 1.0, Outcome::Failed("broken\nat length".to_owned()), 0);
        report.add(&step("two", None), 1, 2.0, Outcome::Passed, 0);
        report.add(&step("three", None), 1, 0.0, Outcome::Skipped("the build is broken".to_owned()), 0);
        let (table, verdict) = report.summary();
        assert!(
            table.contains("one: FAILED, broken\n         to repeat just this: cargo xtask test --step it\n"),
            "{table}"
        );
        assert!(table.contains("three: not run, the build is broken\n"), "{table}");
        assert!(table.contains("check: 1 steps passed (two)"), "{table}");
        assert!(verdict.unwrap_err().contains("1 of 2 steps failed (one)"));
        // Nothing is counted here, so the line does not say that anything passed.
        assert!(table.contains("check: failed, in "), "{table}");
    }

    #[cfg(unix)]
    #[test]
    fn steps_side_by_side_are_told_apart_and_those_that_need_a_build_wait_for_one() {
        use super::{Plan, log_path_by_name};
        use std::fs;
        use std::process::Command;

        let folder = std::env::temp_dir().join(format!("xtask-steps-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        // Stands in for this program: it is called with the command, `--step` and the step's name.
        let script = folder.join("fake");
        let text = "#!/bin/sh\necho \"$1 $3 has 3 passed$TOOLWAY_XTASK_BUILT\"\ncase $3 in bad) echo 'xtask: it broke' >&2; exit 1;; off) echo 'no network'; exit 77;; esac";
        // Another process writes the script: a file that this process has written may still be open in a child of
        // another test, and could not be run then.
        let write = Command::new("sh")
            .args(["-c", "echo \"$1\" > \"$0\" && chmod +x \"$0\""])
            .arg(&script)
            .arg(text)
            .status();
        assert!(write.unwrap().success());
        let workspace = Workspace::in_folder(&folder, script);

        let counted =
            Some(CheckCounter { unit: "checks", in_log: |log| u64::from(log.contains("3 passed")) * 3 });
        let together = [step("good", counted), step("bad", None), step("off", None)];
        let mut report = Report::new("test", 1);
        Plan { command: "test", stages: &[&together] }.run_once(&workspace, 1, &mut report);
        let (table, verdict) = report.summary();
        assert!(table.contains("  good\n"), "{table}");
        assert!(table.contains("bad: FAILED, it broke\n"), "{table}");
        assert!(table.contains("off: not run, no network\n"), "{table}");
        assert!(table.contains("test: 3 checks passed, but not everything"), "{table}");
        assert!(verdict.unwrap_err().contains("1 of 2 steps failed (bad)"));
        assert_eq!(
            fs::read_to_string(log_path_by_name(&workspace, "good")).unwrap(),
            "test good has 3 passed\n"
        );

        let build = Step { work: |_| Err("no".to_owned()), needs: Needs::Nothing, ..step(BUILD, None) };
        let mut report = Report::new("test", 1);
        Plan { command: "test", stages: &[&[build], &together] }.run_once(&workspace, 1, &mut report);
        let (table, _) = report.summary();
        assert_eq!(table.matches("not run, the workspace does not build").count(), 3, "{table}");

        let build = Step { needs: Needs::Nothing, ..step(BUILD, None) };
        Plan { command: "test", stages: &[&[build], &together] }.run_once(&workspace, 1, &mut report);
        assert_eq!(
            fs::read_to_string(log_path_by_name(&workspace, "good")).unwrap(),
            "test good has 3 passed1\n",
            "it builds nothing"
        );
        fs::remove_dir_all(&folder).unwrap();
    }

    #[cfg(unix)]
    #[test]
    fn one_step_that_computes_runs_beside_one_that_waits() {
        use super::{RunningStep, next_step};
        use crate::run::KillOnDrop;
        use std::collections::VecDeque;
        use std::process::Command;
        use std::time::Instant;

        let waits = step("waits", None);
        let computes = Step { load: Load::Computes, ..step("computes", None) };
        let running = |step| RunningStep {
            step,
            process: KillOnDrop::spawn(&mut Command::new("true")).unwrap(),
            log: std::path::PathBuf::new(),
            start: Instant::now(),
        };
        let first = |steps: &[&Step], running: &[RunningStep<'_>]| {
            let steps: VecDeque<&Step> = steps.iter().copied().collect();
            next_step(&steps, running).map(|at| steps[at].name)
        };
        assert_eq!(first(&[&waits, &computes], &[]), Some("computes"));
        assert_eq!(first(&[&computes, &waits], &[running(&computes)]), Some("waits"));
        assert_eq!(first(&[&computes], &[running(&computes)]), None);
        assert_eq!(first(&[&waits, &computes], &[running(&waits)]), Some("computes"));
        assert_eq!(first(&[&waits], &[running(&waits)]), Some("waits"));
        assert_eq!(first(&[], &[]), None);
    }

    #[test]
    fn rounds_are_added_up_and_those_that_failed_are_named() {
        let tests = step("tests", Some(CheckCounter { unit: "tests", in_log: |_| 0 }));
        let mut report = Report::new("test", 3);
        for (round, failed) in [(1, false), (2, true), (3, true)] {
            let outcome = if failed { Outcome::Failed("one hangs".to_owned()) } else { Outcome::Passed };
            report.add(&tests, round, 1.5, outcome, 7);
        }
        let (table, verdict) = report.summary();
        assert!(table.contains("    4.5  tests: FAILED in 2 of 3 rounds (2, 3), one hangs"), "{table}");
        assert!(table.contains("test: 21 tests passed, but not everything, in "), "{table}");
        assert!(verdict.is_err());
    }

    #[test]
    fn the_last_line_is_one_with_words() {
        assert_eq!(last_line("one\ntwo\n \n"), "two");
        assert_eq!(last_line(""), "");
    }
}
