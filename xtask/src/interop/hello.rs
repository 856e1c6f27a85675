//! Does the first call work, in every era, over every transport?
//!
//! The example `hello` is the server; `interop/client.py` and `interop/client.mjs` are small programs over the official
//! SDKs. They exit with 0 on success. They do not run over HTTP+SSE.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use crate::node::Node;
use crate::python::Python;
use crate::run::{self, Result};
use crate::test;
use crate::workspace::Workspace;

use super::transport::{ServerSpec, Transport};

/// Runs every client over each of the transports.
pub(super) fn run(workspace: &Workspace, transports: &[Transport], latency: Option<Duration>) -> Result {
    let transports: Vec<Transport> =
        transports.iter().copied().filter(|transport| *transport != Transport::Sse).collect();
    if transports.is_empty() {
        return Ok(());
    }
    let directory = workspace.target.join("interop");
    let clients =
        [python_client(workspace, &directory.join("py"))?, node_client(workspace, directory.join("node"))?];
    test::build_programs(workspace, &[])?;
    let hello = ServerSpec::program(&workspace.debug_program("examples/hello"));

    let mut rows = Vec::new();
    for Client { name, program, script } in &clients {
        for transport in &transports {
            println!("-- {name} over {}", transport.name());
            let start = Instant::now();
            // The server ends when this is dropped, after the client is done.
            let server = hello.open(*transport, directory.join("hello.log"), latency)?;
            let mut command = Command::new(program);
            command.arg(script).args(server.arguments()).current_dir(&workspace.root);
            let verdict = match run::run_within(RUN_TIMEOUT, &mut command)? {
                Some(status) if status.success() => "ok".to_owned(),
                Some(status) => format!("FAILED with {}", run::describe_exit(status)),
                None => format!("FAILED, not done after {} s", RUN_TIMEOUT.as_secs()),
            };
            if verdict != "ok" {
                println!("   {verdict}; to repeat it: {}", run::command_text(&command));
            }
            rows.push((*name, transport.name(), start.elapsed().as_secs_f64(), verdict));
        }
    }
    println!("client                                transport  seconds  result");
    for (name, transport, seconds, verdict) in &rows {
        println!("{name:36}  {transport:9}  {seconds:7.1}  {verdict}");
    }
    let failed = rows.iter().filter(|(.., verdict)| verdict != "ok").count();
    println!("interop: {} passed, {failed} failed", rows.len() - failed);
    if failed == 0 {
        Ok(())
    } else {
        Err(format!(
            "interop: {failed} of {} combinations failed; what each client said is above",
            rows.len()
        ))
    }
}

struct Client {
    name: &'static str,
    program: PathBuf,
    script: PathBuf,
}

fn python_client(workspace: &Workspace, prefix: &Path) -> Result<Client> {
    let python = Python::install(prefix, &[PYTHON_SDK])?;
    let program = PathBuf::from(python.command("python").get_program());
    Ok(Client { name: PYTHON_SDK, program, script: workspace.root.join("interop/client.py") })
}

fn node_client(workspace: &Workspace, prefix: PathBuf) -> Result<Client> {
    let node = Node::install(prefix, &[NODE_SDK])?;
    // A module finds packages only in its own folder or above, so it is copied next to them.
    let source = workspace.root.join("interop/client.mjs");
    let script = node.prefix.join("client.mjs");
    fs::copy(&source, &script)
        .map_err(|error| format!("could not copy {} to {}: {error}", source.display(), script.display()))?;
    Ok(Client { name: NODE_SDK, program: node.program, script })
}

const PYTHON_SDK: &str = "mcp==2.3.0";
const NODE_SDK: &str = "@modelcontextprotocol/client@2.4.0";
const RUN_TIMEOUT: Duration = Duration::from_secs(60);
