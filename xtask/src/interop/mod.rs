//! Do the clients of the other SDKs work with a Toolway server?
//!
//! The clients are small programs over the real libraries, in the folder `interop`; the servers are two of our examples.
//!
//! | question | file |
//! |---|---|
//! | Does the first call work, in every era, over every transport? | `hello.rs` |
//! | Does every feature work, with every client and in every revision it speaks? | `everything.rs` |
//! | Over what do a client and a server talk, and how does the client learn where the server is? | `transport.rs` |
//! | What did the clients say, and did they leave anything out? | `table.rs` |

mod everything;
mod hello;
mod table;
mod transport;

use crate::arguments::Arguments;
use crate::run::Result;
use crate::workspace::Workspace;
use transport::{Server, Transport};

/// What to run; the default is all of it.
#[derive(Debug, Default)]
pub(crate) struct Options {
    /// Another server in place of the example `everything`, which alone is run then: is it us or the client?
    server: Option<Server>,
    /// Only this one.
    transport: Option<Transport>,
}

impl Options {
    /// Reads the options of `cargo xtask interop`.
    pub(crate) fn parse(mut arguments: Arguments) -> Result<Self> {
        let server = arguments.value("--server")?.map(|text| Server::from_text(&text));
        let transport =
            arguments.value("--transport")?.map(|name| Transport::from_name(&name)).transpose()?;
        arguments.finish()?;
        Ok(Self { server, transport })
    }

    fn transports(&self) -> Vec<Transport> {
        match (self.transport, &self.server) {
            (Some(transport), _) => vec![transport],
            (None, None) => Transport::ALL.to_vec(),
            // Of somebody else's command we know only that it serves.
            (None, Some(Server::Command(_))) => vec![Transport::Stdio],
            (None, Some(Server::Url(_))) => vec![Transport::Http],
        }
    }
}

/// Runs every client; the second example runs even if the first one failed.
pub(crate) fn run(workspace: &Workspace, options: &Options) -> Result {
    let transports = options.transports();
    let hello = match options.server {
        Some(_) => Ok(()),
        None => hello::run(workspace, &transports),
    };
    if let Err(message) = &hello {
        println!("{message}");
    }
    everything::run(workspace, &transports, options.server.as_ref())?;
    hello
}
