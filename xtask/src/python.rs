//! How are Python packages installed without changing the system?
//!
//! Each list of packages has its own virtual environment, in the cache that all clones share (`cache.rs`).

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::cache::CachedPackages;
use crate::run::{self, Result};

/// A virtual environment with its packages installed.
#[derive(Debug)]
pub(crate) struct Python {
    programs: PathBuf,
}

impl Python {
    /// Creates the environment and installs `packages` (each `name==version`), unless exactly these are in the cache
    /// already. Without a cache, the environment is created at `prefix`.
    pub(crate) fn install(prefix: &Path, packages: &[&str]) -> Result<Self> {
        // An environment works only with the Python that created it.
        let version =
            run::output(Command::new(SYSTEM_PYTHON).args(["-c", VERSION_SCRIPT])).map_err(needs_python)?;
        let wanted = format!("{}\n{version}", packages.join("\n"));
        let tree = CachedPackages { kind: "python", key: &wanted };
        let works =
            |folder: &Path| run::output(Self::in_folder(folder).command("python").arg("--version")).is_ok();
        let folder = tree.folder(prefix, works, |folder| {
            run::check_success(Command::new(SYSTEM_PYTHON).args(["-m", "venv"]).arg(folder))
                .map_err(needs_python)?;
            let mut pip = Self::in_folder(folder).command("python");
            pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]).args(packages);
            run::check_success(&mut pip).map_err(|error| {
                format!(
                    "{error}\npip has to reach its index the first time; later runs use {}",
                    folder.display()
                )
            })
        })?;
        Ok(Self::in_folder(&folder))
    }

    fn in_folder(folder: &Path) -> Self {
        Self { programs: folder.join(if cfg!(windows) { "Scripts" } else { "bin" }) }
    }

    /// A program of the environment: `python` itself, or one that a package installed.
    pub(crate) fn command(&self, program: &str) -> Command {
        Command::new(self.programs.join(program))
    }
}

fn needs_python(error: String) -> String {
    format!("{error}\nthis needs Python 3 with its module `venv` (on Debian: apt-get install python3-venv)")
}

const SYSTEM_PYTHON: &str = if cfg!(windows) { "python" } else { "python3" };
/// Prints the version and the place of the interpreter.
const VERSION_SCRIPT: &str = "import sys; print(sys.version.split()[0], sys.base_prefix)";
