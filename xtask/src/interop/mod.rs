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
//! | Does our client sign in to real servers, with a real identity provider? | `auth.rs` |
//! | Do users of other clients sign in to our protected server? | `auth_clients.rs` |
//! | How do three nodes become one server? | `cluster.rs` |
//! | Which transport do a client and a server use, and how does the client find the server? | `transport.rs` |
//! | How is a program run that reports checks, and what is shown of its output? | `program.rs` |
//! | What did the programs report, and is anything missing? | `table.rs` |

mod auth;
mod auth_clients;
mod cluster;
mod everything;
mod hello;
mod program;
mod servers;
mod table;
mod transport;

use std::time::{Duration, Instant};

use crate::arguments::Arguments;
use crate::run::Result;
use crate::steps::StepSuccess;
use crate::test;
use crate::workspace::Workspace;
use cluster::{ClusterSpec, Programs, Search};
pub(crate) use everything::ClientSet;
use transport::{ServerSpec, Transport};

/// The parts to run; by default all except `auth`.
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
    /// Runs only the part `everything`, against several nodes behind a balancer.
    cluster: bool,
}

/// One question of this module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Hello,
    Everything,
    Servers,
    /// The current official clients, through `toolway proxy`: over stdio to a URL, and over HTTP to a command.
    Proxy,
    /// Runs only if it is asked for.
    Auth,
}

impl Part {
    const ALL: &[(&str, Self)] = &[
        ("hello", Self::Hello),
        ("everything", Self::Everything),
        ("servers", Self::Servers),
        ("proxy", Self::Proxy),
        ("auth", Self::Auth),
    ];

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
        let cluster = arguments.flag("--cluster");
        if cluster && (part.is_some() || server.is_some() || latency.is_some()) {
            return Err("`--cluster` can be combined with `--transport` only".to_owned());
        }
        if part == Some(Part::Auth) && (server.is_some() || transport.is_some() || latency.is_some()) {
            return Err("`--part auth` cannot be combined with another option".to_owned());
        }
        if cluster && transport == Some(Transport::Stdio) {
            return Err("`--cluster` is for HTTP and SSE; stdio has one process".to_owned());
        }
        if latency.is_some() && transport == Some(Transport::Stdio) {
            return Err(
                "`--latency` is for the network, and stdio has none; leave one of them out".to_owned()
            );
        }
        arguments.finish()?;
        Ok(Self { part, server, transport, latency, cluster })
    }

    fn wants(&self, part: Part) -> bool {
        match (self.part, &self.server) {
            (Some(only), _) => only == part,
            (None, Some(_)) => part == Part::Everything,
            (None, None) if part == Part::Proxy => {
                self.latency.is_none() && self.transport != Some(Transport::Sse)
            }
            (None, None) => part != Part::Auth,
        }
    }

    fn transports(&self) -> Vec<Transport> {
        match (self.transport, &self.server) {
            (Some(transport), _) => vec![transport],
            (None, None) if self.latency.is_some() || self.cluster => NETWORK.to_vec(),
            (None, None) => Transport::ALL.to_vec(),
            // A foreign command is only known to serve stdio.
            (None, Some(ServerSpec::Command(_))) => vec![Transport::Stdio],
            (None, Some(ServerSpec::Url(_) | ServerSpec::Cluster(_) | ServerSpec::Proxied { .. })) => {
                vec![Transport::Http]
            }
        }
    }
}

/// Signs in to real servers with a real identity provider, and to ours with real clients.
pub(crate) fn run_auth(workspace: &Workspace) -> Result {
    auth::run(workspace)
}

/// Lets a person sign in to a real server with a real identity provider.
pub(crate) fn try_sign_in(workspace: &Workspace) -> Result {
    auth::try_out(workspace)
}

/// Runs the parts; each runs even if the one before it failed.
pub(crate) fn run(workspace: &Workspace, options: &Options) -> Result {
    let (transports, latency) = (options.transports(), options.latency);
    if options.cluster {
        // It was asked for, so it must run.
        return match run_on_cluster(workspace, ClientSet::All, &transports)? {
            StepSuccess::Passed => Ok(()),
            StepSuccess::Skipped(why) => Err(why),
        };
    }
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
            Part::Everything => run_everything(workspace, &transports, options.server.as_ref(), latency),
            Part::Servers => servers::run(workspace, &transports, latency),
            Part::Proxy => run_behind_proxy(workspace, &transports),
            Part::Auth => auth::run(workspace),
        };
        failures.extend(ran.err());
        seconds.push(format!("{name} {:.0} s", start.elapsed().as_secs_f64()));
    }
    println!("interop: {}", seconds.join(", "));
    if failures.is_empty() { Ok(()) } else { Err(failures.join("\n")) }
}

