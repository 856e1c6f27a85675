//! What does a client receive while a call runs, and what happens on cancellation?

use std::time::Duration;

use serde::Deserialize;
use serde_json::json;
use tokio::time::sleep;
use toolway::types::LogLevel;

use super::{Sdk, holds, same};
use crate::check::{Checked, Report};
use crate::talk::Talk;

#[derive(Debug, Clone, Copy, Deserialize, PartialEq)]
pub(crate) struct Waits {
    pub(crate) begun: u32,
    cancelled: u32,
}

pub(super) async fn play(sdk: Sdk, talk: &Talk, report: &mut Report) {
    let client = &talk.client;
    let messages = talk.since("2025-03-26", "messages").is_ok();
    report
        .check("progress", "each step is told, in order", async {
            sdk.speaks_during_calls()?;
            let mut running = client.call("count", json!({"to": 5})).start();
            let mut steps = Vec::new();
            while let Some(progress) = running.progress().await {
                steps.push((progress.progress.as_f64(), progress.total.and_then(|total| total.as_f64())));
                if messages {
                    same(&progress.message, &Some(format!("step {}", steps.len())))?;
                }
            }
            same(&steps, &[1.0, 2.0, 3.0, 4.0, 5.0].map(|step| (Some(step), Some(5.0))))?;
            same(&running.await?.text()?, "counted to 5")
        })
        .await;
    report
        .check("cancel", "the server hears that a call is given up", async {
            sdk.remembers_its_client()?;
            let before = waits(talk).await?;
            let waiting = tokio::spawn(client.call("wait", json!({})));
            until(talk, |now| now.begun > before.begun).await?;
            waiting.abort();
            until(talk, |now| now.cancelled > before.cancelled).await
        })
        .await;
    report
        .check("cancel", "a call that takes too long is an error, and is given up", async {
            sdk.remembers_its_client()?;
            let before = waits(talk).await?;
            let error = client.call("wait", json!({})).timeout(Duration::from_millis(300)).await.err();
            holds(error.is_some_and(|error| error.is_timeout()), "it did not take too long")?;
            until(talk, |now| now.cancelled > before.cancelled).await
        })
        .await;
    report
        .check("log", "what is logged comes, with its level and logger", async {
            sdk.speaks_during_calls()?;
            client.set_log_level(LogLevel::Warning).await?;
            talk.text("log", json!({"level": "error", "text": "it burns"})).await?;
            let message = talk.logged(|message| message.data.as_str().contains("it burns")).await?;
            same(&message.level, &LogLevel::Error)
        })
        .await;
    report
        .check("log", "what matters less does not come", async {
            sdk.speaks_during_calls()?;
            talk.text("log", json!({"level": "info", "text": "all is well"})).await?;
            talk.text("log", json!({"level": "warning", "text": "it smokes"})).await?;
            let message = talk.logged(|_| true).await?;
            holds(message.data.as_str().contains("it smokes"), format!("{:?}", message.data))
        })
        .await;
}

/// Returns the counters of the calls of `wait`.
pub(crate) async fn waits(talk: &Talk) -> Checked<Waits> {
    Ok(serde_json::from_str(&talk.text("waits", json!({})).await?)?)
}

/// Polls until the condition holds; the time limit of the check ends the loop.
pub(crate) async fn until(talk: &Talk, so: impl Fn(Waits) -> bool) -> Checked {
    while !so(waits(talk).await?) {
        sleep(Duration::from_millis(20)).await;
    }
    Ok(())
}
