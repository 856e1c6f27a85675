//! What may an operation cost, and how is a count compared with that?

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use toml::{Table, Value};

use super::Kind;
use crate::run::Result;

/// Case → what it costs.
pub(super) type Counts = BTreeMap<String, u64>;

/// The counts of each kind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Budget(BTreeMap<Kind, Counts>);

impl Budget {
    pub(super) fn of(&self, kind: Kind) -> &Counts {
        static NONE: Counts = Counts::new();
        self.0.get(&kind).unwrap_or(&NONE)
    }

    pub(super) fn set(&mut self, kind: Kind, counts: Counts) {
        self.0.insert(kind, counts);
    }

    /// Reads the file: instructions at the top, every other kind in a table of its own.
    pub(super) fn parse(text: &str) -> Result<Self> {
        let table: Table = text.parse().map_err(|error| format!("not TOML: {error}"))?;
        let mut budget = Self::default();
        for (key, value) in &table {
            let (kind, counts) = match value {
                Value::Table(counts) => {
                    let kind = Kind::ALL.into_iter().find(|kind| kind.table() == Some(key));
                    (kind.ok_or_else(|| format!("`[{key}]` is not a kind of cost"))?, counts.clone())
                }
                count => (Kind::Instructions, Table::from_iter([(key.clone(), count.clone())])),
            };
            for (case, count) in counts {
                let count = count.as_integer().and_then(|count| u64::try_from(count).ok());
                let count = count.ok_or_else(|| format!("`{case}` is not a whole number"))?;
                budget.0.entry(kind).or_default().insert(case, count);
            }
        }
        Ok(budget)
    }

    pub(super) fn render(&self) -> String {
        let mut text = FILE_HEADER.to_owned();
        for kind in Kind::ALL {
            text.push('\n');
            if let Some(table) = kind.table() {
                let _ = writeln!(text, "# {}\n[{table}]", kind.comment());
            }
            for (case, count) in self.of(kind) {
                let bare = case.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_');
                let key =
                    if bare { case.clone() } else { serde_json::Value::from(case.as_str()).to_string() };
                let _ = writeln!(text, "{key} = {count}");
            }
        }
        text
    }
}

/// Returns the table to print, and the number of rows that fail.
pub(super) fn compare(kind: Kind, counts: &Counts, budget: &Counts) -> (String, usize) {
    let names: BTreeSet<&String> = counts.keys().chain(budget.keys()).collect();
    let width = names.iter().map(|name| name.len()).max().unwrap_or_default().max("case".len());
    let mut table = format!("{:width$}  {:>12}  {:>8}\n", "case", kind.unit(), "budget");
    let mut failed = 0;
    for name in names {
        let show = |number: Option<&u64>| number.map_or_else(|| "-".to_owned(), u64::to_string);
        let (count, allowed) = (counts.get(name), budget.get(name));
        let (fails, remark) = match (count, allowed) {
            (Some(_), None) => (true, "FAILED: no budget yet; write one with --bless"),
            (None, _) => (true, "FAILED: has a budget, but is not counted any more; remove it with --bless"),
            (Some(count), Some(budget)) if count * 100 > budget * (100 + TOLERANCE) => {
                (true, "FAILED: over budget")
            }
            (Some(count), Some(budget)) if count * 100 < budget * (100 - TOLERANCE) => {
                (false, "cheaper: lower the budget with --bless")
            }
            _ => (false, ""),
        };
        let (fails, remark) = match too_steep(counts, name) {
            Some(why) if !fails => (true, why),
            _ => (fails, remark),
        };
        failed += usize::from(fails);
        let line = format!("{name:width$}  {:>12}  {:>8}  {remark}", show(count), show(allowed));
        let _ = writeln!(table, "{}", line.trim_end());
    }
    (table, failed)
}

/// Says what is wrong if a case costs too much more than the same case with less.
fn too_steep(counts: &Counts, name: &str) -> Option<&'static str> {
    let whole = *counts.get(name)?;
    let less =
        |suffix: &str, with: &str| counts.get(&format!("{}{with}", name.strip_suffix(suffix)?)).copied();
    let is_above = |less: Option<u64>, tenths: u64| less.is_some_and(|less| whole * 10 > less * tenths);
    if is_above(less("-64k", "-32k"), GROWTH_TENTHS) {
        Some("FAILED: twice the message costs more than 2.2 times as much")
    } else if is_above(less("-many-tools", ""), FLAT_TENTHS) {
        Some("FAILED: a call costs more if there are many tools")
    } else if is_above(less("-many-sessions", ""), FLAT_TENTHS) {
        Some("FAILED: a call costs more if there are many sessions")
    } else {
        None
    }
}

/// Per cent by which a count may differ from its budget.
const TOLERANCE: u64 = 3;
/// How much more a message of 64 KiB may cost than one of 32 KiB, in tenths: linear, with some margin.
const GROWTH_TENTHS: u64 = 22;
/// How much more a call may cost with many tools or sessions, in tenths: the same, with some margin.
const FLAT_TENTHS: u64 = 11;
const FILE_HEADER: &str = "\
# Instructions per operation, as callgrind counts them in the release build; `cargo xtask counts` compares and fails
# above 3 %, `--bless` rewrites. Two more budgets are checked by CI and not repeated here: the crates of a program with the
# default features by `cargo xtask check --step dependencies` (xtask/src/dependencies.rs), and the sizes of the futures of a
# connection and of a request by the tests in crates/toolway/src/server/http/size_tests.rs.
";

#[cfg(test)]
mod tests {
    use super::{Budget, Counts, Kind, compare};

    fn counts(rows: &[(&str, u64)]) -> Counts {
        rows.iter().map(|(case, count)| ((*case).to_owned(), *count)).collect()
    }

    #[test]
    fn more_than_three_per_cent_above_fails_and_below_is_only_told() {
        let budget =
            counts(&[("same", 1000), ("edge", 1000), ("over", 1000), ("under", 1000), ("gone", 1000)]);
        let found = counts(&[("same", 1000), ("edge", 1030), ("over", 1031), ("under", 969), ("new", 1)]);
        let (table, failed) = compare(Kind::Instructions, &found, &budget);
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
        assert_eq!(compare(Kind::Instructions, &grown, &grown).1, 1);
        let linear = counts(&[("keys-32k", 100), ("keys-64k", 220)]);
        assert_eq!(compare(Kind::Instructions, &linear, &linear).1, 0);
        let searched = counts(&[("call", 100), ("call-many-tools", 111), ("call-many-sessions", 110)]);
        let (table, failed) = compare(Kind::Instructions, &searched, &searched);
        assert_eq!(failed, 1, "{table}");
        assert!(table.contains("a call costs more if there are many tools"), "{table}");
    }

    #[test]
    fn the_budget_file_is_read_as_it_was_written() {
        let mut written = Budget::default();
        written.set(Kind::Instructions, counts(&[("call", 12345), ("http/call", 7)]));
        written.set(Kind::BytesMoved, counts(&[("call", 53)]));
        written.set(Kind::StrippedBytes, counts(&[("hello", 1 << 21)]));
        assert_eq!(Budget::parse(&written.render()), Ok(written));
        assert!(Budget::parse("call = -1").unwrap_err().contains("`call`"));
        assert!(Budget::parse("[tea]\ncall = 1").unwrap_err().contains("`[tea]`"));
    }
}
