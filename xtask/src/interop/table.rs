//! What did the programs report, and is anything missing?
//!
//! A program prints one line per check: `ok   ERA VERSION GROUP: WHAT`, or `FAIL` or `n/a ` with ` -- WHY` after it. It
//! reports on one peer, a client or a server. A column is one peer in one era over one transport, a row is a group of
//! checks. Peers of one revision must report the same checks, except in the group `own`: a missing check is a failure.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use crate::run::Result;

/// Everything that was reported so far.
#[derive(Debug)]
pub(super) struct Table {
    title: &'static str,
    peers: Peers,
    columns: Vec<Column>,
    /// Failures of a peer as a whole.
    peer_failures: Vec<String>,
}

/// The kind of peer at the other end.
#[derive(Clone, Copy, Debug)]
pub(super) enum Peers {
    Clients,
    Servers,
}

impl Peers {
    fn singular(self) -> &'static str {
        match self {
            Self::Clients => "client",
            Self::Servers => "server",
        }
    }
}

/// One peer over one transport, and what must be reported about it.
#[derive(Clone, Debug)]
pub(super) struct Run {
    pub(super) peer: String,
    pub(super) transport: &'static str,
    /// The eras and revisions.
    pub(super) eras: &'static [&'static str],
    pub(super) coverage: Coverage,
}

/// How many of the checks run with a peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Coverage {
    /// All checks that run with the other peers of this coverage.
    All,
    /// A selection of its own.
    Some,
}

/// One peer in one era.
#[derive(Debug)]
struct Column {
    run: Run,
    /// The era and the revision.
    era: String,
    checks: Vec<Check>,
}

#[derive(Debug)]
struct Check {
    group: String,
    what: String,
    outcome: Outcome,
}

#[derive(Debug, Clone, PartialEq)]
enum Outcome {
    /// With a remark, for example a count.
    Passed(String),
    Failed(String),
    NotApplicable(String),
}

impl Table {
    pub(super) fn new(title: &'static str, peers: Peers) -> Self {
        Self { title, peers, columns: Vec::new(), peer_failures: Vec::new() }
    }

