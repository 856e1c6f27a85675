//! This checkout's client. See `measure.rs` for its arguments.

#[path = "../../measure.rs"]
mod measure;

use anyhow::{Result, bail};
use measure::{Echo, Task};
use serde_json::json;
use toolway::ProtocolVersion;
use toolway::client::{Client, Command, Http};

struct Ours(Client);

impl Echo for Ours {
    async fn echo(&self, text: String) -> Result<String> {
        Ok(self.0.call("echo", json!({"text": text})).await?.text()?)
    }
}

#[tokio::main]
async fn main() -> Result<()> {
    let task = Task::of_arguments()?;
    let version = match task.revision.as_str() {
        "2026-07-28" => ProtocolVersion::LATEST,
        "2025-11-25" => ProtocolVersion::LATEST_HANDSHAKE,
        other => bail!("no such revision here: {other}"),
    };
    let builder = Client::builder().protocol(version);
    let client = match task.wire.as_str() {
        "stdio" => builder.connect(Command::new(&task.target[0]).args(&task.target[1..])).await?,
        "http" => builder.connect_http(Http::new(&task.target[0])).await?,
        other => bail!("no such wire: {other}"),
    };
    measure::run(Ours(client.clone()), &task).await?;
    client.close().await?;
    Ok(())
}
