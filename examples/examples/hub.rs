//! Many servers as one: a configuration with a child process, a server in this process, and what happens when the child
//! dies during a call. `cargo run -p toolway-examples --example hub`.
//!
//! With a file of your own, `cargo run -p toolway-examples --example hub -- mcp.json`, it prints the status of the
//! servers in it and what they offer.

use serde_json::{Value, json};
use toolway::agent::ToolCall;
use toolway::hub::Config;
use toolway::prelude::*;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    match std::env::args().nth(1).as_deref() {
        Some("--child") => {
            Server::new("dice", "1.0.0").tools(tools![roll, crash]).serve_stdio().await?;
        }
        Some(file) => show(&Hub::from_file(file).await?),
        None => play().await?,
    }
    Ok(())
}

/// Roll dice that always show the same.
#[tool]
fn roll(number: u32) -> String {
    format!("{number} × 4 = {}", number * 4)
}

/// End the server in the middle of a call.
#[tool]
fn crash() -> String {
    std::process::exit(1)
}

/// Add numbers.
#[tool]
fn add(numbers: Vec<f64>) -> f64 {
    numbers.iter().sum()
}

#[expect(clippy::print_stdout, reason = "the example prints its results")]
fn show(hub: &Hub) {
    for server in hub.status() {
        println!("{server}");
    }
    for tool in hub.tools().iter() {
        println!("  {}: {}", tool.name(), tool.description());
    }
}

#[expect(clippy::print_stdout, reason = "the example prints its results")]
async fn play() -> Result<(), Box<dyn std::error::Error>> {
    // The content of an `mcp.json` of Claude, Cursor or VS Code. This program is its own child.
    let file = json!({"mcpServers": {
        "dice": {"command": std::env::current_exe()?, "args": ["--child"]},
    }});
    let hub = Hub::from_config(Config::parse(&file.to_string())?).await?;
    let calculator = Server::new("calculator", "1.0.0").tools(tools![add]).build()?;
    hub.connect("calc", &calculator).await?;
    show(&hub);
    println!("once: {}", hub.call("dice__roll", json!({"number": 3})).await?.text()?);

    // A model that was given `hub.tools()` asks for all of these.
    let reply = json!({"role": "assistant", "tool_calls": [
        wanted("1", "dice__crash", &json!({})),
        wanted("2", "calc__add", &json!({"numbers": [2, 3]})),
        wanted("3", "calc__ad", &json!({"numbers": [2, 3]})),
    ]});
    for answer in hub.call_all(ToolCall::from_openai(&reply)).await {
        match answer.result {
            Ok(output) => println!("{}: {}", answer.id, output.text()),
            Err(failure) => println!("{}: {:?}: {failure}", answer.id, failure.kind()),
        }
    }

    // The hub restarts the child by itself.
    let mut changes = hub.watch();
    while !hub.status().iter().all(toolway::hub::ServerStatus::is_ready) {
        changes.next().await;
    }
    println!("again: {}", hub.call("dice__roll", json!({"number": 2})).await?.text()?);
    hub.close_all().await;
    Ok(())
}

/// Writes a call as OpenAI does.
fn wanted(id: &str, name: &str, arguments: &Value) -> Value {
    json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments.to_string()}})
}
