//! Does a server stay well for minutes, under mixed clients of which some misbehave? `soak [MINUTES]`.
//!
//! The server is a process of its own. Well-behaved clients of both eras call tools that answer, fail, panic, report
//! progress and take 4 MiB; others stop reading, stop sending, or cut their connections. Each call must have an end,
//! and the memory of the server must not grow after the first minute.

use std::net::SocketAddr;
use std::process::{ExitCode, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use serde_json::json;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::process::Command;
use toolway::ProtocolVersion;
use toolway::prelude::*;

/// A call that takes longer has no end.
const PATIENCE: Duration = Duration::from_secs(60);
/// How many well-behaved callers there are, and how many that misbehave.
const CALLERS: u64 = 12;
const ATTACKERS: u64 = 6;
/// How much the memory of a later minute may exceed that of the second, in bytes.
const TOLERANCE: u64 = 16 << 20;

/// Add two numbers.
#[tool]
fn add(a: f64, b: f64) -> f64 {
    a + b
}

/// Return a megabyte.
#[tool]
fn much() -> String {
    "x".repeat(1 << 20)
}

/// Return the length of a text.
#[tool]
fn length(text: String) -> usize {
    text.len()
}

/// Fail.
#[tool]
fn fail() -> Result<String, ToolError> {
    Err(ToolError::new("it failed"))
}

/// Panic.
#[tool]
fn panic() -> String {
    panic!("it panicked")
}

/// Report progress for a while.
#[tool]
async fn walk(ctx: Ctx) -> &'static str {
    for step in 1..=5 {
        tokio::time::sleep(Duration::from_millis(10)).await;
        ctx.progress(step, 5, "").await;
    }
    "there"
}

#[derive(Default)]
struct Count {
    begun: AtomicU64,
    results: AtomicU64,
    failures: AtomicU64,
    /// Calls that ended with an error of the transport, or because the server was busy.
    refused: AtomicU64,
    cancelled: AtomicU64,
    without_end: AtomicU64,
    attacks: AtomicU64,
}