    pub(super) fn title(&self) -> &'static str {
        self.title
    }

    /// Adds the output of a program and how it ended, and returns the problems to show immediately.
    pub(super) fn add(&mut self, run: &Run, lines: &str, ending: Option<String>) -> Vec<String> {
        let mut problems = Vec::new();
        let mut columns: Vec<Column> = Vec::new();
        for line in lines.lines() {
            let Some((era, check)) = parse_line(line) else {
                problems.push(format!("not the line of a check: {line}"));
                continue;
            };
            if matches!(check.outcome, Outcome::Failed(_)) {
                problems.push(line.to_owned());
            }
            match columns.iter_mut().find(|column| column.era == era) {
                Some(column) => column.checks.push(check),
                None => columns.push(Column { run: run.clone(), era, checks: vec![check] }),
            }
        }
        let peer = format!("{} over {}", run.peer, run.transport);
        let missing = run.eras.iter().filter(|era| !columns.iter().any(|column| column.era == **era));
        let mut troubles: Vec<String> = missing.map(|era| format!("{peer}: no report about {era}")).collect();
        let failed = columns.iter().flat_map(|column| &column.checks).any(Check::is_failed);
        match ending {
            Some(ending) if !failed => troubles.push(format!("{peer}: ended with {ending}")),
            None if failed => troubles.push(format!("{peer}: exited with success after a failure")),
            _ => {}
        }
        problems.extend(troubles.iter().cloned());
        self.peer_failures.append(&mut troubles);
        self.columns.append(&mut columns);
        problems
    }

    /// Prints the table; an error if a check failed or is missing.
    pub(super) fn print(mut self) -> Result {
        self.add_missing_checks();
        let (text, verdict) = self.summary();
        print!("{text}");
        verdict
    }

    /// Adds a failure for each check that a column does not report although another column of the same revision does.
    fn add_missing_checks(&mut self) {
        let revision = |column: &Column| column.era.split(' ').next_back().unwrap_or_default().to_owned();
        let known: BTreeSet<(String, String, String)> = self
            .columns
            .iter()
            .filter(|column| column.run.coverage == Coverage::All)
            .flat_map(|column| column.checks.iter().map(move |check| (column, check)))
            .filter(|(_, check)| check.group != OWN_GROUP && check.group != ALL_GROUP)
            .map(|(column, check)| (revision(column), check.group.clone(), check.what.clone()))
            .collect();
        let all = |column: &&mut Column| {
            column.run.coverage == Coverage::All && column.unsupported_reason().is_none()
        };
        for column in self.columns.iter_mut().filter(all) {
            let version = revision(column);
            for (_, group, what) in known.iter().filter(|(of, ..)| *of == version) {
                let reported = column.checks.iter().any(|check| check.group == *group && check.what == *what);
                if !reported {
                    self.peer_failures.push(format!(
                        "{} over {} in {}: no report about `{group}: {what}`",
                        column.run.peer, column.run.transport, column.era
                    ));
                    let outcome = Outcome::Failed("no report".to_owned());
                    column.checks.push(Check { group: group.clone(), what: what.clone(), outcome });
                }
            }
        }
    }

    fn summary(&self) -> (String, Result) {
        let (title, one) = (self.title, self.peers.singular());
        let mut text = format!(" no  {one:46}  transport  era             revision    passed  failed  n/a\n");
        let spoken: Vec<&Column> =
            self.columns.iter().filter(|column| column.unsupported_reason().is_none()).collect();
        let mut number = 0;
        for column in &self.columns {
            let (era, revision) = column.era.split_once(' ').unwrap_or_default();
            let Run { peer, transport, .. } = &column.run;
            let name = format!("{peer:46}  {transport:9}  {era:14}  {revision:10}");
            if let Some(why) = column.unsupported_reason() {
                let _ = writeln!(text, "  -  {name}  not in this {one}: {why}");
                continue;
            }
            number += 1;
            let count =
                |wanted: fn(&Check) -> bool| column.checks.iter().filter(|check| wanted(check)).count();
            let _ = writeln!(
                text,
                "{number:3}  {name}  {:6}  {:6}  {:3}",
                count(Check::is_passed),
                count(Check::is_failed),
                count(Check::is_not_applicable),
            );
        }
        let mut rest: &[&Column] = &spoken;
        while let Some(first) = rest.first() {
            let same = |column: &&&Column| column.run.transport == first.run.transport;
            let (block, others) = rest.split_at(rest.iter().take_while(same).count());
            text += &feature_table(block, spoken.len() - rest.len());
            rest = others;
        }
        let _ = writeln!(text, "(part: some checks are not possible, see below; -: nothing to check)\n");
        text += &remarks("noted in", &spoken, |outcome| match outcome {
            Outcome::Passed(told) if !told.is_empty() => Some(told),
            _ => None,
        });
        text += &remarks("n/a in", &spoken, |outcome| match outcome {
            Outcome::NotApplicable(why) => Some(why),
            _ => None,
        });
        for trouble in &self.peer_failures {
            let _ = writeln!(text, "FAILED  {trouble}");
        }
        let total = |wanted: fn(&Check) -> bool| {
            spoken.iter().flat_map(|column| &column.checks).filter(|check| wanted(check)).count()
        };
        let (passed, failed) = (total(Check::is_passed), total(Check::is_failed));
        let not_here = total(Check::is_not_applicable);
        let _ = writeln!(
            text,
            "interop, {title}: {passed} passed, {failed} failed, {not_here} could not be asked"
        );
        let verdict = if failed == 0 && self.peer_failures.is_empty() && passed > 0 {
            Ok(())
        } else {
            Err(format!(
                "interop, {title}: {failed} of {} checks failed, {} {one}s with problems; the details are above",
                passed + failed,
                self.peer_failures.len()
            ))
        };
        (text, verdict)
    }
}

impl Column {
    /// Returns the reason why the peer does not support this era, if it does not.
    fn unsupported_reason(&self) -> Option<&str> {
        self.checks.iter().find_map(|check| match &check.outcome {
            Outcome::NotApplicable(why) if check.group == ALL_GROUP => Some(why.as_str()),
            _ => None,
        })
    }

