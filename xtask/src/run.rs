//! How is a command run, and how are its seconds and its failure told?
//!
//! Everything the other files start goes through here, so that no child outlives its owner, no child waits for a keyboard,
//! and every failure names the command to repeat by hand.

use std::fmt::Write as _;
use std::io;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// The error is one message for the person at the terminal: what happened, why, what to do next.
pub(crate) type Result<T = ()> = std::result::Result<T, String>;

/// Runs a command with its output on the terminal; anything but exit code 0 is an error.
pub(crate) fn passes(command: &mut Command) -> Result {
    println!("   $ {}", shown(command));
    let status = command.stdin(Stdio::null()).status().map_err(|error| not_started(command, &error))?;
    if status.success() {
        Ok(())
    } else {
        Err(format!("`{}` failed with {}", shown(command), ending(status)))
    }
}

/// Runs a command and returns what it wrote on standard output; the error holds what it wrote on standard error.
pub(crate) fn output(command: &mut Command) -> Result<String> {
    let output = command.stdin(Stdio::null()).output().map_err(|error| not_started(command, &error))?;
    if !output.status.success() {
        let mut said = String::from_utf8_lossy(&output.stderr).into_owned();
        said.truncate(said.trim_end().len());
        return Err(format!("`{}` failed with {}\n{said}", shown(command), ending(output.status)));
    }
    String::from_utf8(output.stdout)
        .map_err(|_| format!("`{}` wrote something that is not UTF-8", shown(command)))
}

/// Runs a command, output wherever the caller sends it, and kills it when the time is up; `None` means it was.
pub(crate) fn within(limit: Duration, command: &mut Command) -> Result<Option<ExitStatus>> {
    let mut child = KilledOnDrop::spawn(command)?;
    let deadline = Instant::now() + limit;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if Instant::now() >= deadline {
            return Ok(None);
        }
        thread::sleep(Duration::from_millis(10));
    }
}

/// A child process that ends with its owner. It stays in our process group, so that Ctrl-C reaches it too.
#[derive(Debug)]
pub(crate) struct KilledOnDrop {
    child: Child,
    shown: String,
}

impl KilledOnDrop {
    /// Starts the command with nothing on standard input.
    pub(crate) fn spawn(command: &mut Command) -> Result<Self> {
        let child = command.stdin(Stdio::null()).spawn().map_err(|error| not_started(command, &error))?;
        Ok(Self { child, shown: shown(command) })
    }

    /// Says how the child ended, if it has.
    pub(crate) fn try_wait(&mut self) -> Result<Option<ExitStatus>> {
        self.child.try_wait().map_err(|error| format!("lost track of `{}`: {error}", self.shown))
    }
}

