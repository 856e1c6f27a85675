//! How many instructions does an operation take, and is that within its budget?
//!
//! Callgrind counts instructions, which do not depend on the load of the machine as time does. Each case runs twice
//! with different numbers of operations; the difference leaves out the start and the end of the process.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;

use toml::Table;

use crate::run::{self, Result};
use crate::workspace::Workspace;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    Compare,
    Bless,
}

/// Case → instructions per operation.
type Counts = BTreeMap<String, u64>;

/// Builds, counts and compares.
pub(crate) fn run(workspace: &Workspace, mode: Mode) -> Result {
    let path = workspace.root.join(BUDGET);
    let budget = match fs::read_to_string(&path) {
        Ok(text) => parse(&text).map_err(|error| format!("{BUDGET}: {error}"))?,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Counts::new(),
        Err(error) => return Err(format!("could not read {BUDGET}: {error}")),
    };
    run::ensure_program("valgrind", "valgrind", "callgrind counts the instructions")?;
    run::check_success(&mut workspace.cargo(&[
        "build",
        "--profile",
        PROFILE,
        "--quiet",
        "-p",
        "bench",
        "--bin",
        "count",
    ]))?;
    let program = workspace.target.join(PROFILE).join(format!("count{}", std::env::consts::EXE_SUFFIX));
    let cases = run::output(Command::new(&program).arg("--list"))?;

    let mut counts = Counts::new();
    for case in cases.lines().map(str::trim).filter(|case| !case.is_empty()) {
        let [few, many] =
            [FEW_OPERATIONS, MANY_OPERATIONS].map(|operations| instructions(&program, case, operations));
        counts.insert(case.to_owned(), many?.saturating_sub(few?) / (MANY_OPERATIONS - FEW_OPERATIONS));
    }
    if counts.is_empty() {
        return Err("`count --list` names no case, so nothing was counted".to_owned());
    }
    if mode == Mode::Bless {
        fs::write(&path, render(&counts)).map_err(|error| format!("could not write {BUDGET}: {error}"))?;
    }
    let (table, failed) = compare(&counts, if mode == Mode::Bless { &counts } else { &budget });
    print!("{table}");
    match (mode, failed) {
        (Mode::Bless, _) => println!("wrote {BUDGET}; say in the commit why the numbers changed"),
        (Mode::Compare, 0) => println!("counts: {} within budget", counts.len()),
        (Mode::Compare, failed) => {
            return Err(format!(
                "counts: {failed} cases are not within {BUDGET}; make them cheaper, or accept the new numbers with `cargo \
                 xtask counts --bless` and say why in the commit"
            ));
        }
    }
    Ok(())
}

/// Returns the table to print, and the number of rows that fail.
fn compare(counts: &Counts, budget: &Counts) -> (String, usize) {
    let names: std::collections::BTreeSet<&String> = counts.keys().chain(budget.keys()).collect();
    let width = names.iter().map(|name| name.len()).max().unwrap_or_default().max("case".len());
    let mut table = format!("{:width$}  instructions    budget\n", "case");
    let mut failed = 0;
    for name in names {
        let show = |number: Option<&u64>| number.map_or_else(|| "-".to_owned(), u64::to_string);
        let (count, allowed) = (counts.get(name), budget.get(name));
        let (fails, remark) = match (count, allowed) {
            (Some(_), None) => (true, "FAILED: no budget yet; write one with --bless"),
            (None, _) => {
                (true, "FAILED: has a budget, but `count --list` does not name it; remove it with --bless")
            }
            (Some(count), Some(budget)) if count * 100 > budget * (100 + TOLERANCE) => {
                (true, "FAILED: over budget")
            }
            (Some(count), Some(budget)) if count * 100 < budget * (100 - TOLERANCE) => {
                (false, "cheaper: lower the budget with --bless")
            }
            _ => (false, ""),
        };
        let (fails, remark) =
            match name.strip_suffix("-64k").and_then(|stem| counts.get(&format!("{stem}-32k"))) {
                Some(half) if !fails && count.is_some_and(|whole| whole * 10 > half * GROWTH_TENTHS) => {
                    (true, "FAILED: twice the message costs more than 2.2 times as much")
                }
                _ => (fails, remark),
            };
        failed += usize::from(fails);
        let line = format!("{name:width$}  {:>12}  {:>8}  {remark}", show(count), show(allowed));
        let _ = writeln!(table, "{}", line.trim_end());
    }
    (table, failed)
}