    fn cell(&self, group: &str) -> &'static str {
        let checks = || self.checks.iter().filter(|check| check.group == group);
        match (checks().count(), checks().filter(|check| check.is_not_applicable()).count()) {
            _ if checks().any(Check::is_failed) => "FAILED",
            (0, _) => "-",
            (_, 0) => "ok",
            (all, not_here) if all == not_here => "n/a",
            _ => "part",
        }
    }
}

impl Check {
    fn is_passed(&self) -> bool {
        matches!(self.outcome, Outcome::Passed(_))
    }

    fn is_failed(&self) -> bool {
        matches!(self.outcome, Outcome::Failed(_))
    }

    fn is_not_applicable(&self) -> bool {
        matches!(self.outcome, Outcome::NotApplicable(_))
    }
}

/// Writes the result of each group for each of the columns; `before` columns precede them.
fn feature_table(columns: &[&Column], before: usize) -> String {
    let mut groups: Vec<&str> = Vec::new();
    for check in columns.iter().flat_map(|column| &column.checks) {
        if !groups.contains(&check.group.as_str()) {
            groups.push(&check.group);
        }
    }
    let mut text = format!("\n{:10}", columns.first().map_or("", |column| column.run.transport));
    for number in 1..=columns.len() {
        let _ = write!(text, "  {:>6}", before + number);
    }
    for group in groups {
        let _ = write!(text, "\n{group:10}");
        for column in columns {
            let _ = write!(text, "  {:>6}", column.cell(group));
        }
    }
    text.push('\n');
    text
}

/// Lists every check that has a remark once, with the columns and the remark.
fn remarks(title: &str, spoken: &[&Column], said: impl Fn(&Outcome) -> Option<&String>) -> String {
    let mut remarks: Vec<(String, Vec<usize>)> = Vec::new();
    for (at, column) in spoken.iter().enumerate() {
        for check in &column.checks {
            let Some(said) = said(&check.outcome) else { continue };
            let remark = format!("{}: {} ({said})", check.group, check.what);
            match remarks.iter_mut().find(|(known, _)| *known == remark) {
                Some((_, numbers)) => numbers.push(at + 1),
                None => remarks.push((remark, vec![at + 1])),
            }
        }
    }
    remarks.iter().fold(String::new(), |mut text, (remark, numbers)| {
        let _ = writeln!(text, "{title} {}: {remark}", ranges(numbers));
        text
    })
}

/// Writes numbers in order, with consecutive ones as a range.
fn ranges(numbers: &[usize]) -> String {
    let runs = numbers.chunk_by(|one, next| one + 1 == *next).map(|run| match run {
        [first, .., last] => format!("{first}-{last}"),
        _ => run.iter().map(ToString::to_string).collect(),
    });
    runs.collect::<Vec<_>>().join(", ")
}

/// Parses the line of one check: its era with the revision, and the check.
fn parse_line(line: &str) -> Option<(String, Check)> {
    let (kind, rest) = line.split_once(' ')?;
    let mut words = rest.trim_start().splitn(3, ' ');
    let era = format!("{} {}", words.next()?, words.next()?);
    let (group, rest) = words.next()?.split_once(": ")?;
    let (what, why) = rest.split_once(" -- ").unwrap_or((rest, ""));
    let outcome = match kind {
        "ok" => Outcome::Passed(why.to_owned()),
        "FAIL" => Outcome::Failed(why.to_owned()),
        "n/a" => Outcome::NotApplicable(why.to_owned()),
        _ => return None,
    };
    Some((era, Check { group: group.to_owned(), what: what.to_owned(), outcome }))
}

/// The group of checks that only one library has.
const OWN_GROUP: &str = "own";
/// The group of the single line about an era that a library does not support.
const ALL_GROUP: &str = "all";

#[cfg(test)]
mod tests {

    use super::{Coverage, Peers, Run, Table, ranges};

    const AUTO: &[&str] = &["auto 2026-07-28"];

