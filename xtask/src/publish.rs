//! Can the crates be published, and do they compile with the oldest Rust version that they declare?

use std::process::Command;

use crate::run::{self, Result};
use crate::steps::StepSuccess;
use crate::workspace::Workspace;

/// The published crates; each comes after its dependencies.
const PUBLISHED: [&str; 7] = [
    "toolway-protocol",
    "toolway-macros",
    "toolway-schema",
    "toolway-store",
    "toolway-redis",
    "toolway",
    "toolway-cli",
];

/// Builds the archives that would be uploaded. Does not compile them, because every other step compiles the same code.
pub(crate) fn package(workspace: &Workspace) -> Result {
    let mut command = workspace.cargo(&["package", "--no-verify", "--allow-dirty", "--quiet"]);
    for name in PUBLISHED {
        command.args(["-p", name]);
    }
    run::check_success(&mut command)
}

/// The oldest supported version of Rust, on this machine.
pub(crate) enum OldestRust {
    Installed(String),
    /// It could not be installed, for this reason.
    Missing(String),
}

/// Installs the version in `rust-version`.
pub(crate) fn install_oldest_rust(workspace: &Workspace) -> Result<OldestRust> {
    let manifest = workspace.root.join("Cargo.toml");
    let text =
        std::fs::read_to_string(&manifest).map_err(|error| format!("{}: {error}", manifest.display()))?;
    let version = rust_version(&text).ok_or("the workspace's Cargo.toml has no `rust-version`")?;
    let mut rustup = Command::new("rustup");
    rustup.args(["toolchain", "install", version, "--no-self-update", "--profile", "minimal"]);
    if let Err(error) = run::output(&mut rustup) {
        let error = error.replace('\n', " ");
        return Ok(OldestRust::Missing(format!(
            "Rust {version} is missing; `rustup toolchain install {version}` installs it ({error})"
        )));
    }
    Ok(OldestRust::Installed(version.to_owned()))
}

/// Checks the published crates with the oldest supported Rust, in a separate target folder.
pub(crate) fn oldest_rust(workspace: &Workspace) -> Result<StepSuccess> {
    let version = match install_oldest_rust(workspace)? {
        OldestRust::Installed(version) => version,
        OldestRust::Missing(why) => return Ok(StepSuccess::Skipped(why)),
    };
    for words in [&["-p", "toolway", "--lib", "--all-features"][..], &["-p", "toolway-cli", "--bins"]] {
        let mut command = Command::new("rustup");
        command.current_dir(&workspace.root).args(["run", &version, "cargo", "check", "--quiet"]).args(words);
        run::check_success(command.env("CARGO_TARGET_DIR", workspace.target.join("oldest-rust")))?;
    }
    Ok(StepSuccess::Passed)
}

/// Returns the value of `rust-version`.
fn rust_version(manifest: &str) -> Option<&str> {
    let line = manifest.lines().find_map(|line| line.strip_prefix("rust-version = "))?;
    Some(line.trim_matches('"'))
}

#[cfg(test)]
mod tests {
    use super::rust_version;

    #[test]
    fn the_version_is_read_from_the_manifest() {
        assert_eq!(rust_version("[workspace.package]\nrust-version = \"1.89\"\n"), Some("1.89"));
        assert_eq!(rust_version("[package]\nrust-version.workspace = true\n"), None);
    }
}
