//! What is printed about a run, and how?
//!
//! A table with a row for each revision, the definitions that no type covers, and the faults. The same fault occurs in
//! many values; it is printed once, with its count and the shortest value that shows it.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::Value;

/// The results of one revision.
#[derive(Debug, Default)]
pub(super) struct Report {
    pub(super) revision: String,
    pub(super) definitions: usize,
    pub(super) covered: usize,
    /// Definitions that no type covers.
    pub(super) uncovered: Vec<String>,
    /// Values that were generated from the schema.
    pub(super) generated: usize,
    /// Values that a type read and wrote again.
    pub(super) written: usize,
    /// Published examples that a type read and wrote again.
    pub(super) examples: usize,
    /// By definition, then by the kind of failure.
    faults: BTreeMap<String, BTreeMap<String, Fault>>,
}

#[derive(Debug)]
struct Fault {
    times: usize,
    details: String,
}

impl Report {
    pub(super) fn new(revision: &str) -> Self {
        Self { revision: revision.to_owned(), ..Self::default() }
    }

    /// Records a failure of a definition: a short description, and the details of this case.
    pub(super) fn fail(&mut self, definition: &str, what: impl Into<String>, details: impl Into<String>) {
        let faults = self.faults.entry(definition.to_owned()).or_default();
        let details = details.into();
        let fault = faults.entry(what.into()).or_insert_with(|| Fault { times: 0, details: details.clone() });
        fault.times += 1;
        if details.len() < fault.details.len() {
            fault.details = details;
        }
    }

    /// Returns the number of recorded failures.
    pub(super) fn failure_count(&self) -> usize {
        self.faults.values().flat_map(BTreeMap::values).map(|fault| fault.times).sum()
    }
}

/// Returns the text to print, and the number of failures in it.
pub(super) fn render(reports: &[Report]) -> (String, usize) {
    let mut text = String::new();
    for Report { revision, uncovered, .. } in reports.iter().filter(|report| !report.uncovered.is_empty()) {
        let _ = writeln!(text, "{revision}: {} definitions without a type", uncovered.len());
        text.push_str(&wrapped(uncovered));
    }
    for report in reports {
        for (definition, faults) in &report.faults {
            for (what, Fault { times, details }) in faults.iter().take(MAX_FAULTS) {
                let often = if *times == 1 { String::new() } else { format!(", {times} times") };
                let _ = writeln!(text, "FAILED: {} {definition}: {what}{often}", report.revision);
                for line in details.lines() {
                    let _ = writeln!(text, "    {}", short(line));
                }
            }
            if faults.len() > MAX_FAULTS {
                let _ =
                    writeln!(text, "    … and {} other faults of {definition}", faults.len() - MAX_FAULTS);
            }
        }
    }
    text.push_str("revision    definitions  covered  allowed  generated  written  examples  failed\n");
    for report in reports {
        let _ = writeln!(
            text,
            "{:10}  {:11}  {:7}  {:7}  {:9}  {:7}  {:8}  {:6}",
            report.revision,
            report.definitions,
            report.covered,
            report.uncovered.len(),
            report.generated,
            report.written,
            report.examples,
            report.failure_count()
        );
    }
    let total = |count: fn(&Report) -> usize| reports.iter().map(count).sum::<usize>();
    let failed = total(Report::failure_count);
    let _ = writeln!(
        text,
        "schema: {} definitions, {} values, {} examples, {failed} failed",
        total(|report| report.definitions),
        total(|report| report.written),
        total(|report| report.examples)
    );
    (text, failed)
}

/// Writes a value for the details: `name: JSON` on its own line.
pub(super) fn line(name: &str, value: &Value) -> String {
    format!("{name}: {value}\n")
}

fn short(line: &str) -> String {
    match line.char_indices().nth(MAX_VALUE_LENGTH) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_owned(),
    }
}

fn wrapped(words: &[String]) -> String {
    let mut text = String::new();
    let mut line = String::new();
    for word in words {
        if line.len() + word.len() > WIDTH {
            let _ = writeln!(text, "   {line}");
            line.clear();
        }
        line.push(' ');
        line.push_str(word);
    }
    let _ = writeln!(text, "   {line}");
    text
}

/// The number of faults printed for each definition.
const MAX_FAULTS: usize = 4;
/// The number of characters printed of a value.
const MAX_VALUE_LENGTH: usize = 500;
const WIDTH: usize = 106;

#[cfg(test)]
mod tests {
    use super::{MAX_VALUE_LENGTH, Report, render, short};

    #[test]
    fn a_fault_is_told_once_with_its_shortest_case_and_counted_each_time() {
        let mut report = Report { definitions: 2, written: 9, ..Report::new("R") };
        for details in ["long one", "short", "longer one"] {
            report.fail("Tool", "icons are lost", details);
        }
        report.fail("Prompt", "is unknown", "");
        let (text, failed) = render(&[report]);
        assert_eq!(failed, 4);
        assert!(text.contains("FAILED: R Tool: icons are lost, 3 times\n    short\n"), "{text}");
        assert!(text.contains("FAILED: R Prompt: is unknown\n"), "{text}");
        assert!(text.ends_with("schema: 2 definitions, 9 values, 0 examples, 4 failed\n"), "{text}");
    }

    #[test]
    fn of_many_faults_the_first_few_are_told() {
        let mut report = Report::new("R");
        for number in 1..=9 {
            report.fail("Tool", format!("fault {number}"), "");
        }
        let (text, failed) = render(&[report]);
        assert_eq!(failed, 9);
        assert!(text.contains("fault 4\n    … and 5 other faults of Tool\n"), "{text}");
    }

    #[test]
    fn long_lines_are_cut_between_characters() {
        let text = short(&"é".repeat(MAX_VALUE_LENGTH * 2));
        assert_eq!(text.chars().count(), MAX_VALUE_LENGTH + 1);
        assert!(text.ends_with("é…"));
    }
}
