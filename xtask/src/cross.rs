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
    features::check(workspace, &cases(&features))?;
    Ok(StepSuccess::Passed)
}

/// A target, and how much of the workspace is checked for it.
struct Target {
    name: &'static str,
    c_compiler: CCompiler,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum CCompiler {
    Available,
    Missing,
}

/// Each case checks all targets that can have it with one command, so that every core has something to do.
fn cases(features: &[String]) -> Vec<BuildCase> {
    let library = ["-p", CRATE, "--lib"];
    let everywhere = |case: BuildCase| for_targets(case, |_| true);
    let mut cases =
        vec![everywhere(BuildCase::new("default features", &library)), everywhere(BuildCase::alone(""))];
    for feature in features {
        let needs_c = NEEDS_C.contains(&feature.as_str());
        cases.push(for_targets(BuildCase::alone(feature), |c_compiler| {
            !needs_c || c_compiler == CCompiler::Available
        }));
    }
    for wanted in [CCompiler::Available, CCompiler::Missing] {
        let usable: Vec<&str> = features
            .iter()
            .map(String::as_str)
            .filter(|feature| wanted == CCompiler::Available || !NEEDS_C.contains(feature))
            .collect();
        let usable = usable.join(",");
        let all = [&library[..], &["--no-default-features", "--features", &usable]].concat();
        let case = BuildCase::new("all of its features", &all);
        cases.push(for_targets(case, |c_compiler| c_compiler == wanted));
    }
    let command = BuildCase::new("the command", &["-p", "toolway-cli", "--bins"]);
    cases.push(for_targets(command, |c_compiler| c_compiler == CCompiler::Available));
    cases
}

/// The case for the targets whose C compiler is as wanted.
fn for_targets(mut case: BuildCase, is_wanted: impl Fn(CCompiler) -> bool) -> BuildCase {
    let mut names = Vec::new();
    for target in TARGETS.iter().filter(|target| is_wanted(target.c_compiler)) {
        case.arguments.extend(["--target".to_owned(), target.name.to_owned()]);
        names.push(target.name);
    }
    case.name = format!("{}: {}", case.name, names.join(", "));
    case
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
    use super::{CCompiler, TARGETS, cases};

    #[test]
    fn each_feature_is_checked_alone_and_without_dev_dependencies() {
        let cases = cases(&["http".to_owned(), "tls".to_owned()]);
        for target in &TARGETS {
            let alone = |feature: &str| {
                cases.iter().any(|case| {
                    let has = |pair: [&str; 2]| case.arguments.windows(2).any(|words| words == pair);
                    has(["--features", feature]) && has(["--target", target.name])
                })
            };
            assert!(alone("http") && alone(""), "{}", target.name);
            for whole in ["default features: ", "all of its features: "] {
                let is_checked = |name: &str| name.starts_with(whole) && name.contains(target.name);
                assert!(cases.iter().any(|case| is_checked(&case.name)), "{whole}{}", target.name);
            }
            assert_eq!(alone("tls"), target.c_compiler == CCompiler::Available, "{}", target.name);
        }
        for case in &cases {
            // Any other kind of target would need the dev-dependencies.
            assert!(case.arguments.iter().any(|word| word == "--lib" || word == "--bins"), "{case:?}");
            assert!(case.arguments.iter().any(|word| word == "--target"), "{case:?}");
        }
    }
}
