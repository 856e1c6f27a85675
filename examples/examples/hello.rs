//! The smallest server: one function, over stdio, or over HTTP with `--http ADDRESS`.

use toolway::prelude::*;

/// Add two numbers.
#[tool]
async fn add(
    /// First addend.
    a: f64,
    /// Second addend.
    b: f64,
) -> f64 {
    a + b
}

#[tokio::main]
async fn main() -> toolway::Result<()> {
    let server = Server::new("calculator", "1.0.0").tools(tools![add]);
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.as_slice() {
        [flag, address] if flag == "--http" => server.serve_http(address).await,
        _ => server.serve_stdio().await,
    }
}
