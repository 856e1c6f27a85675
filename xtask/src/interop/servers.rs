//! Do our client, our command and our hub work with real servers?
//!
//! The program `interop` is the client; it starts the servers itself, because it also kills them. The servers are
//! published packages, and scripts in `interop` on other SDKs, which all offer the same features.

use std::fs;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::program::FinishedProgram;
use super::table::{Coverage, Peers, Run, Table};
use super::transport::Transport;
use crate::latency::LatencyProxy;
use crate::node::Node;
use crate::python::Python;
use crate::run::Result;
use crate::server_process::free_port;
use crate::test;
use crate::workspace::Workspace;

/// Runs our side against every server over each of the transports, several at once.
pub(super) fn run(workspace: &Workspace, transports: &[Transport], latency: Option<Duration>) -> Result {
    let directory = workspace.target.join("interop");
    let (program, programs) = thread::scope(|scope| {
        let installing = scope.spawn(|| Programs::install(workspace, &directory));
        let program = build(workspace);
        let programs = installing.join().map_err(|_| "an installation panicked; see above")?;
        Ok::<_, String>((program?, programs?))
    })?;
    let (jobs, start) = (jobs(transports), Instant::now());
    let all = run_concurrently(&jobs, |job| {
        let mut command = Command::new(&program);
        command.args(job.arguments(&programs)).current_dir(&workspace.root);
        let _proxy = job.start_proxy(latency, &mut command)?;
        FinishedProgram::run(&job.name(), &mut command, &directory, RUN_TIMEOUT)
    });
    let mut table = Table::new("real servers", Peers::Servers);
    let mut all: Vec<_> = jobs.iter().zip(all).collect();
    all.sort_by_key(|(job, _)| job.table_position());
    for (job, said) in all {
        said?.report(&job.run(), &mut table);
    }
    println!("-- all of them: {:.1} s", start.elapsed().as_secs_f64());
    table.print()
}

/// Builds the client and the `toolway` command.
pub(super) fn build(workspace: &Workspace) -> Result<PathBuf> {
    test::build_programs(workspace, &["--bin=interop", "--bin=toolway"])?;
    Ok(workspace.debug_program("interop"))
}

