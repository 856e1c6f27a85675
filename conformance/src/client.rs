//! What the client does in each scenario of the suite.

use serde::Deserialize;
use serde_json::json;
use toolway::client::Answer;
use toolway::prelude::*;
use toolway::{Chain, ProtocolVersion, RawJson};

use crate::auth;

/// Plays a scenario against the server at `url`.
///
/// # Errors
///
/// Returns the error of the client, or an error if this client does not know the scenario.
pub async fn play(
    scenario: &str,
    version: ProtocolVersion,
    url: &str,
    context: Option<&str>,
) -> Result<(), String> {
    if scenario.starts_with("auth/") {
        return auth::play(scenario, version, url, context).await;
    }
    match scenario {
        "initialize" | "request-metadata" | "json-schema-ref-no-deref" => list(version, url).await,
        "tools_call" => add_numbers(version, url).await,
        "sse-retry" => reconnect(version, url).await,
        "elicitation-sep1034-client-defaults" => accept_defaults(version, url).await,
        "sep-2322-client-request-state" => answer_rounds(version, url).await,
        "http-standard-headers" => name_everything(version, url).await,
        "json-schema-2020-12-preservation" => echo_schema(version, url).await,
        "http-custom-headers" => call_as_told(version, url, &Context::read(context)?).await,
        "http-invalid-tool-headers" => call_what_is_left(version, url).await,
        _ => return Err(format!("this client does not know the scenario {scenario:?} yet")),
    }
    .map_err(|error| format!("{scenario}: {}", Chain(&error)))
}

async fn connect(version: ProtocolVersion, url: &str) -> toolway::Result<Client> {
    Client::builder()
        .info("toolway-conformance", env!("CARGO_PKG_VERSION"))
        .on_elicit(|question| async move {
            let confirms = |(name, _): &(String, _)| name == "confirmed";
            if question.form().is_some_and(|form| form.properties.0.iter().any(confirms)) {
                Answer::accept(json!({"confirmed": true}))
            } else {
                Answer::defaults()
            }
        })
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

/// Calls a tool whose connection is closed before its answer arrives.
async fn reconnect(version: ProtocolVersion, url: &str) -> toolway::Result<()> {
    let client = connect(version, url).await?;
    client.tools().await?;
    client.call("test_reconnection", json!({})).await?;
    client.close().await
}

/// Returns an elicitation form with its default values.
async fn accept_defaults(version: ProtocolVersion, url: &str) -> toolway::Result<()> {
    let client = connect(version, url).await?;
    client.tools().await?;
    client.call("test_client_elicitation_defaults", json!({})).await?;
    client.close().await
}

/// Calls tools, some of which ask questions before they answer.
async fn answer_rounds(version: ProtocolVersion, url: &str) -> toolway::Result<()> {
    let client = connect(version, url).await?;
    client.tools().await?;
    for tool in
        ["test_mrtr_echo_state", "test_mrtr_no_state", "test_mrtr_unrelated", "test_mrtr_no_result_type"]
    {
        client.call(tool, json!({})).await?;
    }
    Ok(())
}

/// Calls every tool, prompt and resource, each of which is named in a header.
async fn name_everything(version: ProtocolVersion, url: &str) -> toolway::Result<()> {
    let client = connect(version, url).await?;
    for tool in client.tools().await? {
        client.call(&tool.name, json!({})).await?;
    }
    for resource in client.resources().await? {
        client.read_resource(&resource.uri).await?;
    }
    for prompt in client.prompts().await? {
        client.get_prompt(&prompt.name, ()).await?;
    }
    Ok(())
}

/// The calls that the suite asks for.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Context {
    tool_calls: Vec<ToCall>,
}

#[derive(Deserialize)]
struct ToCall {
    name: String,
    arguments: RawJson,
}

impl Context {
    fn read(text: Option<&str>) -> Result<Self, String> {
        let text = text.ok_or("the scenario needs MCP_CONFORMANCE_CONTEXT")?;
        serde_json::from_str(text).map_err(|error| format!("MCP_CONFORMANCE_CONTEXT: {error}"))
    }
}

/// Makes the calls that the suite asks for. Some of their arguments travel in headers.
async fn call_as_told(version: ProtocolVersion, url: &str, context: &Context) -> toolway::Result<()> {
    let client = connect(version, url).await?;
    client.tools().await?;
    for ToCall { name, arguments } in &context.tool_calls {
        client.call(name, arguments.clone()).await?;
    }
    Ok(())
}

/// Calls every tool that the client kept in the list.
async fn call_what_is_left(version: ProtocolVersion, url: &str) -> toolway::Result<()> {
    let client = connect(version, url).await?;
    for tool in client.tools().await? {
        client.call(&tool.name, json!({"region": "us-west1"})).await?;
    }
    Ok(())
}

/// Sends a schema back exactly as received.
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
