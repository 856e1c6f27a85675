//! Does the server answer, with which protocol revisions, and what does it list?

use std::sync::{Arc, Mutex, PoisonError};

use toolway::capability::ServerCapabilities;
use toolway::client::{ClientBuilder, IntoTarget, Target};
use toolway::{Client, Code, Era, Error, ProtocolVersion};

use super::diagnosis::Diagnosis;
use super::findings;
use super::report::{Report, Step};
use super::{session, sign_in};
use crate::console::Console;
use crate::failure::{Failure, Fault, Result, chain};
use crate::location::listing::{self, Lists};
use crate::location::{CLOSE_TIMEOUT, Endpoint, ServerLocation};
use crate::terminal::escape_to_line;

pub(super) async fn examine(
    report: &mut Report<'_>,
    place: &ServerLocation,
    builder: ClientBuilder,
    console: &Console,
) -> Result<()> {
    let step = Step::begin("era");
    let stray = StrayLines::default();
    let client = match connect(target(place, console, &stray).await, builder.clone()).await {
        Ok(client) => client,
        Err(error) => {
            let needs_login = Fault::of(&error) == Fault::AuthNeeded && error.http_status() != Some(403);
            return Err(match &place.endpoint {
                Endpoint::Url(address) if needs_login && !address.has_credentials() => {
                    report_earlier_steps(report, place, "http")?;
                    sign_in::diagnose(report, address, builder).await
                }
                _ => report_failure(report, place, step, &error),
            });
        }
    };
    report_earlier_steps(report, place, "era")?;
    let outcome = match &place.endpoint {
        Endpoint::Url(address) => {
            let session = Step::begin("session");
            let kept = session::examine(address, builder, &client, console).await;
            report.pass(step, &introduction(&client, kept.other_era(&client)))?;
            kept.write_to(report, session)
        }
        Endpoint::Command(_) | Endpoint::Own(_) => {
            let other = other_era(place, builder, console, &client).await;
            report.pass(step, &introduction(&client, other))
        }
    };
    let outcome = match outcome {
        Ok(()) => check_lists(report, &client).await,
        Err(failure) => Err(failure),
    };
    stray.warn(report);
    let _ = tokio::time::timeout(CLOSE_TIMEOUT, client.close()).await;
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

    fn warn(&self, report: &mut Report<'_>) {
        let lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let what = match &**lines {
            [] => return,
            [one] => format!("the line `{one}` is not a message"),
            [first, ..] => format!("{} lines are not messages, the first is `{first}`", lines.len()),
        };
        report.warn("stdout", &format!("{what}: {STRAY_ADVICE}"));
    }
}

const STRAY_ADVICE: &str =
    "other clients may fail there; write text for people to stderr, also before the server starts";

/// Returns the target for a client. Lines of a program that are not messages are stored in `stray`.
async fn target(place: &ServerLocation, console: &Console, stray: &StrayLines) -> toolway::Result<Target> {
    if let Endpoint::Command(start) = &place.endpoint {
        let stray = stray.clone();
        return start.with_stderr_to(console).on_stray_line(move |line| stray.put(line)).into_target();
    }
    // Earlier steps have already reported what is wrong with the target.
    place.target(console).await.map_err(|failure| Error::new(toolway::ErrorKind::Misuse, failure.message))
}

async fn connect(target: toolway::Result<Target>, builder: ClientBuilder) -> toolway::Result<Client> {
    builder.connect(target?).await
}

/// Returns the steps between a connection and an answer, in order.
fn steps(place: &ServerLocation) -> &'static [&'static str] {
    match &place.endpoint {
        Endpoint::Url(_) => &["tls", "http"],
        Endpoint::Command(_) => &["start"],
        Endpoint::Own(_) => &[],
    }
}

/// Reports that all steps before the step `failed` succeeded.
fn report_earlier_steps(report: &mut Report<'_>, place: &ServerLocation, failed: &str) -> Result<()> {
    for name in steps(place).iter().copied().take_while(|name| *name != failed) {
        match (name, &place.endpoint) {
            ("tls", Endpoint::Url(address)) if !address.is_encrypted() => {
                report.skip("tls", "the URL begins with http://")?;
            }
            ("tls", _) => report.pass_untimed("tls", "the certificate is trusted")?,
            ("http", _) => report.pass_untimed("http", "the server answers")?,
            _ => report.pass_untimed(name, "the program runs")?,
        }
    }
    Ok(())
}

fn report_failure(report: &mut Report<'_>, place: &ServerLocation, mut step: Step, error: &Error) -> Failure {
    let verdict = Diagnosis::of(error, &place.endpoint);
    if let Err(failure) = report_earlier_steps(report, place, verdict.step) {
        return failure;
    }
    step.rename(verdict.step);
    report.fail(step, verdict.fault, &verdict.what, &verdict.fix)
}

