//! What does a server receive when a call is interrupted?
//!
//! Each round is a process that calls a tool and is interrupted while the tool runs. When the process has ended, the
//! server must have been notified. `ROUNDS=200 cargo test -p toolway-cli --test cli interrupts` runs more rounds than
//! the default.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};

use serde_json::{Value, json};
use toolway::ProtocolVersion;
use toolway::prelude::*;
use toolway::server::ToolEntry;

use crate::stage::{Folder, answer, fixture_path, listen, read_request, toolway};

/// The number of concurrent processes: enough to slow them down.
const AT_ONCE: usize = 8;

/// Calls the tool `wait` in as many processes as there are rounds, and interrupts each while its tool runs.
fn interrupt(words: impl Fn(usize) -> Vec<String> + Sync) -> usize {
    let rounds = std::env::var("ROUNDS").map_or(60, |rounds| rounds.parse().unwrap());
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                loop {
                    let round = next.fetch_add(1, Ordering::Relaxed);
                    if round >= rounds {
                        break;
                    }
                    interrupt_one(&words(round));
                }
            });
        }
    });
    rounds
}

fn interrupt_one(words: &[String]) {
    let mut command = toolway();
    command
        .args(["call", "-v"])
        .args(words)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    let mut said = String::new();
    // The progress that the running tool reports.
    while !said.contains("waiting") {
        assert!(stderr.read_line(&mut said).unwrap() > 0, "it ended: {said}");
    }
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    stderr.read_to_string(&mut said).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130), "{said}");
}

/// Pairs of a session and a request id.
type Requests = Arc<Mutex<BTreeSet<(String, String)>>>;

/// A server with sessions that does not end its calls when a session ends, as many servers behave.
#[test]
fn a_server_with_sessions_is_told_of_every_call() {
    let (begun, cancelled, sessions) = (Requests::default(), Requests::default(), AtomicUsize::new(0));
    let (has_begun, is_cancelled) = (begun.clone(), cancelled.clone());
    let address = listen(move |mut stream| {
        let asked = read_request(&mut stream);
        let id = &asked.body["id"];
        let reply = |stream: &mut TcpStream, headers: &str, result: Value| {
            let body = json!({"jsonrpc": "2.0", "id": id, "result": result}).to_string();
            answer(stream, "200 OK", &format!("content-type: application/json\r\n{headers}"), &body);
        };
        match (asked.method.as_str(), asked.body["method"].as_str().unwrap_or_default()) {
            ("POST", "initialize") => {
                let number = sessions.fetch_add(1, Ordering::Relaxed);
                let result = json!({
                    "protocolVersion": asked.body["params"]["protocolVersion"], "capabilities": {"tools": {}},
                    "serverInfo": {"name": "sessions", "version": "1"},
                });
                reply(&mut stream, &format!("mcp-session-id: s-{number}\r\n"), result);
            }
            ("POST", "tools/list") => {
                let tools =
                    json!([{"name": "wait", "description": "Waits.", "inputSchema": {"type": "object"}}]);
                reply(&mut stream, "", json!({"tools": tools}));
            }
            ("POST", "tools/call") => {
                has_begun.lock().unwrap().insert((asked.session, id.to_string()));
                let token = &asked.body["params"]["_meta"]["progressToken"];
                let progress = json!({
                    "jsonrpc": "2.0", "method": "notifications/progress",
                    "params": {"progressToken": token, "progress": 1, "message": "waiting"},
                });
                let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
                let _ = stream.write_all(format!("{head}data: {progress}\n\n").as_bytes());
                // The answer is never sent.
                let _ = stream.read_to_end(&mut Vec::new());
            }
            ("POST", "notifications/cancelled") => {
                let request = asked.body["params"]["requestId"].to_string();
                is_cancelled.lock().unwrap().insert((asked.session, request));
                answer(&mut stream, "202 Accepted", "", "");
            }
            ("POST", _) => answer(&mut stream, "202 Accepted", "", ""),
            ("DELETE", _) => answer(&mut stream, "204 No Content", "", ""),
            _ => answer(&mut stream, "405 Method Not Allowed", "", ""),
        }
    });
    let revision = ProtocolVersion::LATEST_HANDSHAKE.to_string();
    let rounds = interrupt(|_| {
        ["--protocol", &revision, &format!("http://{address}/mcp"), "wait"].map(str::to_owned).to_vec()
    });
    let (begun, cancelled) = (begun.lock().unwrap(), cancelled.lock().unwrap());
    assert_eq!(begun.len(), rounds);
    let left: Vec<_> = begun.difference(&cancelled).collect();
    assert!(left.is_empty(), "{} of {rounds} calls were left running: {left:?}", left.len());
}

/// A server on a pipe that records the methods it receives.
#[test]
fn a_server_on_a_pipe_is_told_of_every_call() {
    let folder = Folder::new();
    let heard = |round: usize| folder.0.join(format!("heard-{round}"));
    let fixture = fixture_path().to_str().unwrap().to_owned();
    let rounds = interrupt(|round| {
        let file = heard(round).to_str().unwrap().to_owned();
        ["wait", "--", &fixture, "record", &file].map(str::to_owned).to_vec()
    });
    let untold: Vec<_> = (0..rounds)
        .map(|round| std::fs::read_to_string(heard(round)).unwrap())
        .filter(|heard| !heard.ends_with("tools/call\nnotifications/cancelled\n"))
        .collect();
    assert!(untold.is_empty(), "{} of {rounds} servers were not told: {untold:?}", untold.len());
}

/// Sends a message when it is dropped.
struct Running(mpsc::Sender<()>);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.send(());
    }
}

/// Without sessions, closing the connection cancels the call.
#[test]
fn a_stateless_server_ends_every_call() {
    let (sender, ended) = mpsc::channel();
    let wait = ToolEntry::define(toolway::types::Tool::new("wait", json!({"type": "object"})), {
        move |ctx: Ctx| {
            let running = Running(sender.clone());
            async move {
                let _running = running;
                ctx.progress(1, None::<u32>, "waiting").await;
                std::future::pending::<String>().await
            }
        }
    });
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0")).unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let server = Server::new("stateless", "1").tools([wait]).build().unwrap();
    runtime.spawn(async move { server.http().serve(listener).await });
    let revision = ProtocolVersion::LATEST.to_string();
    let rounds = interrupt(|_| ["--protocol", &revision, &url, "wait"].map(str::to_owned).to_vec());
    for _ in 0..rounds {
        ended.recv().unwrap();
    }
}
