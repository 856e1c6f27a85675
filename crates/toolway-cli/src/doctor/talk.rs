//! Does it answer, in which era, and what does it list?

use std::time::Duration;

use toolway::capability::ServerCapabilities;
use toolway::client::ClientBuilder;
use toolway::{Client, Era, Error, ProtocolVersion};

use super::findings::{self, Lists};
use super::report::{Broken, Report, Step};
use super::verdict::Verdict;
use crate::console::Console;
use crate::failure::{Fault, chain};
use crate::listing;
use crate::place::{Place, Way};
use crate::terminal::neutral_line;

/// How long a server may take to hear that the conversation is over.
const FAREWELL: Duration = Duration::from_secs(6);

pub(super) async fn examine(
    report: &mut Report<'_>,
    place: &Place,
    builder: ClientBuilder,
    console: &Console,
) -> Result<(), Broken> {
    let step = Step::begin("era");
    let client = match connect(place, builder.clone(), console).await {
        Ok(client) => client,
        Err(error) => return Err(fail(report, place, step, &error)),
    };
    before(report, place, "era")?;
    let other = other_era(place, builder, console, &client).await;
    report.well(step, &introduction(&client, other))?;
    let outcome = list(report, &client).await;
    let _ = tokio::time::timeout(FAREWELL, client.close()).await;
    outcome
}

async fn connect(place: &Place, builder: ClientBuilder, console: &Console) -> toolway::Result<Client> {
    // Whatever is wrong with the target was found before.
    match place.target(console) {
        Ok(target) => builder.connect(target).await,
        Err(failure) => Err(Error::new(toolway::ErrorKind::Misuse, failure.message().to_owned())),
    }
}

/// The steps between a connection and an answer, in their order.
fn steps(place: &Place) -> &'static [&'static str] {
    match &place.way {
        Way::Url(_) => &["tls", "http"],
        Way::Command(_) => &["start"],
        Way::Own(_) => &[],
    }
}

/// Says that the steps before one worked.
fn before(report: &mut Report<'_>, place: &Place, failed: &str) -> Result<(), Broken> {
    for name in steps(place).iter().copied().take_while(|name| *name != failed) {
        match (name, &place.way) {
            ("tls", Way::Url(address)) if !address.is_encrypted() => {
                report.skipped("tls", "the URL begins with http://")?;
            }
            ("tls", _) => report.known("tls", "the certificate is trusted")?,
            ("http", _) => report.known("http", "it answers")?,
            _ => report.known(name, "it runs")?,
        }
    }
    Ok(())
}

fn fail(report: &mut Report<'_>, place: &Place, mut step: Step, error: &Error) -> Broken {
    let verdict = Verdict::of(error, &place.way);
    if let Err(broken) = before(report, place, verdict.step) {
        return broken;
    }
    step.rename(verdict.step);
    report.failed(step, verdict.fault, &verdict.what, &verdict.fix)
}

/// The revision that the server speaks in the other era, if it does.
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
    let other = connect(place, builder.protocol(pin), console).await.ok()?;
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
    lines.push(format!("can: {}", abilities(&client.server_capabilities())));
    lines.push(match client.instructions() {
        Some(text) => format!("instructions for models: {} letters", text.chars().count()),
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
    if can.is_empty() { "nothing that it says".to_owned() } else { can.join(", ") }
}

async fn list(report: &mut Report<'_>, client: &Client) -> Result<(), Broken> {
    let step = Step::begin("list");
    match lists(client).await {
        Ok(lists) => {
            for (about, message) in findings::of(&lists) {
                report.warn(&about, &message);
            }
            report.well(step, &[lists.words()])
        }
        Err((what, error)) => {
            let what = format!("its {what} cannot be listed: {}", chain(&error));
            let fix = "look at the server's log; what it lists is made by its own code";
            let fault = match Fault::of(&error) {
                Fault::Unreachable if !error.is_timeout() => Fault::ToolError,
                fault => fault,
            };
            Err(report.failed(step, fault, &what, fix))
        }
    }
}

async fn lists(client: &Client) -> Result<Lists, (&'static str, Error)> {
    let can = client.server_capabilities();
    let mut lists = Lists::default();
    if can.tools.is_some() {
        lists.tools = Some(client.list_tools().all().await.map_err(|error| ("tools", error))?);
    }
    if can.resources.is_some() {
        lists.resources = Some(client.resources().await.map_err(|error| ("resources", error))?);
        let templates = listing::all(client.list_resource_templates()).await;
        lists.templates = Some(templates.map_err(|error| ("resource templates", error))?);
    }
    if can.prompts.is_some() {
        lists.prompts = Some(client.prompts().await.map_err(|error| ("prompts", error))?);
    }
    Ok(lists)
}
