//! Builds what is compared, in `bench/compare/target`, and what a user pays for a build.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use super::machine;
use crate::node::Node;
use crate::python::Python;
use crate::run::{self, Result};
use crate::workspace::Workspace;

/// A server that can be measured, as `peers.json` names it.
#[derive(Clone, Debug)]
pub(super) struct Peer {
    pub(super) name: String,
    pub(super) version: String,
    /// A Rust program of `peers/NAME`.
    pub(super) is_native: bool,
}

/// The comparison, ready to run.
#[derive(Debug)]
pub(super) struct Prepared {
    pub(super) peers: Vec<Peer>,
    /// Peers that could not be built, with the reason.
    pub(super) left_out: Vec<(String, String)>,
    /// The variables that `peers.json` uses.
    variables: Vec<(&'static str, PathBuf)>,
    folder: PathBuf,
}

impl Prepared {
    /// Builds the load generator and the peers; our own must build, others are left out if they do not.
    pub(super) fn build(workspace: &Workspace, wanted: &[String], clients: bool) -> Result<Self> {
        let folder = workspace.root.join(FOLDER);
        let mut prepared = Self {
            peers: Vec::new(),
            left_out: Vec::new(),
            variables: vec![("BENCH_DIR", folder.clone()), ("BENCH_TARGET", folder.join("target"))],
            folder,
        };
        let all = all(workspace)?;
        for name in wanted {
            if !all.iter().any(|peer| peer.name == *name) {
                let names: Vec<&str> = all.iter().map(|peer| peer.name.as_str()).collect();
                return Err(format!("`--peers {name}`: there are {}", names.join(", ")));
            }
        }
        prepared.cargo(workspace, ".", &prepared.target())?;
        if clients {
            prepared.cargo(workspace, "clients/toolway", &prepared.target())?;
            prepared.cargo(workspace, "clients/rmcp", &prepared.target())?;
        }
        for peer in all.into_iter().filter(|peer| wanted.contains(&peer.name)) {
            match prepared.build_peer(workspace, &peer) {
                Ok(()) => prepared.peers.push(peer),
                Err(error) if peer.name == OURS => return Err(error),
                Err(error) => {
                    println!("bench: {} is left out: {error}", peer.name);
                    let line = error.lines().next().unwrap_or_default().to_owned();
                    prepared.left_out.push((peer.name, line));
                }
            }
        }
        Ok(prepared)
    }

    fn build_peer(&mut self, workspace: &Workspace, peer: &Peer) -> Result {
        let source = self.folder.join("peers").join(&peer.name);
        let place = workspace.target.join("bench").join(&peer.name);
        if peer.is_native {
            return self.cargo(workspace, &format!("peers/{}", peer.name), &self.target());
        }
        if peer.name == "ts-server" {
            let packages = node_packages(&self.folder.join("peers/ts/package.json"))?;
            let packages: Vec<&str> = packages.iter().map(String::as_str).collect();
            let node = Node::install(place, &packages)?;
            let (from, to) = (self.folder.join("peers/ts/server.mjs"), node.prefix.join("server.mjs"));
            fs::copy(&from, &to).map_err(|error| format!("could not copy {}: {error}", from.display()))?;
            self.variables.extend([("BENCH_NODE", node.program), ("BENCH_TS", node.prefix)]);
            return Ok(());
        }
        let list = source.join("requirements.txt");
        let text = fs::read_to_string(&list).map_err(|error| format!("{}: {error}", list.display()))?;
        let packages: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        let python = Python::install(&place, &packages)?;
        let variable = if peer.name == "py-mcp" { "BENCH_PY_MCP" } else { "BENCH_PY_FASTMCP" };
        self.variables.push((variable, python.command("python").get_program().into()));
        Ok(())
    }

