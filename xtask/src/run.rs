//! How is a command run, and how is its failure reported?
//!
//! The other files start all commands through this one, so that a child never outlives its owner, a child never waits
//! for a keyboard, and every failure names the command to repeat by hand.

use std::fmt::Write as _;
use std::io::{self, BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// The error is one message for the user at the terminal: what happened, why, what to do next.
pub(crate) type Result<T = ()> = std::result::Result<T, String>;

/// Runs a command with its output on the terminal; anything but exit code 0 is an error.
pub(crate) fn check_success(command: &mut Command) -> Result {
    println!("   $ {}", command_text(command));
    converse(command.stdin(Stdio::null()))
}

/// Runs a command that may ask the user at the terminal; anything but exit code 0 is an error.
pub(crate) fn converse(command: &mut Command) -> Result {
    let status = command.status().map_err(|error| spawn_error(command, &error))?;
    if status.success() {
        Ok(())
    } else {
        Err(format!("`{}` failed with {}", command_text(command), describe_exit(status)))
    }
}

/// Runs a command as [`check_success`] does, and also returns what it wrote on standard output.
pub(crate) fn tee(command: &mut Command) -> (String, Result) {
    println!("   $ {}", command_text(command));
    let mut said = String::new();
    let outcome = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| spawn_error(command, &error))
        .and_then(|mut child| {
            let output = child.stdout.take().ok_or("standard output is not a pipe")?;
            for line in BufReader::new(output).split(b'\n').map_while(io::Result::ok) {
                let line = String::from_utf8_lossy(&line);
                println!("{line}");
                said.push_str(&line);
                said.push('\n');
            }
            let status = child
                .wait()
                .map_err(|error| format!("could not wait for `{}`: {error}", command_text(command)))?;
            if status.success() {
                Ok(())
            } else {
                Err(format!("`{}` failed with {}", command_text(command), describe_exit(status)))
            }
        });
    (said, outcome)
}

/// Runs a command and returns what it wrote on standard output; the error holds what it wrote on standard error.
pub(crate) fn output(command: &mut Command) -> Result<String> {
    let output = command.stdin(Stdio::null()).output().map_err(|error| spawn_error(command, &error))?;
    if !output.status.success() {
        let mut said = String::from_utf8_lossy(&output.stderr).into_owned();
        said.truncate(said.trim_end().len());
        return Err(format!(
            "`{}` failed with {}\n{said}",
            command_text(command),
            describe_exit(output.status)
        ));
    }
    String::from_utf8(output.stdout)
        .map_err(|_| format!("`{}` wrote something that is not UTF-8", command_text(command)))
}

