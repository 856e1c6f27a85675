//! Does every feature work, with every client, in every revision it speaks and over every transport?
//!
//! The example `everything` is the server. Over HTTP one process, or several behind a balancer, serve all clients, one
//! after the other, on one URL.
//! Each client is a script in `interop` that uses its library's own API. The requests and the expected answers are the
//! same for all of them, in `interop/everything.json` and `interop/everything_checks.*`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::Duration;

use super::program::FinishedProgram;
use super::table::{Coverage, Peers, Run, Table};
use super::transport::{OpenServer, ServerSpec, Transport};
use crate::node::Node;
use crate::python::Python;
use crate::run::Result;
use crate::test;
use crate::workspace::Workspace;

/// Which clients run, over which transports, and against which server.
#[derive(Debug)]
pub(super) struct Options<'a> {
    pub(super) title: &'static str,
    pub(super) clients: ClientSet,
    pub(super) transports: &'a [Transport],
    pub(super) server: ServerSpec,
    pub(super) latency: Option<Duration>,
    /// Holds the scripts and what the programs write. Runs at the same time need folders of their own.
    pub(super) directory: PathBuf,
}

/// Some of the clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ClientSet {
    All,
    /// The current versions of the official SDKs.
    Current,
}

impl ClientSet {
    fn clients(self) -> Vec<&'static Client> {
        let is_chosen = |client: &&Client| match self {
            Self::All => true,
            Self::Current => [PYTHON, TYPESCRIPT].contains(&client.package),
        };
        CLIENTS.iter().filter(is_chosen).collect()
    }
}

/// Runs the clients over each of the transports. The transports run concurrently, each with its own server.
pub(super) fn run(workspace: &Workspace, options: &Options<'_>) -> Result {
    let directory = &options.directory;
    let clients = options.clients.clients();
    let scripts = install_all(workspace, &clients, directory)?;
    let lane = |transport: Transport| -> Result<Lane> {
        let log = directory.join(format!("everything-{}.log", transport.name()));
        let mut server = options.server.open(transport, log, options.latency)?;
        let mut runs = Vec::new();
        for (client, script) in clients.iter().zip(&scripts) {
            if client.transports.contains(&transport) {
                let mut command = script.command();
                command.args(server.arguments()).current_dir(&workspace.root);
                let name = format!("everything-{}-{}", client.folder, transport.name());
                runs.push((
                    client.run(transport),
                    FinishedProgram::run(&name, &mut command, directory, RUN_TIMEOUT)?,
                ));
                check_running(&mut server)?;
            }
        }
        Ok(Lane { transport, runs, request_counts: server.request_counts() })
    };
    let lanes: Vec<Result<Lane>> = thread::scope(|scope| {
        let lanes: Vec<_> =
            options.transports.iter().map(|transport| scope.spawn(|| lane(*transport))).collect();
        lanes.into_iter().map(|lane| lane.join().map_err(|_| "a client panicked; see above")?).collect()
    });
    let mut table = Table::new(options.title, Peers::Clients);
    let mut failures = Vec::new();
    for lane in lanes {
        let lane = lane?;
        for (run, said) in lane.runs {
            said.report(&run, &mut table);
        }
        match lane.request_counts {
            Ok(Some(counts)) => println!("-- {}: {counts}", lane.transport.name()),
            Ok(None) => {}
            Err(error) => failures.push(format!("interop, {}: {error}", lane.transport.name())),
        }
    }
    failures.extend(table.print().err());
    if failures.is_empty() { Ok(()) } else { Err(failures.join("\n")) }
}

/// What the clients did over one transport.
struct Lane {
    transport: Transport,
    runs: Vec<(Run, FinishedProgram)>,
    request_counts: Result<Option<String>>,
}

/// Fails if a server that later clients need has ended.
fn check_running(server: &mut OpenServer) -> Result {
    match server.ended()? {
        None => Ok(()),
        Some(how) => Err(format!("interop: the server ended with {how}")),
    }
}

