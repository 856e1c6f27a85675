//! Plays the scenario that the suite names in its environment variables.

use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;

/// Play a scenario of the official conformance suite.
#[derive(Parser)]
struct Arguments {
    /// Which scenario.
    #[arg(long, env = "MCP_CONFORMANCE_SCENARIO")]
    scenario: String,
    /// Which protocol revision.
    #[arg(long, env = "MCP_CONFORMANCE_PROTOCOL_VERSION")]
    protocol_version: toolway::ProtocolVersion,
    /// What the scenario wants to be done, as JSON.
    #[arg(long, env = "MCP_CONFORMANCE_CONTEXT")]
    context: Option<String>,
    /// The URL of the suite's server.
    url: String,
}

/// Shorter than the suite's timeout, so that a hang is reported as an error of this client.
const LIMIT: Duration = Duration::from_secs(15);

#[tokio::main]
async fn main() -> ExitCode {
    let Arguments { scenario, protocol_version, context, url } = Arguments::parse();
    let play = conformance::client::play(&scenario, protocol_version, &url, context.as_deref());
    match tokio::time::timeout(LIMIT, play).await {
        Ok(Ok(())) => ExitCode::SUCCESS,
        Ok(Err(reason)) => fail(&reason),
        Err(_) => fail(&format!("{scenario}: not done after {} s", LIMIT.as_secs())),
    }
}

fn fail(reason: &str) -> ExitCode {
    eprintln!("conformance-client: {reason}");
    ExitCode::FAILURE
}
