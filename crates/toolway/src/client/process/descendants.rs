//! Which processes has a server started that have left its process group?
//!
//! A process that calls `setsid` gets no signal that is sent to the group of the server. Linux lists all processes in
//! `/proc`. A process belongs to the server if its parent does, or if its environment has the mark that this library
//! gave to the server only: a process whose parent has ended has lost its parent in the list, but not its environment.
//!
//! A signal is sent to the process itself and not to its number, which the system may have given to another process
//! since.

use std::collections::HashMap;
use std::fs;
use std::io::Read;
use std::os::fd::OwnedFd;

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal, test_kill_process};

use tokio::process::Command;

use crate::client::process::environment::InheritedEnv;
use crate::ground::random::random_hex;

/// The variable with the mark. Descendants inherit it, unless they remove it.
const MARK_VARIABLE: &str = "TOOLWAY_SERVER_MARK";

/// Adds a mark that no other process has to the environment of a server. A server that is to have no other variables than
/// those that are set gets none.
pub(super) fn mark(command: &mut Command, inherit: InheritedEnv) -> Option<String> {
    if inherit == InheritedEnv::Nothing {
        return None;
    }
    let mark = random_hex::<16>();
    command.env(MARK_VARIABLE, &mark);
    Some(mark)
}

/// A descendant of a server, outside of its process group.
pub(super) struct Descendant {
    pid: u32,
    start_time: u64,
    handle: OwnedFd,
}

impl Descendant {
    /// Sends a signal. Errors are ignored: the process may have ended.
    pub(super) fn signal(&self, signal: Signal) {
        let _ = pidfd_send_signal(&self.handle, signal);
    }

    /// Returns whether both are the same process.
    pub(super) fn is(&self, other: &Self) -> bool {
        (self.pid, self.start_time) == (other.pid, other.start_time)
    }

    /// Returns whether the process still runs.
    pub(super) fn is_running(&self) -> bool {
        ProcessStat::read(self.pid).is_some_and(|stat| stat.start_time == self.start_time && stat.is_running)
    }
}

/// Finds the running descendants of a server that are not in its process group. The server leads the group, and must not
/// have been reaped.
pub(super) fn outside_of_group(leader: Pid, mark: Option<&str>) -> Vec<Descendant> {
    let leader = leader.as_raw_nonzero().get().unsigned_abs();
    let Some(server) = ProcessStat::read(leader) else { return Vec::new() };
    let numbers = fs::read_dir("/proc").into_iter().flatten().flatten();
    let numbers = numbers.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let mut others: Vec<(u32, ProcessStat)> = numbers
        .filter_map(|pid| Some((pid, ProcessStat::read(pid)?)))
        // A descendant is not older than its ancestor.
        .filter(|(pid, stat)| *pid != leader && stat.start_time >= server.start_time)
        .collect();
    let mut family = HashMap::from([(leader, server.start_time)]);
    let mark = mark.map(|mark| format!("{MARK_VARIABLE}={mark}"));
    let has_mark = |pid| mark.as_ref().is_some_and(|mark| has_variable(pid, mark.as_bytes()));
    let mut found = Vec::new();
    loop {
        let (relatives, rest): (Vec<_>, Vec<_>) = others.into_iter().partition(|(_, stat)| {
            // A parent that is younger than its child is another process that got the number of the parent.
            family.get(&stat.parent).is_some_and(|start_time| *start_time <= stat.start_time)
        });
        // If no process is a child of a known one, look for those that have lost their parents.
        let (relatives, rest): (Vec<_>, Vec<_>) = if relatives.is_empty() {
            rest.into_iter().partition(|(pid, _)| has_mark(*pid))
        } else {
            (relatives, rest)
        };
        if relatives.is_empty() {
            break;
        }
        family.extend(relatives.iter().map(|(pid, stat)| (*pid, stat.start_time)));
        found.extend(relatives);
        others = rest;
    }
    let outside = found.into_iter().filter(|(_, stat)| stat.group != leader);
    outside.filter_map(|(pid, stat)| open(pid, stat.start_time)).collect()
}

/// Returns a handle to the process with this number and start time, if this program may send signals to it.
fn open(pid: u32, start_time: u64) -> Option<Descendant> {
    let number = Pid::from_raw(pid.try_into().ok()?)?;
    test_kill_process(number).ok()?;
    let handle = pidfd_open(number, PidfdFlags::empty()).ok()?;
    let process = Descendant { pid, start_time, handle };
    // The handle was opened before this check, so it belongs to the process that is checked.
    process.is_running().then_some(process)
}

/// The facts about a process in `/proc/PID/stat`.
#[derive(Debug, Clone, PartialEq, Eq)]
struct ProcessStat {
    /// `false` for a process that has ended and was not reaped.
    is_running: bool,
    parent: u32,
    group: u32,
    /// The time since the system was started, in ticks.
    start_time: u64,
}

impl ProcessStat {
    fn read(pid: u32) -> Option<Self> {
        Self::parse(&fs::read(format!("/proc/{pid}/stat")).ok()?)
    }

    fn parse(text: &[u8]) -> Option<Self> {
        // The second field is the name of the program, in parentheses, which may contain anything.
        let end_of_name = text.iter().rposition(|byte| *byte == b')')?;
        let fields = str::from_utf8(&text[end_of_name + 1..]).ok()?;
        let fields: Vec<_> = fields.split_ascii_whitespace().collect();
        let number = |index: usize| fields.get(index)?.parse().ok();
        Some(Self {
            is_running: !matches!(*fields.first()?, "Z" | "X" | "x"),
            parent: number(1)?,
            group: number(2)?,
            start_time: fields.get(19)?.parse().ok()?,
        })
    }
}

/// Returns whether the environment that a process was started with has this variable and value.
fn has_variable(pid: u32, variable: &[u8]) -> bool {
    let mut environment = Vec::new();
    // The process may be gone, or of another user.
    let Ok(file) = fs::File::open(format!("/proc/{pid}/environ")) else { return false };
    if file.take(MAX_ENVIRONMENT).read_to_end(&mut environment).is_err() {
        return false;
    }
    environment.split(|byte| *byte == 0).any(|entry| entry == variable)
}

/// The maximum number of bytes that are read of the environment of a process.
const MAX_ENVIRONMENT: u64 = 1 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_may_have_any_name() {
        let rest = "S 7 8 9 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 4711 1 2";
        let expected = ProcessStat { is_running: true, parent: 7, group: 8, start_time: 4711 };
        for name in ["sh", "a b", ") Z 1 1 (", "", "\u{fffd}"] {
            assert_eq!(ProcessStat::parse(format!("12 ({name}) {rest}").as_bytes()), Some(expected.clone()));
        }
        assert_eq!(ProcessStat::parse(b"12 (\xff) S 7 8"), None);
        assert_eq!(ProcessStat::parse(b""), None);
        let own = ProcessStat::read(std::process::id()).unwrap();
        assert!(own.is_running && own.parent > 0 && own.start_time > 0);
    }
}
