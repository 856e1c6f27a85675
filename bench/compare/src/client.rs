//! Compares clients against the same server: the one of this checkout, which both clients understand in every mode.

use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::http::{self, Target};
use crate::server::{Peer, expand, pin, pinning};

pub struct Client {
    pub name: &'static str,
    program: &'static str,
    environment: &'static [(&'static str, &'static str)],
    /// `true` if its stdio transport differs from the others and is measured too.
    stdio: bool,
}

pub const CLIENTS: [Client; 3] = [
    Client {
        name: "toolway",
        program: "$BENCH_TARGET/release/client-toolway",
        environment: &[],
        stdio: true,
    },
    Client {
        name: "rmcp",
        program: "$BENCH_TARGET/release/client-rmcp",
        environment: &[],
        stdio: true,
    },
    Client {
        name: "rmcp, pooled",
        program: "$BENCH_TARGET/release/client-rmcp",
        environment: &[("RMCP_POOL", "1")],
        stdio: false,
    },
];

/// The peer that serves all clients.
pub const SERVER: &str = "toolway";

const STDIO_IN_FLIGHT: usize = 64;
const HTTP_IN_FLIGHT: usize = 32;

/// Measures sequential calls, then calls with many in flight, each with a new client.
fn both(
    client: &Client,
    wire: &str,
    revision: &str,
    in_flight: usize,
    seconds: f64,
    target: &[String],
) -> Result<Value> {
    let alone = run(client, wire, revision, 1, seconds, target)?;
    let mut row = run(client, wire, revision, in_flight, seconds, target)?;
    row["seq_rps"] = alone["rps"].clone();
    row["seq_cpu_us"] = alone["cpu_us"].clone();
    Ok(row)
}

fn run(
    client: &Client,
    wire: &str,
    revision: &str,
    in_flight: usize,
    seconds: f64,
    target: &[String],
) -> Result<Value> {
    let mut command = Command::new(expand(client.program)?);
    command
        .args([wire, revision, &in_flight.to_string(), &seconds.to_string()])
        .args(target)
        .envs(client.environment.iter().copied())
        .stdin(Stdio::null());
    if pinning() {
        unsafe {
            command.pre_exec(|| {
                pin(1);
                Ok(())
            })
        };
    }
    let output = command
        .output()
        .with_context(|| format!("cannot start {}", client.program))?;
    ensure!(
        output.status.success(),
        "{}: {}",
        output.status,
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(serde_json::from_slice(&output.stdout)?)
}

/// Measures a client over stdio. Each client starts its own server, pinned to the servers' core.
pub fn stdio(client: &Client, peer: &Peer, seconds: f64) -> Option<Result<Value>> {
    client.stdio.then(|| {
        let mut target: Vec<String> = Vec::new();
        if pinning() {
            target.extend(["taskset", "-c", "0"].map(String::from));
        }
        for word in &peer.cmd {
            target.push(expand(word)?);
        }
        target.push("--stdio".into());
        both(
            client,
            "stdio",
            "2025-11-25",
            STDIO_IN_FLIGHT,
            seconds,
            &target,
        )
    })
}

/// Measures all clients over HTTP, with one server for all clients of a mode.
pub async fn http(target: &Target<'_>, seconds: f64) -> Result<Vec<(&'static str, Result<Value>)>> {
    let _server = http::start(target, &[]).await?;
    let revision = target.mode.revision.as_str();
    let url = [format!(
        "http://127.0.0.1:{}{}",
        target.port, target.peer.path
    )];
    let rows = CLIENTS.iter().map(|client| {
        let row = both(client, "http", revision, HTTP_IN_FLIGHT, seconds, &url);
        (client.name, row)
    });
    Ok(rows.collect())
}
