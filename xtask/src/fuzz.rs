//! Can a fuzzer find an input that breaks a property?
//!
//! `cargo fuzz` runs each target of `fuzz/` with libFuzzer for the given number of seconds. That program is installed
//! once, in the cache that all clones share (`cache.rs`); libFuzzer itself is compiled from the crate `libfuzzer-sys`,
//! which needs a C++ compiler. The corpus of a run stays under `target/` for the next one. Only an input that breaks
//! something is stored beside the sources, where `cargo fuzz` finds it again.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::cache::CachedPackages;
use crate::run::{self, Result};
use crate::workspace::Workspace;

/// Seconds for each target when the command line does not set them.
pub(crate) const SECONDS: u64 = 60;

/// Runs every target, also after a failure.
pub(crate) fn run(workspace: &Workspace, seconds: u64) -> Result {
    run::ensure_program("c++", "g++", "libFuzzer is C++")?;
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
    let log = workspace.target.join("fuzz").join(format!("{target}.log"));
    let not_written = |error: io::Error| format!("could not write below target/fuzz: {error}");
    fs::create_dir_all(&learnt).map_err(not_written)?;
    let file = File::create(&log).map_err(not_written)?;
    let mut command = cargo_fuzz(workspace, program);
    command.arg("run").arg("--target-dir").arg(workspace.target.join("fuzz")).arg(target).arg(learnt);
    command.arg(format!("fuzz/corpus/{target}")).arg("--").arg(format!("-max_total_time={seconds}"));
    command.args(["-timeout=10", "-print_final_stats=1"]);
    // libFuzzer prints a line for each new input: too much for a terminal.
    command.stdout(file.try_clone().map_err(not_written)?).stderr(file);
    let outcome = run::check_success(&mut command);
    let said = fs::read(&log).map_err(|error| format!("could not read {}: {error}", log.display()))?;
    let said = String::from_utf8_lossy(&said);
    match (outcome, text_after("Test unit written to ", &said)) {
        (Ok(()), _) => {
            let executions =
                text_after("stat::number_of_executed_units:", &said).unwrap_or("an unknown number of");
            println!("{target}: {executions} executions");
            Ok(())
        }
        (Err(_), Some(artifact)) => {
            let artifact = Path::new(artifact);
            let artifact = artifact.strip_prefix(&workspace.root).unwrap_or(artifact).display();
            Err(format!(
                "{target} fails on {artifact}; `RUSTC_BOOTSTRAP=1 cargo fuzz run {target} {artifact}` repeats it, and \
                 {} has the output",
                log.display()
            ))
        }
        (Err(error), None) => {
            let lines: Vec<_> = said.lines().collect();
            Err(format!("{error}\n{}", lines[lines.len().saturating_sub(20)..].join("\n")))
        }
    }
}

/// Returns the text after `words`, up to the end of the line.
fn text_after<'a>(words: &str, said: &'a str) -> Option<&'a str> {
    said.lines().find_map(|line| line.split_once(words)).map(|(_, rest)| rest.trim())
}

/// Installs the program, but not among the user's own programs.
fn install(workspace: &Workspace) -> Result<PathBuf> {
    let wanted = format!("cargo-fuzz {VERSION}\n");
    let tree = CachedPackages { kind: "cargo", key: &wanted };
    let program = |root: &Path| root.join("bin").join(format!("cargo-fuzz{}", std::env::consts::EXE_SUFFIX));
    let works = |root: &Path| {
        run::output(Command::new(program(root)).arg("--version")).is_ok_and(|said| said == wanted)
    };
    let root = tree.folder(&workspace.target.join("tools"), works, |root| {
        let mut command =
            workspace.cargo(&["install", "--quiet", "--locked", "--version", VERSION, "cargo-fuzz", "--root"]);
        // The program only starts other programs: optimizing it takes longer than it saves.
        run::check_success(command.arg(root).env("CARGO_PROFILE_RELEASE_OPT_LEVEL", "0")).map_err(|error| {
            format!("cargo-fuzz is missing and could not be installed from the registry, which must be reachable once: {error}")
        })
    })?;
    Ok(program(&root))
}

fn cargo_fuzz(workspace: &Workspace, program: &Path) -> Command {
    let mut command = Command::new(program);
    // Sanitizers and coverage are nightly features; this variable enables them in the stable compiler.
    command.current_dir(&workspace.root).env("RUSTC_BOOTSTRAP", "1");
    command
}

/// Pinned, because a newer version may need a newer compiler.
const VERSION: &str = "0.13.2";

#[cfg(test)]
mod tests {
    use super::text_after;

    #[test]
    fn the_artifact_and_the_count_are_found_in_what_libfuzzer_says() {
        let said =
            "x\nartifact_prefix='/a/'; Test unit written to /a/crash-1\nstat::number_of_executed_units: 42\n";
        assert_eq!(text_after("Test unit written to ", said), Some("/a/crash-1"));
        assert_eq!(text_after("stat::number_of_executed_units:", said), Some("42"));
        assert_eq!(text_after("Test unit written to ", "Done"), None);
    }
}
