//! Does the client recover when the server is killed, and does no process remain at the end?

use serde_json::json;

use crate::check::{Report, holds, same};
use crate::sdk::running::{until, waits};
use crate::server::{Server, gone};
use crate::talk::Talk;

/// Kills a server during two calls, of which one is safe to retry.
pub(crate) async fn busy(talk: &Talk, server: &mut Server, report: &mut Report) {
    let client = &talk.client;
    let mut outcomes = None;
    let kill = async {
        let before = waits(talk).await?;
        let safe = tokio::spawn(client.call("hold", json!({"ms": 1000})));
        let unsafe_one = tokio::spawn(client.call("wait", json!({})));
        until(talk, |now| now.begun > before.begun).await?;
        gone(server.restart().await?).await?;
        let joined = |error: tokio::task::JoinError| error.to_string();
        outcomes = Some((safe.await.map_err(joined)?, unsafe_one.await.map_err(joined)?));
        Ok(())
    };
    report.check("restart", "a server is killed under two calls", kill).await;
    let (safe, unsafe_one) = match outcomes {
        Some((safe, unsafe_one)) => (Some(safe), Some(unsafe_one)),
        None => (None, None),
    };
    report
        .check("restart", "the call that does no harm is made again", async {
            same(&safe.ok_or("there is no outcome")??.text()?, "held")
        })
        .await;
    report
        .check("restart", "the other one is told to have broken off", async {
            let error = unsafe_one.ok_or("there is no outcome")?.err().ok_or("it was answered")?;
            holds(error.is_reply_lost() && !error.is_unsent(), format!("{error:?}"))
        })
        .await;
}

/// Kills an idle server.
pub(crate) async fn idle(talk: &Talk, server: &mut Server, report: &mut Report) {
    let processes = server.processes();
    report
        .check("restart", "a killed server is there again with the next call", async {
            let before = talk.client.tools().await?;
            let first = before.first().ok_or("there are no tools")?;
            gone(server.restart().await?).await?;
            let again = talk.client.list_tools().all().await?;
            // Tools that were added at run time are lost, so only the first tool is compared.
            holds(
                again.iter().any(|tool| tool.name == first.name),
                format!("there is no {} any more", first.name),
            )
        })
        .await;
    report
        .check("restart", "it is another process", async {
            holds(server.processes() != processes, format!("still {processes:?}"))
        })
        .await;
}

/// Runs the last check of every server.
pub(crate) async fn close(talk: Talk, server: &Server, report: &mut Report) {
    report
        .check("close", "the conversation ends, and no process is left", async {
            talk.client.close().await?;
            if server.is_child() {
                for process in server.processes() {
                    gone(process).await?;
                }
            }
            Ok(())
        })
        .await;
}
