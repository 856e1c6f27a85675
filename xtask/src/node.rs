//! How are Node 22 and npm packages installed without changing the system?
//!
//! Each list of packages is installed once, in the cache that all clones share (`cache.rs`). The interpreter is a
//! package as well: the conformance suite needs Node 22, and the one on the machine may be older. Each user of the
//! packages has its own directory under `target/`, with a link to them: scripts in it find the packages, and two clones
//! do not overwrite each other's scripts.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::cache::CachedPackages;
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
    /// Makes `packages` (each `name@version`) and Node 22 available in `prefix`; installs them unless exactly these are
    /// in the cache already.
    pub(crate) fn install(prefix: PathBuf, packages: &[&str]) -> Result<Self> {
        let wanted = format!("{}\n{NODE}\n", packages.join("\n"));
        let tree = CachedPackages { kind: "node", key: &wanted };
        let works = |folder: &Path| find_program(folder).is_ok();
        let installed = tree.folder(&prefix, works, |folder| npm_install(folder, packages))?;
        if installed != prefix {
            let linked = write_package_json(&prefix).and_then(|()| link_modules(&installed, &prefix));
            linked.map_err(|error| {
                format!("could not link {} into {}: {error}", installed.display(), prefix.display())
            })?;
        }
        Ok(Self { program: find_program(&installed)?, prefix })
    }

    /// A command that runs a script with Node 22.
    pub(crate) fn command(&self, script: &Path) -> Command {
        let mut command = Command::new(&self.program);
        command.arg(script);
        command
    }
}

fn npm_install(folder: &Path, packages: &[&str]) -> Result {
    // Without a package.json in the folder, npm would look in parent folders and install there.
    fs::write(folder.join("package.json"), PACKAGE_JSON)
        .map_err(|error| format!("could not prepare {}: {error}", folder.display()))?;
    let mut npm = Command::new(if cfg!(windows) { "npm.cmd" } else { "npm" });
    npm.current_dir(folder).args([
        "install",
        "--no-audit",
        "--no-fund",
        "--save-exact",
        "--loglevel=error",
        NODE,
    ]);
    run::check_success(npm.args(packages)).map_err(|error| {
        format!("{error}\nnpm has to reach its registry the first time; later runs use {}", folder.display())
    })?;
    // Returns a more detailed error than "it does not run".
    find_program(folder).map(drop)
}

/// Makes a folder in which scripts find packages.
fn write_package_json(folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    fs::write(folder.join("package.json"), PACKAGE_JSON)
}

/// Makes `folder/node_modules` a link to the installed packages. Two runs of one clone may do so at the same time.
pub(crate) fn link_modules(installed: &Path, folder: &Path) -> io::Result<()> {
    let (modules, link) = (installed.join("node_modules"), folder.join("node_modules"));
    if fs::read_link(&link).is_ok_and(|there| there == modules) {
        return Ok(());
    }
    match fs::symlink_metadata(&link) {
        Ok(found) if found.is_dir() => fs::remove_dir_all(&link)?,
        Ok(_) => fs::remove_file(&link)?,
        Err(_) => {}
    }
    match link_directory(&modules, &link) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        other => other,
    }
}

#[cfg(unix)]
fn link_directory(modules: &Path, link: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(modules, link)
}

#[cfg(windows)]
fn link_directory(modules: &Path, link: &Path) -> io::Result<()> {
    std::os::windows::fs::symlink_dir(modules, link)
}

/// Finds the binary of the package `node`. Its install script puts it in a place that depends on the platform and on
/// npm.
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
const PACKAGE_JSON: &str = "{ \"private\": true }\n";

#[cfg(all(test, unix))]
mod tests {
    use super::link_modules;
    use std::fs;

    #[test]
    fn a_link_replaces_an_older_one_and_a_folder_of_packages() {
        let root = std::env::temp_dir().join(format!("xtask-node-{}", std::process::id()));
        let prefix = root.join("prefix");
        fs::create_dir_all(prefix.join("node_modules/left")).unwrap();
        for name in ["one", "two", "two"] {
            let installed = root.join(name);
            fs::create_dir_all(installed.join("node_modules").join(name)).unwrap();
            link_modules(&installed, &prefix).unwrap();
            assert!(prefix.join("node_modules").join(name).exists(), "{name}");
        }
        assert!(root.join("one/node_modules/one").exists(), "only the link is replaced");
        fs::remove_dir_all(&root).unwrap();
    }
}