/// Builds the example that is the server.
pub(super) fn build_example(workspace: &Workspace) -> Result<PathBuf> {
    test::build_programs(workspace, &["--example=everything"])?;
    Ok(workspace.debug_program("examples/everything"))
}

/// Installs the libraries concurrently, because most of the time is spent waiting for the network.
fn install_all(workspace: &Workspace, clients: &[&Client], directory: &Path) -> Result<Vec<Script>> {
    thread::scope(|scope| {
        let installs: Vec<_> =
            clients.iter().map(|client| scope.spawn(|| client.install(workspace, directory))).collect();
        installs
            .into_iter()
            .map(|install| install.join().map_err(|_| "an installation panicked; see above")?)
            .collect()
    })
}

/// One library and the script that drives it.
struct Client {
    /// The folder in which the library is installed; also the name of its output files.
    folder: &'static str,
    /// The name of the library in its registry, which also determines the registry.
    package: &'static str,
    /// Other packages that the script needs.
    extra_packages: &'static [&'static str],
    script: &'static str,
    transports: &'static [Transport],
    /// The eras and revisions it has to report on, so that a script cannot forget one.
    eras: &'static [&'static str],
    coverage: Coverage,
}

impl Client {
    fn run(&self, transport: Transport) -> Run {
        let peer = self.package.replace("-slim[client]", "");
        Run { peer, transport: transport.name(), eras: self.eras, coverage: self.coverage }
    }

    fn install(&self, workspace: &Workspace, directory: &Path) -> Result<Script> {
        let scripts = workspace.root.join("interop");
        let prefix = directory.join(self.folder);
        let packages = [&[self.package], self.extra_packages].concat();
        if self.package.contains("==") {
            let python = Python::install(&prefix, &packages)?.command("python");
            let program = PathBuf::from(python.get_program());
            return Ok(Script { program, options: &["-B"], path: scripts.join(self.script) });
        }
        let node = Node::install(prefix, &packages)?;
        // A module finds packages only in its own folder or above, so it is copied next to them.
        for file in [&[self.script], NODE_FILES].concat() {
            let (source, copy) = (scripts.join(file), node.prefix.join(file));
            fs::copy(&source, &copy).map_err(|error| {
                format!("could not copy {} to {}: {error}", source.display(), copy.display())
            })?;
        }
        Ok(Script { program: node.program, options: &[], path: node.prefix.join(self.script) })
    }
}

/// The command that runs a client, without the arguments of its script.
struct Script {
    program: PathBuf,
    options: &'static [&'static str],
    path: PathBuf,
}

impl Script {
    fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.args(self.options).arg(&self.path);
        command
    }
}

/// The files that the scripts for Node import from each other.
const NODE_FILES: &[&str] =
    &["everything.mjs", "everything_checks.mjs", "everything_match.mjs", "everything.json"];
