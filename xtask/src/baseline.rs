//! Which conformance failures are known, which piece of work removes them, and was one added?
//!
//! `conformance/baseline.toml` lists what fails today. The list is exact in both directions: a failure that is not in
//! it fails the run, and so does an entry whose check passes. Compared with every committed version of the file it may
//! only shrink, as long as the version of the suite is the same.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use toml::{Table, Value};

use crate::run::Result;
use crate::suite::{FailedChecks, Scenario, Side};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Baseline {
    /// The version of the suite that the entries belong to.
    pub(crate) suite: String,
    groups: BTreeMap<(Side, String), Entries>,
}

/// `scenario` or `scenario:check` → the work that removes the failure.
type Entries = BTreeMap<String, String>;

/// The result of a scenario compared with the baseline.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Passed,
    /// Fails exactly as listed; each entry with the work that removes it.
    Known(Vec<(String, String)>),
    /// Differs from the list; one line for each difference.
    Failed(Vec<String>),
}

impl Baseline {
    pub(crate) fn parse(text: &str) -> Result<Self> {
        let table: Table = text.parse().map_err(|error| format!("not TOML: {error}"))?;
        let mut baseline = Self::default();
        for (key, value) in &table {
            let side = match key.as_str() {
                "suite" => {
                    value.as_str().ok_or("`suite` is not a string")?.clone_into(&mut baseline.suite);
                    continue;
                }
                "server" => Side::Server,
                "client" => Side::Client,
                _ => return Err(format!("`{key}` is not one of `suite`, `server`, `client`")),
            };
            for (revision, entries) in value.as_table().ok_or(format!("`{key}` is not a table"))? {
                let entries =
                    parse_entries(entries).map_err(|why| format!("[{key}.\"{revision}\"]: {why}"))?;
                baseline.groups.insert((side, revision.clone()), entries);
            }
        }
        if baseline.suite.is_empty() {
            return Err("the key `suite`, the suite's version, is missing".to_owned());
        }
        Ok(baseline)
    }

    /// Compares one result with the list.
    pub(crate) fn judge(&self, scenario: &Scenario, failing: &FailedChecks) -> Verdict {
        let listed = self.entries_of(scenario);
        let whole = listed.contains_key(&scenario.name);
        let mut wrong: Vec<String> = failing
            .iter()
            .filter(|(check, _)| !whole && !listed.contains_key(&format!("{}:{check}", scenario.name)))
            .map(|(check, message)| format!("{check}: {message}"))
            .collect();
        let stale = listed.keys().filter(|entry| match check_of(entry) {
            None => failing.is_empty(),
            Some(check) => !failing.contains_key(check),
        });
        wrong.extend(stale.map(|entry| {
            format!("`{entry}` is in the baseline but passes now: remove it (or run with --bless)")
        }));
        match (wrong.is_empty(), listed.is_empty()) {
            (false, _) => Verdict::Failed(wrong),
            (true, true) => Verdict::Passed,
            (true, false) => Verdict::Known(listed.into_iter().collect()),
        }
    }

    /// Returns the entries whose scenario the suite does not have (any more).
    pub(crate) fn unknown_entries(&self, all: &[Scenario]) -> Vec<String> {
        let exists = |side: Side, revision: &str, entry: &str| {
            all.iter().any(|known| {
                known.side == side && known.revision == revision && known.name == scenario_of(entry)
            })
        };
        self.all_entries()
            .filter(|(side, revision, entry)| !exists(*side, revision, entry))
            .map(|(side, revision, entry)| entry_label(side, revision, entry))
            .collect()
    }

    /// Returns the entries that an older version of the file did not cover. A check of a scenario that was listed as a
    /// whole is covered, because naming the check is narrower.
    pub(crate) fn added_since(&self, older: &Self) -> Vec<String> {
        if older.suite != self.suite {
            return Vec::new();
        }
        let nothing = Entries::new();
        self.all_entries()
            .filter(|(side, revision, entry)| {
                let old = older.groups.get(&(*side, (*revision).to_owned())).unwrap_or(&nothing);
                !old.contains_key(*entry) && !old.contains_key(scenario_of(entry))
            })
            .map(|(side, revision, entry)| entry_label(side, revision, entry))
            .collect()
    }

