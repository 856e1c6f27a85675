//! Do users of other clients sign in to our protected server, with a real identity provider?
//!
//! The server is the program `interop`. The clients are scripts in `interop` on other libraries, and `interop` itself. Each
//! client has a server and an identity provider of its own. Each signs in as a user, renews its token when it expires, gets
//! one with more scopes for a tool that needs them, and is refused without a token and with one for another server.
//!
//! `interop` also signs in with a second identity provider, the package `canaille` in `interop/idp_canaille.py`. The server
//! then verifies tokens in one of two ways: by their signature, or by asking the provider.

use std::path::Path;
use std::process::Command;
use std::time::Instant;

use super::auth::{ERAS, IDP, Programs, RUN_TIMEOUT};
use super::program::FinishedProgram;
use super::servers::run_concurrently;
use super::table::{Coverage, Peers, Run, Table};
use crate::run::Result;
use crate::server_process::{ServerProcess, free_port};

/// Signs in with every client, with several at once.
pub(super) fn run(program: &Path, programs: &Programs, directory: &Path) -> Result {
    let start = Instant::now();
    let all = run_concurrently(CLIENTS, |client| client.sign_in(program, programs, directory));
    let mut table = Table::new("signing in to ours", Peers::Clients);
    for (client, finished) in CLIENTS.iter().zip(all) {
        finished?.report(&client.run(), &mut table);
    }
    println!("-- all of them: {:.1} s", start.elapsed().as_secs_f64());
    table.print()
}

/// A client whose users sign in.
struct Client {
    /// The name in the table.
    peer: &'static str,
    /// The name of its output files.
    name: &'static str,
    /// The script and the library that it uses; `None` for the program `interop`.
    script: Option<(&'static str, &'static str)>,
    provider: Provider,
}

/// The identity provider at which the users of a client sign in.
enum Provider {
    /// `idp.mjs` with these options. The client must have renewed a token after so many seconds.
    Node { options: &'static [&'static str], age: &'static str },
    /// `idp.mjs`, at which our client is known by its document and has tokens that are bound to a key.
    NodeBound,
    /// `idp_canaille.py`, which the server trusts in this way.
    Canaille { trust: &'static str },
}

impl Client {
    /// Starts the identity provider and the server, and runs the client. Both end when it is done.
    fn sign_in(&self, program: &Path, programs: &Programs, directory: &Path) -> Result<FinishedProgram> {
        let (idp_port, port) = (free_port()?, free_port()?);
        let issuer = format!("http://127.0.0.1:{idp_port}");
        let resource = format!("http://127.0.0.1:{port}/mcp");
        let name = format!("auth-client-{}", self.name);
        let log = |what: &str| directory.join(format!("{name}-{what}.log"));

        let mut command = self.provider.command(programs, idp_port, &resource);
        let _idp = ServerProcess::start_script(idp_port, &mut command, log("idp"))?;
        let mut command = Command::new(program);
        command.args(["serve-notes", &port.to_string(), &issuer]).args(self.provider.trust());
        let _server = ServerProcess::start_script(port, &mut command, log("server"))?;

        let mut command = match self.script {
            None => Command::new(program),
            Some((script, library)) => {
                let mut command = programs.command(script);
                command.arg(library).arg(program);
                command
            }
        };
        let eras = ERAS.join(",");
        match self.provider {
            Provider::Node { age, .. } if self.script.is_some() => command.args([&resource, age, &issuer]),
            Provider::Node { age, .. } => command.args(["notes", &eras, &resource, age, &issuer]),
            Provider::NodeBound => command.args(["bound", &eras, &resource, AGE]),
            Provider::Canaille { trust } => command.args(["provider", &eras, trust, &resource, &issuer]),
        };
        FinishedProgram::run(&name, &mut command, directory, RUN_TIMEOUT)
    }

    fn run(&self) -> Run {
        let coverage = match self.provider {
            Provider::Node { .. } => Coverage::All,
            // It can do less, and other things are worth a check.
            Provider::NodeBound | Provider::Canaille { .. } => Coverage::Some,
        };
        Run { peer: self.peer.to_owned(), transport: "http", eras: ERAS, coverage }
    }
}

impl Provider {
    /// A command that runs it, with tokens for the resource if it can do that.
    fn command(&self, programs: &Programs, port: u16, resource: &str) -> Command {
        let options = match self {
            Self::Node { options, .. } => *options,
            Self::NodeBound => &["--life", "3", "--dpop-nonce"],
            Self::Canaille { .. } => {
                let mut command = programs.command(CANAILLE);
                command.arg(port.to_string());
                return command;
            }
        };
        let mut command = programs.command(IDP);
        // It gives refresh tokens only to clients that ask for them in the way that OpenID Connect wants.
        command.args([&port.to_string(), resource, "--offline-only"]).args(options);
        command
    }

    fn trust(&self) -> Option<&'static str> {
        match self {
            Self::Node { .. } | Self::NodeBound => None,
            Self::Canaille { trust } => Some(trust),
        }
    }
}

/// The one that takes longest is the first.
const CLIENTS: &[Client] = &[
    // It renews a token one minute before it expires.
    Client {
        peer: "mcp-remote@0.15.1",
        name: "remote",
        script: Some((NODE_SCRIPT, "remote")),
        provider: Provider::Node { options: &["--life", "63"], age: "4" },
    },
    Client {
        peer: "fastmcp==4.1.2, OAuth",
        name: "fastmcp",
        script: Some((PYTHON_SCRIPT, "fastmcp")),
        provider: SHORT_LIFE,
    },
    Client {
        peer: "mcp==2.3.0, OAuthClientProvider",
        name: "python",
        script: Some((PYTHON_SCRIPT, "mcp")),
        provider: SHORT_LIFE,
    },
    // In a session it may renew a token twice at once: for a call, and for the stream that the server has ended.
    Client {
        peer: "@modelcontextprotocol/client@2.4.0",
        name: "typescript",
        script: Some((NODE_SCRIPT, "typescript")),
        provider: Provider::Node { options: &["--life", "3", "--keep-refresh"], age: AGE },
    },
    Client { peer: "toolway, OAuth::browser", name: "toolway", script: None, provider: SHORT_LIFE },
    Client {
        peer: "toolway, client document and DPoP",
        name: "bound",
        script: None,
        provider: Provider::NodeBound,
    },
    Client {
        peer: "toolway, canaille==0.3.6, Introspection",
        name: "canaille-introspection",
        script: None,
        provider: Provider::Canaille { trust: "introspection" },
    },
    Client {
        peer: "toolway, canaille==0.3.6, signed tokens",
        name: "canaille-groups",
        script: None,
        provider: Provider::Canaille { trust: "groups" },
    },
];
pub(super) const CANAILLE: &str = "idp_canaille.py";
pub(super) const NODE_SCRIPT: &str = "signs_in.mjs";
const PYTHON_SCRIPT: &str = "signs_in.py";
const SHORT_LIFE: Provider = Provider::Node { options: &["--life", "3"], age: AGE };
/// The server accepts a token for three more seconds; expiry has a resolution of one second.
const AGE: &str = "7";
