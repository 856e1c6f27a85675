//! Calls the calculator at the URL that is its argument.

use serde_json::json;
use toolway::prelude::*;

#[tokio::main]
async fn main() -> toolway::Result<()> {
    let url = std::env::args().nth(1).unwrap_or("http://127.0.0.1:8000/mcp".to_owned());
    let client = Client::connect(url).await?;
    for tool in client.tools().await? {
        println!("{}: {}", tool.name, tool.description());
    }
    let sum = client.call("add", json!({"a": 2, "b": 3})).await?;
    println!("2 + 3 = {}", sum.text()?);
    Ok(())
}
