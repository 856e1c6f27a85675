//! Do clients and servers on other SDKs work with ours?
//!
//! The foreign clients are small programs on the real libraries, in the folder `interop`; the servers are two of our
//! examples. In the other direction, the program `interop` is our client, and the servers use other SDKs.
//!
//! | question | file |
//! |---|---|
//! | Does the first call work, in every era, over every transport? | `hello.rs` |
//! | Does every feature work, with every client and in every revision it speaks? | `everything.rs` |
//! | Does our client work with real servers? | `servers.rs` |
//! | Which transport do a client and a server use, and how does the client find the server? | `transport.rs` |
//! | How is a program run that reports checks, and what is shown of its output? | `program.rs` |
//! | What did the programs report, and is anything missing? | `table.rs` |

mod everything;
mod hello;
mod program;
mod servers;
mod table;
mod transport;

use std::time::{Duration, Instant};

use crate::arguments::Arguments;
use crate::run::Result;
use crate::workspace::Workspace;
use transport::{ServerSpec, Transport};

/// The parts to run; all by default.
#[derive(Debug, Default)]
pub(crate) struct Options {
    /// Runs only this part.
    part: Option<Part>,
    /// A server that replaces the example `everything`, to see whether our server or the client causes a failure.
    /// Without `--part`, only the part `everything` runs.
    server: Option<ServerSpec>,
    /// Uses only this transport.
    transport: Option<Transport>,
    /// The delay of every message over the network, in each direction.
    latency: Option<Duration>,
}

/// One question of this module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Hello,
    Everything,
    Servers,
}

impl Part {
    const ALL: &[(&str, Self)] =
        &[("hello", Self::Hello), ("everything", Self::Everything), ("servers", Self::Servers)];

    fn from_name(name: &str) -> Result<Self> {
        Self::ALL.iter().find(|(known, _)| *known == name).map(|(_, part)| *part).ok_or_else(|| {
            let names: Vec<&str> = Self::ALL.iter().map(|(name, _)| *name).collect();
            format!("`--part {name}`: there are {}", names.join(", "))
        })
    }
}

impl Options {
    /// Reads the options of `cargo xtask interop`.
    pub(crate) fn parse(mut arguments: Arguments) -> Result<Self> {
        let part = arguments.value("--part")?.map(|name| Part::from_name(&name)).transpose()?;
        let server = arguments.value("--server")?.map(|text| ServerSpec::from_text(&text));
        let transport =
            arguments.value("--transport")?.map(|name| Transport::from_name(&name)).transpose()?;
        let latency = arguments.value("--latency")?.map(|text| milliseconds(&text)).transpose()?;
        if latency.is_some() && transport == Some(Transport::Stdio) {
            return Err(
                "`--latency` is for the network, and stdio has none; leave one of them out".to_owned()
            );
        }
        arguments.finish()?;
        Ok(Self { part, server, transport, latency })
    }

    fn wants(&self, part: Part) -> bool {
        match (self.part, &self.server) {
            (Some(only), _) => only == part,
            (None, Some(_)) => part == Part::Everything,
            (None, None) => true,
        }
    }

    fn transports(&self) -> Vec<Transport> {
        match (self.transport, &self.server) {
            (Some(transport), _) => vec![transport],
            (None, None) if self.latency.is_some() => vec![Transport::Http, Transport::Sse],
            (None, None) => Transport::ALL.to_vec(),
            // A foreign command is only known to serve stdio.
            (None, Some(ServerSpec::Command(_))) => vec![Transport::Stdio],
            (None, Some(ServerSpec::Url(_))) => vec![Transport::Http],
        }
    }
}

/// Runs the parts; each runs even if the one before it failed.
pub(crate) fn run(workspace: &Workspace, options: &Options) -> Result {
    let (transports, latency) = (options.transports(), options.latency);
    if let Some(latency) = latency {
        println!(
            "-- each direction takes {} ms longer; stdio has no network and is left out",
            latency.as_millis()
        );
    }
    let (mut failures, mut seconds) = (Vec::new(), Vec::new());
    for (name, part) in Part::ALL.iter().filter(|(_, part)| options.wants(*part)) {
        let start = Instant::now();
        let ran = match part {
            Part::Hello => hello::run(workspace, &transports, latency),
            Part::Everything => everything::run(workspace, &transports, options.server.as_ref(), latency),
            Part::Servers => servers::run(workspace, &transports, latency),
        };
        failures.extend(ran.err());
        seconds.push(format!("{name} {:.0} s", start.elapsed().as_secs_f64()));
    }
    println!("interop: {}", seconds.join(", "));
    if failures.is_empty() { Ok(()) } else { Err(failures.join("\n")) }
}

fn milliseconds(text: &str) -> Result<Duration> {
    text.parse()
        .map(Duration::from_millis)
        .map_err(|_| format!("`--latency {text}`: a whole number of milliseconds is wanted, for example 20"))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Options, Transport, milliseconds};

    #[test]
    fn latency_is_a_number_of_milliseconds() {
        assert_eq!(milliseconds("20").unwrap(), Duration::from_millis(20));
        for wrong in ["", "20ms", "-1", "0.5"] {
            assert!(milliseconds(wrong).unwrap_err().contains("milliseconds"), "{wrong}");
        }
    }

    #[test]
    fn latency_leaves_stdio_out() {
        let options = Options { latency: Some(Duration::from_millis(20)), ..Options::default() };
        assert_eq!(options.transports(), [Transport::Http, Transport::Sse]);
        assert_eq!(Options::default().transports(), Transport::ALL);
    }
}