/// Returns the revision with a handshake (2025-11-25 or older) that a server also supports, if the client uses a
/// stateless revision. For servers that are not reached over HTTP.
async fn other_era(
    place: &ServerLocation,
    builder: ClientBuilder,
    console: &Console,
    client: &Client,
) -> Option<ProtocolVersion> {
    let pin = match client.protocol_version().era() {
        Era::Stateless => ProtocolVersion::LATEST_HANDSHAKE,
        Era::Handshake => return None,
    };
    let target = target(place, console, &StrayLines::default()).await;
    let other = connect(target, builder.protocol(pin)).await.ok()?;
    let version = other.protocol_version();
    let _ = tokio::time::timeout(CLOSE_TIMEOUT, other.close()).await;
    Some(version)
}

fn introduction(client: &Client, other: Option<ProtocolVersion>) -> Vec<String> {
    let version = client.protocol_version();
    let mut lines = vec![match other {
        Some(other) => format!("{version} ({}), and {other} ({})", era_name(version), era_name(other)),
        None => format!("{version} ({})", era_name(version)),
    }];
    if let Some(info) = client.server_info() {
        let title = info.title.as_deref().map(|title| format!(", {title}")).unwrap_or_default();
        lines.push(escape_to_line(&format!("{} {}{title}", info.name, info.version)));
    }
    lines.push(format!("capabilities: {}", capability_names(&client.server_capabilities())));
    lines.push(match client.instructions() {
        Some(text) => format!("instructions for models: {} characters", text.chars().count()),
        None => "no instructions for models".to_owned(),
    });
    lines
}

fn era_name(version: ProtocolVersion) -> &'static str {
    match version.era() {
        Era::Handshake => "handshake",
        Era::Stateless => "stateless",
    }
}

fn capability_names(can: &ServerCapabilities) -> String {
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

async fn check_lists(report: &mut Report<'_>, client: &Client) -> Result<()> {
    let step = Step::begin("list");
    let (lists, troubles) = read_lists(client).await;
    for (about, message) in findings::collect(&lists) {
        report.warn(&about, &message);
    }
    let (unknown, failed): (Vec<_>, Vec<_>) =
        troubles.into_iter().partition(|trouble| trouble.error.code() == Some(Code::METHOD_NOT_FOUND));
    for ListFailure { what, method, .. } in unknown {
        let message = format!(
            "the server declares them, but does not support `{method}`: clients that ask for them fail"
        );
        report.warn(&format!("the {what}"), &message);
    }
    let Some(ListFailure { error, .. }) = failed.first() else {
        return report.pass(step, &[lists.summary()]);
    };
    let fault = match Fault::of(error) {
        Fault::Unreachable if !error.is_timeout() => Fault::ToolError,
        fault => fault,
    };
    let mut lines: Vec<_> = failed
        .iter()
        .map(|ListFailure { what, error, .. }| format!("its {what} cannot be listed: {}", chain(error)))
        .collect();
    if !lists.is_empty() {
        lines.push(format!("the rest can be listed: {}", lists.summary()));
    }
    let fix = "look at the server's log: the lists come from the server's own code";
    Err(report.fail(step, fault, &lines.join("\n"), fix))
}

/// A list that could not be read.
struct ListFailure {
    what: &'static str,
    method: &'static str,
    error: Error,
}

/// Reads all lists of the server.
async fn read_lists(client: &Client) -> (Lists, Vec<ListFailure>) {
    let (can, mut troubles) = (client.server_capabilities(), Vec::new());
    let (has_tools, has_resources) = (can.tools.is_some(), can.resources.is_some());
    let tools = client.list_tools().all();
    let tools = read_list(has_tools, tools, "tools", "tools/list", &mut troubles).await;
    let resources = client.resources();
    let resources = read_list(has_resources, resources, "resources", "resources/list", &mut troubles).await;
    // Not every server with resources has resource templates.
    let templates = listing::read_all(client.list_resource_templates());
    let (what, method) = ("resource templates", "resources/templates/list");
    let templates = read_list(has_resources, templates, what, method, &mut troubles).await;
    // An empty list of templates is not reported if the resources could not be read.
    let templates = templates.filter(|templates| resources.is_some() || !templates.is_empty());
    let prompts = client.prompts();
    let prompts = read_list(can.prompts.is_some(), prompts, "prompts", "prompts/list", &mut troubles).await;
    (Lists { tools, resources, templates, prompts }, troubles)
}

/// Reads a list that the server offers. If one list fails, the others are still read, unless the server did not answer
/// at all.
async fn read_list<T>(
    is_there: bool,
    list: impl Future<Output = toolway::Result<Vec<T>>>,
    what: &'static str,
    method: &'static str,
    troubles: &mut Vec<ListFailure>,
) -> Option<Vec<T>> {
    if !is_there || troubles.iter().any(|trouble| trouble.error.rpc().is_none()) {
        return None;
    }
    list.await.map_err(|error| troubles.push(ListFailure { what, method, error })).ok()
}
