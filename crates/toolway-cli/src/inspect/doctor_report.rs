//! What does `doctor` find? The same steps and words as on the command line, without a terminal.

use serde_json::Value;

use crate::args::ConnectionArgs;
use crate::console::Console;
use crate::doctor::report::Report;
use crate::doctor::{STEP_TIMEOUT, run_checks, settings};
use crate::failure::Result;
use crate::location::{self, ServerLocation};

/// Returns the report about a server as `doctor --json` writes it. No user is asked.
pub(super) async fn doctor_report(talk: &ConnectionArgs, place: &ServerLocation) -> Result<Value> {
    let console = Console::new(false, true);
    let builder = location::builder(talk, place, &console);
    let patience = talk.timeout.unwrap_or(STEP_TIMEOUT);
    let mut report = Report::begin(&console, true, place.name(), settings::collect(talk, place))?;
    let outcome = run_checks(&mut report, place, builder, &console, patience).await;
    Ok(report.to_json(outcome.is_ok()))
}
