//! Measures the cost of a client, with the same loop for all clients.
//!
//!   CLIENT stdio|http REVISION IN_FLIGHT SECONDS TARGET...
//!
//! TARGET is the server's command line or its URL. Calls `echo` for SECONDS, after a fifth of that to warm up, with
//! IN_FLIGHT callers on one client; checks every answer; prints one JSON object. CPU time is that of this process
//! alone.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

pub struct Task {
    pub wire: String,
    pub revision: String,
    in_flight: usize,
    seconds: f64,
    pub target: Vec<String>,
}

impl Task {
    pub fn of_arguments() -> Result<Self> {
        let mut arguments = std::env::args().skip(1);
        let mut next = || arguments.next().context("stdio|http REVISION IN_FLIGHT SECONDS TARGET...");
        let (wire, revision, in_flight, seconds) = (next()?, next()?, next()?.parse()?, next()?.parse()?);
        let target: Vec<_> = arguments.collect();
        ensure!(!target.is_empty(), "no target");
        Ok(Self { wire, revision, in_flight, seconds, target })
    }
}

/// A connected client.
pub trait Echo: Send + Sync + 'static {
    fn echo(&self, text: String) -> impl Future<Output = Result<String>> + Send;
}

pub async fn run(client: impl Echo, task: &Task) -> Result<()> {
    let client = Arc::new(client);
    let calls = Arc::new(AtomicU64::new(0));
    let warm_until = Instant::now() + Duration::from_secs_f64(task.seconds / 5.0);
    let until = warm_until + Duration::from_secs_f64(task.seconds);
    let mut callers = Vec::new();
    for caller in 0..task.in_flight {
        let (client, calls) = (client.clone(), calls.clone());
        callers.push(tokio::spawn(async move {
            let mut number = 0_u64;
            while Instant::now() < until {
                let text = format!("hello {caller}-{number}");
                let answer = client.echo(text.clone()).await?;
                ensure!(answer == text, "wrong echo {answer:?} for {text:?}");
                number += 1;
                calls.fetch_add(1, Ordering::Relaxed);
            }
            Ok(())
        }));
    }
    tokio::time::sleep_until(warm_until.into()).await;
    let (began, before, first) = (Instant::now(), cpu_us()?, calls.load(Ordering::Relaxed));
    tokio::time::sleep_until(until.into()).await;
    let (took, after, last) = (began.elapsed(), cpu_us()?, calls.load(Ordering::Relaxed));
    for caller in callers {
        caller.await??;
    }
    let made = (last - first) as f64;
    ensure!(made > 0.0, "too slow");
    println!(
        "{{\"rps\": {}, \"cpu_us\": {}, \"peak_mib\": {}}}",
        made / took.as_secs_f64(),
        (after - before) / made,
        peak_mib()?
    );
    Ok(())
}

/// Returns the CPU time of all threads of this process, in microseconds.
fn cpu_us() -> Result<f64> {
    let mut nanos = 0.0;
    for task in std::fs::read_dir("/proc/self/task")? {
        let schedstat = std::fs::read_to_string(task?.path().join("schedstat")).unwrap_or_default();
        nanos += schedstat.split(' ').next().and_then(|n| n.parse::<f64>().ok()).unwrap_or(0.0);
    }
    Ok(nanos / 1000.0)
}

fn peak_mib() -> Result<f64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find(|line| line.starts_with("VmHWM")).context("VmHWM")?;
    Ok(line.split_whitespace().nth(1).context("VmHWM")?.parse::<f64>()? / 1024.0)
}
