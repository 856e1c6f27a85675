//! How is a server under test started, and how do we know that it listens?

use std::fs::{self, File};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{self, Command};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::run::{self, KillOnDrop, Result};

/// A server on its own port, ended when this is dropped.
#[derive(Debug)]
pub(crate) struct ServerProcess {
    process: KillOnDrop,
    port: u16,
    log: PathBuf,
}

impl ServerProcess {
    /// Starts `program` with arguments made from a free port and waits until the port accepts connections.
    pub(crate) fn start(
        program: &Path,
        arguments: impl FnOnce(u16) -> Vec<String>,
        log: PathBuf,
    ) -> Result<Self> {
        let port = free_port()?;
        let mut command = Command::new(program);
        command.args(arguments(port));
        Self::start_on(port, &mut command, log, START_LIMIT, KillOnDrop::spawn)
    }

    /// Starts a command that listens on `port`, with a standard input that stays open. It may be slow: a script has to
    /// load its packages first, on a machine that may be busy.
    pub(crate) fn start_script(port: u16, command: &mut Command, log: PathBuf) -> Result<Self> {
        Self::start_on(port, command, log, SCRIPT_START_LIMIT, KillOnDrop::spawn_with_open_input)
    }

    fn start_on(
        port: u16,
        command: &mut Command,
        log: PathBuf,
        limit: Duration,
        spawn: fn(&mut Command) -> Result<KillOnDrop>,
    ) -> Result<Self> {
        let (out, err) =
            log_files(&log).map_err(|error| format!("could not write {}: {error}", log.display()))?;
        command.stdout(out).stderr(err);
        let mut server = Self { process: spawn(command)?, port, log };
        let address = server.address();
        let deadline = Instant::now() + limit;
        while TcpStream::connect_timeout(&address, Duration::from_millis(200)).is_err() {
            if let Some(how) = server.end_report()? {
                return Err(format!("`{}` ended before it listened, with {how}", run::command_text(command)));
            }
            if Instant::now() > deadline {
                let seconds = limit.as_secs();
                let log = server.log.display();
                return Err(format!(
                    "`{}` does not listen on port {port} after {seconds} s; see {log}",
                    run::command_text(command)
                ));
            }
            thread::sleep(Duration::from_millis(20));
        }
        Ok(server)
    }

    /// The URL of its MCP endpoint.
    pub(crate) fn url(&self) -> String {
        format!("http://{}/mcp", self.address())
    }

    /// The address it listens on.
    pub(crate) fn address(&self) -> SocketAddr {
        SocketAddr::from((Ipv4Addr::LOCALHOST, self.port))
    }

    /// Returns how it ended and its last output, if it has ended.
    pub(crate) fn end_report(&mut self) -> Result<Option<String>> {
        Ok(self.process.try_wait()?.map(|status| {
            let text = fs::read_to_string(&self.log).unwrap_or_default();
            let lines: Vec<&str> = text.lines().collect();
            let last_words = lines[lines.len().saturating_sub(LAST_LOG_LINES)..].join("\n      ");
            format!("{}; the end of {}:\n      {last_words}", run::describe_exit(status), self.log.display())
        }))
    }
}

/// Finds a port that is not in use. It lies below the ephemeral ports, so that the system does not assign it to another
/// program before the server binds it.
pub(crate) fn free_port() -> Result<u16> {
    static TRIED: AtomicU32 = AtomicU32::new(0);
    // Concurrent processes start their search at different ports.
    let first = process::id().wrapping_mul(61);
    (0..PORTS)
        .filter_map(|_| {
            let next = first.wrapping_add(TRIED.fetch_add(1, Ordering::Relaxed)) % PORTS;
            u16::try_from(FIRST_PORT + next).ok()
        })
        .find(|port| TcpListener::bind((Ipv4Addr::LOCALHOST, *port)).is_ok())
        .ok_or_else(|| "could not find a free port on 127.0.0.1".to_owned())
}

const FIRST_PORT: u32 = 20_000;
const PORTS: u32 = 10_000;

fn log_files(log: &Path) -> std::io::Result<(File, File)> {
    if let Some(parent) = log.parent() {
        fs::create_dir_all(parent)?;
    }
    // Appending keeps the last output of the server that this one replaces.
    let file = File::options().create(true).append(true).open(log)?;
    Ok((file.try_clone()?, file))
}

const START_LIMIT: Duration = Duration::from_secs(10);
const SCRIPT_START_LIMIT: Duration = Duration::from_secs(2 * 60);
const LAST_LOG_LINES: usize = 15;
