//! Does the library compile with each feature alone, as most users build it?
//!
//! Features only add, and each must work alone: a feature must not depend on another one that happens to be on. The
//! library is checked without its dev-dependencies, whose features cargo would add to those of the library's own
//! dependencies.

use std::time::Instant;

use crate::run::{self, Result};
use crate::steps::Done;
use crate::workspace::Workspace;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Case {
    pub(crate) name: String,
    /// The arguments of `cargo check`.
    pub(crate) arguments: Vec<String>,
}

impl Case {
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
pub(crate) fn run(workspace: &Workspace) -> Result<Done> {
    let features = workspace.features(CRATE)?;
    let mut cases = vec![Case::new("default features", &["-p", CRATE, "--lib"]), Case::alone("")];
    cases.extend(features.iter().map(|feature| Case::alone(feature)));
    check(workspace, &cases).map(|()| Done::Passed)
}

/// Checks every case, also after a failure. A warning is a failure too: users should not see our warnings.
pub(crate) fn check(workspace: &Workspace, cases: &[Case]) -> Result {
    let mut broken = Vec::new();
    for Case { name, arguments } in cases {
        let start = Instant::now();
        let mut command = workspace.cargo(&["check", "--quiet", "--color=never"]);
        command.args(arguments);
        let output = command.output().map_err(|error| format!("could not start cargo: {error}"))?;
        let said = String::from_utf8_lossy(&output.stderr);
        let is_clean = output.status.success() && !said.lines().any(|line| line.starts_with("warning:"));
        let verdict = if is_clean { "ok" } else { "FAILED" };
        println!("{:7.1} s  {name}: {verdict}", start.elapsed().as_secs_f64());
        if !is_clean {
            println!("{}\n   $ {}", said.trim_end(), run::shown(&command));
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
