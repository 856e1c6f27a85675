//! How is a server run, and what is a person told about it?

use std::future::poll_fn;
use std::io::{self, IsTerminal};
use std::net::SocketAddr;
use std::pin::pin;
use std::task::Poll;

use serde_json::json;
use tokio::net::TcpListener;
use toolway::Server;
use toolway::server::http::{HttpService, told_to_stop};

use crate::args::Serve;
use crate::demo;

pub(crate) async fn run(Serve { http, demo: _ }: Serve) -> Result<(), Box<dyn std::error::Error>> {
    let server = demo::server()?;
    match http {
        Some(address) => serve_http(server.http(), address).await,
        None => serve_stdio(&server).await,
    }
}

async fn serve_stdio(server: &Server) -> Result<(), Box<dyn std::error::Error>> {
    // A host talks through pipes; a person at a terminal wants to know what to do.
    if io::stdin().is_terminal() {
        eprintln!("Serving the demo on stdin and stdout, one JSON message a line; end with Ctrl-D.");
        eprintln!(r#"Try:  {{"jsonrpc":"2.0","id":1,"method":"tools/list"}}"#);
        eprintln!("A host such as Claude Desktop starts it by itself:\n{}", host_entry()?);
    }
    Ok(server.serve_stdio().await?)
}

async fn serve_http(service: HttpService, address: SocketAddr) -> Result<(), Box<dyn std::error::Error>> {
    let listener = TcpListener::bind(address).await.map_err(|error| {
        format!("{address} cannot be listened on: {error}; choose another with --http ADDRESS")
    })?;
    let address = listener.local_addr()?;
    // The first poll is what makes an interrupt ours; whoever reads the hints may already press Ctrl-C.
    let (mut told, mut twice) = (pin!(told_to_stop()), pin!(told_twice()));
    let _pending = poll_fn(|cx| Poll::Ready(told.as_mut().poll(cx))).await;
    let _pending = poll_fn(|cx| Poll::Ready(twice.as_mut().poll(cx))).await;
    eprintln!("Serving the demo at http://{address}/mcp; end with Ctrl-C.\n");
    eprintln!("Call a tool from another terminal:\n\n{}\n", curl_line(address));
    eprintln!(
        "Use it from Claude Desktop (claude_desktop_config.json), which starts it over stdio:\n\n{}",
        host_entry()?
    );
    tokio::select! {
        outcome = service.serve_until(listener, told) => Ok(outcome?),
        () = twice => Ok(()),
    }
}

/// Whoever does not want to wait for what still runs says so again.
async fn told_twice() {
    told_to_stop().await;
    told_to_stop().await;
}

/// A call that works as it is, in the newest revision.
fn curl_line(address: SocketAddr) -> String {
    let version = toolway::ProtocolVersion::LATEST;
    let body = json!({
        "jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {
            "name": "add", "arguments": {"a": 2, "b": 3},
            "_meta": {
                "io.modelcontextprotocol/protocolVersion": version.as_str(),
                "io.modelcontextprotocol/clientCapabilities": {},
            },
        },
    });
    format!(
        "curl -s http://{address}/mcp -H 'Content-Type: application/json' \\\n  \
         -H 'Accept: application/json, text/event-stream' -H 'MCP-Protocol-Version: {version}' \\\n  \
         -H 'Mcp-Method: tools/call' -H 'Mcp-Name: add' \\\n  -d '{body}'"
    )
}

/// What a host's configuration file needs. Hosts start programs with a minimal PATH, so the path is absolute.
fn host_entry() -> io::Result<String> {
    let program = std::env::current_exe()?;
    let entry = json!({"mcpServers": {"toolway-demo": {"command": program, "args": ["serve", "--demo"]}}});
    Ok(entry.to_string())
}
