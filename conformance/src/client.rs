//! What the client does in each scenario of the suite.

use serde_json::json;
use toolway::prelude::*;
use toolway::{Chain, RawJson};

/// Plays a scenario against the server at `url`.
///
/// # Errors
///
/// Whatever the client ran into, or that the scenario is not one this client knows.
pub async fn play(scenario: &str, version: ProtocolVersion, url: &str) -> Result<(), String> {
    match scenario {
        "initialize" | "request-metadata" | "json-schema-ref-no-deref" => list(version, url).await,
        "tools_call" => add_numbers(version, url).await,
        "json-schema-2020-12-preservation" => echo_schema(version, url).await,
        _ => return Err(format!("this client does not know the scenario {scenario:?} yet")),
    }
    .map_err(|error| format!("{scenario}: {}", Chain(&error)))
}

async fn connect(version: ProtocolVersion, url: &str) -> toolway::Result<Client> {
    Client::builder()
        .info("toolway-conformance", env!("CARGO_PKG_VERSION"))
        .protocol(version)
        .connect_http(url)
        .await
}

async fn list(version: ProtocolVersion, url: &str) -> toolway::Result<()> {
    connect(version, url).await?.tools().await.map(drop)
}

async fn add_numbers(version: ProtocolVersion, url: &str) -> toolway::Result<()> {
    let client = connect(version, url).await?;
    client.tools().await?;
    client.call("add_numbers", json!({"a": 5, "b": 3})).await.map(drop)
}

/// Sends a schema back exactly as it came.
async fn echo_schema(version: ProtocolVersion, url: &str) -> toolway::Result<()> {
    let client = connect(version, url).await?;
    for tool in client.tools().await? {
        if tool.name == "json_schema_2020_12_tool" {
            let arguments = format!(r#"{{"schema":{}}}"#, tool.input_schema.as_str());
            let arguments = RawJson::parse(&arguments).expect("a schema inside an object is JSON");
            client.call("json_schema_echo", arguments).await?;
        }
    }
    Ok(())
}
