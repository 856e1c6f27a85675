//! What does an operation cost, and is that within its budget?
//!
//! Instructions, bytes moved and allocations of one operation, and the size of a small program: all of them are the same on a
//! busy machine, so `bench/budget.toml` can be a limit. Times are compared by `cargo xtask bench`.

mod budget;
mod size;
mod valgrind;

use std::fs;

use budget::{Budget, Counts, compare};
use valgrind::Counter;

use crate::arguments::Arguments;
use crate::run::{self, Result};
use crate::workspace::Workspace;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Compare,
    Bless,
}

/// What to count, and what to do with the counts.
#[derive(Debug)]
pub(crate) struct Options {
    mode: Mode,
    kinds: Vec<Kind>,
}

impl Options {
    pub(crate) fn parse(mut arguments: Arguments) -> Result<Self> {
        let mode = if arguments.flag("--bless") { Mode::Bless } else { Mode::Compare };
        let only = arguments.value("--only")?;
        arguments.finish()?;
        let Some(only) = only else { return Ok(Self { mode, kinds: Kind::ALL.to_vec() }) };
        let kinds = Kind::ALL.into_iter().filter(|kind| kind.name() == only).collect::<Vec<_>>();
        if kinds.is_empty() {
            let names = Kind::ALL.map(Kind::name).join(", ");
            return Err(format!("`--only {only}`: there are {names}"));
        }
        Ok(Self { mode, kinds })
    }
}

/// A kind of cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Instructions,
    BytesMoved,
    Allocations,
    StrippedBytes,
}

impl Kind {
    const ALL: [Self; 4] = [Self::Instructions, Self::BytesMoved, Self::Allocations, Self::StrippedBytes];

    /// The name on the command line.
    fn name(self) -> &'static str {
        match self {
            Self::Instructions => "instructions",
            Self::BytesMoved => "bytes-moved",
            Self::Allocations => "allocations",
            Self::StrippedBytes => "stripped-bytes",
        }
    }

    /// The name of its table in the budget; the oldest kind has none.
    fn table(self) -> Option<&'static str> {
        (self != Self::Instructions).then(|| self.name())
    }

    fn unit(self) -> &'static str {
        match self {
            Self::Instructions => "instructions",
            Self::BytesMoved => "bytes moved",
            Self::Allocations => "allocations",
            Self::StrippedBytes => "bytes",
        }
    }

    /// What its table says about itself.
    fn comment(self) -> &'static str {
        match self {
            Self::Instructions => "",
            Self::BytesMoved => "Bytes that memcpy and memmove carry in one operation, by dhat.",
            Self::Allocations => "Allocations of one operation, by dhat.",
            Self::StrippedBytes => {
                "Small servers of newcomers/ in cargo's default release profile, without symbols, on x86-64 Linux."
            }
        }
    }
}

/// `cargo xtask counts`: builds, counts and compares.
pub(crate) fn run(workspace: &Workspace, options: &Options) -> Result {
    let path = workspace.root.join(BUDGET);
    let mut budget = match fs::read_to_string(&path) {
        Ok(text) => Budget::parse(&text).map_err(|error| format!("{BUDGET}: {error}"))?,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Budget::default(),
        Err(error) => return Err(format!("could not read {BUDGET}: {error}")),
    };
    let (mut checked, mut failed) = (0, 0);
    for &kind in &options.kinds {
        let counts = match kind {
            Kind::StrippedBytes => sizes(workspace)?,
            _ => operations(workspace, kind)?,
        };
        checked += counts.len();
        if options.mode == Mode::Bless {
            budget.set(kind, counts.clone());
        }
        let (table, wrong) = compare(kind, &counts, budget.of(kind));
        println!("{table}");
        failed += wrong;
    }
    if options.mode == Mode::Bless {
        fs::write(&path, budget.render()).map_err(|error| format!("could not write {BUDGET}: {error}"))?;
        println!("wrote {BUDGET}; say in the commit why the numbers changed");
    } else if failed > 0 {
        return Err(format!(
            "counts: {failed} cases are not within {BUDGET}; make them cheaper, or accept the new numbers with `cargo \
             xtask counts --bless` and say why in the commit"
        ));
    } else {
        println!("counts: {checked} within budget");
    }
    Ok(())
}

/// Counts one kind for each case that has it.
fn operations(workspace: &Workspace, kind: Kind) -> Result<Counts> {
    run::ensure_program("valgrind", "valgrind", "it counts what an operation costs")?;
    let build = ["build", "--profile", PROFILE, "--quiet", "-p", "bench", "--bin", "count"];
    run::check_success(&mut workspace.cargo(&build))?;
    let folder = workspace.target.join(PROFILE);
    let program = folder.join(format!("count{}", std::env::consts::EXE_SUFFIX));
    let listed = run::output(std::process::Command::new(&program).arg("--list"))?;
    let counter = Counter { program, folder };
    let tool = match kind {
        Kind::BytesMoved => valgrind::COPIES,
        Kind::Allocations => valgrind::ALLOCATIONS,
        Kind::Instructions | Kind::StrippedBytes => valgrind::CALLGRIND,
    };
    let wanted = |case: &&str| !case.is_empty() && (kind == Kind::Instructions || MAIN_CASES.contains(case));
    let mut counts = Counts::new();
    for case in listed.lines().map(str::trim).filter(wanted) {
        counts.insert(case.to_owned(), counter.count(tool, case)?);
    }
    if counts.is_empty() {
        return Err("`count --list` names no case, so nothing was counted".to_owned());
    }
    Ok(counts)
}

/// Measures the small programs.
fn sizes(workspace: &Workspace) -> Result<Counts> {
    SMALL_PROGRAMS.iter().map(|name| Ok(((*name).to_owned(), size::stripped(workspace, name)?))).collect()
}

const BUDGET: &str = "bench/budget.toml";
/// Like `release`, but without optimization across crates, and with symbols.
const PROFILE: &str = "counts";
/// The calls of which bytes and allocations are counted too.
const MAIN_CASES: [&str; 5] = [
    "stateless-http-call",
    "session-http-call",
    "stdio-call",
    "client-call-stateless",
    "client-call-handshake",
];
/// A server with the default features on stdin and stdout, and one with a URL.
const SMALL_PROGRAMS: [&str; 2] = ["newcomer-stdio", "newcomer-http"];

#[cfg(test)]
mod tests {
    use super::{Kind, Options};
    use crate::arguments::Arguments;

    #[test]
    fn one_kind_can_be_counted_alone() {
        let parse = |words: &[&str]| Options::parse(Arguments::from_words(words));
        assert_eq!(parse(&[]).unwrap().kinds, Kind::ALL);
        assert_eq!(parse(&["--only", "bytes-moved"]).unwrap().kinds, [Kind::BytesMoved]);
        assert!(parse(&["--only", "tea"]).unwrap_err().contains("stripped-bytes"));
    }
}
