//! How large is the program of a new user?
//!
//! The small servers of `newcomers/`, built alone with exactly their features and with cargo's default release profile, as
//! their authors would.

use std::fs;
use std::process::Command;

use crate::run::{self, Result};
use crate::workspace::Workspace;

/// Builds a program of `newcomers/` and returns its size in bytes, without symbols.
pub(super) fn stripped(workspace: &Workspace, package: &str) -> Result<u64> {
    let mut cargo = workspace.cargo(&["build", "--release", "--quiet", "-p", package]);
    cargo.arg("--manifest-path").arg(workspace.root.join("newcomers/Cargo.toml"));
    // The comparison uses the same profile, so its folder has most of the crates already.
    let folder = workspace.root.join("bench/compare/target");
    run::check_success(cargo.arg("--target-dir").arg(&folder))?;
    let program = folder.join("release").join(package);
    let stripped = folder.join("release").join(format!("{package}-stripped"));
    run::output(Command::new("strip").arg("-o").arg(&stripped).arg(&program))?;
    fs::metadata(&stripped)
        .map(|file| file.len())
        .map_err(|error| format!("could not read the size of {}: {error}", stripped.display()))
}