fn instructions(program: &Path, case: &str, operations: u64) -> Result<u64> {
    let mut command = Command::new("valgrind");
    command.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]).arg(program).arg(case);
    command.arg(operations.to_string());
    // Valgrind prints the count on standard error, so this does not use `run::output`.
    let output = command.output().map_err(|error| format!("could not start valgrind: {error}"))?;
    let said = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        return Err(format!(
            "`{}` failed with {}\n{said}",
            run::command_text(&command),
            run::describe_exit(output.status)
        ));
    }
    parse_instruction_count(&said)
        .ok_or_else(|| format!("`{}` did not print a count\n{said}", run::command_text(&command)))
}

/// Finds the number in a line like `==42== Collected : 123456`.
fn parse_instruction_count(said: &str) -> Option<u64> {
    let (_, rest) = said.lines().find_map(|line| line.split_once("Collected :"))?;
    rest.split_whitespace().next()?.parse().ok()
}

fn parse(text: &str) -> Result<Counts> {
    let table: Table = text.parse().map_err(|error| format!("not TOML: {error}"))?;
    let number = |value: &toml::Value| value.as_integer().and_then(|number| u64::try_from(number).ok());
    table
        .iter()
        .map(|(case, value)| {
            Ok((case.clone(), number(value).ok_or(format!("`{case}` is not a whole number"))?))
        })
        .collect()
}

fn render(counts: &Counts) -> String {
    let mut text = format!("{FILE_HEADER}\n");
    for (case, count) in counts {
        let bare = case.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_');
        let key = if bare { case.clone() } else { serde_json::Value::from(case.as_str()).to_string() };
        let _ = writeln!(text, "{key} = {count}");
    }
    text
}

const BUDGET: &str = "bench/budget.toml";
/// Like `release`, but without optimization across crates, and with symbols.
const PROFILE: &str = "counts";
const FEW_OPERATIONS: u64 = 200;
const MANY_OPERATIONS: u64 = 1200;
/// Per cent by which a count may differ from its budget; other compilers and hash seeds change it by one or two.
const TOLERANCE: u64 = 5;
/// How much more a message of 64 KiB may cost than one of 32 KiB, in tenths: linear, with some margin.
const GROWTH_TENTHS: u64 = 22;
const FILE_HEADER: &str = "\
# Instructions per operation, as callgrind counts them in the release build; `cargo xtask counts` compares and fails
# above 5 %, `--bless` rewrites.
";

#[cfg(test)]
mod tests {
    use super::{Counts, compare, parse, parse_instruction_count, render};

    fn counts(rows: &[(&str, u64)]) -> Counts {
        rows.iter().map(|(case, count)| ((*case).to_owned(), *count)).collect()
    }

    #[test]
    fn more_than_five_per_cent_above_fails_and_below_is_only_told() {
        let budget =
            counts(&[("same", 1000), ("edge", 1000), ("over", 1000), ("under", 1000), ("gone", 1000)]);
        let found = counts(&[("same", 1000), ("edge", 1050), ("over", 1051), ("under", 949), ("new", 1)]);
        let (table, failed) = compare(&found, &budget);
        assert_eq!(failed, 3, "{table}");
        let remark = |case: &str| {
            let line = table.lines().find(|line| line.starts_with(case)).unwrap();
            line.split_whitespace().nth(3).map(str::to_owned)
        };
        assert_eq!(remark("same"), None);
        assert_eq!(remark("edge"), None);
        assert_eq!(remark("over").as_deref(), Some("FAILED:"));
        assert_eq!(remark("under").as_deref(), Some("cheaper:"));
        assert_eq!(remark("new").as_deref(), Some("FAILED:"));
        assert_eq!(remark("gone").as_deref(), Some("FAILED:"));
    }

    #[test]
    fn a_cost_that_grows_faster_than_the_message_fails() {
        let grown = counts(&[("keys-32k", 100), ("keys-64k", 221)]);
        assert_eq!(compare(&grown, &grown).1, 1);
        let linear = counts(&[("keys-32k", 100), ("keys-64k", 220)]);
        assert_eq!(compare(&linear, &linear).1, 0);
    }

    #[test]
    fn the_budget_file_is_read_as_it_was_written() {
        let written = counts(&[("call", 12345), ("http/call", 7)]);
        assert_eq!(parse(&render(&written)), Ok(written));
        assert!(parse("call = -1").unwrap_err().contains("`call`"));
    }

    #[test]
    fn the_count_is_found_in_what_callgrind_says() {
        assert_eq!(
            parse_instruction_count("==7== Events    : Ir\n==7== Collected : 4711\n==7== \n"),
            Some(4711)
        );
        assert_eq!(parse_instruction_count("==7== nothing"), None);
    }
}
