//! A server to put under load: `--stdio`, or `--http PORT`, and `--tools N`.

use clap::Parser;

/// Serve the benchmark's tools.
#[derive(Parser)]
struct Arguments {
    /// Serve stdin and stdout.
    #[arg(long, conflicts_with = "http")]
    stdio: bool,
    /// Serve `http://127.0.0.1:PORT/mcp`.
    #[arg(long, value_name = "PORT", required_unless_present = "stdio")]
    http: Option<u16>,
    /// How many tools to list.
    #[arg(long, default_value_t = 3)]
    tools: usize,
}

#[tokio::main]
async fn main() -> toolway::Result<()> {
    let Arguments { http, tools, .. } = Arguments::parse();
    let server = bench::server(tools)?;
    match http {
        Some(port) => server.serve_http(("127.0.0.1", port)).await,
        None => server.serve_stdio().await,
    }
}
