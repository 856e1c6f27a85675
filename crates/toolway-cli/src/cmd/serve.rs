//! How is a server run, and what is the user told about it?

use std::future::poll_fn;
use std::io::{self, IsTerminal};
use std::net::SocketAddr;
use std::pin::pin;
use std::task::Poll;

use serde_json::json;
use tokio::net::TcpListener;
use toolway::Server;
use toolway::server::ServerBuilder;
use toolway::server::http::HttpService;

use super::CommandContext;
use crate::args::{ListenArgs, ServeAny, ServeOwn};
use crate::console::write_stderr;
use crate::demo;
use crate::failure::{Failure, Result, chain};
use crate::files::{self, Access};
use crate::store;

/// A server to run, with its options.
pub(crate) struct ServePlan {
    server: Server,
    /// The name of the server in a sentence.
    name: String,
    /// The name of the server's entry in a host's configuration.
    entry: String,
    /// The arguments with which a host starts the server.
    arguments: Vec<String>,
    /// A call that works, as an example: its tool and its arguments.
    example: Option<(&'static str, serde_json::Value)>,
    listen: ListenArgs,
}

/// Options that say which server to run.
pub(crate) trait Serve {
    /// Returns how the server is reached.
    fn listen(&self) -> &ListenArgs;
    async fn plan(self, here: &CommandContext) -> Result<ServePlan>;
}

impl Serve for ServeOwn {
    fn listen(&self) -> &ListenArgs {
        &self.door
    }

    async fn plan(self, here: &CommandContext) -> Result<ServePlan> {
        let server =
            here.own_server.clone().ok_or_else(|| Failure::usage("this program has no server of its own"))?;
        let name = server.info().name.clone();
        Ok(ServePlan {
            server,
            entry: name.clone(),
            name,
            arguments: vec!["serve".to_owned()],
            example: None,
            listen: self.door,
        })
    }
}

impl Serve for ServeAny {
    fn listen(&self) -> &ListenArgs {
        &self.door
    }

