//! What does CI run?
//!
//! Everything here, in one process on one machine, so that "it passed on mine" and "it passed in CI" are the same sentence.
//! A failing step does not stop the ones after it; only what needs a build is left out when there is none.

use std::process::Command;
use std::time::Instant;

use crate::counts;
use crate::dependencies;
use crate::fuzz;
use crate::python::Python;
use crate::run::{self, Result, Steps};
use crate::schema;
use crate::test::{self, Built, NOT_BUILT};
use crate::workspace::Workspace;

/// `cargo xtask check`.
pub(crate) fn run(workspace: &Workspace) -> Result {
    let mut steps = Steps::new("check");
    let cargo = |arguments: &[&str]| run::passes(&mut workspace.cargo(arguments));
    steps.step("format", || {
        cargo(&["fmt", "--all", "--check"]).map_err(|error| format!("{error}; `cargo fmt --all` mends it"))
    });
    steps.step("clippy", || {
        cargo(&["clippy", "--workspace", "--all-targets", "--all-features", "--", "-D", "warnings"])
    });
    let built = test::add_steps(workspace, &mut steps);
    let needing_a_build: [(&'static str, &dyn Fn() -> Result); 3] = [
        ("each feature alone", &|| each_feature_alone(workspace)),
        ("docs", &|| docs(workspace)),
        ("counts", &|| counts::run(workspace, counts::Mode::Compare)),
    ];
    for (name, work) in needing_a_build {
        match built {
            Built::Yes => {
                steps.step(name, work);
            }
            Built::No => steps.leave_out(name, NOT_BUILT),
        }
    }
    steps.step("dependencies", || dependencies::run(workspace));
    steps.step("typos", || typos(workspace));
    let schemas = workspace.root.join(SCHEMAS);
    if schemas.is_dir() {
        steps.step("schema", || schema::run(&schemas));
    } else {
        steps.leave_out("schema", "the official schemas are not here");
    }
    if std::env::var_os("CI_DEEP").is_some_and(|deep| deep == "1") {
        steps.step("fuzz", || fuzz::run(workspace, fuzz::SECONDS));
    } else {
        steps.leave_out("fuzz", "set CI_DEEP=1");
    }
    let verdict = steps.finish();
    println!("{LEFT_TO_THE_RELEASE}");
    verdict
}

/// Features only add, and each must stand on its own: no feature may rely on another one being on by accident.
fn each_feature_alone(workspace: &Workspace) -> Result {
    let mut broken = Vec::new();
    let features = workspace.features(CRATE)?;
    for feature in std::iter::once("").chain(features.iter().map(String::as_str)) {
        let shown = if feature.is_empty() { "no feature" } else { feature };
        let start = Instant::now();
        let mut command = workspace.cargo(&["check", "--quiet", "--color=never", "-p", CRATE]);
        command.args(["--no-default-features", "--features", feature]);
        let output = command.output().map_err(|error| format!("could not start cargo: {error}"))?;
        let said = String::from_utf8_lossy(&output.stderr);
        // Most people build with few features, and are not to read our warnings.
        let warnings = said.lines().filter(|line| line.starts_with("warning:")).count();
        let is_clean = output.status.success() && warnings == 0;
        let verdict = if is_clean { "ok" } else { "FAILED" };
        println!("{:7.1} s  {shown}: {verdict}", start.elapsed().as_secs_f64());
        if !is_clean {
            println!("{}\n   $ {}", said.trim_end(), run::shown(&command));
            broken.push(shown);
        }
    }
    if broken.is_empty() {
        Ok(())
    } else {
        Err(format!("{CRATE} does not compile without a warning with only: {}", broken.join(", ")))
    }
}

fn docs(workspace: &Workspace) -> Result {
    let mut command =
        workspace.cargo(&["doc", "--workspace", "--all-features", "--no-deps", "--document-private-items"]);
    run::passes(command.env("RUSTDOCFLAGS", "-D warnings"))
}

fn typos(workspace: &Workspace) -> Result {
    let python = Python::install(&workspace.target.join("typos"), &[TYPOS])?;
    let mut command: Command = python.command("typos");
    run::passes(command.current_dir(&workspace.root)).map_err(|error| {
        format!(
            "{error}; mend the word, or list it in typos.toml under [default.extend-words] if it is right"
        )
    })
}

/// The crate whose features users choose.
const CRATE: &str = "toolway";
/// The official schemas are not part of the repository; who has them keeps them beside it.
const SCHEMAS: &str = "../shared/spec";
/// Pinned: a newer word list finds new words in old text.
const TYPOS: &str = "typos==1.51.1";
const LEFT_TO_THE_RELEASE: &str = "\
check: not part of this, left to the release: the oldest supported Rust (needs a second toolchain), the advisory
database and the comparison with the published API (need data from outside the repository)";
