//! Do the clients of the other SDKs work with a Toolway server?
//!
//! The clients are small programs over the real libraries, in the folder `interop`; the servers are two of our examples.
//!
//! | question | file |
//! |---|---|
//! | Does the first call work, in every era, over every transport? | `hello.rs` |
//! | Does every feature work, with every client and in every revision it speaks? | `everything.rs` |
//! | What did the clients say, and did they leave anything out? | `table.rs` |

mod everything;
mod hello;
mod table;

use crate::arguments::Arguments;
use crate::run::Result;
use crate::workspace::Workspace;

/// What to run; the default is all of it.
#[derive(Debug, Default)]
pub(crate) struct Options {
    /// Another server in place of the example `everything`, which alone is run then: is it us or the client?
    server: Option<Vec<String>>,
}

impl Options {
    /// Reads the options of `cargo xtask interop`.
    pub(crate) fn parse(mut arguments: Arguments) -> Result<Self> {
        let server = arguments.value("--server")?;
        arguments.finish()?;
        Ok(Self { server: server.map(|command| command.split_whitespace().map(str::to_owned).collect()) })
    }
}

/// Runs every client; the second example runs even if the first one failed.
pub(crate) fn run(workspace: &Workspace, options: &Options) -> Result {
    let hello = match options.server {
        Some(_) => Ok(()),
        None => hello::run(workspace),
    };
    if let Err(message) = &hello {
        println!("{message}");
    }
    everything::run(workspace, options.server.as_deref())?;
    hello
}
