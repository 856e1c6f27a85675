//! A calculator on stdin and stdout.

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
    Server::new("calculator", "1.0.0").tools(tools![add]).serve_stdio().await
}
