//! Does any input break a promise, when a machine looks for one?
//!
//! libFuzzer runs each target of `fuzz/` for so many seconds, by way of `cargo fuzz`. That program is installed under
//! `target/`, and what a run has learnt stays there for the next one. Only an input that breaks something is put beside the
//! sources, where `cargo fuzz` finds it again.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::run::{self, Result};
use crate::workspace::Workspace;

/// How long each target runs when nobody says it.
pub(crate) const SECONDS: u64 = 60;

/// Runs every target, also after one that failed.
pub(crate) fn run(workspace: &Workspace, seconds: u64) -> Result {
    let program = install(workspace)?;
    let targets = run::output(cargo_fuzz(workspace, &program).arg("list"))?;
    let mut broken = Vec::new();
    let mut count = 0;
    for target in targets.lines() {
        count += 1;
        broken.extend(run_target(workspace, &program, target, seconds).err());
    }
    match (count, broken.is_empty()) {
        (0, _) => Err("`cargo fuzz list` names no target, so nothing was tried".to_owned()),
        (_, false) => Err(broken.join("\n")),
        (_, true) => {
            println!("fuzz: {count} targets, {seconds} s each, nothing found");
            Ok(())
        }
    }
}

fn run_target(workspace: &Workspace, program: &Path, target: &str, seconds: u64) -> Result {
    // libFuzzer adds to the first folder and only reads the second.
    let learnt = workspace.target.join("fuzz/corpus").join(target);
    fs::create_dir_all(&learnt).map_err(|error| format!("could not make {}: {error}", learnt.display()))?;
    let artifacts = workspace.root.join("fuzz/artifacts").join(target);
    let before = files(&artifacts);
    let mut command = cargo_fuzz(workspace, program);
    command.arg("run").arg("--target-dir").arg(workspace.target.join("fuzz")).arg(target).arg(learnt);
    command.arg(format!("fuzz/corpus/{target}")).arg("--");
    command.args([
        &format!("-max_total_time={seconds}"),
        "-timeout=10",
        "-verbosity=0",
        "-print_final_stats=1",
    ]);
    run::passes(&mut command).map_err(|error| match files(&artifacts).difference(&before).next() {
        Some(found) => {
            let found = found.strip_prefix(&workspace.root).unwrap_or(found).display();
            format!("{target} broke on {found}; repeat it with `RUSTC_BOOTSTRAP=1 cargo fuzz run {target} {found}`")
        }
        None => error,
    })
}

/// The program, but not among the user's own.
fn install(workspace: &Workspace) -> Result<PathBuf> {
    let root = workspace.target.join("tools");
    let program = root.join("bin").join(format!("cargo-fuzz{}", std::env::consts::EXE_SUFFIX));
    let version = run::output(Command::new(&program).arg("--version")).unwrap_or_default();
    if version.trim().strip_prefix("cargo-fuzz ") == Some(VERSION) {
        return Ok(program);
    }
    let mut command =
        workspace.cargo(&["install", "--locked", "--force", "--version", VERSION, "cargo-fuzz", "--root"]);
    // It only starts other programs: optimizing it takes longer than it saves.
    run::passes(command.arg(root).env("CARGO_PROFILE_RELEASE_OPT_LEVEL", "0"))?;
    Ok(program)
}

fn cargo_fuzz(workspace: &Workspace, program: &Path) -> Command {
    let mut command = Command::new(program);
    // Sanitizers and coverage are still behind nightly's door, and the key to it fits the stable compiler.
    command.current_dir(&workspace.root).env("RUSTC_BOOTSTRAP", "1");
    command
}

/// The files of a folder; none when it does not exist yet.
fn files(folder: &Path) -> BTreeSet<PathBuf> {
    fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect()
}

/// Pinned: a newer one may ask for a newer compiler.
const VERSION: &str = "0.13.2";