/// One run of the program.
enum Job {
    /// The client with one server.
    Client(&'static Server, Transport),
    /// The `toolway` command with one server.
    Toolway(&'static Server, Transport),
    /// The hub with four servers.
    Hub,
}

/// Lists the runs, long ones first.
fn jobs(transports: &[Transport]) -> Vec<Job> {
    let pairs = transports.iter().flat_map(|transport| SERVERS.iter().map(|server| (server, *transport)));
    let pairs = pairs.filter(|(server, transport)| server.transports.contains(transport));
    let both = pairs.flat_map(|(server, transport)| {
        let command = server.commands(transport).first().map(|_| Job::Toolway(server, transport));
        std::iter::once(Job::Client(server, transport)).chain(command)
    });
    let hub = transports.contains(&Transport::Http).then_some(Job::Hub);
    both.chain(hub).collect()
}

impl Job {
    /// The position in the table: runs of the same kind stand together.
    fn table_position(&self) -> u8 {
        match self {
            Self::Client(..) => 0,
            Self::Hub => 1,
            Self::Toolway(..) => 2,
        }
    }

    /// Starts a proxy in front of the server, if the server has a URL and a latency was asked for. The proxy ends when
    /// it is dropped.
    fn start_proxy(&self, latency: Option<Duration>, command: &mut Command) -> Result<Option<LatencyProxy>> {
        let delay = match (self, latency) {
            (_, None) | (Self::Client(_, Transport::Stdio) | Self::Toolway(_, Transport::Stdio), _) => {
                return Ok(None);
            }
            (_, Some(delay)) => delay,
        };
        let port = free_port()?;
        let proxy = LatencyProxy::in_front_of(SocketAddr::from((Ipv4Addr::LOCALHOST, port)), delay)?;
        command.env("INTEROP_PORT", port.to_string());
        command.env("INTEROP_PROXY", proxy.address().port().to_string());
        Ok(Some(proxy))
    }

    /// The name of its output files.
    fn name(&self) -> String {
        match self {
            Self::Client(server, transport) => format!("servers-{}-{}", server.suite, transport.name()),
            Self::Toolway(server, transport) => format!("toolway-{}-{}", server.suite, transport.name()),
            Self::Hub => "servers-hub".to_owned(),
        }
    }

    fn run(&self) -> Run {
        match self {
            Self::Client(server, transport) => {
                Run { eras: server.eras, coverage: server.coverage, ..server.run(*transport) }
            }
            Self::Toolway(server, transport) => {
                Run { eras: server.commands(*transport), coverage: Coverage::Some, ..server.run(*transport) }
            }
            Self::Hub => Run {
                peer: "four of them as one".to_owned(),
                transport: "both",
                eras: HUB_ERAS,
                coverage: Coverage::Some,
            },
        }
    }

    fn arguments(&self, programs: &Programs) -> Vec<String> {
        let Run { transport, eras, .. } = self.run();
        match self {
            Self::Client(server, _) | Self::Toolway(server, _) => {
                let words = [server.suite.to_owned(), transport.to_owned(), eras.join(",")];
                words.into_iter().chain(programs.command(server, transport)).collect()
            }
            Self::Hub => {
                let mut words = vec!["hub".to_owned(), eras.join(",")];
                for (suite, transport) in HUB_SERVERS {
                    let server = SERVERS.iter().find(|server| server.suite == *suite);
                    let server = server.expect("the hub is made of servers of the table");
                    words.extend(["--".to_owned(), transport.name().to_owned()]);
                    words.extend(programs.command(server, transport.name()));
                }
                words
            }
        }
    }
}

/// Does the work for every item, a few at a time. The results are in the order of the items.
pub(super) fn run_concurrently<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let results: Vec<Mutex<Option<R>>> = items.iter().map(|_| Mutex::new(None)).collect();
    thread::scope(|scope| {
        for _ in 0..MAX_CONCURRENT {
            scope.spawn(|| {
                while let Some(at) = Some(next.fetch_add(1, Ordering::Relaxed)).filter(|at| *at < items.len())
                {
                    let result = work(&items[at]);
                    *results[at].lock().expect("no thread panics while it is held") = Some(result);
                }
            });
        }
    });
    let taken =
        results.into_iter().map(|result| result.into_inner().expect("no thread panics while it is held"));
    taken.map(|result| result.expect("every item was worked on")).collect()
}

/// The installed packages and scripts that the servers need.
struct Programs {
    /// In the order of [`PACKAGE_SETS`].
    trees: Vec<Installation>,
    scripts: PathBuf,
}

/// Packages that are installed together.
struct PackageSet {
    folder: &'static str,
    packages: &'static [&'static str],
    /// The script that must be copied next to the packages of Node.
    script: Option<&'static str>,
}

enum Installation {
    Node(Node),
    Python(PathBuf),
}

impl Programs {
    /// Installs everything concurrently, because most of the time is spent waiting for the network.
    fn install(workspace: &Workspace, directory: &Path) -> Result<Self> {
        let scripts = workspace.root.join("interop");
        let trees = thread::scope(|scope| {
            let installs: Vec<_> =
                PACKAGE_SETS.iter().map(|tree| scope.spawn(|| tree.install(directory, &scripts))).collect();
            let joined = installs.into_iter().map(|install| {
                install.join().map_err(|_| "an installation panicked; see above".to_owned())?
            });
            joined.collect::<Result<_>>()
        })?;
        Ok(Self { trees, scripts })
    }

    /// The command line of a server.
    fn command(&self, server: &Server, transport: &str) -> Vec<String> {
        let at = PACKAGE_SETS.iter().position(|tree| tree.folder == server.tree);
        let tree = &self.trees[at.expect("the packages of each server are in the table")];
        let program = match (tree, server.program) {
            (Installation::Node(node), Program::Package(file)) => {
                vec![node.program.clone(), node.prefix.join("node_modules").join(file)]
            }
            (Installation::Node(node), Program::Script(file)) => {
                vec![node.program.clone(), node.prefix.join(file)]
            }
            (Installation::Python(python), Program::Package(file) | Program::Script(file)) => {
                vec![python.clone(), PathBuf::from("-B"), self.scripts.join(file)]
            }
        };
        let word = match (server.argument, transport) {
            (Argument::Folder, _) => "{folder}",
            (Argument::Everything, "http") => "streamableHttp",
            (Argument::Mode(mode), _) => mode,
            (_, transport) => transport,
        };
        let program = program.into_iter().map(|path| path.display().to_string());
        program.chain([word.to_owned()]).collect()
    }
}

