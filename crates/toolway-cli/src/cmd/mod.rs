//! The commands, a file each.

pub(crate) mod call;
pub(crate) mod complete;
pub(crate) mod list;
pub(crate) mod prompt;
pub(crate) mod read;
pub(crate) mod serve;

use toolway::{Client, Server};

use crate::args::Talk;
use crate::console::Console;
use crate::failure::Result;
use crate::place::{self, Find};

/// What every command has: where it writes, and the server that the program is, if it is one.
#[derive(Debug)]
pub(crate) struct Here {
    pub(crate) program: String,
    pub(crate) own: Option<Server>,
}

impl Here {
    /// Finds the server that a command is about, and does something with it. The words that are left are about that.
    async fn with_server<T, F: Future<Output = Result<T>>>(
        &self,
        (talk, reach): (&Talk, &impl Find),
        mut words: Vec<String>,
        work: impl FnOnce(Client, Console, Vec<String>) -> F,
    ) -> Result<T> {
        let console = Console::new(talk.verbose, talk.no_input);
        let place = reach.find(&mut words, self.own.as_ref())?;
        place.admit(&console).await?;
        let builder = place::builder(talk, &place, &console);
        place::with_client(&place, builder, &console, |client| work(client, console.clone(), words)).await
    }
}
