//! How large is the program of a new user?
//!
//! The small servers of `newcomers/`, built alone with exactly their features and with cargo's default release profile, as
//! their authors would. Symbols are removed.

use std::fs;

use crate::run::{self, Result};
use crate::workspace::Workspace;

/// Builds a program of `newcomers/` and returns its size in bytes.
pub(super) fn stripped(workspace: &Workspace, package: &str) -> Result<u64> {
    let folder = workspace.target.join("newcomers");
    let mut cargo = workspace.cargo(&["build", "--release", "--quiet", "-p", package]);
    cargo.arg("--manifest-path").arg(workspace.root.join("newcomers/Cargo.toml"));
    cargo.arg("--target-dir").arg(&folder).env("CARGO_PROFILE_RELEASE_STRIP", "symbols");
    run::check_success(&mut cargo)?;
    let program = folder.join("release").join(format!("{package}{}", std::env::consts::EXE_SUFFIX));
    fs::metadata(&program)
        .map(|file| file.len())
        .map_err(|error| format!("could not read the size of {}: {error}", program.display()))
}
