//! Can a fuzzer find an input that breaks a property?
//!
//! Each target of `fuzz/` runs with libFuzzer, for a number of seconds or of executions. All targets are one program,
//! `fuzz/libfuzzer/`, and each has a folder in `fuzz/corpus/`. libFuzzer is compiled from the crate `libfuzzer-sys`, which
//! needs a C++ compiler. Only our own crates count which code they reach: libFuzzer looks at every counter after every
//! execution, and with those of all dependencies it makes a half to a quarter of the executions. The corpus of a run stays
//! under `target/` for the next one. Only an input that breaks something is stored beside the sources.

use std::fmt;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::arguments::Arguments;
use crate::run::{self, Result};
use crate::workspace::Workspace;

/// How long each target runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effort {
    Seconds(u64),
    Executions(u64),
}

impl Effort {
    /// Reads `--executions N`.
    pub(crate) fn executions(arguments: &mut Arguments) -> Result<Option<Self>> {
        let Some(number) = arguments.value("--executions")? else { return Ok(None) };
        let wrong = || format!("`--executions {number}`: it takes a number from 1, for each fuzz target");
        let number = number.parse().ok().filter(|number| *number > 0).ok_or_else(wrong)?;
        Ok(Some(Self::Executions(number)))
    }

    /// The option of libFuzzer.
    fn option(self) -> String {
        match self {
            Self::Seconds(seconds) => format!("-max_total_time={seconds}"),
            Self::Executions(number) => format!("-runs={number}"),
        }
    }
}

impl fmt::Display for Effort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Seconds(seconds) => write!(f, "{seconds} s each"),
            Self::Executions(number) => write!(f, "{number} executions each"),
        }
    }
}

/// What `cargo xtask fuzz` runs.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Options {
    pub(crate) effort: Effort,
    /// The only target to run; all of them by default.
    pub(crate) target: Option<String>,
}

impl Options {
    /// Reads the options of `cargo xtask fuzz`.
    pub(crate) fn parse(mut arguments: Arguments) -> Result<Self> {
        let target = arguments.value("--target")?;
        let effort = match Effort::executions(&mut arguments)? {
            Some(executions) => executions,
            None => arguments.word("the number of seconds").map_or(Ok(Effort::Seconds(SECONDS)), |word| {
                let wrong = |_| format!("`{word}` is not a number of seconds for each fuzz target");
                word.parse().map(Effort::Seconds).map_err(wrong)
            })?,
        };
        arguments.finish()?;
        Ok(Self { effort, target })
    }
}

/// Runs every target, also after a failure.
pub(crate) fn run(workspace: &Workspace, options: &Options) -> Result {
    run::ensure_program("c++", "g++", "libFuzzer is C++")?;
    let all = targets(workspace)?;
    let chosen: Vec<_> =
        all.iter().filter(|name| options.target.as_ref().is_none_or(|only| only == *name)).collect();
    if chosen.is_empty() {
        return Err(format!("there is no such target; there are {}", all.join(", ")));
    }
    let program = build(workspace)?;
    let mut broken = Vec::new();
    for target in &chosen {
        broken.extend(run_target(workspace, &program, target, options.effort).err());
    }
    if !broken.is_empty() {
        return Err(broken.join("\n"));
    }
    println!("fuzz: {} targets, {}, nothing found", chosen.len(), options.effort);
    Ok(())
}

/// Returns the names of the targets: each has a folder of inputs to start from.
fn targets(workspace: &Workspace) -> Result<Vec<String>> {
    let folder = workspace.root.join("fuzz/corpus");
    let entries = fs::read_dir(&folder).and_then(Iterator::collect::<io::Result<Vec<_>>>);
    let entries = entries.map_err(|error| format!("could not read {}: {error}", folder.display()))?;
    let mut names: Vec<_> =
        entries.iter().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    Ok(names)
}

