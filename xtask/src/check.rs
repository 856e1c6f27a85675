//! What does CI run?
//!
//! Everything here, in one process on one machine, so that a local run and a CI run check the same things. It takes the
//! time of `cargo xtask test` and at most ten minutes more; longer checks belong to `cargo xtask deep`.

use std::process::{Command, ExitCode};

use crate::arguments::Arguments;
use crate::cross;
use crate::dependencies;
use crate::newcomers;
use crate::publish;
use crate::python::Python;
use crate::run::{self, Result};
use crate::schema;
use crate::steps::{Done, Needs, Plan, Stage, Step};
use crate::test::{self, done};
use crate::workspace::Workspace;

/// `cargo xtask check`.
pub(crate) fn run(workspace: &Workspace, mut arguments: Arguments) -> Result<ExitCode> {
    let step = arguments.value("--step")?;
    arguments.finish()?;
    if let Some(name) = step {
        return PLAN.run_step(workspace, &name);
    }
    let (seconds, verdict) = PLAN.run_timed(workspace, 1);
    let tests: f64 = seconds.iter().skip(QUICK.len()).take(test::STAGES.len()).sum();
    let rest = seconds.iter().sum::<f64>() - tests;
    println!(
        "check: {tests:.0} s of it are `cargo xtask test`, {rest:.0} s the rest, for which {PLANNED_REST} s are planned"
    );
    println!("{LEFT_TO_OTHERS}");
    verdict.map(|()| ExitCode::SUCCESS)
}

const PLAN: Plan<'_> = Plan {
    command: "check",
    stages: &[
        QUICK[0],
        QUICK[1],
        QUICK[2],
        QUICK[3],
        test::STAGES[0],
        test::STAGES[1],
        test::STAGES[2],
        OTHER_BUILDS[0],
        OTHER_BUILDS[1],
        OTHER_BUILDS[2],
        LAST[0],
        LAST[1],
        LAST[2],
    ],
};

/// Steps that take seconds and fail often come first.
const QUICK: [Stage<'_>; 4] = [
    &[Step {
        name: "format",
        repeat: "cargo xtask check --step format",
        needs: Needs::Nothing,
        work: |workspace| {
            done(run::passes(&mut workspace.cargo(&["fmt", "--all", "--check"])))
                .map_err(|error| format!("{error}; `cargo fmt --all` fixes it"))
        },
        counted: None,
    }],
    &[Step {
        name: "typos",
        repeat: "cargo xtask check --step typos",
        needs: Needs::Nothing,
        work: |workspace| done(typos(workspace)),
        counted: None,
    }],
    &[Step {
        name: "dependencies",
        repeat: "cargo xtask check --step dependencies",
        needs: Needs::Nothing,
        work: |workspace| done(dependencies::run(workspace)),
        counted: None,
    }],
    &[Step {
        name: "package",
        repeat: "cargo xtask check --step package",
        needs: Needs::Nothing,
        work: |workspace| done(publish::package(workspace)),
        counted: None,
    }],
];

/// These run one after the other, because they share a target folder with all other builds: most dependencies are built
/// only once.
const OTHER_BUILDS: [Stage<'_>; 3] = [
    &[Step {
        name: "cross",
        repeat: "cargo xtask cross",
        needs: Needs::Build,
        work: cross::run,
        counted: None,
    }],
    &[Step {
        name: "newcomers",
        repeat: "cargo xtask newcomers",
        needs: Needs::Build,
        work: |workspace| done(newcomers::run(workspace)),
        counted: None,
    }],
    &[Step {
        name: "oldest-rust",
        repeat: "cargo xtask check --step oldest-rust",
        needs: Needs::Nothing,
        work: publish::oldest_rust,
        counted: None,
    }],
];

const LAST: [Stage<'_>; 3] = [
    &[Step {
        name: "clippy",
        repeat: "cargo xtask check --step clippy",
        needs: Needs::Build,
        work: |workspace| {
            done(run::passes(&mut workspace.cargo(&[
                "clippy",
                "--workspace",
                "--all-targets",
                "--all-features",
                "--",
                "-D",
                "warnings",
            ])))
        },
        counted: None,
    }],
    &[Step {
        name: "docs",
        repeat: "cargo xtask check --step docs",
        needs: Needs::Build,
        work: |workspace| done(docs(workspace)),
        counted: None,
    }],
    &[Step {
        name: "schema",
        repeat: "cargo xtask check --step schema",
        needs: Needs::Nothing,
        work: |workspace| {
            let schemas = workspace.root.join(SCHEMAS);
            if schemas.is_dir() {
                done(schema::run(&schemas))
            } else {
                Ok(Done::LeftOut("the official schemas are not here".to_owned()))
            }
        },
        counted: None,
    }],
];

fn docs(workspace: &Workspace) -> Result {
    let mut command =
        workspace.cargo(&["doc", "--workspace", "--all-features", "--no-deps", "--document-private-items"]);
    run::passes(command.env("RUSTDOCFLAGS", "-D warnings"))
}

fn typos(workspace: &Workspace) -> Result {
    let python = Python::install(&workspace.target.join("typos"), &[TYPOS])?;
    let mut command: Command = python.command("typos");
    run::passes(command.current_dir(&workspace.root)).map_err(|error| {
        format!("{error}; fix the word, or list it in typos.toml under [default.extend-words] if it is right")
    })
}

/// Seconds on two cores, busy or idle. A step that does not fit goes to `cargo xtask deep`.
const PLANNED_REST: u32 = 600;
/// The official schemas are not part of the repository; this folder is used where it exists.
const SCHEMAS: &str = "../shared/spec";
/// Pinned, because a newer word list finds new words in old text.
const TYPOS: &str = "typos==1.51.1";
const LEFT_TO_OTHERS: &str = "\
check: not included: long checks (`cargo xtask deep`, by hand), and the checks of a release: the advisory database and
the comparison with the published API (both need data from outside)";

#[cfg(test)]
mod tests {
    use super::PLAN;
    use crate::test;

    #[test]
    fn check_runs_every_step_of_the_tests_and_each_name_is_used_once() {
        let names: Vec<&str> =
            PLAN.stages.iter().flat_map(|stage| stage.iter().map(|step| step.name)).collect();
        for step in test::STAGES.iter().flat_map(|stage| stage.iter()) {
            assert_eq!(names.iter().filter(|name| **name == step.name).count(), 1, "{}", step.name);
        }
        let mut once = names.clone();
        once.sort_unstable();
        once.dedup();
        assert_eq!(once.len(), names.len());
    }
}