#[tokio::main]
#[expect(clippy::print_stdout, reason = "the result is for people")]
async fn main() -> ExitCode {
    let argument = std::env::args().nth(1);
    if argument.as_deref() == Some("--server") {
        return serve().await;
    }
    let minutes: u64 = argument.map_or(10, |minutes| minutes.parse().expect("a number of minutes"));
    let mut command = Command::new(std::env::current_exe().expect("a path"));
    command
        .arg("--server")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true);
    let mut server = command.spawn().expect("a process");
    let mut line = String::new();
    let stdout = server.stdout.take().expect("a pipe");
    BufReader::new(stdout).read_line(&mut line).await.expect("the address");
    let address: SocketAddr = line.trim().parse().expect("the address");
    let process = server.id().expect("a running process");

    let end = Instant::now() + Duration::from_secs(60 * minutes);
    let count = Arc::new(Count::default());
    let mut tasks = tokio::task::JoinSet::new();
    for number in 0..CALLERS {
        tasks.spawn(call_until(end, number, address, count.clone()));
    }
    for number in 0..ATTACKERS {
        tasks.spawn(attack_until(end, CALLERS + number, address, count.clone()));
    }
    println!("minute  memory at most  descriptors at most  calls");
    let mut peaks = Vec::new();
    for minute in 1..=minutes {
        let (mut memory, mut descriptors) = (0, 0);
        for _ in 0..60 {
            tokio::time::sleep(Duration::from_secs(1)).await;
            memory = memory.max(resident_bytes(process));
            descriptors = descriptors.max(open_descriptors(process));
        }
        let calls = count.begun.load(Ordering::Relaxed);
        println!("{minute:6}  {:10} MiB  {descriptors:19}  {calls}", memory >> 20);
        peaks.push(memory);
    }
    tasks.join_all().await;
    let of = |number: &AtomicU64| number.load(Ordering::Relaxed);
    println!(
        "{} calls: {} results, {} failures, {} refused, {} cancelled, {} without an end; {} attacks",
        of(&count.begun),
        of(&count.results),
        of(&count.failures),
        of(&count.refused),
        of(&count.cancelled),
        of(&count.without_end),
        of(&count.attacks),
    );
    let ended = of(&count.results) + of(&count.failures) + of(&count.refused) + of(&count.cancelled);
    let is_flat = peaks.iter().skip(2).all(|peak| *peak <= peaks[1] + TOLERANCE);
    let is_alive = matches!(server.try_wait(), Ok(None));
    println!("each call has an end: {}; flat: {is_flat}; alive: {is_alive}", ended == of(&count.begun));
    if ended == of(&count.begun) && is_flat && is_alive { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

#[expect(clippy::print_stdout, reason = "the address is for the parent process")]
async fn serve() -> ExitCode {
    let server = Server::new("soak", "1.0.0").tools(tools![add, much, length, fail, panic, walk]);
    let server = server.build().expect("a server");
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a socket");
    println!("{}", listener.local_addr().expect("an address"));
    let until = async {
        let mut nothing = Vec::new();
        let _ = tokio::io::stdin().read_to_end(&mut nothing).await;
    };
    match server.http().legacy_sse().serve_until(listener, until).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

/// Calls tools, each time with a client of the other era, and with a new client from time to time.
async fn call_until(end: Instant, seed: u64, address: SocketAddr, count: Arc<Count>) {
    let url = format!("http://{address}/mcp");
    let mut random = Random(seed + 1);
    let long = "y".repeat(4 << 20);
    while Instant::now() < end {
        let version =
            if random.below(2) == 0 { ProtocolVersion::LATEST } else { ProtocolVersion::LATEST_HANDSHAKE };
        let Ok(client) = Client::builder().protocol(version).connect(&*url).await else { continue };
        for _ in 0..50 {
            if Instant::now() >= end {
                break;
            }
            let (tool, arguments) = match random.below(20) {
                0 => ("panic", json!({})),
                1 => ("fail", json!({})),
                2 => ("much", json!({})),
                3 => ("length", json!({"text": long})),
                4..=6 => ("walk", json!({})),
                _ => ("add", json!({"a": 1, "b": 2})),
            };
            count.begun.fetch_add(1, Ordering::Relaxed);
            let call = client.call(tool, arguments);
            if random.below(20) == 0 {
                let patience = Duration::from_millis(random.below(30));
                // A call that is dropped is cancelled.
                let _ = tokio::time::timeout(patience, call).await;
                count.cancelled.fetch_add(1, Ordering::Relaxed);
                continue;
            }
            let outcome = tokio::time::timeout(PATIENCE, call).await;
            let kind = match outcome {
                Err(_) => &count.without_end,
                Ok(Ok(result)) if result.is_error() => &count.failures,
                Ok(Ok(_)) => &count.results,
                Ok(Err(_)) => &count.refused,
            };
            kind.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// Misbehaves on raw connections.
async fn attack_until(end: Instant, seed: u64, address: SocketAddr, count: Arc<Count>) {
    let mut random = Random(seed + 1);
    while Instant::now() < end {
        let Ok(mut socket) = TcpStream::connect(address).await else { continue };
        count.attacks.fetch_add(1, Ordering::Relaxed);
        let request = request(["much", "walk", "length"][random.index(3)]);
        let sent = match random.below(4) {
            // Part of a request.
            0 => random.index(request.len()),
            _ => request.len(),
        };
        if socket.write_all(&request[..sent]).await.is_err() {
            continue;
        }
        // A slow reader, for at most two seconds.
        let mut piece = [0; 512];
        for _ in 0..random.below(20) {
            tokio::time::sleep(Duration::from_millis(random.below(100))).await;
            let read = tokio::time::timeout(Duration::from_millis(10), socket.read(&mut piece)).await;
            if matches!(read, Ok(Ok(0) | Err(_))) {
                break;
            }
        }
    }
}

/// A call of the stateless era, as bytes.
fn request(tool: &str) -> Vec<u8> {
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
        "progressToken": 1,
    });
    let arguments = if tool == "length" { json!({"text": "z".repeat(4 << 20)}) } else { json!({}) };
    let params = json!({"name": tool, "arguments": arguments, "_meta": meta});
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).to_string();
    let head = format!(
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2026-07-28\r\n\
         Mcp-Method: tools/call\r\nMcp-Name: {tool}\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    [head.into_bytes(), body.into_bytes()].concat()
}

/// Returns the memory of the system that a process uses; 0 where this is unknown.
fn resident_bytes(process: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok());
    kib.unwrap_or(0) << 10
}

fn open_descriptors(process: u32) -> usize {
    std::fs::read_dir(format!("/proc/{process}/fd")).map_or(0, Iterator::count)
}

/// A generator of numbers that repeats itself with the same seed (xorshift).
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) % limit.max(1)
    }

    fn index(&mut self, limit: usize) -> usize {
        usize::try_from(self.below(limit as u64)).expect("a small number")
    }
}
