//! Do four real servers work as one, also while one of them is killed?
//!
//! The servers are `server-everything`, `server-filesystem`, and one each on the Python SDK and on `fastmcp`. Half of
//! the calls to the killed server are safe to retry, and half are not.

use std::fs;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::task::JoinSet;
use tokio::time::sleep;
use toolway::Hub;
use toolway::agent::{FailureKind, ToolCall, ToolOutput};

use crate::check::{Checked, Report, holds, same};
use crate::schemas;
use crate::server::{Server, gone};
use crate::talk::patient;

pub(crate) async fn play(mut servers: [Server; 4], report: &mut Report) {
    let hub = Hub::builder().client(patient()).build();
    let hub = match hub {
        Ok(hub) => hub,
        Err(error) => return report.tell("hub", "is made", Err(error.into())),
    };
    report
        .check("hub", "four servers are one list", async {
            for (name, server) in NAMES.iter().zip(&servers) {
                hub.connect(name, server.target()?).await?;
            }
            let tools = hub.tools();
            for name in ["everything__echo", "files__read_text_file", "python__echo", "fastmcp__echo"] {
                holds(tools.get(name).is_some(), format!("there is no {name}"))?;
            }
            for number in 0..EACH {
                fs::write(servers[FILES].folder().join(format!("{number}.txt")), format!("file {number}"))?;
            }
            Ok(())
        })
        .await;
    let folder = servers[FILES].folder().to_owned();
    report
        .check_told("hub", "a thousand calls at once", async {
            let right = Calls::begin(&hub, &folder).all().await?.right;
            same(&right, &[EACH; 4])?;
            Ok(format!("{} right answers", right.iter().sum::<usize>()))
        })
        .await;
    for (killed, what) in [
        (3, "a thousand calls at once while a server on stdio is killed"),
        (2, "a thousand calls at once while a server on HTTP is killed and started again"),
    ] {
        report.check_told("hub", what, kill_meanwhile(&hub, &folder, killed, &mut servers[killed])).await;
        report
            .check("hub", &format!("{} is back by itself", NAMES[killed]), async {
                let mut changes = hub.watch();
                while !hub.status()[killed].is_ready() {
                    changes.next().await.ok_or("the hub is gone")?;
                }
                let echo = format!("{}__echo", NAMES[killed]);
                same(&hub.call(&echo, json!({"text": "back"})).await?.text()?, "back")
            })
            .await;
    }
    schemas::play(Ok(hub.tools()), report);
    report
        .check("hub", "in the end no process is left", async {
            let children = servers.iter().filter(|server| server.is_child());
            let processes: Vec<u32> = children.flat_map(Server::processes).collect();
            hub.close_all().await;
            for process in processes {
                gone(process).await?;
            }
            Ok(())
        })
        .await;
}

/// Kills a server after some of the calls are answered and a call that never ends has begun. The other servers must not
/// lose any call. Each call to the killed server must return the right answer or report that the server is unavailable.
async fn kill_meanwhile(hub: &Hub, folder: &Path, killed: usize, server: &mut Server) -> Checked<String> {
    let endless = tokio::spawn({
        let call = ToolCall::new("endless", format!("{}__wait", NAMES[killed]), json!({}));
        let tools = hub.tools();
        async move { tools.call(call).await.result }
    });
    let waits = format!("{}__waits", NAMES[killed]);
    while hub.call(&waits, json!({})).await?.decode::<Value>()?["begun"] == 0 {
        sleep(Duration::from_millis(20)).await;
    }
    let mut calls = Calls::begin(hub, folder);
    calls.some(BEFORE).await?;
    server.restart().await?;
    let broken_off = endless.await.map_err(|error| error.to_string())?;
    same(&broken_off.err().map(|failure| failure.kind()), &Some(FailureKind::Unavailable))?;
    let Answered { right, unavailable } = calls.all().await?;
    for other in (0..NAMES.len()).filter(|other| *other != killed) {
        same(&(NAMES[other], right[other]), &(NAMES[other], EACH))?;
    }
    same(&(right[killed] + unavailable[killed]), &EACH)?;
    Ok(format!(
        "of its own {} right and {} unavailable, all others right",
        right[killed], unavailable[killed]
    ))
}

/// Concurrent calls to all four servers, each with a unique value.
struct Calls {
    /// The server that was called, and whether it was available; an error if the answer was wrong.
    running: JoinSet<Result<(usize, bool), String>>,
    answered: Answered,
}

/// Counts of outcomes for each server.
#[derive(Clone, Copy, Default)]
struct Answered {
    right: [usize; NAMES.len()],
    unavailable: [usize; NAMES.len()],
}

impl Calls {
    fn begin(hub: &Hub, folder: &Path) -> Self {
        let mut running = JoinSet::new();
        for number in 0..EACH {
            for (server, name) in NAMES.into_iter().enumerate() {
                let (tool, arguments, wanted) = call(name, number, folder);
                let call = ToolCall::new(format!("{name}-{number}"), format!("{name}__{tool}"), arguments);
                let tools = hub.tools();
                running.spawn(async move {
                    match tools.call(call).await.result {
                        Ok(output) => is(&output, &wanted).map(|()| (server, true)),
                        Err(failure) if failure.kind() == FailureKind::Unavailable => Ok((server, false)),
                        Err(failure) => Err(format!("{wanted:?}: {failure:?}")),
                    }
                });
            }
        }
        Self { running, answered: Answered::default() }
    }

    /// Waits for `count` answers, or for all that remain.
    async fn some(&mut self, count: usize) -> Checked {
        for _ in 0..count {
            let Some(outcome) = self.running.join_next().await else { break };
            let (server, was_there) = outcome.map_err(|error| error.to_string())??;
            let counted = if was_there { &mut self.answered.right } else { &mut self.answered.unavailable };
            counted[server] += 1;
        }
        Ok(())
    }

    async fn all(mut self) -> Checked<Answered> {
        self.some(usize::MAX).await?;
        Ok(self.answered)
    }
}

fn is(output: &ToolOutput, wanted: &str) -> Result<(), String> {
    let text = output.text();
    if text == wanted { Ok(()) } else { Err(format!("{text:?} came instead of {wanted:?}")) }
}

/// Returns a tool of the server, arguments unique to this call, and the expected answer.
fn call(server: &str, number: usize, folder: &Path) -> (&'static str, Value, String) {
    match server {
        "everything" => ("echo", json!({"message": format!("e {number}")}), format!("Echo: e {number}")),
        "files" => {
            let path = folder.join(format!("{number}.txt"));
            ("read_text_file", json!({"path": path}), format!("file {number}"))
        }
        // Only the first tool is declared safe to call twice.
        _ if number.is_multiple_of(2) => {
            let text = format!("{server} {number}");
            ("echo", json!({"text": text}), text)
        }
        _ => {
            let arguments = json!({"region": server, "text": number.to_string()});
            ("region", arguments, format!("{server}: {number}"))
        }
    }
}

/// The four servers, in the order of the command line.
const NAMES: [&str; 4] = ["everything", "files", "python", "fastmcp"];
/// The index of `files` in [`NAMES`].
const FILES: usize = 1;
/// The number of calls to each server.
const EACH: usize = 250;
/// The number of answers to wait for before a server is killed.
const BEFORE: usize = 50;
