//! What does CI run?
//!
//! Everything here, in one process on one machine, so that a local run and a CI run check the same things: the tests of
//! `cargo xtask test`, and other checks before and beside them. Longer checks belong to `cargo xtask deep`.

use std::process::{Command, ExitCode};

use crate::arguments::Arguments;
use crate::cross;
use crate::dependencies;
use crate::newcomers;
use crate::page;
use crate::proxies;
use crate::publish;
use crate::python::Python;
use crate::run::{self, Result};
use crate::schema;
use crate::steps::{Load, Needs, Plan, Stage, Step, StepSuccess};
use crate::surface;
use crate::test::{self, passed_if_ok};
use crate::workspace::Workspace;

/// `cargo xtask check`.
pub(crate) fn run(workspace: &Workspace, mut arguments: Arguments) -> Result<ExitCode> {
    let step = arguments.value("--step")?;
    arguments.finish()?;
    let stages = stages();
    let stages: Vec<Stage<'_>> = stages.iter().map(Vec::as_slice).collect();
    let plan = Plan { command: "check", stages: &stages };
    if let Some(name) = step {
        return plan.run_step(workspace, &name);
    }
    let verdict = plan.run(workspace, 1);
    println!("check: {PLANNED_SECONDS} s are planned for all of it");
    println!("{NOT_CHECKED}");
    verdict.map(|()| ExitCode::SUCCESS)
}

/// The stages of the tests, with the other steps before and beside them.
fn stages() -> Vec<Vec<Step>> {
    let [build, tests, last] = test::STAGES;
    vec![QUICK.to_vec(), build.to_vec(), tests.to_vec(), [last, &BESIDE].concat()]
}

/// Steps that take seconds and fail often come first.
const QUICK: [Step; 6] = [
    Step {
        name: "format",
        rerun_command: "cargo xtask check --step format",
        needs: Needs::Nothing,
        load: Load::Computes,
        work: |workspace| {
            passed_if_ok(run::check_success(&mut workspace.cargo(&["fmt", "--all", "--check"])))
                .map_err(|error| format!("{error}; `cargo fmt --all` fixes it"))
        },
        counter: None,
    },
    Step {
        name: "typos",
        rerun_command: "cargo xtask check --step typos",
        needs: Needs::Nothing,
        load: Load::Waits,
        work: |workspace| passed_if_ok(typos(workspace)),
        counter: None,
    },
    Step {
        name: "dependencies",
        rerun_command: "cargo xtask check --step dependencies",
        needs: Needs::Nothing,
        load: Load::Waits,
        work: |workspace| passed_if_ok(dependencies::run(workspace)),
        counter: None,
    },
    Step {
        name: "package",
        rerun_command: "cargo xtask check --step package",
        needs: Needs::Nothing,
        load: Load::Computes,
        work: |workspace| passed_if_ok(publish::package(workspace)),
        counter: None,
    },
    Step {
        name: "proxies",
        rerun_command: "cargo xtask check --step proxies",
        needs: Needs::Nothing,
        load: Load::Waits,
        work: proxies::run,
        counter: None,
    },
    Step {
        name: "page",
        rerun_command: "cargo xtask page --check",
        needs: Needs::Nothing,
        load: Load::Waits,
        work: |workspace| passed_if_ok(page::run(workspace, &page::Job::Check)),
        counter: None,
    },
];

/// These run beside the longer tests. All of them share a target folder, so most dependencies are built only once.
const BESIDE: [Step; 8] = [
    Step {
        name: "clippy",
        rerun_command: "cargo xtask check --step clippy",
        needs: Needs::Build,
        load: Load::Computes,
        work: |workspace| {
            passed_if_ok(run::check_success(&mut workspace.cargo(&[
                "clippy",
                "--workspace",
                "--all-targets",
                "--all-features",
                "--",
                "-D",
                "warnings",
            ])))
        },
        counter: None,
    },
    Step {
        name: "cross",
        rerun_command: "cargo xtask cross",
        needs: Needs::Build,
        load: Load::Computes,
        work: cross::run,
        counter: None,
    },
    Step {
        name: "newcomers",
        rerun_command: "cargo xtask newcomers",
        needs: Needs::Build,
        load: Load::Computes,
        work: |workspace| passed_if_ok(newcomers::run(workspace)),
        counter: None,
    },
    Step {
        name: "surface",
        rerun_command: "cargo xtask surface",
        needs: Needs::Nothing,
        load: Load::Computes,
        work: |workspace| surface::run(workspace, surface::Mode::Compare),
        counter: None,
    },
    Step {
        name: "oldest-rust",
        rerun_command: "cargo xtask check --step oldest-rust",
        needs: Needs::Nothing,
        load: Load::Computes,
        work: publish::oldest_rust,
        counter: None,
    },
    Step {
        name: "docs",
        rerun_command: "cargo xtask check --step docs",
        needs: Needs::Build,
        load: Load::Computes,
        work: |workspace| passed_if_ok(docs(workspace)),
        counter: None,
    },
    Step {
        name: "schema",
        rerun_command: "cargo xtask check --step schema",
        needs: Needs::Nothing,
        load: Load::Computes,
        work: |workspace| {
            let schemas = workspace.root.join(SCHEMAS);
            if schemas.is_dir() {
                passed_if_ok(schema::run(&schemas))
            } else {
                Ok(StepSuccess::Skipped("the official schemas are not here".to_owned()))
            }
        },
        counter: None,
    },
    Step {
        name: "page-tests",
        rerun_command: "cargo xtask page --test",
        needs: Needs::Build,
        load: Load::Waits,
        work: |workspace| passed_if_ok(page::run(workspace, &page::Job::Test(None))),
        counter: None,
    },
];

fn docs(workspace: &Workspace) -> Result {
    let mut command =
        workspace.cargo(&["doc", "--workspace", "--all-features", "--no-deps", "--document-private-items"]);
    run::check_success(command.env("RUSTDOCFLAGS", "-D warnings"))
}

fn typos(workspace: &Workspace) -> Result {
    let python = Python::install(&workspace.target.join("typos"), &[TYPOS])?;
    let mut command: Command = python.command("typos");
    run::check_success(command.current_dir(&workspace.root)).map_err(|error| {
        format!("{error}; fix the word, or list it in typos.toml under [default.extend-words] if it is right")
    })
}

/// On two busy cores. A step that does not fit goes to `cargo xtask deep`.
const PLANNED_SECONDS: u32 = 1_800;
/// The official schemas are not part of the repository; this folder is used where it exists.
const SCHEMAS: &str = "../shared/spec";
/// Pinned, because a newer word list finds new words in old text.
const TYPOS: &str = "typos==1.51.1";
const NOT_CHECKED: &str = "\
check: not included: long checks (`cargo xtask deep`, by hand), and the checks of a release: the advisory database and
the comparison with the published API (both need data from outside)";

#[cfg(test)]
mod tests {
    use super::stages;
    use crate::test;

    #[test]
    fn check_runs_every_step_of_the_tests_and_each_name_is_used_once() {
        let stages = stages();
        let names: Vec<&str> = stages.iter().flatten().map(|step| step.name).collect();
        for step in test::STAGES.iter().flat_map(|stage| stage.iter()) {
            assert_eq!(names.iter().filter(|name| **name == step.name).count(), 1, "{}", step.name);
        }
        let mut once = names.clone();
        once.sort_unstable();
        once.dedup();
        assert_eq!(once.len(), names.len());
    }
}
