//! Starts the servers of the file that is its argument, and calls one of them.

use serde_json::json;
use toolway::prelude::*;

#[tokio::main]
async fn main() -> toolway::Result<()> {
    let file = std::env::args().nth(1).unwrap_or("mcp.json".to_owned());
    let hub = Hub::from_file(file).await?;
    for server in hub.status() {
        println!("{server}");
    }
    let sum = hub.call("calc__add", json!({"a": 2, "b": 3})).await?;
    println!("2 + 3 = {}", sum.text()?);
    Ok(())
}
