//! Starts and stops one server process, and reads its figures from /proc.

use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result};
use serde::Deserialize;

use crate::proto::Revision;

#[derive(Deserialize)]
pub struct Peer {
    pub name: String,
    pub version: String,
    /// The program and its first arguments; `$NAME` is read from the environment.
    pub cmd: Vec<String>,
    #[serde(default = "default_path")]
    pub path: String,
    /// The revision used over stdio.
    pub stdio: Revision,
    #[serde(default)]
    pub native: bool,
    /// `true` if it offers `bench://static` (checked before measuring, not measured).
    #[serde(default = "yes")]
    pub resource: bool,
    /// `true` if it is also measured with more and more tools, sessions and bytes.
    #[serde(default)]
    pub growth: bool,
    pub modes: Vec<Mode>,
}

fn yes() -> bool {
    true
}

fn default_path() -> String {
    "/mcp".into()
}

/// A way of serving HTTP. Peers are compared by `name`.
#[derive(Deserialize)]
pub struct Mode {
    pub name: String,
    pub revision: Revision,
    #[serde(default)]
    pub args: Vec<String>,
}

pub fn expand(word: &str) -> Result<String> {
    let mut out = word.to_string();
    while let Some(at) = out.find('$') {
        let name: String = out[at + 1..]
            .chars()
            .take_while(|c| c.is_ascii_uppercase() || *c == '_')
            .collect();
        let value = std::env::var(&name).with_context(|| format!("${name} is not set"))?;
        out.replace_range(at..at + 1 + name.len(), &value);
    }
    Ok(out)
}

/// Pins the process to a core. Servers run on the first core, the load generator on the second;
/// `BENCH_PIN=0` turns pinning off.
pub fn pin(cpu: usize) {
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(cpu, &mut set);
        libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &set);
    }
}

pub fn pinning() -> bool {
    std::env::var("BENCH_PIN").as_deref() != Ok("0")
}

pub struct Server {
    pub child: Child,
}

/// The CPU time that a process has used so far.
#[derive(Clone, Copy)]
pub struct Usage {
    /// Time on a core for all threads, in microseconds. It has nanosecond precision, but leaves out
    /// threads that have ended.
    pub cpu_us: f64,
    /// Time in the kernel, in microseconds, measured in clock ticks.
    pub sys_us: f64,
}

impl Server {
    pub fn start(peer: &Peer, args: &[String], stdio: bool) -> Result<Server> {
        let words = peer
            .cmd
            .iter()
            .map(|w| expand(w))
            .collect::<Result<Vec<_>>>()?;
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).args(args).stderr(Stdio::null());
        let pipe = || if stdio { Stdio::piped() } else { Stdio::null() };
        command.stdin(pipe()).stdout(pipe());
        if pinning() {
            unsafe {
                command.pre_exec(|| {
                    pin(0);
                    Ok(())
                })
            };
        }
        let child = command
            .spawn()
            .with_context(|| format!("cannot start {words:?}"))?;
        Ok(Server { child })
    }

    fn proc(&self, file: &str) -> Result<String> {
        Ok(std::fs::read_to_string(format!(
            "/proc/{}/{file}",
            self.child.id()
        ))?)
    }

    /// Reads the CPU time of the process. /proc/PID/stat counts in ticks of 10 ms, which is too
    /// coarse on a busy machine; the scheduler's figure per thread is exact.
    pub fn usage(&self) -> Result<Usage> {
        let stat = self.proc("stat")?;
        let fields: Vec<&str> = stat[stat.rfind(')').context("stat")? + 2..]
            .split(' ')
            .collect();
        let tick_us = 1e6 / unsafe { libc::sysconf(libc::_SC_CLK_TCK) } as f64;
        let mut cpu_us = 0.0;
        for task in std::fs::read_dir(format!("/proc/{}/task", self.child.id()))? {
            let schedstat =
                std::fs::read_to_string(task?.path().join("schedstat")).unwrap_or_default();
            let nanos = schedstat
                .split(' ')
                .next()
                .and_then(|n| n.parse::<f64>().ok());
            cpu_us += nanos.unwrap_or(0.0) / 1000.0;
        }
        Ok(Usage {
            cpu_us,
            sys_us: fields[12].parse::<f64>()? * tick_us,
        })
    }

    /// Reads `VmRSS` (now) or `VmHWM` (peak), in KiB.
    pub fn memory_kib(&self, field: &str) -> Result<f64> {
        let status = self.proc("status")?;
        let line = status
            .lines()
            .find(|l| l.starts_with(field))
            .context("status")?;
        Ok(line.split_whitespace().nth(1).context("status")?.parse()?)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