    fn run(peer: &str, eras: &'static [&'static str]) -> Run {
        Run { peer: peer.to_owned(), transport: "stdio", eras, coverage: Coverage::All }
    }

    fn table(sayings: &[(&str, &str)]) -> Table {
        let mut table = Table::new("every feature", Peers::Clients);
        for (client, lines) in sayings {
            let ending = lines.contains("FAIL").then(|| "exit code 1".to_owned());
            table.add(&run(client, &["handshake 2025-11-25"]), lines, ending);
        }
        table.add_missing_checks();
        table
    }

    #[test]
    fn a_group_says_ok_failed_or_what_is_not_in_the_client() {
        let (text, verdict) = table(&[
            ("one", "ok   handshake 2025-11-25 log: a\nok   handshake 2025-11-25 log: b\n"),
            ("two", "ok   handshake 2025-11-25 log: a\nn/a  handshake 2025-11-25 log: b -- too old\n"),
        ])
        .summary();
        assert!(text.contains("\nlog             ok    part\n"), "{text}");
        assert!(text.contains("n/a in 2: log: b (too old)\n"), "{text}");
        verdict.unwrap();
    }

    #[test]
    fn what_a_check_has_counted_is_told_once_for_all_who_counted_the_same() {
        let (text, verdict) = table(&[
            ("one", "ok   handshake 2025-11-25 schemas: a -- 12 schemas\n"),
            ("two", "ok   handshake 2025-11-25 schemas: a -- 12 schemas\n"),
        ])
        .summary();
        assert!(text.contains("noted in 1-2: schemas: a (12 schemas)\n"), "{text}");
        verdict.unwrap();
    }

    #[test]
    fn columns_that_follow_each_other_are_named_as_one() {
        assert_eq!(ranges(&[1, 2, 3, 5, 7, 8]), "1-3, 5, 7-8");
        assert_eq!(ranges(&[]), "");
    }

    #[test]
    fn a_failed_check_fails_the_whole() {
        let (text, verdict) =
            table(&[("one", "FAIL handshake 2025-11-25 log: a -- no\nok   handshake 2025-11-25 log: b\n")])
                .summary();
        assert!(text.contains("\nlog         FAILED\n"), "{text}");
        assert!(verdict.unwrap_err().contains("1 of 2 checks failed"));
    }

    #[test]
    fn a_check_that_only_one_client_reports_has_failed_in_the_other() {
        let (text, verdict) = table(&[
            ("one", "ok   handshake 2025-11-25 log: a\nok   handshake 2025-11-25 log: b\n"),
            ("two", "ok   handshake 2025-11-25 log: a\nok   handshake 2025-11-25 own: c\n"),
        ])
        .summary();
        assert!(text.contains("two over stdio in handshake 2025-11-25: no report about `log: b`"), "{text}");
        assert!(verdict.is_err());
    }

    #[test]
    fn each_transport_has_its_own_columns_and_some_clients_choose() {
        let mut table = Table::new("every feature", Peers::Clients);
        let stdio = run("one", AUTO);
        table.add(&stdio, "ok   auto 2026-07-28 log: a\nok   auto 2026-07-28 log: b\n", None);
        let http = Run { transport: "http", coverage: Coverage::Some, ..stdio };
        table.add(&http, "ok   auto 2026-07-28 log: a\n", None);
        table.add_missing_checks();
        let (text, verdict) = table.summary();
        assert!(text.contains("\nstdio            1\nlog             ok\n"), "{text}");
        assert!(text.contains("\nhttp             2\nlog             ok\n"), "{text}");
        verdict.unwrap();
    }

    #[test]
    fn silence_about_an_era_and_a_bad_ending_fail_the_whole() {
        let mut silent = Table::new("every feature", Peers::Clients);
        let problems = silent.add(&run("one", AUTO), "", None);
        assert_eq!(problems, ["one over stdio: no report about auto 2026-07-28"]);
        let mut crashed = Table::new("every feature", Peers::Clients);
        let ok = "ok   auto 2026-07-28 log: a\n";
        crashed.add(&run("one", AUTO), ok, Some("exit code 1".to_owned()));
        assert!(crashed.summary().1.is_err());
    }

    #[test]
    fn an_era_that_a_client_does_not_speak_is_no_column() {
        let (text, verdict) = table(&[(
            "one",
            "ok   handshake 2025-11-25 log: a\nn/a  stateless 2026-07-28 all: every check -- too old\n",
        )])
        .summary();
        assert!(text.contains("not in this client: too old"), "{text}");
        assert!(text.contains("\nlog             ok\n"), "{text}");
        verdict.unwrap();
    }
}
