//! Does every feature work, with every client and in every revision it speaks?
//!
//! The example `everything` is the server, over stdio. Each client is a script in `interop` on its library's own interface;
//! what they ask and what must come is the same for all of them, in `interop/everything.json` and `interop/everything_checks.*`.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use super::table::Table;
use crate::node::Node;
use crate::python::Python;
use crate::run::{self, Result};
use crate::workspace::Workspace;

/// Runs every client against the example, or against another server.
pub(super) fn run(workspace: &Workspace, server: Option<&[String]>) -> Result {
    let directory = workspace.target.join("interop");
    let server = match server {
        Some(words) => words.to_vec(),
        None => vec![build_example(workspace)?.display().to_string()],
    };
    let mut table = Table::default();
    for client in CLIENTS {
        let name = client.name();
        let mut command = client.install(workspace, &directory)?;
        command.arg("--").args(&server).current_dir(&workspace.root);
        println!("-- {name} over stdio, every feature");
        let start = Instant::now();
        let (said, errors) =
            (output_file(&directory, client, "out")?, output_file(&directory, client, "err")?);
        command.stdout(said.1).stderr(errors.1);
        let ending = match run::within(LIMIT, &mut command)? {
            Some(status) if status.success() => None,
            Some(status) => Some(run::ending(status)),
            None => Some(format!("not done after {} s", LIMIT.as_secs())),
        };
        let lines = fs::read_to_string(&said.0)
            .map_err(|error| format!("could not read {}: {error}", said.0.display()))?;
        let problems = table.add(&name, client.eras, &lines, ending);
        println!("   {} checks in {:.1} s", lines.lines().count(), start.elapsed().as_secs_f64());
        if problems.is_empty() {
            continue;
        }
        for problem in problems {
            println!("   {problem}");
        }
        println!("   all it said: {}; its errors and the server's: {}", said.0.display(), errors.0.display());
        println!("   to repeat it: {}", run::shown(&command));
    }
    table.print()
}

fn build_example(workspace: &Workspace) -> Result<PathBuf> {
    let build = ["build", "--quiet", "--workspace", "--all-features", "--example=everything"];
    run::passes(&mut workspace.cargo(&build))?;
    Ok(workspace.debug_program("examples/everything"))
}

/// One library and the script that drives it.
struct Client {
    /// Where the library is installed, and how the files of its output are called.
    folder: &'static str,
    /// The library as its registry names it, which also tells which registry.
    package: &'static str,
    script: &'static str,
    /// The eras and revisions it has to report on, so that a script cannot forget one.
    eras: &'static [&'static str],
}

impl Client {
    fn name(&self) -> String {
        self.package.replace("-slim[client]", "")
    }

    /// The command that runs the script, up to its arguments.
    fn install(&self, workspace: &Workspace, directory: &Path) -> Result<Command> {
        let scripts = workspace.root.join("interop");
        let prefix = directory.join(self.folder);
        if self.package.contains("==") {
            let mut command = Python::install(&prefix, &[self.package])?.command("python");
            command.arg("-B").arg(scripts.join(self.script));
            return Ok(command);
        }
        let node = Node::install(prefix, &[self.package])?;
        // A module finds packages only next to itself or above, so it has to stand next to them.
        for file in [self.script, "everything_checks.mjs", "everything_match.mjs", "everything.json"] {
            let (source, copy) = (scripts.join(file), node.prefix.join(file));
            fs::copy(&source, &copy).map_err(|error| {
                format!("could not copy {} to {}: {error}", source.display(), copy.display())
            })?;
        }
        Ok(node.command(&node.prefix.join(self.script)))
    }
}

fn output_file(directory: &Path, client: &Client, kind: &str) -> Result<(PathBuf, File)> {
    let path = directory.join(format!("everything-{}.{kind}", client.folder));
    let file = File::create(&path).map_err(|error| format!("could not write {}: {error}", path.display()))?;
    Ok((path, file))
}

const CLIENTS: &[Client] = &[
    Client {
        folder: "py",
        package: "mcp==2.3.0",
        script: "everything.py",
        eras: &["stateless 2026-07-28", "auto 2026-07-28", "handshake 2025-11-25"],
    },
    Client {
        folder: "py-v1",
        package: "mcp==1.30.0",
        script: "everything_v1.py",
        eras: &["stateless 2026-07-28", "handshake 2025-11-25"],
    },
    // The package `fastmcp` is empty and asks for this one with its client and its server; what the server's half needs is
    // newer than some indexes hold.
    Client {
        folder: "py-fastmcp",
        package: "fastmcp-slim[client]==4.1.4",
        script: "everything_fastmcp.py",
        eras: &["stateless 2026-07-28", "auto 2026-07-28", "handshake 2025-11-25"],
    },
    Client {
        folder: "node",
        package: "@modelcontextprotocol/client@2.4.0",
        script: "everything.mjs",
        eras: &[
            "stateless 2026-07-28",
            "auto 2026-07-28",
            "handshake 2025-11-25",
            "handshake 2025-06-18",
            "handshake 2025-03-26",
            "handshake 2024-11-05",
        ],
    },
    Client {
        folder: "node-v1",
        package: "@modelcontextprotocol/sdk@1.32.2",
        script: "everything_v1.mjs",
        eras: &["stateless 2026-07-28", "handshake 2025-11-25"],
    },
];
const LIMIT: Duration = Duration::from_mins(3);
