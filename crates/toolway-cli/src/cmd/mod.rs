//! The commands, one file each.

pub(crate) mod call;
pub(crate) mod complete;
pub(crate) mod list;
pub(crate) mod login;
pub(crate) mod prompt;
pub(crate) mod proxy;
pub(crate) mod read;
pub(crate) mod serve;
pub(crate) mod trust;

use toolway::types::Progress;
use toolway::{Client, ProtocolVersion, RawJson, Server};

use crate::args::{Target, TargetKind};
use crate::console::Console;
use crate::failure::{Failure, Result};
use crate::location::{self, Find};

/// The context of every command: the name of the program, and the server that is built into it, if there is one.
#[derive(Debug)]
pub(crate) struct CommandContext {
    pub(crate) program: String,
    pub(crate) own_server: Option<Server>,
}

/// The context of a command that is connected to its server.
struct ConnectedContext {
    client: Client,
    console: Console,
    /// The words of the command line after the target.
    words: Vec<String>,
    wants_json: bool,
}

impl CommandContext {
    /// Finds the server of a command, connects to it and runs the work.
    async fn with_server<K: TargetKind<LocationArgs: Find>, F: Future<Output = Result<()>>>(
        &self,
        target: Target<K>,
        work: impl FnOnce(ConnectedContext) -> F,
    ) -> Result<()> {
        let Target { mut words, talk, reach } = target;
        let console = Console::new(talk.verbose, talk.no_input);
        let place = reach.find(&mut words, self.own_server.as_ref())?;
        place.ask_consent(&console).await?;
        let builder = location::builder(&talk, &place, &console);
        let session =
            |client| ConnectedContext { client, console: console.clone(), words, wants_json: talk.json };
        location::with_client(&place, builder, &console, |client| work(session(client))).await
    }

    /// Returns the failure for a missing word on the command line.
    fn missing_word(&self, what: &str) -> Failure {
        Failure::usage(format!("no {what} is given"))
            .hint(format!("to see what the server offers, run: {} list", self.program))
    }
}

impl ConnectedContext {
    /// Returns a callback that shows the progress of a request.
    fn progress(&self) -> impl Fn(&Progress) + Send + Sync + 'static {
        let console = self.console.clone();
        move |progress| console.show_progress(progress)
    }

    /// Returns a result for programs: one line of JSON.
    fn to_json_line(&self, encoded: impl FnOnce(ProtocolVersion) -> RawJson) -> String {
        format!("{}\n", encoded(self.client.protocol_version()).as_str())
    }
}

/// Fails if there are words left on the command line.
pub(crate) fn expect_no_more_words(words: &[String]) -> Result<()> {
    match words.first() {
        Some(word) => Err(Failure::usage(format!("unexpected argument `{word}`"))),
        None => Ok(()),
    }
}
