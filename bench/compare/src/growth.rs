//! What one server costs when it has more: tools, open sessions, bytes in a call. The cost of a call should not depend on
//! the tools and the sessions, and everything else grow in proportion.

use anyhow::Result;
use serde_json::{Value, json};

use crate::http::{self, Client, Load, Target};
use crate::proto::Revision;

/// What the server has, and how much of it.
#[derive(Clone, Copy)]
pub enum Point {
    /// Calls, and lists of all tools, with this many tools.
    Tools(usize),
    /// Calls that take turns among this many open sessions.
    Sessions(usize),
    /// Calls whose text, and that of the answer, has this many KiB.
    Body(usize),
}

impl Point {
    pub fn name(self) -> &'static str {
        match self {
            Point::Tools(_) => "tools",
            Point::Sessions(_) => "sessions",
            Point::Body(_) => "body",
        }
    }

    pub fn size(self) -> usize {
        match self {
            Point::Tools(size) | Point::Sessions(size) | Point::Body(size) => size,
        }
    }
}

/// Returns the points that a way of serving has: sessions where there are any, the others in the newest revision.
pub fn points(target: &Target<'_>, quick: bool) -> Vec<Point> {
    let sessions = [10, 1000, 10_000].map(Point::Sessions);
    let tools = [1, 100, 1000].map(Point::Tools);
    let bodies = [1, 4, 16, 64, 256].map(Point::Body);
    match (target.mode.name.as_str(), target.mode.revision) {
        ("2025 session", _) => sessions[..if quick { 2 } else { 3 }].to_vec(),
        (_, Revision::V2026) => [&tools[..], &bodies[..]].concat(),
        _ => Vec::new(),
    }
}

/// Measures one point with a server of its own.
pub async fn measure(target: &Target<'_>, point: Point, seconds: f64) -> Result<Value> {
    match point {
        Point::Tools(tools) => {
            let server = http::start(target, &["--tools", &tools.to_string()]).await?;
            http::warm(target, Load::Echo, WARM_CALLS).await?;
            let mut row = http::load(target, &server, Load::Echo, 8, seconds).await?;
            let base = server.memory_kib("VmRSS")?;
            let list = http::load(target, &server, Load::List { tools }, 4, seconds).await?;
            row["list_cpu_us"] = list["cpu_us"].clone();
            row["memory_mib"] = json!(base / 1024.0);
            Ok(row)
        }
        Point::Sessions(count) => {
            let server = http::start(target, &[]).await?;
            http::warm(target, Load::Echo, WARM_CALLS).await?;
            let mut clients = Vec::new();
            let connections = CONNECTIONS.min(count);
            for n in 0..connections {
                clients.push(Client::open(target, n as u64 * 10_000_000).await?);
            }
            let before = server.memory_kib("VmRSS")?;
            for (n, client) in clients.iter_mut().enumerate() {
                let share = count / connections + usize::from(n < count % connections);
                client.open_sessions(share).await?;
            }
            let after = server.memory_kib("VmRSS")?;
            let mut row = http::load_with(clients, &server, Load::Echo, seconds).await?;
            row["kib_per_session"] = json!((after - before) / count as f64);
            row["memory_mib"] = json!(after / 1024.0);
            Ok(row)
        }
        Point::Body(kib) => {
            let server = http::start(target, &[]).await?;
            http::warm(target, Load::Echo, WARM_CALLS).await?;
            let load = Load::Large { bytes: kib << 10 };
            let mut row = http::load(target, &server, load, 2, seconds).await?;
            row["memory_mib"] = row["peak_mib"].clone();
            Ok(row)
        }
    }
}

const CONNECTIONS: usize = 32;
/// Enough for the allocator to reach its usual size.
const WARM_CALLS: usize = 1000;
