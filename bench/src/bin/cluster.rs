//! What does a call cost when servers share their sessions? `cluster [SECONDS]`, with `bench-server` beside this program.
//!
//! Clients with sessions call a tool, each call at the next server, so that nothing is sticky. The same load goes to one
//! server with its sessions in memory, to one with a Redis, and to two with that Redis. All of them share one machine, so
//! the processor time per call says more than the calls per second.

use std::io;
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

#[tokio::main]
#[expect(clippy::print_stdout, reason = "the result is for people")]
async fn main() {
    let seconds = std::env::args().nth(1).map_or(10, |word| word.parse().expect("a number of seconds"));
    let time = Duration::from_secs(seconds);
    let redis = Program::redis();
    println!("{CLIENTS} clients, each with a session; {seconds} s each; µs of processor time per call");
    println!(
        "| servers | calls/s | median ms | 99 % ms | µs of the servers | µs of Redis | µs of its commands |"
    );
    println!("|---|---|---|---|---|---|---|");
    for (name, servers, era) in [
        ("one, in memory", 1, Era::Session),
        ("one, on Redis", 1, Era::Session),
        ("two, on Redis", 2, Era::Session),
        ("two, on Redis, without sessions", 2, Era::Stateless),
    ] {
        let store = name.contains("Redis").then(|| format!("redis://127.0.0.1:{}", redis.port));
        let servers: Vec<_> = (0..servers).map(|_| Program::server(store.as_deref())).collect();
        let ports: Arc<[u16]> = servers.iter().map(|server| server.port).collect();
        for port in [redis.port].iter().chain(&*ports) {
            wait_for(*port).await;
        }
        // The first second opens the sessions and fills caches.
        load(&ports, era, Duration::from_secs(1)).await;
        let before = (processor_time(&servers), redis.processor_time(), command_time(redis.port).await);
        let mut times = load(&ports, era, time).await;
        let after = (processor_time(&servers), redis.processor_time(), command_time(redis.port).await);
        times.sort_unstable();
        let part = |percent: usize| times[(times.len() - 1) * percent / 100].as_secs_f64() * 1000.0;
        let calls = f64::from(u32::try_from(times.len()).expect("not that many calls"));
        let per_call =
            |before: Duration, after: Duration| after.saturating_sub(before).as_secs_f64() * 1e6 / calls;
        println!(
            "| {name} | {:.0} | {:.2} | {:.2} | {:.0} | {:.1} | {:.1} |",
            calls / time.as_secs_f64(),
            part(50),
            part(99),
            per_call(before.0, after.0),
            per_call(before.1, after.1),
            per_call(before.2, after.2),
        );
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Era {
    Session,
    Stateless,
}

/// A process that ends with this program.
#[derive(Debug)]
struct Program {
    child: Child,
    port: u16,
}

impl Program {
    fn redis() -> Self {
        let port = free_port();
        let mut command = Command::new("redis-server");
        command.args([
            "--port",
            &port.to_string(),
            "--bind",
            "127.0.0.1",
            "--save",
            "",
            "--appendonly",
            "no",
        ]);
        Self::start(command, port, "redis-server; apt-get install redis-server")
    }

    fn server(store: Option<&str>) -> Self {
        let port = free_port();
        let mut command = Command::new(beside("bench-server"));
        command.args(["--http", &port.to_string()]);
        if let Some(store) = store {
            command.args(["--store", store]);
        }
        Self::start(command, port, "bench-server: build it with the same profile")
    }

    fn start(mut command: Command, port: u16, what: &str) -> Self {
        let started = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        let child = started.unwrap_or_else(|error| panic!("could not start {what}: {error}"));
        Self { child, port }
    }

    /// Returns how much time the process has used.
    fn processor_time(&self) -> Duration {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.child.id())).unwrap_or_default();
        // The name of the program may contain spaces, and ends with the last parenthesis.
        let fields = stat.rsplit(')').next().unwrap_or_default();
        let ticks: u64 =
            fields.split_whitespace().skip(11).take(2).filter_map(|field| field.parse::<u64>().ok()).sum();
        Duration::from_millis(ticks * 10)
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn processor_time(programs: &[Program]) -> Duration {
    programs.iter().map(Program::processor_time).sum()
}

/// Returns the path of another program of this package.
fn beside(name: &str) -> PathBuf {
    std::env::current_exe().expect("the path of this program").with_file_name(name)
}

fn free_port() -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a free port");
    listener.local_addr().expect("an address").port()
}

async fn wait_for(port: u16) {
    while TcpStream::connect(("127.0.0.1", port)).await.is_err() {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// Returns how much time Redis says that it has spent on commands.
async fn command_time(port: u16) -> Duration {
    let mut connection = BufReader::new(TcpStream::connect(("127.0.0.1", port)).await.expect("Redis"));
    connection.write_all(b"INFO commandstats\r\n").await.expect("Redis reads");
    let mut line = String::new();
    connection.read_line(&mut line).await.expect("Redis answers");
    let length = line.trim_start_matches('$').trim().parse().expect("a length");
    let mut text = vec![0; length];
    connection.read_exact(&mut text).await.expect("Redis answers");
    let text = String::from_utf8_lossy(&text);
    let times = text.lines().filter_map(|line| line.split(',').find_map(|part| part.strip_prefix("usec=")));
    Duration::from_micros(times.filter_map(|time| time.parse::<u64>().ok()).sum())
}

/// Lets clients call for a time, and returns how long each call took.
async fn load(ports: &Arc<[u16]>, era: Era, time: Duration) -> Vec<Duration> {
    let is_over = Arc::new(AtomicBool::new(false));
    let mut clients = JoinSet::new();
    for number in 0..CLIENTS {
        let (ports, is_over) = (ports.clone(), is_over.clone());
        clients.spawn(
            async move { call_repeatedly(&ports, era, number, &is_over).await.expect("it is served") },
        );
    }
    tokio::time::sleep(time).await;
    is_over.store(true, Ordering::Relaxed);
    clients.join_all().await.concat()
}

/// One client: a connection to each server, and one session.
async fn call_repeatedly(
    ports: &[u16],
    era: Era,
    number: usize,
    is_over: &AtomicBool,
) -> io::Result<Vec<Duration>> {
    let mut connections = Vec::new();
    for port in ports {
        connections.push(BufReader::new(TcpStream::connect(("127.0.0.1", *port)).await?));
    }
    let first = &mut connections[number % ports.len()];
    let head = match era {
        Era::Stateless => {
            format!("mcp-protocol-version: {STATELESS}\r\nmcp-method: tools/call\r\nmcp-name: add\r\n")
        }
        Era::Session => {
            let head = exchange(first, "", &INITIALIZE.replace("REVISION", SESSION)).await?;
            let name = "mcp-session-id: ";
            let session = head.lines().find_map(|line| line.strip_prefix(name)).ok_or_else(not_served)?;
            let head = format!("mcp-session-id: {session}\r\nmcp-protocol-version: {SESSION}\r\n");
            exchange(first, &head, INITIALIZED).await?;
            head
        }
    };
    let meta = match era {
        Era::Stateless => META.replace("REVISION", STATELESS),
        Era::Session => "{}".to_owned(),
    };
    let mut times = Vec::new();
    while !is_over.load(Ordering::Relaxed) {
        let id = times.len();
        let body = CALL.replace("ID", &id.to_string()).replace("META", &meta);
        let start = Instant::now();
        exchange(&mut connections[(number + id) % ports.len()], &head, &body).await?;
        times.push(start.elapsed());
    }
    Ok(times)
}

/// Sends a message and reads the whole reply, whose head it returns.
async fn exchange(connection: &mut BufReader<TcpStream>, head: &str, body: &str) -> io::Result<String> {
    let length = body.len();
    let request = format!(
        "POST /mcp HTTP/1.1\r\nhost: 127.0.0.1\r\naccept: application/json, text/event-stream\r\n\
         content-type: application/json\r\ncontent-length: {length}\r\n{head}\r\n{body}"
    );
    connection.write_all(request.as_bytes()).await?;
    let mut reply = String::new();
    while !reply.ends_with("\r\n\r\n") {
        if connection.read_line(&mut reply).await? == 0 {
            return Err(not_served());
        }
    }
    if !reply.starts_with("HTTP/1.1 2") {
        return Err(io::Error::other(reply));
    }
    let length = reply.lines().find_map(|line| line.strip_prefix("content-length: "));
    let mut body = vec![0; length.map_or(Ok(0), str::parse).map_err(|_| not_served())?];
    connection.read_exact(&mut body).await?;
    Ok(reply)
}

fn not_served() -> io::Error {
    io::Error::other("the server does not speak as expected")
}

const CLIENTS: usize = 32;
const SESSION: &str = "2025-11-25";
const STATELESS: &str = "2026-07-28";
const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"REVISION","capabilities":{},"clientInfo":{"name":"bench","version":"0"}}}"#;
const INITIALIZED: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
const CALL: &str = r#"{"jsonrpc":"2.0","id":ID,"method":"tools/call","params":{"name":"add","arguments":{"a":1,"b":2},"_meta":META}}"#;
const META: &str = r#"{"io.modelcontextprotocol/protocolVersion":"REVISION","io.modelcontextprotocol/clientInfo":{"name":"bench","version":"0"},"io.modelcontextprotocol/clientCapabilities":{}}"#;
