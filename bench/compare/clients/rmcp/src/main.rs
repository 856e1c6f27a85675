//! rmcp's client. See `measure.rs` for its arguments. Over HTTP it opens a connection for each request, as rmcp does by
//! itself; `RMCP_POOL=1` gives it an HTTP client that keeps them.

#[path = "../../measure.rs"]
mod measure;

use anyhow::{Context, Result, bail};
use measure::{Echo, Task};
use rmcp::model::{CallToolRequestParams, ClientConfig, ProtocolVersion};
use rmcp::service::{ClientLifecycleMode, ClientServiceExt, RunningService};
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::transport::{StreamableHttpClientTransport, TokioChildProcess};
use rmcp::{RoleClient, ServiceExt};
use serde_json::json;

type Connected = RunningService<RoleClient, ClientConfig>;

struct Theirs(Connected);

impl Echo for Theirs {
    async fn echo(&self, text: String) -> Result<String> {
        let arguments = json!({"text": text}).as_object().cloned().context("an object")?;
        let result = self.0.call_tool(CallToolRequestParams::new("echo").with_arguments(arguments)).await?;
        let content = result.content.first().and_then(|content| content.as_text()).context("no text")?;
        Ok(content.text.clone())
    }
}

#[tokio::main]
async fn main() -> Result<()> {
    let task = Task::of_arguments()?;
    let mut info = ClientConfig::default();
    let lifecycle = match task.revision.as_str() {
        "2026-07-28" => {
            ClientLifecycleMode::Discover { preferred_versions: vec![ProtocolVersion::V_2026_07_28] }
        }
        "2025-11-25" => {
            info.protocol_version = ProtocolVersion::V_2025_11_25;
            ClientLifecycleMode::Initialize
        }
        other => bail!("no such revision here: {other}"),
    };
    let client: Connected = match task.wire.as_str() {
        "stdio" => {
            let mut command = tokio::process::Command::new(&task.target[0]);
            command.args(&task.target[1..]);
            info.serve(TokioChildProcess::new(command)?).await?
        }
        "http" => {
            let config = StreamableHttpClientTransportConfig::with_uri(task.target[0].as_str());
            let transport = if std::env::var("RMCP_POOL").as_deref() == Ok("1") {
                StreamableHttpClientTransport::with_client(reqwest::Client::new(), config)
            } else {
                StreamableHttpClientTransport::from_config(config)
            };
            info.serve_with_lifecycle(transport, lifecycle).await?
        }
        other => bail!("no such wire: {other}"),
    };
    measure::run(Theirs(client), &task).await
}
