//! Does our client sign in to real servers, with a real identity provider?
//!
//! The identity provider is the package `oidc-provider`, in `interop/idp.mjs`. The servers are scripts in `interop` on
//! other SDKs, which let in only callers with a token. Each server has an identity provider of its own, whose access
//! tokens live so briefly that the client must renew them. The program `interop` is the client; it signs in as a user,
//! and as a program. The other direction is in `auth_clients.rs`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use super::auth_clients;
use super::program::FinishedProgram;
use super::servers::{self, run_concurrently};
use super::table::{Coverage, Peers, Run, Table};
use crate::node::Node;
use crate::python::Python;
use crate::run::{self, Result};
use crate::server_process::{ServerProcess, free_port};
use crate::test;
use crate::workspace::Workspace;

/// Signs in to every server, to several at once, and then with every client to ours.
pub(super) fn run(workspace: &Workspace) -> Result {
    let directory = workspace.target.join("interop");
    let (program, programs) = thread::scope(|scope| {
        let installing = scope.spawn(|| Programs::install(workspace, &directory));
        let program = servers::build(workspace);
        let programs = installing.join().map_err(|_| "an installation panicked; see above")?;
        Ok::<_, String>((program?, programs?))
    })?;
    let start = Instant::now();
    let all = run_concurrently(SERVERS, |server| server.sign_in(&program, &programs, &directory));
    let mut table = Table::new("signing in", Peers::Servers);
    for (server, finished) in SERVERS.iter().zip(all) {
        finished?.report(&server.run(), &mut table);
    }
    println!("-- all of them: {:.1} s", start.elapsed().as_secs_f64());
    let signed_in = table.print();
    let others_signed_in = auth_clients::run(&program, &programs, &directory);
    let failures: Vec<String> = [signed_in, others_signed_in].into_iter().filter_map(Result::err).collect();
    if failures.is_empty() { Ok(()) } else { Err(failures.join("\n")) }
}

/// Lets a person try it: starts an identity provider and the example `protected`, and signs in with the `toolway` command,
/// which opens the browser.
pub(super) fn try_out(workspace: &Workspace) -> Result {
    let directory = workspace.target.join("interop");
    test::build_programs(workspace, &["--bin=toolway", "--example=protected"])?;
    let node = install_node(workspace, &directory)?;
    let (idp_port, port) = (free_port()?, free_port()?);
    let (issuer, address) = (format!("http://127.0.0.1:{idp_port}"), format!("127.0.0.1:{port}"));
    let url = format!("http://{address}/mcp");
    let mut command = node.command(&node.prefix.join(IDP));
    command.args([&idp_port.to_string(), &url]);
    let _idp = ServerProcess::start_script(idp_port, &mut command, directory.join("try-idp.log"))?;
    let mut command = Command::new(workspace.debug_program("examples/protected"));
    command.args([&address, &issuer]);
    let _server = ServerProcess::start_script(port, &mut command, directory.join("try-server.log"))?;
    println!("-- the example `protected` lets in users of {issuer}; any name and password sign in");
    // The tool `put` needs one more scope, so it leads to the browser again.
    let steps: [&[&str]; 3] =
        [&["login", &url], &["call", &url, "search", "text=milk"], &["call", &url, "put", "text=milk"]];
    for step in steps {
        println!("$ toolway {}", step.join(" "));
        let mut command = Command::new(workspace.debug_program("toolway"));
        // The tokens are worthless afterwards.
        run::converse(command.args(step).env("XDG_DATA_HOME", directory.join("try-vault")))?;
    }
    Ok(())
}

/// The installed packages and the scripts.
pub(super) struct Programs {
    node: Node,
    /// The packages of clients.
    client_node: Node,
    python: Python,
    /// The package of the second identity provider. It shares packages with the servers, but not their versions.
    canaille: Python,
    scripts: PathBuf,
}

impl Programs {
    fn install(workspace: &Workspace, directory: &Path) -> Result<Self> {
        let scripts = workspace.root.join("interop");
        let (node, python, canaille) = thread::scope(|scope| {
            let python = scope.spawn(|| Python::install(&directory.join("py-servers"), PYTHON_PACKAGES));
            let canaille = scope.spawn(|| Python::install(&directory.join("py-canaille"), CANAILLE_PACKAGES));
            let node = install_node(workspace, directory);
            let panicked = |_| "an installation panicked; see above";
            let (python, canaille) = (python.join().map_err(panicked)?, canaille.join().map_err(panicked)?);
            Ok::<_, String>((node?, python?, canaille?))
        })?;
        let client_node = Node::install(directory.join("node-remote"), NODE_CLIENT_PACKAGES)?;
        copy_script(&scripts, auth_clients::NODE_SCRIPT, &client_node)?;
        Ok(Self { node, client_node, python, canaille, scripts })
    }

    /// A command that runs a script of `interop`.
    pub(super) fn command(&self, script: &str) -> Command {
        if script == auth_clients::NODE_SCRIPT {
            return self.client_node.command(&self.client_node.prefix.join(script));
        }
        if NODE_SCRIPTS.contains(&script) {
            return self.node.command(&self.node.prefix.join(script));
        }
        let python = if script == auth_clients::CANAILLE { &self.canaille } else { &self.python };
        let mut command = python.command("python");
        command.arg("-B").arg(self.scripts.join(script));
        command
    }
}

