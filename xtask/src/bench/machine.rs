//! On which machine was it measured, and was the machine idle?

use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::run::{self, Result};
use crate::workspace::Workspace;

/// What a reader must know to compare the figures with those of another machine.
pub(super) fn facts(workspace: &Workspace, load: f64) -> Result<Value> {
    let said = |program: &str, arguments: &[&str]| {
        let mut command = std::process::Command::new(program);
        let said = run::output(command.args(arguments).current_dir(&workspace.root));
        said.map(|said| said.trim().to_owned())
    };
    let read = |file: &str| fs::read_to_string(file).unwrap_or_default();
    let changed = said("git", &["status", "--porcelain", "--untracked-files=no"]).unwrap_or_default();
    let commit = said("git", &["rev-parse", "--short=12", "HEAD"]).unwrap_or_else(|_| "unknown".to_owned());
    Ok(json!({
        "date": said("date", &["-u", "+%Y-%m-%d"])?,
        "commit": if changed.is_empty() { commit } else { format!("{commit}, with changes") },
        "cpu": field(&read("/proc/cpuinfo"), "model name").unwrap_or_else(|| std::env::consts::ARCH.to_owned()),
        "cores": thread::available_parallelism().map_or(0, usize::from),
        "memory": gibibytes(&field(&read("/proc/meminfo"), "MemTotal").unwrap_or_default()),
        "kernel": read("/proc/sys/kernel/osrelease").trim(),
        "rustc": said("rustc", &["--version"])?,
        "load": load,
    }))
}

/// Finds `name : value` in one of the files that describe the machine.
fn field(text: &str, name: &str) -> Option<String> {
    let mut pairs = text.lines().filter_map(|line| line.split_once(':'));
    pairs.find(|(found, _)| found.trim() == name).map(|(_, value)| value.trim().to_owned())
}

/// Writes `24682416 kB` as `24 GiB`.
fn gibibytes(text: &str) -> String {
    let kib = text.strip_suffix(" kB").and_then(|number| number.parse::<f64>().ok());
    kib.map_or_else(|| text.to_owned(), |kib| format!("{:.0} GiB", kib / f64::from(1 << 20)))
}

/// The mean number of processes that wanted to run in the last minute.
pub(super) fn load() -> Result<f64> {
    let text = fs::read_to_string("/proc/loadavg").map_err(|error| format!("/proc/loadavg: {error}"))?;
    text.split_whitespace()
        .next()
        .and_then(|word| word.parse().ok())
        .ok_or_else(|| "/proc/loadavg".to_owned())
}

/// Waits until the load that our own builds have left is gone, and returns the load then.
pub(super) fn settle() -> Result<f64> {
    let end = Instant::now() + SETTLE_TIME;
    loop {
        let now = load()?;
        if now <= IDLE_LOAD || Instant::now() > end {
            return Ok(now);
        }
        println!("bench: the load is {now}, waiting until it is at most {IDLE_LOAD}");
        thread::sleep(Duration::from_secs(15));
    }
}

/// The seconds on a processor of all children that have ended.
pub(super) fn children_cpu_seconds() -> Result<f64> {
    let stat = fs::read_to_string("/proc/self/stat").map_err(|error| format!("/proc/self/stat: {error}"))?;
    parse_children_ticks(&stat)
        .map(|ticks| ticks / TICKS_PER_SECOND)
        .ok_or_else(|| "/proc/self/stat".to_owned())
}

/// The 16th and the 17th field; the second one, the name of the program, may contain spaces.
fn parse_children_ticks(stat: &str) -> Option<f64> {
    let (_, rest) = stat.rsplit_once(')')?;
    let mut fields = rest.split_whitespace().skip(13);
    Some(fields.next()?.parse::<f64>().ok()? + fields.next()?.parse::<f64>().ok()?)
}

/// A machine with a higher load is not idle.
pub(super) const IDLE_LOAD: f64 = 1.0;
const SETTLE_TIME: Duration = Duration::from_secs(4 * 60);
/// The unit of times in `/proc`, the same on all usual systems.
const TICKS_PER_SECOND: f64 = 100.0;

#[cfg(test)]
mod tests {
    use super::{field, gibibytes, parse_children_ticks};

    #[test]
    fn the_files_of_the_system_are_understood() {
        let text = "processor\t: 0\nmodel name\t: A fast one @ 3 GHz\nprocessor\t: 1\nmodel name\t: B\n";
        assert_eq!(field(text, "model name").as_deref(), Some("A fast one @ 3 GHz"));
        assert_eq!(field(text, "flags"), None);
        assert_eq!(gibibytes("24682416 kB"), "24 GiB");
        let stat = "7 (a (b) c) S 1 2 3 4 5 6 7 8 9 10 11 12 130 20 20 0 1";
        assert_eq!(parse_children_ticks(stat), Some(150.0));
        assert_eq!(parse_children_ticks("7 (a) S 1"), None);
    }
}
