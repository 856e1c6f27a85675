//! A server for load tests: `--stdio`, or `--http PORT`, and `--tools N`; with `--store URL` one of several.

use clap::Parser;
use toolway::server::http::shutdown_signal;

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
    /// Share sessions on a Redis, for example `redis://127.0.0.1`.
    #[arg(long, value_name = "URL", requires = "http")]
    store: Option<String>,
}

#[tokio::main]
async fn main() -> toolway::Result<()> {
    let Arguments { http, tools, store, .. } = Arguments::parse();
    let mut server = bench::server(tools);
    if let Some(url) = store {
        let store = toolway_redis::Redis::connect(&url).await.expect("a Redis");
        server = server.store(store);
    }
    let server = server.build()?;
    match http {
        Some(port) => {
            let listener = tokio::net::TcpListener::bind(("127.0.0.1", port)).await.expect("a free port");
            // The whole load comes from one address, so the limit per address equals the total.
            server.http().max_sessions(10_000, 10_000).serve_until(listener, shutdown_signal()).await
        }
        None => server.serve_stdio().await,
    }
}