/// Installs the packages for Node.js, with the scripts beside them.
fn install_node(workspace: &Workspace, directory: &Path) -> Result<Node> {
    let node = Node::install(directory.join("node-auth"), NODE_PACKAGES)?;
    for script in NODE_SCRIPTS {
        copy_script(&workspace.root.join("interop"), script, &node)?;
    }
    Ok(node)
}

/// Copies a script next to packages: a module finds packages only in its own folder or above.
fn copy_script(scripts: &Path, script: &str, node: &Node) -> Result {
    let (source, copy) = (scripts.join(script), node.prefix.join(script));
    fs::copy(&source, &copy)
        .map(drop)
        .map_err(|error| format!("could not copy {} to {}: {error}", source.display(), copy.display()))
}

/// A server that lets in only callers with a token.
struct Server {
    /// The name in the table.
    peer: &'static str,
    /// The name of its output files.
    name: &'static str,
    script: &'static str,
    /// The arguments before the port and the identity provider.
    mode: &'static [&'static str],
    callers: Callers,
}

/// The callers that can sign in.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Callers {
    /// Users, and programs at the identity provider.
    All,
    /// Users only: they sign in at the server itself, and it does not know any program.
    Users,
}

impl Server {
    /// Starts the identity provider and the server, and runs the client. Both end when it is done.
    fn sign_in(&self, program: &Path, programs: &Programs, directory: &Path) -> Result<FinishedProgram> {
        let (idp_port, port) = (free_port()?, free_port()?);
        let issuer = format!("http://127.0.0.1:{idp_port}");
        let resource = format!("http://127.0.0.1:{port}/mcp");
        let log = |what: &str| directory.join(format!("auth-{}-{what}.log", self.name));

        let mut command = programs.command(IDP);
        command.args([&idp_port.to_string(), &resource, "--life", LIFE]);
        if self.callers == Callers::All {
            // Our client asks the identity provider itself, in the way that OpenID Connect wants.
            command.arg("--offline-only");
        }
        let _idp = ServerProcess::start_script(idp_port, &mut command, log("idp"))?;
        let mut command = programs.command(self.script);
        command.args(self.mode).args([&port.to_string(), &issuer]);
        let _server = ServerProcess::start_script(port, &mut command, log("server"))?;

        let mut command = Command::new(program);
        command.args(["auth", &ERAS.join(","), &resource, LIFE]);
        if self.callers == Callers::All {
            command.arg(&issuer);
        }
        FinishedProgram::run(&format!("auth-{}", self.name), &mut command, directory, RUN_TIMEOUT)
    }

    fn run(&self) -> Run {
        Run { peer: self.peer.to_owned(), transport: "http", eras: ERAS, coverage: Coverage::All }
    }
}

const SERVERS: &[Server] = &[
    Server {
        peer: "fastmcp==4.1.2, JWTVerifier",
        name: "fastmcp",
        script: "protected_fastmcp.py",
        mode: &["jwt"],
        callers: Callers::All,
    },
    Server {
        peer: "fastmcp==4.1.2, OAuthProxy",
        name: "fastmcp-proxy",
        script: "protected_fastmcp.py",
        mode: &["proxy"],
        callers: Callers::Users,
    },
    Server {
        peer: "mcp==2.3.0, TokenVerifier",
        name: "python",
        script: "protected_mcp.py",
        mode: &[],
        callers: Callers::All,
    },
    Server {
        peer: "@modelcontextprotocol/server@2.4.0",
        name: "typescript",
        script: TYPESCRIPT_SERVER,
        mode: &[],
        callers: Callers::All,
    },
];
pub(super) const IDP: &str = "idp.mjs";
const TYPESCRIPT_SERVER: &str = "protected_v2.mjs";
const NODE_SCRIPTS: &[&str] = &[IDP, TYPESCRIPT_SERVER];
/// The last one checks the tokens for the server; the first one brings the same version for itself.
const NODE_PACKAGES: &[&str] = &[
    "oidc-provider@9.13.3",
    "@modelcontextprotocol/server@2.4.0",
    "@modelcontextprotocol/node@2.1.2",
    "jose@6.2.17",
];
/// The packages of the folder `node-remote`, which `everything.rs` also uses.
const NODE_CLIENT_PACKAGES: &[&str] = &["mcp-remote@0.15.1", "@modelcontextprotocol/client@2.4.0"];
/// The packages of the folder `py-servers`, which `servers.rs` also uses.
const PYTHON_PACKAGES: &[&str] = &["mcp==2.3.0", "fastmcp==4.1.2"];
/// The second one does most of the work for the first one, which would take any newer version.
const CANAILLE_PACKAGES: &[&str] = &["canaille[front,oidc]==0.3.6", "authlib==1.9.5"];
pub(super) const ERAS: &[&str] = &["auto 2026-07-28", "stateless 2026-07-28", "handshake 2025-11-25"];
/// The life of an access token, in seconds.
const LIFE: &str = "2";
pub(super) const RUN_TIMEOUT: Duration = Duration::from_secs(5 * 60);