fn run_everything(
    workspace: &Workspace,
    transports: &[Transport],
    server: Option<&ServerSpec>,
    latency: Option<Duration>,
) -> Result {
    let server = match server {
        Some(server) => server.clone(),
        None => ServerSpec::program(&everything::build_example(workspace)?),
    };
    let options = everything::Options {
        title: "every feature",
        clients: ClientSet::All,
        transports,
        server,
        latency,
        directory: workspace.target.join("interop"),
    };
    everything::run(workspace, &options)
}

/// Runs the part `everything` with `toolway proxy` between the clients and the server.
fn run_behind_proxy(workspace: &Workspace, transports: &[Transport]) -> Result {
    let transports: Vec<_> =
        transports.iter().copied().filter(|transport| *transport != Transport::Sse).collect();
    if transports.is_empty() {
        return Err("the part `proxy` serves stdio and HTTP".to_owned());
    }
    let server = everything::build_example(workspace)?;
    test::build_programs(workspace, &["--bin=toolway"])?;
    let options = everything::Options {
        title: "every feature through the proxy",
        clients: ClientSet::Current,
        transports: &transports,
        server: ServerSpec::Proxied { toolway: workspace.debug_program("toolway"), server },
        latency: None,
        directory: workspace.target.join("interop-proxy"),
    };
    everything::run(workspace, &options)
}

/// Runs the part `everything` against three nodes behind a balancer, over HTTP and SSE. It is left out where a program is
/// missing that is not required.
pub(crate) fn run_cluster(workspace: &Workspace, clients: ClientSet) -> Result<StepSuccess> {
    run_on_cluster(workspace, clients, NETWORK)
}

fn run_on_cluster(
    workspace: &Workspace,
    clients: ClientSet,
    transports: &[Transport],
) -> Result<StepSuccess> {
    let programs = match Programs::find()? {
        Search::Found(programs) => programs,
        Search::Missing(why) => return Ok(StepSuccess::Skipped(why)),
    };
    let node = everything::build_example(workspace)?;
    let options = everything::Options {
        title: "every feature on three nodes",
        clients,
        transports,
        server: ServerSpec::Cluster(ClusterSpec::new(workspace, programs, node)?),
        latency: None,
        directory: workspace.target.join("interop-cluster"),
    };
    everything::run(workspace, &options).map(|()| StepSuccess::Passed)
}

fn milliseconds(text: &str) -> Result<Duration> {
    text.parse()
        .map(Duration::from_millis)
        .map_err(|_| format!("`--latency {text}`: a whole number of milliseconds is wanted, for example 20"))
}

/// The transports that are not stdio.
const NETWORK: &[Transport] = &[Transport::Http, Transport::Sse];

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Arguments, Options, Part, Transport, milliseconds};

    #[test]
    fn signing_in_runs_only_if_it_is_asked_for() {
        let parse = |words: &[&str]| Options::parse(Arguments::from_words(words));
        let parts = |options: &Options| Part::ALL.iter().filter(|(_, part)| options.wants(*part)).count();
        assert!(!parse(&[]).unwrap().wants(Part::Auth));
        assert_eq!(parts(&parse(&[]).unwrap()), Part::ALL.len() - 1);
        assert!(parse(&["--part", "auth"]).unwrap().wants(Part::Auth));
        assert_eq!(parts(&parse(&["--part", "auth"]).unwrap()), 1);
        assert!(parse(&["--part", "auth", "--latency", "20"]).unwrap_err().contains("`--part auth`"));
    }

    #[test]
    fn several_nodes_serve_the_network_and_nothing_else_can_be_chosen() {
        let parse = |words: &[&str]| Options::parse(Arguments::from_words(words));
        assert_eq!(parse(&["--cluster"]).unwrap().transports(), [Transport::Http, Transport::Sse]);
        assert_eq!(parse(&["--cluster", "--transport", "sse"]).unwrap().transports(), [Transport::Sse]);
        for other in [["--part", "hello"], ["--latency", "20"], ["--server", "x"], ["--transport", "stdio"]] {
            assert!(parse(&["--cluster", other[0], other[1]]).unwrap_err().contains("`--cluster`"));
        }
    }

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
