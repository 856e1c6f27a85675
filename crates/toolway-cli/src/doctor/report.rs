//! How are the results reported, to people and to programs?

use std::fmt::Write;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::console::Console;
use crate::failure::{Failure, Fault, Result};

/// The results so far. People see each step as soon as it is finished: while a step is slow, its result is missing, so
/// the user sees which step to investigate.
pub(crate) struct Report<'c> {
    console: &'c Console,
    wants_json: bool,
    target: String,
    settings: Vec<(String, String)>,
    steps: Vec<Value>,
    warnings: Vec<Value>,
}

/// A step that is in progress.
#[derive(Debug)]
pub(super) struct Step {
    name: &'static str,
    since: Instant,
}

impl Step {
    pub(super) fn begin(name: &'static str) -> Self {
        Self { name, since: Instant::now() }
    }

    /// Renames the step, if it turned out to be a different one.
    pub(super) fn rename(&mut self, name: &'static str) {
        self.name = name;
    }
}

impl<'c> Report<'c> {
    /// Begins the report with the server and its settings.
    pub(crate) fn begin(
        console: &'c Console,
        wants_json: bool,
        target: String,
        settings: Vec<(String, String)>,
    ) -> Result<Self> {
        let mut words = format!("{target}\n");
        for (name, value) in &settings {
            let _ = writeln!(words, "  {name}: {value}");
        }
        let report = Self { console, wants_json, target, settings, steps: Vec::new(), warnings: Vec::new() };
        report.print(&format!("{words}\n"))?;
        Ok(report)
    }

    fn print(&self, words: &str) -> Result<()> {
        if self.wants_json { Ok(()) } else { self.console.write_result(words) }
    }

    /// Reports a step that succeeded.
    pub(super) fn pass(&mut self, step: Step, lines: &[String]) -> Result<()> {
        let time = step.since.elapsed();
        self.steps.push(json!({"name": step.name, "status": "ok", "ms": millis(time), "detail": lines}));
        let first = lines.first().map(|line| format!("{line} ({})", format_duration(time)));
        let rest = lines.iter().skip(1).cloned();
        self.print(&format_step('✓', step.name, first.into_iter().chain(rest)))
    }

    /// Reports a step that succeeded without a time of its own.
    pub(super) fn pass_untimed(&mut self, name: &'static str, line: &str) -> Result<()> {
        self.steps.push(json!({"name": name, "status": "ok", "detail": [line]}));
        self.print(&format_step('✓', name, [line.to_owned()]))
    }

    /// Reports a step that was not needed.
    pub(super) fn skip(&mut self, name: &'static str, why: &str) -> Result<()> {
        self.steps.push(json!({"name": name, "status": "skipped", "detail": [why]}));
        self.print(&format_step('–', name, [why.to_owned()]))
    }

    /// Reports a step that failed, and how it may be fixed. The caller returns the failure and skips the remaining
    /// steps.
    pub(super) fn fail(&mut self, step: Step, fault: Fault, what: &str, fix: &str) -> Failure {
        let ms = millis(step.since.elapsed());
        self.steps
            .push(json!({"name": step.name, "status": "failed", "ms": ms, "detail": [what], "fix": fix}));
        let told = what.lines().map(str::to_owned).chain(fix.lines().map(|line| format!("→ {line}")));
        let failure = Failure::new(fault, format!("{}: {what}", step.name)).hint(fix);
        match self.print(&format_step('✗', step.name, told)) {
            Ok(()) => Failure { is_shown: true, ..failure },
            Err(untold) => untold,
        }
    }

    /// Adds a warning: something works, but should be improved.
    pub(super) fn warn(&mut self, about: &str, message: &str) {
        self.warnings.push(json!({"about": about, "message": message}));
    }

    /// Returns the report for a program.
    pub(crate) fn to_json(&self, is_ok: bool) -> Value {
        let settings: serde_json::Map<_, _> =
            self.settings.iter().map(|(name, value)| (name.clone(), value.as_str().into())).collect();
        json!({
            "target": self.target, "ok": is_ok, "settings": settings, "steps": self.steps, "warnings": self.warnings,
        })
    }

    /// Writes the end of the report.
    pub(super) fn end(self, outcome: Result<()>) -> Result<()> {
        if self.wants_json {
            self.console.write_result(&format!("{}\n", self.to_json(outcome.is_ok())))?;
        } else {
            let mut words = String::new();
            for warning in &self.warnings {
                let text = |name: &str| warning[name].as_str().unwrap_or_default();
                let _ = writeln!(words, "! {}: {}", text("about"), text("message"));
            }
            if !words.is_empty() {
                words.push('\n');
            }
            words.push_str(match (&outcome, self.warnings.len()) {
                (Ok(()), 0) => "All is well.\n",
                (Ok(()), _) => {
                    "It works; the lines marked with ! may be a problem for models or other clients.\n"
                }
                (Err(_), _) => "",
            });
            self.console.write_result(&format!("{}{words}", if words.is_empty() { "" } else { "\n" }))?;
        }
        outcome
    }
}

fn format_step(mark: char, name: &str, lines: impl IntoIterator<Item = String>) -> String {
    let mut words = format!("{mark} {name:7}");
    for (index, line) in lines.into_iter().enumerate() {
        let _ = if index == 0 { writeln!(words, "  {line}") } else { writeln!(words, "           {line}") };
    }
    words
}

fn millis(time: Duration) -> f64 {
    (time.as_secs_f64() * 10_000.0).round() / 10.0
}

fn format_duration(time: Duration) -> String {
    if time < Duration::from_secs(1) {
        format!("{} ms", time.as_millis())
    } else {
        format!("{:.1} s", time.as_secs_f64())
    }
}
