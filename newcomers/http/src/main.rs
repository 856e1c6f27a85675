//! The calculator at `http://127.0.0.1:PORT/mcp`.

use toolway::prelude::*;

/// Add two numbers.
#[tool]
async fn add(a: f64, b: f64) -> f64 {
    a + b
}

#[tokio::main]
async fn main() -> toolway::Result<()> {
    let port = std::env::args().nth(1).unwrap_or("8000".to_owned());
    Server::new("calculator", "1.0.0").tools(tools![add]).serve_http(format!("127.0.0.1:{port}")).await
}
