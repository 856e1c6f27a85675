//! One server that is several processes: `cluster node NAME ADDRESS STORE` is one of them, and `cluster client URL` shows
//! that a session survives the death of a process. `examples/cluster/run.sh` starts all that is needed.

#![expect(clippy::print_stdout, reason = "the output of the client is its purpose")]

use std::time::Duration;

use serde_json::json;
use toolway::prelude::*;
use toolway::{ProtocolVersion, Result};

/// The name of this process.
struct Node(String);

/// The visits in a session. They are in the store, so every node sees the same number.
#[derive(Default, serde::Serialize, serde::Deserialize)]
struct Visits(u32);

/// Count the visits in this session.
#[tool]
async fn visit(node: State<Node>, ctx: Ctx) -> Result<String, ToolError> {
    let visits = ctx.memory_update(|visits: &mut Visits| {
        visits.0 += 1;
        visits.0
    });
    Ok(format!("visit {} at {}", visits.await?, node.0))
}

/// Work for a minute.
#[tool]
async fn work(node: State<Node>, ctx: Ctx) -> String {
    for second in 1..=60 {
        ctx.progress(second, 60, format!("works at {}", node.0)).await;
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    format!("done at {}", node.0)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        ["node", name, address, store] => serve(name, address, store).await,
        ["client", url] => Ok(visit_often(url).await?),
        _ => Err("cluster node NAME ADDRESS STORE, or cluster client URL".into()),
    }
}

/// Serves until Ctrl-C or SIGTERM.
async fn serve(name: &str, address: &str, store: &str) -> Result<(), Box<dyn std::error::Error>> {
    let store = toolway_redis::Redis::connect(store).await?;
    let server = Server::new("cluster", "1.0.0").state(Node(name.to_owned())).tools(tools![visit, work]);
    server.store(store).serve_http(address).await?;
    Ok(())
}

/// Uses one session before, during and after the death of a node.
async fn visit_often(url: &str) -> Result<()> {
    // A revision with sessions; the newest one has none, so its requests can go anywhere without a store.
    let client = Client::builder().protocol(ProtocolVersion::LATEST_HANDSHAKE).connect(url).await?;
    print_visits(&client).await?;

    let mut running = client.call("work", json!({})).start();
    if let Some(progress) = running.progress().await {
        // The script kills the node with this name.
        println!("a long call {}", progress.message.unwrap_or_default());
    }
    match running.await {
        Ok(result) => println!("the long call ended: {}", result.text()?),
        Err(error) => println!("the long call failed: {error}"),
    }

    print_visits(&client).await?;
    client.close().await
}

async fn print_visits(client: &Client) -> Result<()> {
    for _ in 0..6 {
        println!("{}", client.call("visit", json!({})).await?.text()?);
    }
    Ok(())
}