    /// Returns the baseline that matches these results. Scenarios that did not run keep their entries. Known failures
    /// keep their reason and their granularity. A new failure is listed as a whole scenario: fixing its first check
    /// often reveals the next one, which could not be added then.
    pub(crate) fn updated(
        &self,
        suite: &str,
        all: &[Scenario],
        results: &[(Scenario, FailedChecks)],
    ) -> Self {
        let mut blessed = Self { suite: suite.to_owned(), groups: BTreeMap::new() };
        for scenario in all {
            let listed = self.entries_of(scenario);
            let kept: Entries = match results.iter().find(|(ran, _)| ran == scenario) {
                None => listed,
                Some((_, failing)) if failing.is_empty() => Entries::new(),
                Some(_) if listed.is_empty() || listed.contains_key(&scenario.name) => {
                    let reason = listed.get(&scenario.name).map_or(NEW_REASON, String::as_str);
                    Entries::from([(scenario.name.clone(), reason.to_owned())])
                }
                Some((_, failing)) => failing
                    .keys()
                    .map(|check| {
                        let entry = format!("{}:{check}", scenario.name);
                        let reason = listed.get(&entry).map_or(NEW_REASON, String::as_str).to_owned();
                        (entry, reason)
                    })
                    .collect(),
            };
            blessed.groups.entry((scenario.side, scenario.revision.clone())).or_default().extend(kept);
        }
        blessed
    }

    /// Returns the text of the file.
    pub(crate) fn render(&self) -> String {
        let mut text = format!("{FILE_HEADER}\nsuite = {}\n", quoted(&self.suite));
        for ((side, revision), entries) in &self.groups {
            if entries.is_empty() {
                continue;
            }
            let _ = writeln!(text, "\n[{side}.{}]", quoted(revision));
            for (entry, reason) in entries {
                let bare = entry.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_');
                let key = if bare { entry.clone() } else { quoted(entry) };
                let _ = writeln!(text, "{key} = {}", quoted(reason));
            }
        }
        text
    }

    fn entries_of(&self, scenario: &Scenario) -> Entries {
        let group = self.groups.get(&(scenario.side, scenario.revision.clone()));
        let of_scenario = |entry: &str| scenario_of(entry) == scenario.name;
        group
            .into_iter()
            .flatten()
            .filter(|(entry, _)| of_scenario(entry))
            .map(|(k, v)| (k.clone(), v.clone()))
            .collect()
    }

    fn all_entries(&self) -> impl Iterator<Item = (Side, &str, &str)> {
        self.groups.iter().flat_map(|((side, revision), entries)| {
            entries.keys().map(|entry| (*side, revision.as_str(), entry.as_str()))
        })
    }
}

fn parse_entries(value: &Value) -> Result<Entries> {
    let table = value.as_table().ok_or("not a table")?;
    let mut entries = Entries::new();
    for (entry, reason) in table {
        let reason = reason.as_str().ok_or(format!("the value of `{entry}` is not a string"))?;
        entries.insert(entry.clone(), reason.to_owned());
    }
    let whole: BTreeSet<&str> =
        entries.keys().map(String::as_str).filter(|entry| check_of(entry).is_none()).collect();
    match entries.keys().find(|entry| check_of(entry).is_some() && whole.contains(scenario_of(entry))) {
        Some(entry) => Err(format!("`{entry}` is covered by `{}` already; keep one", scenario_of(entry))),
        None => Ok(entries),
    }
}

fn scenario_of(entry: &str) -> &str {
    entry.split_once(':').map_or(entry, |(scenario, _)| scenario)
}

fn check_of(entry: &str) -> Option<&str> {
    entry.split_once(':').map(|(_, check)| check)
}

fn entry_label(side: Side, revision: &str, entry: &str) -> String {
    format!("{side} {revision} {entry}")
}

fn quoted(text: &str) -> String {
    // A JSON string of printable text is a TOML basic string.
    serde_json::Value::from(text).to_string()
}

const NEW_REASON: &str = "later";
const FILE_HEADER: &str = "\
# The failures of the official conformance suite today; `cargo xtask conformance` compares, `--bless` rewrites.
#
# A key is a scenario (every failure in it is known) or \"scenario:check\" (only this check fails); the value says when
# or where it will be fixed. A failure that is not listed is an error, and so is an entry that passes. For one version
# of the suite the list may only shrink, which is checked against every commit of this file.
";

#[cfg(test)]
mod tests {
    use super::{Baseline, Verdict};
    use crate::suite::{FailedChecks, Scenario, Scoring, Side};

    const FILE: &str = r#"
suite = "1"
[server."2025-11-25"]
ping = "issue 4"
"tools-list:names" = "issue 5"
"tools-list:order" = "issue 5"
[client."2026-07-28"]
"auth/dpop" = "later"
"#;

    fn scenario(side: Side, revision: &str, name: &str) -> Scenario {
        Scenario { side, revision: revision.to_owned(), name: name.to_owned(), weight: Scoring::Scored }
    }

