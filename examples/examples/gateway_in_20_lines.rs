//! A gateway: the servers of an `mcp.json` as one server, on stdin and stdout or over HTTP. `cargo run -p
//! toolway-examples --example gateway_in_20_lines -- mcp.json 127.0.0.1:8000`; without a file it joins two servers of
//! its own, and without an address it serves stdin and stdout.

use toolway::prelude::*;

#[tokio::main]
async fn main() -> toolway::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let hub = match arguments.next() {
        Some(file) => Hub::from_file(file).await?,
        None => own_servers().await?,
    };
    for server in hub.status() {
        eprintln!("{server}");
    }
    let gateway = Server::new("gateway", "1.0.0").mount(hub);
    match arguments.next() {
        Some(address) => gateway.serve_http(&*address).await,
        None => gateway.serve_stdio().await,
    }
}

/// Connects the servers that are used when no file is given.
async fn own_servers() -> toolway::Result<Hub> {
    let hub = Hub::new();
    hub.connect("calc", &Server::new("calculator", "1.0.0").tools(tools![add]).build()?).await?;
    hub.connect("text", &Server::new("text", "1.0.0").tools(tools![shout]).build()?).await?;
    Ok(hub)
}

/// Add two numbers.
#[tool]
fn add(a: f64, b: f64) -> f64 {
    a + b
}

/// Say it louder.
#[tool]
fn shout(text: &str) -> String {
    text.to_uppercase()
}
