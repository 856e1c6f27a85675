//! How do we get Node 22 and npm packages without touching the machine?
//!
//! Each user of Node packages has a directory of its own under `target/`, with its own `package.json`. The interpreter comes
//! as a package as well: the conformance suite wants Node 22, and the one on the machine may be older.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::run::{self, Result};

/// A directory with `node_modules` in it.
#[derive(Debug)]
pub(crate) struct Node {
    /// The directory itself; a script in it finds the packages.
    pub(crate) prefix: PathBuf,
    /// The interpreter, version 22.
    pub(crate) program: PathBuf,
}

impl Node {
    /// Installs `packages` (each `name@version`) and Node 22 into `prefix`, unless exactly these are there already.
    pub(crate) fn install(prefix: PathBuf, packages: &[&str]) -> Result<Self> {
        let marker = prefix.join(MARKER);
        let wanted = format!("{NODE}\n{}\n", packages.join("\n"));
        if fs::read_to_string(&marker).is_ok_and(|installed| installed == wanted)
            && let Ok(program) = find_program(&prefix)
        {
            return Ok(Self { prefix, program });
        }
        let in_prefix = |error: std::io::Error| format!("could not prepare {}: {error}", prefix.display());
        let modules = prefix.join("node_modules");
        if modules.exists() {
            fs::remove_dir_all(&modules).map_err(in_prefix)?;
        }
        fs::create_dir_all(&prefix).map_err(in_prefix)?;
        // Without a package.json of its own npm would walk up and install into somebody else's.
        fs::write(prefix.join("package.json"), "{ \"private\": true }\n").map_err(in_prefix)?;
        let mut npm = Command::new(if cfg!(windows) { "npm.cmd" } else { "npm" });
        npm.current_dir(&prefix).args([
            "install",
            "--no-audit",
            "--no-fund",
            "--save-exact",
            "--loglevel=error",
            NODE,
        ]);
        run::passes(npm.args(packages)).map_err(|error| {
            format!(
                "{error}\nnpm has to reach its registry the first time; later runs use {}",
                prefix.display()
            )
        })?;
        let program = find_program(&prefix)?;
        fs::write(&marker, wanted).map_err(in_prefix)?;
        Ok(Self { prefix, program })
    }

    /// A command that runs a script with Node 22.
    pub(crate) fn command(&self, script: &Path) -> Command {
        let mut command = Command::new(&self.program);
        command.arg(script);
        command
    }
}

/// The package `node` puts the binary in place by an install script, and where depends on the platform and on npm.
fn find_program(prefix: &Path) -> Result<PathBuf> {
    let modules = prefix.join("node_modules");
    let mut places =
        vec![modules.join("node/bin/node"), modules.join("node/bin/node.exe"), modules.join(".bin/node")];
    for directory in [modules.join("node/node_modules"), modules.clone()] {
        for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
            if entry.file_name().to_string_lossy().starts_with("node-") {
                places.push(entry.path().join("bin/node"));
            }
        }
    }
    let is_node_22 = |place: &PathBuf| {
        place.exists()
            && run::output(Command::new(place).arg("--version"))
                .is_ok_and(|version| version.starts_with("v22."))
    };
    places.into_iter().find(is_node_22).ok_or_else(|| {
        let prefix = prefix.display();
        format!(
            "npm installed the package `{NODE}`, but no Node 22 is under {prefix}; its install script may be switched \
             off (`npm config get ignore-scripts`). Delete {prefix} and run this again"
        )
    })
}

const NODE: &str = "node@22";
/// Written last: a directory without it was left half-way and is set up again.
const MARKER: &str = "installed.txt";
