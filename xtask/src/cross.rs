//! Does the library compile for Windows and macOS?
//!
//! This works on any machine: `cargo check` needs the target's standard library, which `rustup` adds, but neither its
//! linker nor the system itself. Only C code needs a compiler for the target, and the feature `tls` contains some. For
//! Windows that compiler is a Debian package; for macOS it is Apple's, so `tls` and the command, which needs it, are
//! not checked there.

use std::path::Path;
use std::process::Command;

use crate::features::{self, BuildCase, CRATE};
use crate::run::{self, Result};
use crate::steps::StepSuccess;
use crate::workspace::Workspace;

/// `cargo xtask cross`.
pub(crate) fn run(workspace: &Workspace) -> Result<StepSuccess> {
    for Target { name, .. } in &TARGETS {
        if let Err(why) = add_target(workspace, name) {
            return Ok(StepSuccess::Skipped(why));
        }
    }
    run::ensure_program(MINGW.0, MINGW.1, "tls and the command for Windows have C code")?;
    let features = workspace.features(CRATE)?;
    // Uses the target folder of all other builds, which has the macros and build scripts already.
    let cases: Vec<BuildCase> = TARGETS.iter().flat_map(|target| target.cases(&features)).collect();
    features::check(workspace, &cases)?;
    Ok(StepSuccess::Passed)
}

/// A target, and how much of the workspace is checked for it.
struct Target {
    name: &'static str,
    c_compiler: CCompiler,
}

#[derive(PartialEq, Eq)]
enum CCompiler {
    Available,
    Missing,
}

impl Target {
    fn cases(&self, features: &[String]) -> Vec<BuildCase> {
        let needs_c = |feature: &str| NEEDS_C.contains(&feature);
        let usable: Vec<&str> = features
            .iter()
            .map(String::as_str)
            .filter(|feature| self.c_compiler == CCompiler::Available || !needs_c(feature))
            .collect();
        let library = ["-p", CRATE, "--lib"];
        let all = usable.join(",");
        let mut cases = vec![
            BuildCase::new("default features", &library),
            BuildCase::new(
                "all of these features",
                &[&library[..], &["--no-default-features", "--features", &all]].concat(),
            ),
            BuildCase::alone(""),
        ];
        cases.extend(usable.iter().map(|feature| BuildCase::alone(feature)));
        if self.c_compiler == CCompiler::Available {
            cases.push(BuildCase::new("the command", &["-p", "toolway-cli", "--bins"]));
        }
        for case in &mut cases {
            case.name = format!("{}: {}", self.name, case.name);
            case.arguments.extend(["--target".to_owned(), self.name.to_owned()]);
        }
        cases
    }
}

/// Installs the target's standard library with rustup, unless it is installed. The error is one line: what is missing
/// and how to get it.
fn add_target(workspace: &Workspace, target: &str) -> Result {
    let mut rustc = Command::new("rustc");
    let sysroot = run::output(rustc.current_dir(&workspace.root).args(["--print", "sysroot"]))?;
    if Path::new(sysroot.trim()).join("lib/rustlib").join(target).is_dir() {
        return Ok(());
    }
    let mut rustup = Command::new("rustup");
    rustup.current_dir(&workspace.root).args(["target", "add", target]);
    run::output(&mut rustup).map(drop).map_err(|error| {
        let error = error.replace('\n', " ");
        format!("Rust's standard library for {target} is missing; `rustup target add {target}` installs it ({error})")
    })
}

const TARGETS: [Target; 2] = [
    Target { name: "x86_64-pc-windows-gnu", c_compiler: CCompiler::Available },
    Target { name: "aarch64-apple-darwin", c_compiler: CCompiler::Missing },
];
/// Features whose dependencies contain C code.
const NEEDS_C: [&str; 2] = ["auth", "tls"];
/// The C compiler for Windows, and its package.
const MINGW: (&str, &str) = ("x86_64-w64-mingw32-gcc", "gcc-mingw-w64-x86-64");

#[cfg(test)]
mod tests {
    use super::{CCompiler, TARGETS};

    #[test]
    fn each_feature_is_checked_alone_and_without_dev_dependencies() {
        let features = ["http".to_owned(), "tls".to_owned()];
        for target in &TARGETS {
            let cases = target.cases(&features);
            let alone = |feature: &str| {
                cases.iter().any(|case| case.arguments.windows(2).any(|pair| pair == ["--features", feature]))
            };
            assert!(alone("http") && alone(""), "{}", target.name);
            assert_eq!(alone("tls"), target.c_compiler == CCompiler::Available, "{}", target.name);
            for case in &cases {
                // Any other kind of target would need the dev-dependencies.
                assert!(case.arguments.iter().any(|word| word == "--lib" || word == "--bins"), "{case:?}");
                assert!(case.arguments.windows(2).any(|pair| pair == ["--target", target.name]), "{case:?}");
            }
        }
    }
}
