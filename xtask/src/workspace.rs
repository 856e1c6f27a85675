//! Where are the sources, where does cargo build, and which features does a crate have?
//!
//! These come from `cargo metadata`, because `CARGO_TARGET_DIR` and `.cargo/config.toml` may move the target directory.

use std::env;
use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;

use crate::run::{self, Result};

/// The workspace this program belongs to.
#[derive(Debug)]
pub(crate) struct Workspace {
    /// The directory with the workspace's `Cargo.toml`.
    pub(crate) root: PathBuf,
    /// The target directory.
    pub(crate) target: PathBuf,
    /// The path of this program. Read at the start, because a build replaces the file, and then the system no longer
    /// knows its path.
    pub(crate) xtask: PathBuf,
    metadata: Value,
}

impl Workspace {
    /// Runs `cargo metadata`, from this crate's directory if `cargo run` names it and from the current one otherwise.
    pub(crate) fn find() -> Result<Self> {
        let mut command = Command::new(cargo_program());
        command.args(["metadata", "--no-deps", "--format-version", "1"]);
        if let Some(here) = env::var_os("CARGO_MANIFEST_DIR") {
            command.current_dir(here);
        }
        let metadata: Value = serde_json::from_str(&run::output(&mut command)?)
            .map_err(|error| format!("`cargo metadata` did not write JSON: {error}"))?;
        let path = |key: &str| {
            metadata[key]
                .as_str()
                .map(PathBuf::from)
                .ok_or_else(|| format!("`cargo metadata` has no `{key}`"))
        };
        let xtask = env::current_exe().map_err(|error| format!("could not find this program: {error}"))?;
        Ok(Self { root: path("workspace_root")?, target: path("target_directory")?, xtask, metadata })
    }

    /// A workspace in the folder of a test, with another program in place of this one.
    #[cfg(test)]
    pub(crate) fn in_folder(folder: &std::path::Path, xtask: PathBuf) -> Self {
        Self { root: folder.to_owned(), target: folder.join("target"), xtask, metadata: Value::Null }
    }

    /// A cargo command in the workspace's root.
    pub(crate) fn cargo(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(cargo_program());
        command.current_dir(&self.root).args(arguments);
        command
    }

    /// A program that `cargo build` has put into the debug directory.
    pub(crate) fn debug_program(&self, name: &str) -> PathBuf {
        self.target.join("debug").join(format!("{name}{}", env::consts::EXE_SUFFIX))
    }

    /// The features a crate of the workspace offers to its users: without `default`, and without those of our own tools, whose
    /// names begin with two underscores.
    pub(crate) fn features(&self, package: &str) -> Result<Vec<String>> {
        let packages = self.metadata["packages"].as_array().map(Vec::as_slice).unwrap_or_default();
        packages
            .iter()
            .find(|candidate| candidate["name"] == package)
            .and_then(|found| found["features"].as_object())
            .map(|features| {
                let is_offered = |name: &&String| *name != "default" && !name.starts_with("__");
                features.keys().filter(is_offered).cloned().collect()
            })
            .ok_or_else(|| {
                format!("`cargo metadata` lists no crate `{package}`; is it a member of the workspace?")
            })
    }
}

fn cargo_program() -> std::ffi::OsString {
    env::var_os("CARGO").unwrap_or_else(|| "cargo".into())
}
