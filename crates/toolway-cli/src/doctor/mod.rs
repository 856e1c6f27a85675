//! What is wrong with a server, or with the connection to it, and how can it be fixed?
//!
//! The steps of a connection are checked in order. The first step that fails is the diagnosis, because the steps after
//! it cannot be checked.
//!
//! | file | question |
//! |---|---|
//! | `mod.rs` | Which steps are there? |
//! | `report.rs` | How are the results reported, to people and to programs? |
//! | `address.rs` | Can the address of a URL be reached? |
//! | `program.rs` | Can the program be found? |
//! | `protocol.rs` | Does the server answer, with which protocol revisions, and what does it list? |
//! | `session.rs` | Does the server recognize a session over every connection? |
//! | `diagnosis.rs` | If connecting failed, which step was it, and what may help? |
//! | `sign_in.rs` | If a server asks to sign in, which step of a login fails? |
//! | `findings.rs` | Which properties of a server cause problems for models? |
//! | `settings.rs` | Which settings are used? |

mod address;
mod diagnosis;
pub(crate) mod findings;
mod program;
mod protocol;
pub(crate) mod report;
mod session;
pub(crate) mod settings;
mod sign_in;

use std::time::Duration;

use crate::args::{Target, TargetKind};
use crate::cmd::{CommandContext, expect_no_more_words};
use crate::console::Console;
use crate::failure::{Failure, Result};
use crate::location::{self, Endpoint, Find, ServerLocation, interrupted};

use report::Report;

/// The time limit of a step that the doctor performs itself, unless `--timeout` sets another.
pub(crate) const STEP_TIMEOUT: Duration = Duration::from_secs(10);

pub(crate) async fn run<K: TargetKind<LocationArgs: Find>>(
    here: &CommandContext,
    target: Target<K>,
) -> Result<()> {
    let Target { mut words, talk, reach } = target;
    let console = Console::new(talk.verbose, true);
    let mut place = reach.find(&mut words, here.own_server.as_ref())?;
    expect_no_more_words(&words)?;
    place.ask_consent(&Console::new(talk.verbose, talk.no_input)).await?;
    let patience = talk.timeout.unwrap_or(STEP_TIMEOUT);
    let mut builder = location::builder(&talk, &place, &console);
    if let (Endpoint::Url(address), Some(limit)) = (&mut place.endpoint, talk.timeout)
        && address.is_encrypted()
    {
        // The TLS handshake and the answer are two steps, each with its own time limit. So the report can say which
        // of them timed out.
        address.connect_timeout = Some(limit);
        builder = builder.connect_timeout(limit.saturating_mul(2));
    }
    let mut report = Report::begin(&console, talk.json, place.name(), settings::collect(&talk, &place))?;
    let outcome = tokio::select! {
        outcome = run_checks(&mut report, &place, builder, &console, patience) => outcome,
        () = interrupted() => return Err(Failure::interrupted()),
    };
    report.end(outcome)
}

/// Checks the steps in order. Fails with the first one that does.
pub(crate) async fn run_checks(
    report: &mut Report<'_>,
    place: &ServerLocation,
    builder: toolway::client::ClientBuilder,
    console: &Console,
    patience: Duration,
) -> Result<()> {
    match &place.endpoint {
        Endpoint::Url(address) => address::examine(report, address, patience).await?,
        Endpoint::Command(start) => program::examine(report, start)?,
        Endpoint::Own(_) => {}
    }
    protocol::examine(report, place, builder, console).await
}
