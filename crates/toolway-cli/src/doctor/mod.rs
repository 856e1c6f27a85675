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
//! | `talk.rs` | Does the server answer, with which protocol revisions, and what does it list? |
//! | `session.rs` | Does the server recognize a session over every connection? |
//! | `verdict.rs` | If connecting failed, which step was it, and what may help? |
//! | `findings.rs` | Which properties of a server cause problems for models? |
//! | `settings.rs` | Which settings are used? |

mod address;
mod findings;
mod program;
mod report;
mod session;
mod settings;
mod talk;
mod verdict;

use std::time::Duration;

use crate::args::{Kind, Target};
use crate::cmd::{Here, nothing_more};
use crate::console::Console;
use crate::failure::{Failure, Result};
use crate::place::{self, Find, Place, Way, interrupted};

use report::Report;

/// The time limit of a step that the doctor performs itself, unless `--timeout` sets another.
const PATIENCE: Duration = Duration::from_secs(10);

pub(crate) async fn run<K: Kind<Reach: Find>>(here: &Here, target: Target<K>) -> Result<()> {
    let Target { mut words, talk, reach } = target;
    let console = Console::new(talk.verbose, true);
    let mut place = reach.find(&mut words, here.own.as_ref())?;
    nothing_more(&words)?;
    place.admit(&Console::new(talk.verbose, talk.no_input)).await?;
    let patience = talk.timeout.unwrap_or(PATIENCE);
    let mut builder = place::builder(&talk, &place, &console);
    if let (Way::Url(address), Some(limit)) = (&mut place.way, talk.timeout)
        && address.is_encrypted()
    {
        // The TLS handshake and the answer are two steps, each with its own time limit. So the report can say which
        // of them timed out.
        address.connect_timeout = Some(limit);
        builder = builder.connect_timeout(limit.saturating_mul(2));
    }
    let mut report = Report::begin(&console, talk.json, place.name(), settings::of(&talk, &place))?;
    let outcome = tokio::select! {
        outcome = go(&mut report, &place, builder, &console, patience) => outcome,
        () = interrupted() => return Err(Failure::interrupted()),
    };
    report.end(outcome)
}

async fn go(
    report: &mut Report<'_>,
    place: &Place,
    builder: toolway::client::ClientBuilder,
    console: &Console,
    patience: Duration,
) -> Result<()> {
    match &place.way {
        Way::Url(address) => address::examine(report, address, patience).await?,
        Way::Command(start) => program::examine(report, start)?,
        Way::Own(_) => {}
    }
    talk::examine(report, place, builder, console).await
}