impl Drop for KilledOnDrop {
    fn drop(&mut self) {
        // Both fail only when the child is already gone, which is what is wanted.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The steps of a long run: goes on after a failure, and tells at the end what ran, for how long, and what did not.
#[derive(Debug)]
pub(crate) struct Steps {
    title: &'static str,
    steps: Vec<Step>,
}

#[derive(Debug)]
struct Step {
    name: &'static str,
    seconds: f64,
    outcome: Outcome,
}

#[derive(Debug)]
enum Outcome {
    Passed,
    Failed(String),
    LeftOut(String),
}

impl Steps {
    pub(crate) fn new(title: &'static str) -> Self {
        Self { title, steps: Vec::new() }
    }

    /// Runs one step now and says whether it passed.
    pub(crate) fn step(&mut self, name: &'static str, work: impl FnOnce() -> Result) -> bool {
        println!("== {name} …");
        let start = Instant::now();
        let outcome = work();
        let seconds = start.elapsed().as_secs_f64();
        let outcome = match outcome {
            Ok(()) => {
                println!("== {name} … {seconds:.1} s\n");
                Outcome::Passed
            }
            Err(message) => {
                println!("{message}");
                println!("== {name} … FAILED after {seconds:.1} s\n");
                Outcome::Failed(message)
            }
        };
        let passed = matches!(outcome, Outcome::Passed);
        self.steps.push(Step { name, seconds, outcome });
        passed
    }

    /// Notes a step that cannot run, with the reason.
    pub(crate) fn leave_out(&mut self, name: &'static str, why: &str) {
        println!("== {name} … not run: {why}\n");
        self.steps.push(Step { name, seconds: 0.0, outcome: Outcome::LeftOut(why.to_owned()) });
    }

    /// Prints the table; an error when a step failed.
    pub(crate) fn finish(self) -> Result {
        let (table, verdict) = self.summary();
        print!("{table}");
        verdict
    }

    fn summary(&self) -> (String, Result) {
        let mut table = String::from("seconds  step\n");
        let mut names: [Vec<&str>; 3] = Default::default();
        for Step { name, seconds, outcome } in &self.steps {
            let (list, line) = match outcome {
                Outcome::Passed => (0, format!("{seconds:7.1}  {name}")),
                Outcome::Failed(message) => {
                    (1, format!("{seconds:7.1}  {name}: FAILED, {}", first_line(message)))
                }
                Outcome::LeftOut(why) => (2, format!("{:>7}  {name}: not run, {why}", "-")),
            };
            names[list].push(name);
            let _ = writeln!(table, "{line}");
        }
        let total: f64 = self.steps.iter().map(|step| step.seconds).sum();
        let [passed, failed, left_out] = names;
        let _ = writeln!(table, "{total:7.1}  in all\n");
        let _ = writeln!(table, "{}: {} passed ({})", self.title, passed.len(), passed.join(", "));
        if !left_out.is_empty() {
            let _ = writeln!(table, "{}: {} not run ({})", self.title, left_out.len(), left_out.join(", "));
        }
        let verdict = if failed.is_empty() {
            Ok(())
        } else {
            let ran = passed.len() + failed.len();
            Err(format!(
                "{}: {} of {ran} steps failed ({}); each tells above what to do",
                self.title,
                failed.len(),
                failed.join(", ")
            ))
        };
        (table, verdict)
    }
}

/// The command as a person would type it, near enough to copy.
pub(crate) fn shown(command: &Command) -> String {
    let program = Path::new(command.get_program());
    // Cargo tells us where it is by its whole path; nobody types that.
    let is_cargo = program.file_stem().is_some_and(|name| name == "cargo");
    let mut text = if is_cargo { "cargo".to_owned() } else { program.display().to_string() };
    for argument in command.get_args() {
        let argument = argument.to_string_lossy();
        let plain = !argument.is_empty() && !argument.contains([' ', '\t', '"', '*', '{']);
        let _ = if plain { write!(text, " {argument}") } else { write!(text, " '{argument}'") };
    }
    text
}

/// How a process ended, in words that fit after "failed with".
pub(crate) fn ending(status: ExitStatus) -> String {
    // Without a code it was a signal, and `Display` says which.
    status.code().map_or_else(|| status.to_string(), |code| format!("exit code {code}"))
}

fn not_started(command: &Command, error: &io::Error) -> String {
    let program = command.get_program().to_string_lossy();
    if error.kind() == io::ErrorKind::NotFound {
        format!("`{program}` was not found; install it or put it on PATH, then run this again")
    } else {
        format!("could not start `{}`: {error}", shown(command))
    }
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::Steps;

    #[test]
    fn a_failed_step_does_not_stop_the_next_and_fails_the_whole() {
        let mut steps = Steps::new("check");
        assert!(!steps.step("one", || Err("broken\nat length".to_owned())));
        assert!(steps.step("two", || Ok(())));
        steps.leave_out("three", "the build is broken");
        let (table, verdict) = steps.summary();
        assert!(table.contains("one: FAILED, broken\n"), "{table}");
        assert!(table.contains("three: not run, the build is broken\n"), "{table}");
        assert!(table.contains("check: 1 passed (two)"), "{table}");
        assert!(verdict.unwrap_err().contains("1 of 2 steps failed (one)"));
    }
}
