//! How is a server started, killed and restarted?
//!
//! On stdio the client starts the server, and the server first writes its process id to a file. Over HTTP this program
//! starts it.

use std::fs;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::process::{Child, Command};
use tokio::time::sleep;
use toolway::client::{self, Http, IntoTarget, Target};

use crate::check::{Checked, in_time};

/// The transport between the client and the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Transport {
    Stdio,
    Http,
    /// HTTP+SSE, the transport of 2024-11-05.
    Sse,
}

impl Transport {
    pub(crate) fn named(name: &str) -> Result<Self, String> {
        match name {
            "stdio" => Ok(Self::Stdio),
            "http" => Ok(Self::Http),
            "sse" => Ok(Self::Sse),
            other => Err(format!("there is no transport `{other}`")),
        }
    }
}

/// A server that clients can connect to.
#[derive(Debug)]
pub(crate) struct Server {
    command: Vec<String>,
    /// A folder that only this server uses.
    folder: PathBuf,
    place: Place,
}

#[derive(Debug)]
enum Place {
    Stdio,
    Http { ports: Ports, path: &'static str, process: Box<Child> },
}

/// The port that a server listens on, and the port that clients use: the same, or that of a proxy in front.
#[derive(Clone, Copy, Debug)]
struct Ports {
    server: u16,
    clients: u16,
}

impl Ports {
    /// Takes the ports from the environment, which is for a single server; otherwise picks a free one.
    async fn choose() -> Result<Self, String> {
        let named = |name: &str| std::env::var(name).ok().and_then(|port| port.parse().ok());
        match (named("INTEROP_PORT"), named("INTEROP_PROXY")) {
            (Some(server), Some(clients)) => Ok(Self { server, clients }),
            _ => free_port().await.map(|port| Self { server: port, clients: port }),
        }
    }
}

impl Server {
    /// Starts a server. The word `{folder}` in the command is replaced by a folder of its own.
    pub(crate) async fn start(transport: Transport, command: &[String]) -> Result<Self, String> {
        let folder =
            make_folder(free_port().await?).map_err(|error| format!("no folder could be made: {error}"))?;
        let path = folder.display().to_string();
        let command = command.iter().map(|word| word.replace("{folder}", &path)).collect();
        let mut server = Self { command, folder, place: Place::Stdio };
        let path = match transport {
            Transport::Stdio => return Ok(server),
            Transport::Http => "mcp",
            Transport::Sse => "sse",
        };
        let ports = Ports::choose().await?;
        let process = Box::new(listen(&server.command, ports.server).await?);
        server.place = Place::Http { ports, path, process };
        Ok(server)
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns whether the client starts the server.
    pub(crate) fn is_child(&self) -> bool {
        matches!(self.place, Place::Stdio)
    }

    /// Returns the target that a client connects to.
    pub(crate) fn target(&self) -> toolway::Result<Target> {
        match &self.place {
            Place::Stdio => {
                let command = self.words();
                client::Command::new(&command[0]).args(&command[1..]).into_target()
            }
            Place::Http { .. } => Http::new(self.words().concat()).into_target(),
        }
    }

    /// Returns the command line or the URL of the server, as a user would write it.
    pub(crate) fn words(&self) -> Vec<String> {
        match &self.place {
            Place::Stdio => {
                let note = ["sh", "-c", r#"echo $$ >> "$0"; exec "$@""#].map(str::to_owned);
                note.into_iter()
                    .chain([self.pids().display().to_string()])
                    .chain(self.command.clone())
                    .collect()
            }
            Place::Http { ports, path, .. } => {
                vec![format!("http://{}:{}/{path}", Ipv4Addr::LOCALHOST, ports.clients)]
            }
        }
    }

    /// The file to which each of its processes appends its id.
    fn pids(&self) -> PathBuf {
        self.folder.with_extension("pids")
    }

    /// Returns the ids of all its processes so far, if clients start it.
    pub(crate) fn processes(&self) -> Vec<u32> {
        match &self.place {
            Place::Stdio => {
                let text = fs::read_to_string(self.pids()).unwrap_or_default();
                text.lines().filter_map(|line| line.parse().ok()).collect()
            }
            Place::Http { process, .. } => process.id().into_iter().collect(),
        }
    }

    /// Kills the server, and starts it again unless the client does that. Returns the id of the killed process.
    pub(crate) async fn restart(&mut self) -> Checked<u32> {
        match &mut self.place {
            Place::Stdio => {
                // The newest processes may have served other clients and be gone already.
                for process in self.processes().into_iter().rev() {
                    if signal("-KILL", process).await? {
                        return Ok(process);
                    }
                }
                Err("no process of the server is left to kill".into())
            }
            Place::Http { ports, process, .. } => {
                let killed = process.id().ok_or("the server is gone")?;
                process.kill().await?;
                **process = listen(&self.command, ports.server).await?;
                Ok(killed)
            }
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Errors do not matter here. The pid file does not exist if no client connected.
        let _ = fs::remove_dir_all(&self.folder);
        let _ = fs::remove_file(self.pids());
    }
}

/// Waits until a process has ended.
pub(crate) async fn gone(process: u32) -> Checked {
    in_time(async {
        while signal("-0", process).await? {
            sleep(PAUSE).await;
        }
        Ok(())
    })
    .await
    .map_err(|_| format!("process {process} is still there").into())
}

/// Sends a signal; returns whether the process exists.
async fn signal(name: &str, process: u32) -> std::io::Result<bool> {
    let mut command = Command::new("kill");
    command.arg(name).arg(process.to_string()).stderr(Stdio::null());
    Ok(command.status().await?.success())
}

/// Starts a server on a port and waits until it listens.
async fn listen(command: &[String], port: u16) -> Result<Child, String> {
    let (program, arguments) = command.split_first().ok_or("no command of a server was given")?;
    let failed = |error: std::io::Error| format!("`{program}` could not be started: {error}");
    let mut process = Command::new(program)
        .args(arguments)
        .env("PORT", port.to_string())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .map_err(failed)?;
    let there = async {
        while TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await.is_err() {
            if let Some(status) = process.try_wait().map_err(failed)? {
                return Err(format!("`{program}` ended before it listened: {status}").into());
            }
            sleep(PAUSE).await;
        }
        Ok(())
    };
    match in_time(there).await {
        Ok(()) => Ok(process),
        Err(why) => Err(format!("`{program}` does not listen on port {port}: {why:?}")),
    }
}

/// Makes a folder under its canonical path, because some servers compare paths.
fn make_folder(port: u16) -> std::io::Result<PathBuf> {
    let folder = std::env::temp_dir().canonicalize()?.join(format!("interop-{}-{port}", std::process::id()));
    fs::create_dir(&folder)?;
    Ok(folder)
}

/// Finds a port that is not in use. It lies below the ephemeral ports, so that the system does not assign it to another
/// program before the server binds it, or while the server restarts.
async fn free_port() -> Result<u16, String> {
    static TRIED: AtomicU32 = AtomicU32::new(0);
    // Concurrent processes start their search at different ports.
    let first = std::process::id().wrapping_mul(61);
    for _ in 0..PORTS {
        let next = first.wrapping_add(TRIED.fetch_add(1, Ordering::Relaxed)) % PORTS;
        let port = u16::try_from(FIRST_PORT + next).map_err(|error| error.to_string())?;
        if TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await.is_ok() {
            return Ok(port);
        }
    }
    Err("no port of 127.0.0.1 is free".to_owned())
}

const FIRST_PORT: u32 = 20_000;
const PORTS: u32 = 10_000;

const PAUSE: Duration = Duration::from_millis(20);
