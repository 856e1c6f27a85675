//! Does the server answer, with which protocol revisions, and what does it list?

use std::sync::{Arc, Mutex, PoisonError};

use toolway::capability::ServerCapabilities;
use toolway::client::{ClientBuilder, IntoTarget, Target};
use toolway::{Client, Code, Era, Error, ProtocolVersion};

use super::findings;
use super::report::{Report, Step};
use super::session;
use super::verdict::Verdict;
use crate::console::Console;
use crate::failure::{Failure, Fault, Result, chain};
use crate::place::listing::{self, Lists};
use crate::place::{FAREWELL, Place, Way};
use crate::terminal::neutral_line;

pub(super) async fn examine(
    report: &mut Report<'_>,
    place: &Place,
    builder: ClientBuilder,
    console: &Console,
) -> Result<()> {
    let step = Step::begin("era");
    let stray = StrayLines::default();
    let client = match connect(target(place, console, &stray), builder.clone()).await {
        Ok(client) => client,
        Err(error) => return Err(fail(report, place, step, &error)),
    };
    before(report, place, "era")?;
    let outcome = match &place.way {
        Way::Url(address) => {
            let session = Step::begin("session");
            let kept = session::examine(address, builder, &client).await;
            report.well(step, &introduction(&client, kept.other_era(&client)))?;
            kept.tell(report, session)
        }
        Way::Command(_) | Way::Own(_) => {
            let other = other_era(place, builder, console, &client).await;
            report.well(step, &introduction(&client, other))
        }
    };
    let outcome = match outcome {
        Ok(()) => list(report, &client).await,
        Err(failure) => Err(failure),
    };
    stray.tell(report);
    let _ = tokio::time::timeout(FAREWELL, client.close()).await;
    outcome
}

/// The lines that a program wrote to its stdout although they are not messages. Clones share the lines.
#[derive(Debug, Clone, Default)]
struct StrayLines(Arc<Mutex<Vec<String>>>);

/// The maximum number of lines in [`StrayLines`].
const MAX_STRAY: usize = 100;

impl StrayLines {
    /// Stores a line, unless it is already known: a program that is started twice prints the same lines again.
    fn put(&self, line: &str) {
        let mut lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if lines.len() < MAX_STRAY && lines.iter().all(|known| known != line) {
            lines.push(line.to_owned());
        }
    }

    fn tell(&self, report: &mut Report<'_>) {
        let lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let what = match &**lines {
            [] => return,
            [one] => format!("the line `{one}` is not a message"),
            [first, ..] => format!("{} lines are not messages, the first is `{first}`", lines.len()),
        };
        report.warn("stdout", &format!("{what}: {STRAY}"));
    }
}

const STRAY: &str =
    "other clients may fail there; write text for people to stderr, also before the server starts";

/// Returns the target for a client. Lines of a program that are not messages are stored in `stray`.
fn target(place: &Place, console: &Console, stray: &StrayLines) -> toolway::Result<Target> {
    if let Way::Command(start) = &place.way {
        let stray = stray.clone();
        return start.heard_by(console).on_stray_line(move |line| stray.put(line)).into_target();
    }
    // Earlier steps have already reported what is wrong with the target.
    place.target(console).map_err(|failure| Error::new(toolway::ErrorKind::Misuse, failure.message))
}

async fn connect(target: toolway::Result<Target>, builder: ClientBuilder) -> toolway::Result<Client> {
    builder.connect(target?).await
}

/// Returns the steps between a connection and an answer, in order.
fn steps(place: &Place) -> &'static [&'static str] {
    match &place.way {
        Way::Url(_) => &["tls", "http"],
        Way::Command(_) => &["start"],
        Way::Own(_) => &[],
    }
}

/// Reports that all steps before the step `failed` succeeded.
fn before(report: &mut Report<'_>, place: &Place, failed: &str) -> Result<()> {
    for name in steps(place).iter().copied().take_while(|name| *name != failed) {
        match (name, &place.way) {
            ("tls", Way::Url(address)) if !address.is_encrypted() => {
                report.skipped("tls", "the URL begins with http://")?;
            }
            ("tls", _) => report.known("tls", "the certificate is trusted")?,
            ("http", _) => report.known("http", "the server answers")?,
            _ => report.known(name, "the program runs")?,
        }
    }
    Ok(())
}

fn fail(report: &mut Report<'_>, place: &Place, mut step: Step, error: &Error) -> Failure {
    let verdict = Verdict::of(error, &place.way);
    if let Err(failure) = before(report, place, verdict.step) {
        return failure;
    }
    step.rename(verdict.step);
    report.failed(step, verdict.fault, &verdict.what, &verdict.fix)
}