fn run_target(workspace: &Workspace, program: &Path, target: &str, effort: Effort) -> Result {
    // libFuzzer adds to the first folder and only reads the second.
    let learnt = workspace.target.join("fuzz/corpus").join(target);
    let log = workspace.target.join("fuzz").join(format!("{target}.log"));
    let not_written = |error: io::Error| format!("could not write below target/fuzz: {error}");
    fs::create_dir_all(&learnt).map_err(not_written)?;
    let file = File::create(&log).map_err(not_written)?;
    let artifacts = workspace.root.join(FOLDER).join("artifacts/property/");
    fs::create_dir_all(&artifacts).map_err(not_written)?;
    let mut command = Command::new(program);
    command
        .current_dir(&workspace.root)
        .env("TARGET", target)
        .arg(learnt)
        .arg(format!("fuzz/corpus/{target}"));
    command.arg(effort.option()).arg(format!("-artifact_prefix={}", artifacts.display()));
    // Short inputs are executed faster. The loop on the stable compiler also tries longer ones, up to 4,096 bytes.
    command.args(["-timeout=10", "-max_len=512", "-print_final_stats=1"]);
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
            let in_root =
                |path: &Path| path.strip_prefix(&workspace.root).unwrap_or(path).display().to_string();
            let (artifact, program) = (in_root(Path::new(artifact)), in_root(program));
            Err(format!(
                "{target} fails on {artifact}; `TARGET={target} {program} {artifact}` repeats it, {} has the output, and \
                 a copy of the input in fuzz/corpus/{target}/ makes it a test",
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

/// Builds the program and returns its path.
fn build(workspace: &Workspace) -> Result<PathBuf> {
    let folder = workspace.target.join("fuzz");
    let mut command = workspace.cargo(&["build", "--release", "-Z", "profile-rustflags", "--manifest-path"]);
    // Flags for single packages and coverage are nightly features; this variable enables them in the stable compiler.
    command.arg(format!("{FOLDER}/Cargo.toml")).arg("--target-dir").arg(&folder).env("RUSTC_BOOTSTRAP", "1");
    for package in INSTRUMENTED {
        command.arg("--config").arg(format!("profile.release.package.{package}.rustflags={FLAGS:?}"));
    }
    run::check_success(&mut command)?;
    Ok(folder.join("release").join(format!("property{}", std::env::consts::EXE_SUFFIX)))
}

/// Seconds for each target when the command line does not set them.
const SECONDS: u64 = 60;

/// The package that links libFuzzer.
const FOLDER: &str = "fuzz/libfuzzer";

/// The packages whose code libFuzzer observes.
const INSTRUMENTED: [&str; 7] = [
    "toolway",
    "toolway-cli",
    "toolway-fuzz",
    "toolway-libfuzzer",
    "toolway-protocol",
    "toolway-schema",
    "toolway-store",
];

/// Coverage by counters, and the values of comparisons. There is no sanitizer: the project has no `unsafe` code, so one
/// would find little, and it makes each execution slower.
const FLAGS: [&str; 8] = [
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cllvm-args=-sanitizer-coverage-trace-compares",
    "-Cdebug-assertions",
    "--cfg=fuzzing",
    "-Ccodegen-units=1",
];

#[cfg(test)]
mod tests {
    use super::{Arguments, Effort, Options, text_after};

    #[test]
    fn a_run_is_so_many_seconds_or_executions() {
        let parse = |words: &[&str]| Options::parse(Arguments::from_words(words));
        let effort = |words: &[&str]| parse(words).map(|options| options.effort);
        assert_eq!(effort(&[]), Ok(Effort::Seconds(60)));
        assert_eq!(effort(&["5"]), Ok(Effort::Seconds(5)));
        assert_eq!(effort(&["--executions", "1000"]), Ok(Effort::Executions(1000)));
        assert_eq!(parse(&["--target", "sse", "5"]).unwrap().target.as_deref(), Some("sse"));
        for bad in [&["long"][..], &["--executions", "0"], &["--executions", "many"], &["5", "6"]] {
            parse(bad).unwrap_err();
        }
        assert_eq!(Effort::Executions(7).option(), "-runs=7");
    }

    #[test]
    fn the_artifact_and_the_count_are_found_in_what_libfuzzer_says() {
        let said =
            "x\nartifact_prefix='/a/'; Test unit written to /a/crash-1\nstat::number_of_executed_units: 42\n";
        assert_eq!(text_after("Test unit written to ", said), Some("/a/crash-1"));
        assert_eq!(text_after("stat::number_of_executed_units:", said), Some("42"));
        assert_eq!(text_after("Test unit written to ", "Done"), None);
    }
}
