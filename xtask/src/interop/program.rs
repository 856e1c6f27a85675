//! How is a program run that reports checks, and what is shown of its output?

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use super::table::{Run, Table};
use crate::run::{self, Result};

/// A program that has ended, and its output.
#[derive(Debug)]
pub(super) struct FinishedProgram {
    out: PathBuf,
    err: PathBuf,
    lines: String,
    /// How it ended, if it failed.
    ending: Option<String>,
    seconds: f64,
    command_text: String,
}

impl FinishedProgram {
    /// Runs it. Its output goes to files in `directory` that have this name.
    pub(super) fn run(name: &str, command: &mut Command, directory: &Path, limit: Duration) -> Result<Self> {
        let start = Instant::now();
        let file = |kind: &str| {
            let path = directory.join(format!("{name}.{kind}"));
            let file = File::create(&path);
            file.map(|file| (path.clone(), file))
                .map_err(|error| format!("could not write {}: {error}", path.display()))
        };
        let ((out, out_file), (err, err_file)) = (file("out")?, file("err")?);
        command.stdout(out_file).stderr(err_file);
        let ending = match run::run_within(limit, command)? {
            Some(status) if status.success() => None,
            Some(status) => Some(run::describe_exit(status)),
            None => Some(format!("not done after {} s", limit.as_secs())),
        };
        let lines =
            fs::read_to_string(&out).map_err(|error| format!("could not read {}: {error}", out.display()))?;
        Ok(Self {
            out,
            err,
            lines,
            ending,
            seconds: start.elapsed().as_secs_f64(),
            command_text: run::command_text(command),
        })
    }

    /// Adds the output to the table, and prints failures immediately.
    pub(super) fn report(self, run: &Run, table: &mut Table) {
        println!("-- {} over {}, {}", run.peer, run.transport, table.title());
        let problems = table.add(run, &self.lines, self.ending);
        println!("   {} checks in {:.1} s", self.lines.lines().count(), self.seconds);
        if problems.is_empty() {
            return;
        }
        for problem in problems {
            println!("   {problem}");
        }
        println!(
            "   its output: {}; its errors and the errors of a server that it started: {}",
            self.out.display(),
            self.err.display()
        );
        println!("   to repeat it: {}", self.command_text);
    }
}
