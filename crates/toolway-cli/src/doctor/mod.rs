//! What is wrong with a server, or with the way to it, and what can be done?
//!
//! The way is gone step by step, and the first step that fails is the answer: nothing after it can be known.
//!
//! | file | question |
//! |---|---|
//! | `mod.rs` | Which steps lead to a server? |
//! | `report.rs` | How is what was found told, to people and to programs? |
//! | `address.rs` | Can the place that a URL names be reached? |
//! | `program.rs` | Can the program be found? |
//! | `talk.rs` | Does it answer, in which era, and what does it list? |
//! | `session.rs` | Does it know a session again, whichever connection a request comes over? |
//! | `verdict.rs` | Which step failed, when connecting did, and what may help? |
//! | `findings.rs` | What will models stumble over? |
//! | `settings.rs` | Which settings are in force? |

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

/// How long a step may take that is ours alone, unless `--timeout` says otherwise.
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
        // Keys and an answer are two steps, with a time for each: so it is known which of them did not come.
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
