//! How do we get Python packages without touching the machine?
//!
//! Each user of Python packages has a virtual environment of its own under `target/`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::run::{self, Result};

/// A virtual environment with its packages installed.
#[derive(Debug)]
pub(crate) struct Python {
    programs: PathBuf,
}

impl Python {
    /// Makes the environment and installs `packages` (each `name==version`), unless exactly these are there already.
    pub(crate) fn install(prefix: &Path, packages: &[&str]) -> Result<Self> {
        let python = Self { programs: prefix.join(if cfg!(windows) { "Scripts" } else { "bin" }) };
        let marker = prefix.join(MARKER);
        let wanted = format!("{}\n", packages.join("\n"));
        if fs::read_to_string(&marker).is_ok_and(|installed| installed == wanted)
            && run::output(python.command("python").arg("--version")).is_ok()
        {
            return Ok(python);
        }
        let in_prefix = |error: std::io::Error| format!("could not prepare {}: {error}", prefix.display());
        if prefix.exists() {
            fs::remove_dir_all(prefix).map_err(in_prefix)?;
        }
        let system = if cfg!(windows) { "python" } else { "python3" };
        run::passes(Command::new(system).args(["-m", "venv"]).arg(prefix)).map_err(|error| {
            format!("{error}\nthis needs Python 3 with its module `venv` (on Debian: apt-get install python3-venv)")
        })?;
        let mut pip = python.command("python");
        pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]).args(packages);
        run::passes(&mut pip).map_err(|error| {
            format!("{error}\npip has to reach its index the first time; later runs use {}", prefix.display())
        })?;
        fs::write(&marker, wanted).map_err(in_prefix)?;
        Ok(python)
    }

    /// A program of the environment: `python` itself, or one that a package brought.
    pub(crate) fn command(&self, program: &str) -> Command {
        Command::new(self.programs.join(program))
    }
}

/// Written last: an environment without it was left half-way and is made again.
const MARKER: &str = "installed.txt";