    async fn plan(self, _here: &CommandContext) -> Result<ServePlan> {
        let store = match self.store {
            None if self.door.http.is_some() => std::env::var(STORE_VARIABLE).ok(),
            url => url,
        };
        if let Some(directory) = self.directory {
            let access = if self.write { Access::Write } else { Access::Read };
            let shown = directory.display().to_string();
            let server = files::server(&directory, self.all, access)
                .map_err(|error| Failure::usage(format!("{shown} cannot be served: {}", chain(&error))))?;
            // A host starts the server in another directory, so the path must be absolute.
            let absolute = std::path::absolute(&directory).unwrap_or(directory);
            let mut arguments = vec!["serve".to_owned(), absolute.display().to_string()];
            arguments.extend(self.write.then(|| "--write".to_owned()));
            arguments.extend(self.all.then(|| "--all".to_owned()));
            return Ok(ServePlan {
                server: build(server, store).await?,
                name: format!("the files of {shown}"),
                entry: "files".to_owned(),
                arguments,
                example: Some(("list_directory", json!({}))),
                listen: self.door,
            });
        }
        Ok(ServePlan {
            server: build(demo::server(), store).await?,
            name: "the demo".to_owned(),
            entry: "toolway-demo".to_owned(),
            arguments: vec!["serve".to_owned(), "--demo".to_owned()],
            example: Some(("add", json!({"a": 2, "b": 3}))),
            listen: self.door,
        })
    }
}

/// Builds a server, with the store at this URL.
async fn build(server: ServerBuilder, store: Option<String>) -> Result<Server> {
    let server = match store {
        Some(url) => store::add(server, url).await?,
        None => server,
    };
    Ok(server.build()?)
}

pub(crate) async fn run(here: &CommandContext, serve: impl Serve) -> Result<()> {
    let listen = serve.listen();
    if let Some(address) = listen.http.filter(|address| !address.ip().is_loopback() && !listen.public) {
        return Err(Failure::usage(format!(
            "{address} can be reached from other machines, and the server has no authentication"
        ))
        .hint(
            "add --public if that is intended, or choose an address of this machine: --http 127.0.0.1:8000",
        ));
    }
    let served = serve.plan(here).await?;
    if let Some(bytes) = served.listen.max_message {
        served.server.set_max_message(bytes);
    }
    match served.listen.http {
        Some(address) => {
            // With `--public`, the names that other machines use for this one are unknown, so the Host header cannot
            // be checked.
            let service = served.server.http().validate_host(!served.listen.public);
            serve_http(&served, service, address).await
        }
        None => serve_stdio(&served).await,
    }
}

async fn serve_stdio(served: &ServePlan) -> Result<()> {
    // A host communicates through pipes; a person at a terminal needs instructions.
    if io::stdin().is_terminal() {
        write_stderr(&format!(
            "Serving {} on stdin and stdout, one JSON message per line; end with Ctrl-D.\n\
             Try:  {{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}}\n\
             To let a host such as Claude Desktop start it, add to the host's configuration:\n{}\n",
            served.name,
            host_entry(served)?
        ));
    }
    Ok(served.server.serve_stdio().await?)
}

async fn serve_http(served: &ServePlan, service: HttpService, address: SocketAddr) -> Result<()> {
    let listener = TcpListener::bind(address).await.map_err(|error| {
        Failure::usage(format!(
            "cannot listen on {address}: {error}; choose another address with --http ADDRESS"
        ))
    })?;
    let address = listener.local_addr().map_err(toolway::Error::from)?;
    // The first poll installs the signal handlers, before the instructions are printed: the user may press Ctrl-C while
    // reading them.
    let mut serving = pin!(service.serve_until_signal(listener));
    if let Poll::Ready(outcome) = poll_fn(|cx| Poll::Ready(serving.as_mut().poll(cx))).await {
        return Ok(outcome?);
    }
    write_stderr(&format!("Serving {} at http://{address}/mcp; end with Ctrl-C.\n\n", served.name));
    if let Some((tool, arguments)) = &served.example {
        write_stderr(&format!(
            "Call a tool from another terminal:\n\n{}\n\n",
            curl_line(address, tool, arguments)
        ));
    }
    write_stderr(&format!(
        "To use it from Claude Desktop, which starts it over stdio, add to claude_desktop_config.json:\n\n{}\n",
        host_entry(served)?
    ));
    Ok(serving.await?)
}

/// Returns a `curl` command that calls a tool with the newest protocol revision.
fn curl_line(address: SocketAddr, tool: &str, arguments: &serde_json::Value) -> String {
    let version = toolway::ProtocolVersion::LATEST;
    let body = json!({
        "jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {
            "name": tool, "arguments": arguments,
            "_meta": {
                "io.modelcontextprotocol/protocolVersion": version.as_str(),
                "io.modelcontextprotocol/clientCapabilities": {},
            },
        },
    });
    format!(
        "curl -s http://{address}/mcp -H 'Content-Type: application/json' \\\n  \
         -H 'Accept: application/json, text/event-stream' -H 'MCP-Protocol-Version: {version}' \\\n  \
         -H 'Mcp-Method: tools/call' -H 'Mcp-Name: {tool}' \\\n  -d '{body}'"
    )
}

/// Returns the entry for a host's configuration file. Hosts start programs with a minimal PATH, so the path of the
/// program is absolute.
fn host_entry(served: &ServePlan) -> Result<String> {
    let program = std::env::current_exe().map_err(toolway::Error::from)?;
    let entry = json!({"mcpServers": {&*served.entry: {"command": program, "args": served.arguments}}});
    Ok(entry.to_string())
}

/// The environment variable with the URL of the store.
const STORE_VARIABLE: &str = "TOOLWAY_STORE";