/// Runs a command, with output where the caller sends it. Kills it when the time is up and returns `None` then.
pub(crate) fn run_within(limit: Duration, command: &mut Command) -> Result<Option<ExitStatus>> {
    let mut child = KillOnDrop::spawn(command)?;
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

/// A child process that is killed when this is dropped. It stays in our process group, so that Ctrl-C reaches it too.
#[derive(Debug)]
pub(crate) struct KillOnDrop {
    child: Child,
    command_text: String,
}

impl KillOnDrop {
    /// Starts the command with nothing on standard input.
    pub(crate) fn spawn(command: &mut Command) -> Result<Self> {
        let child = command.stdin(Stdio::null()).spawn().map_err(|error| spawn_error(command, &error))?;
        Ok(Self { child, command_text: command_text(command) })
    }

    /// Starts the command with a standard input that stays open as long as this lives, for a program that ends when it
    /// is closed.
    pub(crate) fn spawn_with_open_input(command: &mut Command) -> Result<Self> {
        let child = command.stdin(Stdio::piped()).spawn().map_err(|error| spawn_error(command, &error))?;
        Ok(Self { child, command_text: command_text(command) })
    }

    /// Starts the command with a standard input that stays open as long as this lives, and returns its standard output.
    pub(crate) fn spawn_and_read(command: &mut Command) -> Result<(Self, ChildStdout)> {
        let mut started = Self::spawn_with_open_input(command.stdout(Stdio::piped()))?;
        let output = started.child.stdout.take().ok_or("standard output is not a pipe")?;
        Ok((started, output))
    }

    /// Returns how the child ended, if it has ended.
    pub(crate) fn try_wait(&mut self) -> Result<Option<ExitStatus>> {
        self.child.try_wait().map_err(|error| format!("could not wait for `{}`: {error}", self.command_text))
    }
}

impl Drop for KillOnDrop {
    fn drop(&mut self) {
        // Both fail only when the child has already ended, which is the goal.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Makes sure that `program` is installed. As root on Debian it installs `package` if needed. The error is one line,
/// which begins with what the program is for.
pub(crate) fn ensure_program(program: &str, package: &str, what_for: &str) -> Result {
    let works = || output(Command::new(program).arg("--version")).is_ok();
    if works() {
        return Ok(());
    }
    let is_root = output(Command::new("id").arg("-u")).is_ok_and(|id| id.trim() == "0");
    if is_root && Path::new("/etc/debian_version").exists() {
        let install = || {
            let mut command = Command::new("apt-get");
            check_success(
                command.args(["install", "-y", "-qq", package]).env("DEBIAN_FRONTEND", "noninteractive"),
            )
        };
        // A fresh image has no package lists yet.
        let _ = install().or_else(|_| {
            check_success(Command::new("apt-get").args(["update", "-qq"]))?;
            install()
        });
    }
    if works() {
        Ok(())
    } else {
        Err(format!("{what_for}, and `{program}` is missing (on Debian: apt-get install {package})"))
    }
}

/// Returns the path of a program. Debian installs some in a folder that is not on the `PATH` of every user.
pub(crate) fn find_program(program: &str) -> Option<PathBuf> {
    let candidates = [PathBuf::from(program), Path::new("/usr/sbin").join(program)];
    candidates.into_iter().find(|candidate| output(Command::new(candidate).arg("-v")).is_ok())
}

/// Writes the command roughly as a user would type it.
pub(crate) fn command_text(command: &Command) -> String {
    let program = Path::new(command.get_program());
    // Cargo passes its own location as an absolute path, which users do not type.
    let is_cargo = program.file_stem().is_some_and(|name| name == "cargo");
    let mut text = if is_cargo { "cargo".to_owned() } else { program.display().to_string() };
    for argument in command.get_args() {
        let argument = argument.to_string_lossy();
        let plain = !argument.is_empty() && !argument.contains([' ', '\t', '"', '*', '{']);
        let _ = if plain { write!(text, " {argument}") } else { write!(text, " '{argument}'") };
    }
    text
}

/// Describes how a process ended, in words that fit after "failed with".
pub(crate) fn describe_exit(status: ExitStatus) -> String {
    // Without a code it was a signal, which `Display` names.
    status.code().map_or_else(|| status.to_string(), |code| format!("exit code {code}"))
}

fn spawn_error(command: &Command, error: &io::Error) -> String {
    let program = command.get_program().to_string_lossy();
    if error.kind() == io::ErrorKind::NotFound {
        format!("`{program}` was not found; install it or put it on PATH, then run this again")
    } else {
        format!("could not start `{}`: {error}", command_text(command))
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::{command_text, ensure_program, find_program, tee};
    use std::process::Command;

    #[test]
    fn what_a_command_writes_is_kept_also_when_it_fails() {
        let (said, outcome) = tee(Command::new("sh").args(["-c", "echo one; echo two; exit 3"]));
        assert_eq!(said, "one\ntwo\n");
        assert_eq!(outcome.unwrap_err(), "`sh -c 'echo one; echo two; exit 3'` failed with exit code 3");
    }

    #[test]
    fn a_program_that_is_there_is_not_installed() {
        ensure_program("cargo", "no-such-package", "nothing").unwrap();
    }

    #[test]
    fn a_program_that_is_not_there_is_not_found() {
        assert_eq!(find_program("no-such-program-anywhere"), None);
    }

    #[test]
    fn a_shown_command_can_be_copied() {
        assert_eq!(command_text(Command::new("/somewhere/cargo").args(["test", "a b"])), "cargo test 'a b'");
    }
}