const ALL_TRANSPORTS: &[Transport] = &[Transport::Stdio, Transport::Http, Transport::Sse];
const URL_TRANSPORTS: &[Transport] = &[Transport::Http, Transport::Sse];
const PYTHON: &str = "mcp==2.3.0";
const TYPESCRIPT: &str = "@modelcontextprotocol/client@2.4.0";
const TYPESCRIPT_ERAS: &[&str] = &[
    "stateless 2026-07-28",
    "auto 2026-07-28",
    "handshake 2025-11-25",
    "handshake 2025-06-18",
    "handshake 2025-03-26",
    "handshake 2024-11-05",
];
const CLIENTS: &[Client] = &[
    Client {
        folder: "py",
        package: PYTHON,
        extra_packages: &[],
        script: "everything.py",
        transports: ALL_TRANSPORTS,
        eras: &["stateless 2026-07-28", "auto 2026-07-28", "handshake 2025-11-25"],
        coverage: Coverage::All,
    },
    Client {
        folder: "py-v1",
        package: "mcp==1.30.0",
        extra_packages: &[],
        script: "everything_v1.py",
        transports: ALL_TRANSPORTS,
        eras: &["stateless 2026-07-28", "handshake 2025-11-25"],
        coverage: Coverage::All,
    },
    Client {
        folder: "py-fastmcp-v2",
        package: "fastmcp==2.14.7",
        extra_packages: &["mcp==1.30.0"],
        script: "everything_fastmcp_v2.py",
        transports: &[Transport::Http],
        eras: &["stateless 2026-07-28", "handshake 2025-11-25"],
        coverage: Coverage::All,
    },
    // Newer versions need packages that some indexes do not have yet.
    Client {
        folder: "py-fastmcp-v3",
        package: "fastmcp==3.4.9",
        extra_packages: &["mcp==1.30.0"],
        script: "everything_fastmcp_v2.py",
        transports: ALL_TRANSPORTS,
        eras: &["stateless 2026-07-28", "handshake 2025-11-25"],
        coverage: Coverage::All,
    },
    // The package `fastmcp` is empty and depends on this one with its client and its server; the dependencies of the
    // server are newer than some indexes have.
    Client {
        folder: "py-fastmcp",
        package: "fastmcp-slim[client]==4.1.4",
        extra_packages: &[],
        script: "everything_fastmcp.py",
        transports: ALL_TRANSPORTS,
        eras: &["stateless 2026-07-28", "auto 2026-07-28", "handshake 2025-11-25"],
        coverage: Coverage::All,
    },
    Client {
        folder: "node",
        package: TYPESCRIPT,
        extra_packages: &[],
        script: "everything.mjs",
        transports: ALL_TRANSPORTS,
        eras: TYPESCRIPT_ERAS,
        coverage: Coverage::All,
    },
    Client {
        folder: "node-v1",
        package: "@modelcontextprotocol/sdk@1.32.2",
        extra_packages: &[],
        script: "everything_v1.mjs",
        transports: ALL_TRANSPORTS,
        eras: &["stateless 2026-07-28", "handshake 2025-11-25"],
        coverage: Coverage::All,
    },
    // This client makes a URL look like a server on stdio, so it needs another client in front.
    Client {
        folder: "node-remote",
        package: "mcp-remote@0.15.1",
        extra_packages: &[TYPESCRIPT],
        script: "everything_remote.mjs",
        transports: URL_TRANSPORTS,
        eras: TYPESCRIPT_ERAS,
        coverage: Coverage::All,
    },
    Client {
        folder: "node-inspector",
        package: "@modelcontextprotocol/inspector@2.12.0",
        extra_packages: &[],
        script: "everything_inspector.mjs",
        transports: URL_TRANSPORTS,
        eras: &["stateless 2026-07-28", "handshake 2025-11-25"],
        coverage: Coverage::Some,
    },
];
const RUN_TIMEOUT: Duration = Duration::from_secs(3 * 60);

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::{CLIENTS, URL_TRANSPORTS};

    /// The guide recommends testing with both, with the same commands as here.
    #[test]
    fn the_guide_tests_with_the_inspector_and_mcp_remote_as_this_does() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let guide = fs::read_to_string(root.join("docs/guide/testing.md")).unwrap();
        for name in ["@modelcontextprotocol/inspector@", "mcp-remote@"] {
            let client = CLIENTS.iter().find(|client| client.package.starts_with(name)).unwrap();
            let command = format!("npx {} ", client.package);
            assert!(guide.contains(&command), "the guide does not say `{command}`");
            assert!(URL_TRANSPORTS.iter().all(|transport| client.transports.contains(transport)), "{name}");
            assert!(!client.eras.is_empty(), "{name}");
            let script = fs::read_to_string(root.join("interop").join(client.script)).unwrap();
            let package = name.trim_end_matches('@');
            assert!(
                script.contains(&format!("require.resolve('{package}/package.json')")),
                "{}",
                client.script
            );
        }
    }
}