/// Returns the revision with a handshake (2025-11-25 or older) that a server also supports, if the client uses a
/// stateless revision. For servers that are not reached over HTTP.
async fn other_era(
    place: &Place,
    builder: ClientBuilder,
    console: &Console,
    client: &Client,
) -> Option<ProtocolVersion> {
    let pin = match client.protocol_version().era() {
        Era::Stateless => ProtocolVersion::LATEST_HANDSHAKE,
        Era::Handshake => return None,
    };
    let target = target(place, console, &StrayLines::default());
    let other = connect(target, builder.protocol(pin)).await.ok()?;
    let version = other.protocol_version();
    let _ = tokio::time::timeout(FAREWELL, other.close()).await;
    Some(version)
}

fn introduction(client: &Client, other: Option<ProtocolVersion>) -> Vec<String> {
    let version = client.protocol_version();
    let mut lines = vec![match other {
        Some(other) => format!("{version} ({}), and {other} ({})", era(version), era(other)),
        None => format!("{version} ({})", era(version)),
    }];
    if let Some(info) = client.server_info() {
        let title = info.title.as_deref().map(|title| format!(", {title}")).unwrap_or_default();
        lines.push(neutral_line(&format!("{} {}{title}", info.name, info.version)));
    }
    lines.push(format!("capabilities: {}", abilities(&client.server_capabilities())));
    lines.push(match client.instructions() {
        Some(text) => format!("instructions for models: {} characters", text.chars().count()),
        None => "no instructions for models".to_owned(),
    });
    lines
}

fn era(version: ProtocolVersion) -> &'static str {
    match version.era() {
        Era::Handshake => "handshake",
        Era::Stateless => "stateless",
    }
}

fn abilities(can: &ServerCapabilities) -> String {
    let all = [
        ("tools", can.tools.is_some()),
        ("resources", can.resources.is_some()),
        ("prompts", can.prompts.is_some()),
        ("completions", can.completions.is_some()),
        ("logging", can.logging.is_some()),
        ("tasks", can.tasks.is_some()),
    ];
    let can: Vec<_> = all.iter().filter(|(_, is_there)| *is_there).map(|(name, _)| *name).collect();
    if can.is_empty() { "none declared".to_owned() } else { can.join(", ") }
}

async fn list(report: &mut Report<'_>, client: &Client) -> Result<()> {
    let step = Step::begin("list");
    let (lists, troubles) = lists(client).await;
    for (about, message) in findings::of(&lists) {
        report.warn(&about, &message);
    }
    let (unknown, failed): (Vec<_>, Vec<_>) =
        troubles.into_iter().partition(|trouble| trouble.error.code() == Some(Code::METHOD_NOT_FOUND));
    for Trouble { what, method, .. } in unknown {
        let message = format!(
            "the server declares them, but does not support `{method}`: clients that ask for them fail"
        );
        report.warn(&format!("the {what}"), &message);
    }
    let Some(Trouble { error, .. }) = failed.first() else {
        return report.well(step, &[lists.words()]);
    };
    let fault = match Fault::of(error) {
        Fault::Unreachable if !error.is_timeout() => Fault::ToolError,
        fault => fault,
    };
    let mut lines: Vec<_> = failed
        .iter()
        .map(|Trouble { what, error, .. }| format!("its {what} cannot be listed: {}", chain(error)))
        .collect();
    if !lists.is_empty() {
        lines.push(format!("the rest can be listed: {}", lists.words()));
    }
    let fix = "look at the server's log: the lists come from the server's own code";
    Err(report.failed(step, fault, &lines.join("\n"), fix))
}

/// A list that could not be read.
struct Trouble {
    what: &'static str,
    method: &'static str,
    error: Error,
}

/// Reads all lists of the server.
async fn lists(client: &Client) -> (Lists, Vec<Trouble>) {
    let (can, mut troubles) = (client.server_capabilities(), Vec::new());
    let (has_tools, has_resources) = (can.tools.is_some(), can.resources.is_some());
    let tools = client.list_tools().all();
    let tools = read(has_tools, tools, "tools", "tools/list", &mut troubles).await;
    let resources = client.resources();
    let resources = read(has_resources, resources, "resources", "resources/list", &mut troubles).await;
    // Not every server with resources has resource templates.
    let templates = listing::all(client.list_resource_templates());
    let (what, method) = ("resource templates", "resources/templates/list");
    let templates = read(has_resources, templates, what, method, &mut troubles).await;
    // An empty list of templates is not reported if the resources could not be read.
    let templates = templates.filter(|templates| resources.is_some() || !templates.is_empty());
    let prompts = client.prompts();
    let prompts = read(can.prompts.is_some(), prompts, "prompts", "prompts/list", &mut troubles).await;
    (Lists { tools, resources, templates, prompts }, troubles)
}

/// Reads a list that the server offers. If one list fails, the others are still read, unless the server did not answer
/// at all.
async fn read<T>(
    is_there: bool,
    list: impl Future<Output = toolway::Result<Vec<T>>>,
    what: &'static str,
    method: &'static str,
    troubles: &mut Vec<Trouble>,
) -> Option<Vec<T>> {
    if !is_there || troubles.iter().any(|trouble| trouble.error.rpc().is_none()) {
        return None;
    }
    list.await.map_err(|error| troubles.push(Trouble { what, method, error })).ok()
}
