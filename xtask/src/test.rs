//! How are all tests run, from a fresh checkout to the last scenario?
//!
//! Every cargo call names the whole workspace with all features and a target that needs the dev-dependencies, even where one
//! program would do: cargo then chooses the same features for every dependency each time, and nothing is built twice.

use crate::conformance;
use crate::interop;
use crate::run::{self, Result, Steps};
use crate::workspace::Workspace;

/// `cargo xtask test`.
pub(crate) fn run(workspace: &Workspace) -> Result {
    let mut steps = Steps::new("test");
    add_steps(workspace, &mut steps);
    steps.finish()
}

/// The tests as steps of a longer run; says whether the workspace builds.
pub(crate) fn add_steps(workspace: &Workspace, steps: &mut Steps) -> Built {
    let build = ["build", "--workspace", "--all-features", "--lib", "--bins", "--examples", "--tests"];
    if !steps.step("build", || run::passes(&mut workspace.cargo(&build))) {
        for name in ["tests", "doctests", "conformance", "interop"] {
            steps.leave_out(name, NOT_BUILT);
        }
        return Built::No;
    }
    steps.step("tests", || tests(workspace));
    steps.step("doctests", || {
        run::passes(&mut workspace.cargo(&["test", "--workspace", "--all-features", "--doc"]))
    });
    steps.step("conformance", || conformance::run(workspace, &conformance::Options::default()));
    steps.step("interop", || interop::run(workspace, &interop::Options::default()));
    Built::Yes
}

/// Whether the workspace compiles, so that steps which would only repeat the compiler's errors can be left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Built {
    Yes,
    No,
}

/// Builds the programs that the conformance suite and the other SDKs' clients talk to.
pub(crate) fn build_programs(workspace: &Workspace) -> Result {
    run::passes(&mut workspace.cargo(&[
        "build",
        "--quiet",
        "--workspace",
        "--all-features",
        "--bin=conformance-server",
        "--bin=conformance-client",
        "--example=hello",
    ]))
}

fn tests(workspace: &Workspace) -> Result {
    let has_nextest = run::output(&mut workspace.cargo(&["nextest", "--version"])).is_ok();
    if !has_nextest {
        return run::passes(&mut workspace.cargo(&[
            "test",
            "--workspace",
            "--all-features",
            "--tests",
            "--no-fail-fast",
        ]));
    }
    run::passes(&mut workspace.cargo(&["nextest", "run", "--workspace", "--all-features", "--no-fail-fast"]))
}

/// Why a step after a broken build is left out.
pub(crate) const NOT_BUILT: &str = "the workspace does not build";
