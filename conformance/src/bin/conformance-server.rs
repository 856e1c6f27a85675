//! Serves the suite's fixtures at `http://127.0.0.1:PORT/mcp`.

use clap::Parser;

/// Serve the fixtures of the official conformance suite.
#[derive(Parser)]
struct Arguments {
    /// The port on 127.0.0.1.
    #[arg(long)]
    port: u16,
}

#[tokio::main]
async fn main() -> toolway::Result<()> {
    let Arguments { port } = Arguments::parse();
    eprintln!("conformance-server: http://127.0.0.1:{port}/mcp");
    conformance::server::server()?.serve_http(("127.0.0.1", port)).await
}