    fn cargo(&self, workspace: &Workspace, package: &str, target: &Path) -> Result {
        let folder = self.folder.join(package);
        if package.ends_with("/toolway") {
            // The versions that a new user gets, and that `cargo xtask counts` has built already.
            let (lock, copy) = (workspace.root.join("newcomers/Cargo.lock"), folder.join("Cargo.lock"));
            fs::copy(&lock, &copy).map_err(|error| format!("could not copy {}: {error}", lock.display()))?;
        }
        let mut cargo = workspace.cargo(&["build", "--release", "--quiet"]);
        cargo.arg("--manifest-path").arg(folder.join("Cargo.toml")).arg("--target-dir").arg(target);
        run::check_success(&mut cargo)
    }

    fn target(&self) -> PathBuf {
        self.folder.join("target")
    }

    /// The load generator.
    pub(super) fn generator(&self) -> Command {
        let mut command = Command::new(self.target().join("release/mcp-bench"));
        command.envs(self.variables.iter().map(|(name, path)| (name, path)));
        command
    }

    /// Builds each Rust peer in an empty folder, and returns the seconds on a processor.
    pub(super) fn build_seconds(&self, workspace: &Workspace) -> Result<Vec<(String, f64)>> {
        let folder = workspace.target.join("bench/from-nothing");
        let mut found = Vec::new();
        for peer in self.peers.iter().filter(|peer| peer.is_native) {
            let _ = fs::remove_dir_all(&folder);
            let before = machine::children_cpu_seconds()?;
            self.cargo(workspace, &format!("peers/{}", peer.name), &folder)?;
            found.push((peer.name.clone(), machine::children_cpu_seconds()? - before));
        }
        let _ = fs::remove_dir_all(&folder);
        Ok(found)
    }

    /// The versions of crates that carry the most of the work, in our own peer.
    pub(super) fn versions(&self) -> String {
        let lock = self.folder.join("peers").join(OURS).join("Cargo.lock");
        let lock = fs::read_to_string(lock).unwrap_or_default();
        let versions =
            ["hyper", "tokio"].map(|name| locked_version(&lock, name).map(|found| format!("{name} {found}")));
        versions.into_iter().flatten().collect::<Vec<_>>().join(", ")
    }
}

/// Lists the peers of `peers.json`.
pub(super) fn all(workspace: &Workspace) -> Result<Vec<Peer>> {
    let file = workspace.root.join(FOLDER).join("peers.json");
    let text = fs::read_to_string(&file).map_err(|error| format!("{}: {error}", file.display()))?;
    let list: Vec<Value> =
        serde_json::from_str(&text).map_err(|error| format!("{}: {error}", file.display()))?;
    let word = |peer: &Value, key: &str| {
        let found = peer[key].as_str().map(str::to_owned);
        found.ok_or_else(|| format!("{}: a peer has no `{key}`", file.display()))
    };
    list.iter()
        .map(|peer| {
            let is_native = peer["native"] == true;
            Ok(Peer { name: word(peer, "name")?, version: word(peer, "version")?, is_native })
        })
        .collect()
}

/// Reads the packages of a `package.json` as `name@version`, without Node itself: its version is that of all our tests.
fn node_packages(file: &Path) -> Result<Vec<String>> {
    let text = fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
    let json: Value = serde_json::from_str(&text).map_err(|error| format!("{}: {error}", file.display()))?;
    let packages = json["dependencies"].as_object().into_iter().flatten();
    let packages = packages.filter(|(name, _)| !name.starts_with("node"));
    Ok(packages.map(|(name, version)| format!("{name}@{}", version.as_str().unwrap_or("*"))).collect())
}

fn locked_version<'a>(lock: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = lock.split_once(&format!("name = \"{name}\"\nversion = \""))?;
    rest.split('"').next()
}

/// Our own peer.
pub(super) const OURS: &str = "toolway";
/// The comparison, which is not in the workspace.
pub(super) const FOLDER: &str = "bench/compare";

#[cfg(test)]
mod tests {
    use super::locked_version;

    #[test]
    fn a_version_is_found_in_the_lock_file() {
        let lock = "[[package]]\nname = \"hyper-util\"\nversion = \"0.1\"\n\n[[package]]\nname = \"hyper\"\nversion = \"1.12.0\"\n";
        assert_eq!(locked_version(lock, "hyper"), Some("1.12.0"));
        assert_eq!(locked_version(lock, "tokio"), None);
    }
}