    fn server(name: &str) -> Scenario {
        scenario(Side::Server, "2025-11-25", name)
    }

    fn failing(checks: &[&str]) -> FailedChecks {
        checks.iter().map(|check| ((*check).to_owned(), "why".to_owned())).collect()
    }

    fn file(entries: &str) -> Baseline {
        Baseline::parse(&format!("suite = \"1\"\n[server.\"2025-11-25\"]\n{entries}")).unwrap()
    }

    #[test]
    fn the_list_is_exact_in_both_directions() {
        let baseline = Baseline::parse(FILE).unwrap();
        let known = |name: &str, checks: &[&str]| match baseline.judge(&server(name), &failing(checks)) {
            Verdict::Passed => "passed".to_owned(),
            Verdict::Known(entries) => entries
                .into_iter()
                .map(|(entry, reason)| [entry, reason].join("="))
                .collect::<Vec<_>>()
                .join(";"),
            Verdict::Failed(lines) => lines.join("|"),
        };
        assert_eq!(known("prompts-list", &[]), "passed");
        assert_eq!(known("prompts-list", &["a", "b"]), "a: why|b: why");
        assert_eq!(known("ping", &["any", "other"]), "ping=issue 4");
        assert!(known("ping", &[]).contains("`ping` is in the baseline but passes now"));
        assert_eq!(
            known("tools-list", &["names", "order"]),
            "tools-list:names=issue 5;tools-list:order=issue 5"
        );
        let both = known("tools-list", &["names", "new"]);
        assert!(both.starts_with("new: why|`tools-list:order` is in the baseline but passes now"), "{both}");
    }

    #[test]
    fn an_entry_belongs_to_one_side_and_revision() {
        let baseline = Baseline::parse(FILE).unwrap();
        let elsewhere = scenario(Side::Client, "2025-11-25", "ping");
        assert_eq!(baseline.judge(&elsewhere, &failing(&[])), Verdict::Passed);
        let all = [server("ping"), server("tools-list")];
        assert_eq!(baseline.unknown_entries(&all), ["client 2026-07-28 auth/dpop"]);
    }

    #[test]
    fn a_file_may_shrink_and_narrow_but_not_grow() {
        let rows = [
            ("a = 'x'\nb = 'x'", "a = 'y'", vec![]),
            ("a = 'x'", "'a:check' = 'x'", vec![]),
            ("'a:check' = 'x'", "a = 'x'", vec!["server 2025-11-25 a"]),
            ("a = 'x'", "a = 'x'\nb = 'x'", vec!["server 2025-11-25 b"]),
        ];
        for (old, new, grown) in rows {
            assert_eq!(file(new).added_since(&file(old)), grown, "{old} -> {new}");
        }
        let other_suite = Baseline { suite: "2".to_owned(), ..Baseline::default() };
        assert!(file("a = 'x'").added_since(&other_suite).is_empty());
    }

    #[test]
    fn blessing_keeps_reasons_and_what_did_not_run() {
        let old = file(
            "a = 'issue 4'\n'b:one' = 'issue 5'\n'b:two' = 'issue 5'\nc = 'issue 6'\ngone = 'x'\nd = 'x'",
        );
        let names = ["a", "b", "c", "d", "new"];
        let all: Vec<Scenario> = names.iter().map(|name| server(name)).collect();
        let results = [
            (server("a"), failing(&["x"])),
            (server("b"), failing(&["two", "three"])),
            (server("d"), failing(&[])),
            (server("new"), failing(&["x", "y"])),
        ];
        let blessed = old.updated("1", &all, &results);
        let expected =
            "a = 'issue 4'\n'b:two' = 'issue 5'\n'b:three' = 'later'\nc = 'issue 6'\nnew = 'later'";
        assert_eq!(blessed, file(expected));
        assert_eq!(Baseline::parse(&blessed.render()).unwrap(), blessed);
    }

    #[test]
    fn a_malformed_file_is_refused_with_its_place() {
        let rows = [
            ("[server.x]", "`suite`"),
            ("suite = '1'\n[sever.x]", "`sever`"),
            ("suite = '1'\n[server.x]\na = 1", "[server.\"x\"]: the value of `a`"),
            ("suite = '1'\n[server.x]\na = 'x'\n'a:b' = 'x'", "`a:b` is covered by `a`"),
            ("suite = '1'\n[server.x]\na = 'x'\na = 'x'", "not TOML"),
        ];
        for (text, message) in rows {
            let error = Baseline::parse(text).unwrap_err();
            assert!(error.contains(message), "{text}: {error}");
        }
    }
}
