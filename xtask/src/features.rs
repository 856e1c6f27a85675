//! Does the library compile with each feature alone, as most users build it?
//!
//! Features only add, and each must work alone: a feature must not depend on another one that happens to be on. The
//! library is checked without its dev-dependencies, whose features cargo would add to those of the library's own
//! dependencies.

use std::time::Instant;

use crate::run::{self, Result};
use crate::steps::StepSuccess;
use crate::workspace::Workspace;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BuildCase {
    pub(crate) name: String,
    /// The arguments of `cargo check`.
    pub(crate) arguments: Vec<String>,
}

impl BuildCase {
    pub(crate) fn new(name: &str, arguments: &[&str]) -> Self {
        Self { name: name.to_owned(), arguments: arguments.iter().map(ToString::to_string).collect() }
    }

    /// The library with one feature, or with none.
    pub(crate) fn alone(feature: &str) -> Self {
        let name = if feature.is_empty() { "no feature" } else { feature };
        Self::new(name, &["-p", CRATE, "--lib", "--no-default-features", "--features", feature])
    }
}

/// `cargo xtask deep --part features`: on this machine. `cargo xtask cross` does the same for Windows and macOS.
pub(crate) fn run(workspace: &Workspace) -> Result<StepSuccess> {
    let features = workspace.features(CRATE)?;
    let mut cases = vec![BuildCase::new("default features", &["-p", CRATE, "--lib"]), BuildCase::alone("")];
    cases.extend(features.iter().map(|feature| BuildCase::alone(feature)));
    check(workspace, &cases).map(|()| StepSuccess::Passed)
}

/// Checks every case, also after a failure. A warning is a failure too: users should not see our warnings.
pub(crate) fn check(workspace: &Workspace, cases: &[BuildCase]) -> Result {
    let mut broken = Vec::new();
    for BuildCase { name, arguments } in cases {
        let start = Instant::now();
        let mut command = workspace.cargo(&["check", "--quiet", "--color=never"]);
        command.args(arguments);
        let output = command.output().map_err(|error| format!("could not start cargo: {error}"))?;
        let said = String::from_utf8_lossy(&output.stderr);
        let is_clean = output.status.success() && !said.lines().any(|line| line.starts_with("warning:"));
        let verdict = if is_clean { "ok" } else { "FAILED" };
        println!("{:7.1} s  {name}: {verdict}", start.elapsed().as_secs_f64());
        if !is_clean {
            println!("{}\n   $ {}", said.trim_end(), run::command_text(&command));
            broken.push(name.as_str());
        }
    }
    if broken.is_empty() {
        Ok(())
    } else {
        Err(format!("these do not compile without a warning: {}", broken.join(", ")))
    }
}

/// The crate whose features users choose.
pub(crate) const CRATE: &str = "toolway";