impl PackageSet {
    fn install(&self, directory: &Path, scripts: &Path) -> Result<Installation> {
        let prefix = directory.join(self.folder);
        if self.packages.iter().any(|package| package.contains("==")) {
            let python = Python::install(&prefix, self.packages)?.command("python");
            return Ok(Installation::Python(PathBuf::from(python.get_program())));
        }
        let node = Node::install(prefix, self.packages)?;
        if let Some(script) = self.script {
            // A module finds packages only in its own folder or above, so it is copied next to them.
            let (source, copy) = (scripts.join(script), node.prefix.join(script));
            fs::copy(&source, &copy).map_err(|error| {
                format!("could not copy {} to {}: {error}", source.display(), copy.display())
            })?;
        }
        Ok(Installation::Node(node))
    }
}

/// One server and how we talk to it.
struct Server {
    /// The name in the table.
    peer: &'static str,
    /// The name of its checks.
    suite: &'static str,
    /// The folder of its packages.
    tree: &'static str,
    program: Program,
    argument: Argument,
    transports: &'static [Transport],
    /// The eras for the client.
    eras: &'static [&'static str],
    coverage: Coverage,
}

#[derive(Clone, Copy)]
enum Program {
    /// A file of a package for Node.
    Package(&'static str),
    /// A file of `interop`.
    Script(&'static str),
}

/// The arguments of a server.
#[derive(Clone, Copy)]
enum Argument {
    /// The transport.
    Transport,
    /// The transport, in the words of `server-everything`.
    Everything,
    /// This mode, over any transport.
    Mode(&'static str),
    /// The folder it may work in.
    Folder,
}

impl Server {
    fn run(&self, transport: Transport) -> Run {
        let (peer, transport) = (self.peer.to_owned(), transport.name());
        Run { peer, transport, eras: &[], coverage: Coverage::Some }
    }

    /// The columns for the `toolway` command.
    fn commands(&self, transport: Transport) -> &'static [&'static str] {
        match (self.coverage, transport) {
            (Coverage::Some, _) => &["toolway 2025-11-25"],
            // For an older version of a library only its specific behaviour matters: how the era is negotiated over
            // HTTP.
            (Coverage::All, Transport::Http) if !self.eras.contains(&STATELESS) => &["toolway 2025-11-25"],
            (Coverage::All, _) if !self.eras.contains(&STATELESS) => &[],
            // On stdio each command starts its own server, which takes most of the time.
            (Coverage::All, Transport::Stdio) => &["toolway 2026-07-28"],
            (Coverage::All, _) => &["toolway 2026-07-28", "toolway-pinned 2025-11-25"],
        }
    }
}

const SERVERS: &[Server] = &[
    Server {
        peer: "fastmcp==4.1.2",
        suite: "fastmcp",
        tree: "py-servers",
        program: Program::Script("server_fastmcp.py"),
        argument: Argument::Transport,
        transports: BOTH,
        eras: ALL_ERAS,
        coverage: Coverage::All,
    },
    Server {
        peer: "mcp==2.3.0",
        suite: "python",
        tree: "py-servers",
        program: Program::Script("server_mcp.py"),
        argument: Argument::Transport,
        transports: BOTH,
        eras: ALL_ERAS,
        coverage: Coverage::All,
    },
    Server {
        peer: "@modelcontextprotocol/server@2.4.0",
        suite: "typescript",
        tree: "node-servers",
        program: Program::Script("server_v2.mjs"),
        argument: Argument::Transport,
        transports: BOTH,
        eras: ALL_ERAS,
        coverage: Coverage::All,
    },
    Server {
        peer: "mcp==1.30.0",
        suite: "python-v1",
        tree: "py-v1",
        program: Program::Script("server_mcp_v1.py"),
        argument: Argument::Transport,
        transports: BOTH,
        eras: NEWEST_AND_OLDEST,
        coverage: Coverage::All,
    },
    Server {
        peer: "mcp==1.30.0, replies of JSON",
        suite: "python-v1-json",
        tree: "py-v1",
        program: Program::Script("server_mcp_v1.py"),
        argument: Argument::Mode("json"),
        transports: &[Transport::Http],
        eras: NEWEST,
        coverage: Coverage::All,
    },
    Server {
        peer: "mcp==1.30.0, without sessions",
        suite: "python-v1-stateless",
        tree: "py-v1",
        program: Program::Script("server_mcp_v1.py"),
        argument: Argument::Mode("stateless"),
        transports: &[Transport::Http],
        eras: NEWEST,
        coverage: Coverage::All,
    },
    Server {
        peer: "fastmcp==2.14.7",
        suite: "fastmcp-v2",
        tree: "py-fastmcp-v2",
        program: Program::Script("server_fastmcp_v2.py"),
        argument: Argument::Transport,
        transports: BOTH,
        eras: NEWEST,
        coverage: Coverage::All,
    },
    Server {
        peer: "fastmcp==3.4.9",
        suite: "fastmcp-v3",
        tree: "py-fastmcp-v3",
        program: Program::Script("server_fastmcp_v2.py"),
        argument: Argument::Transport,
        transports: BOTH,
        eras: NEWEST,
        coverage: Coverage::All,
    },
    Server {
        peer: "@modelcontextprotocol/sdk@1.32.2",
        suite: "typescript-v1",
        tree: "node-v1",
        program: Program::Script("server_v1.mjs"),
        argument: Argument::Transport,
        transports: BOTH,
        eras: NEWEST_AND_OLDEST,
        coverage: Coverage::All,
    },
    Server {
        peer: "@modelcontextprotocol/server-everything@2026.8.31",
        suite: "everything",
        tree: "node-servers",
        program: Program::Package("@modelcontextprotocol/server-everything/dist/index.js"),
        argument: Argument::Everything,
        transports: Transport::ALL,
        eras: OLD_ERAS,
        coverage: Coverage::Some,
    },
    Server {
        peer: "@modelcontextprotocol/server-filesystem@2026.8.31",
        suite: "filesystem",
        tree: "node-servers",
        program: Program::Package("@modelcontextprotocol/server-filesystem/dist/index.js"),
        argument: Argument::Folder,
        transports: &[Transport::Stdio],
        eras: OLD_ERAS,
        coverage: Coverage::Some,
    },
];
/// The servers in the order in which the program expects them.
const HUB_SERVERS: &[(&str, Transport)] = &[
    ("everything", Transport::Stdio),
    ("filesystem", Transport::Stdio),
    ("python", Transport::Http),
    ("fastmcp", Transport::Stdio),
];
/// The installed packages. A folder that `everything.rs` also names has the same packages there.
const PACKAGE_SETS: &[PackageSet] = &[
    PackageSet {
        folder: "node-servers",
        packages: &[
            "@modelcontextprotocol/server-everything@2026.8.31",
            "@modelcontextprotocol/server-filesystem@2026.8.31",
            "@modelcontextprotocol/server@2.4.0",
            "@modelcontextprotocol/node@2.1.2",
        ],
        script: Some("server_v2.mjs"),
    },
    PackageSet {
        folder: "node-v1",
        packages: &["@modelcontextprotocol/sdk@1.32.2"],
        script: Some("server_v1.mjs"),
    },
    // Newer versions of the second package need packages that some indexes do not have yet.
    PackageSet { folder: "py-servers", packages: &["mcp==2.3.0", "fastmcp==4.1.2"], script: None },
    PackageSet { folder: "py-v1", packages: &["mcp==1.30.0"], script: None },
    PackageSet { folder: "py-fastmcp-v2", packages: &["fastmcp==2.14.7", "mcp==1.30.0"], script: None },
    PackageSet { folder: "py-fastmcp-v3", packages: &["fastmcp==3.4.9", "mcp==1.30.0"], script: None },
];
const BOTH: &[Transport] = &[Transport::Stdio, Transport::Http];
const STATELESS: &str = "stateless 2026-07-28";
const ALL_ERAS: &[&str] = &[
    "auto 2026-07-28",
    STATELESS,
    "handshake 2025-11-25",
    "handshake 2025-06-18",
    "handshake 2025-03-26",
    "handshake 2024-11-05",
];
const OLD_ERAS: &[&str] = &[
    "auto 2025-11-25",
    "handshake 2025-11-25",
    "handshake 2025-06-18",
    "handshake 2025-03-26",
    "handshake 2024-11-05",
];
/// For older versions of libraries: the revisions in between are tested with the newer versions.
const NEWEST_AND_OLDEST: &[&str] = &["auto 2025-11-25", "handshake 2024-11-05"];
const NEWEST: &[&str] = &["auto 2025-11-25"];
const HUB_ERAS: &[&str] = &["auto mixed"];
/// Servers mostly wait, so more run at once than there are cores.
const MAX_CONCURRENT: usize = 4;
const RUN_TIMEOUT: Duration = Duration::from_secs(15 * 60);
