//! Which transport do a client and a server use, and how does the client find the server?
//!
//! The clients' command lines begin with the transport: `stdio -- COMMAND…`, `http URL` or `sse URL`.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::cluster::{Cluster, ClusterSpec};
use crate::latency::LatencyProxy;
use crate::run::Result;
use crate::server_process::ServerProcess;

/// The transport between a client and a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Transport {
    Stdio,
    Http,
    /// HTTP+SSE, the transport of 2024-11-05, on the same URL.
    Sse,
}

impl Transport {
    /// All transports, the default.
    pub(super) const ALL: &[Self] = &[Self::Stdio, Self::Http, Self::Sse];

    pub(super) fn from_name(name: &str) -> Result<Self> {
        Self::ALL.iter().copied().find(|transport| transport.name() == name).ok_or_else(|| {
            let names: Vec<&str> = Self::ALL.iter().map(|transport| transport.name()).collect();
            format!("`--transport {name}`: there are {}", names.join(", "))
        })
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Stdio => "stdio",
            Self::Http => "http",
            Self::Sse => "sse",
        }
    }
}

/// A server that was named and not yet started.
#[derive(Clone, Debug)]
pub(super) enum ServerSpec {
    /// Serves on stdin and stdout, or on an address with `--http ADDRESS` after the words.
    Command(Vec<String>),
    /// Runs already, and keeps running.
    Url(String),
    /// Several nodes behind a balancer.
    Cluster(ClusterSpec),
    /// A server behind `toolway proxy`, so that each client reaches it over the other transport.
    Proxied {
        /// The command `toolway`.
        toolway: PathBuf,
        server: PathBuf,
    },
}

impl ServerSpec {
    /// A program of this workspace.
    pub(super) fn program(path: &Path) -> Self {
        Self::Command(vec![path.display().to_string()])
    }

    /// Parses the text of an option: a URL, or words separated by spaces.
    pub(super) fn from_text(text: &str) -> Self {
        if text.starts_with("http://") || text.starts_with("https://") {
            Self::Url(text.to_owned())
        } else {
            Self::Command(text.split_whitespace().map(str::to_owned).collect())
        }
    }

    /// Prepares the server for any number of clients, one after the other or concurrently. On stdio each client starts
    /// its own. Over HTTP, `latency` is the delay in each direction.
    pub(super) fn open(
        &self,
        transport: Transport,
        log: PathBuf,
        latency: Option<Duration>,
    ) -> Result<OpenServer> {
        let (place, running) = match (self, transport) {
            (Self::Command(words), Transport::Stdio) => {
                let dashes = std::iter::once("--".to_owned());
                (dashes.chain(words.iter().cloned()).collect(), Running::Elsewhere)
            }
            (Self::Command(words), Transport::Http | Transport::Sse) => {
                let (program, arguments) = words.split_first().ok_or("`--server` names no program")?;
                let arguments = |port| {
                    let address = ["--http".to_owned(), format!("127.0.0.1:{port}")];
                    arguments.iter().cloned().chain(address).collect()
                };
                let process = ServerProcess::start(Path::new(program), arguments, log)?;
                match latency {
                    None => (vec![process.url()], Running::Process { process, _proxy: None }),
                    Some(delay) => {
                        let proxy = LatencyProxy::in_front_of(process.address(), delay)?;
                        let url = format!("http://{}/mcp", proxy.address());
                        (vec![url], Running::Process { process, _proxy: Some(proxy) })
                    }
                }
            }
            (Self::Cluster(spec), Transport::Http | Transport::Sse) if latency.is_none() => {
                let cluster = spec.start(&log.with_extension(""))?;
                (vec![cluster.url()], Running::Cluster(cluster))
            }
            (Self::Proxied { toolway, server }, Transport::Stdio) if latency.is_none() => {
                let arguments = |port| vec!["--http".to_owned(), format!("127.0.0.1:{port}")];
                let process = ServerProcess::start(server, arguments, log)?;
                let toolway = toolway.display().to_string();
                let place = vec!["--".to_owned(), toolway, "proxy".to_owned(), process.url()];
                (place, Running::Process { process, _proxy: None })
            }
            (Self::Proxied { toolway, server }, Transport::Http) if latency.is_none() => {
                let server = server.display().to_string();
                let arguments = |port| {
                    let address = format!("127.0.0.1:{port}");
                    ["proxy", "--http", &address, "--", &server].map(str::to_owned).to_vec()
                };
                let process = ServerProcess::start(toolway, arguments, log)?;
                (vec![process.url()], Running::Process { process, _proxy: None })
            }
            (Self::Proxied { .. }, _) => {
                return Err("the part `proxy` serves stdio and HTTP, without `--latency`".to_owned());
            }
            (Self::Cluster(_), _) => {
                return Err("several nodes serve HTTP and SSE, without `--latency`".to_owned());
            }
            (Self::Url(url), _) if latency.is_some() => {
                return Err(format!(
                    "`--latency` is for servers that are started here, and `{url}` runs already"
                ));
            }
            (Self::Url(url), Transport::Http | Transport::Sse) => (vec![url.clone()], Running::Elsewhere),
            (Self::Url(url), Transport::Stdio) => {
                return Err(format!("a client on stdio starts its server, but `{url}` cannot be started"));
            }
        };
        Ok(OpenServer { transport, client_arguments: place, running })
    }
}

/// A server that clients can connect to. A server that we started ends when this is dropped.
#[derive(Debug)]
pub(super) struct OpenServer {
    transport: Transport,
    client_arguments: Vec<String>,
    running: Running,
}

/// The processes of a server.
#[derive(Debug)]
enum Running {
    /// They were not started here.
    Elsewhere,
    Process {
        process: ServerProcess,
        /// The proxy ends when this is dropped.
        _proxy: Option<LatencyProxy>,
    },
    Cluster(Cluster),
}

impl OpenServer {
    /// Returns the command line of a client, after its script.
    pub(super) fn arguments(&self) -> impl Iterator<Item = &str> {
        std::iter::once(self.transport.name()).chain(self.client_arguments.iter().map(String::as_str))
    }

    /// Returns how the server ended, if it ended unexpectedly.
    pub(super) fn ended(&mut self) -> Result<Option<String>> {
        match &mut self.running {
            Running::Elsewhere => Ok(None),
            Running::Process { process, .. } => process.end_report(),
            Running::Cluster(cluster) => cluster.end_report(),
        }
    }

    /// Returns how many requests each node has answered, if the server has several; an error if one has answered none.
    pub(super) fn request_counts(&self) -> Result<Option<String>> {
        match &self.running {
            Running::Elsewhere | Running::Process { .. } => Ok(None),
            Running::Cluster(cluster) => cluster.request_counts().map(Some),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::{ServerSpec, Transport};

    #[test]
    fn every_transport_is_found_by_its_name_and_no_other() {
        for transport in Transport::ALL {
            assert_eq!(Transport::from_name(transport.name()).unwrap(), *transport);
        }
        assert!(Transport::from_name("carrier").unwrap_err().ends_with("there are stdio, http, sse"));
    }

    #[test]
    fn a_client_is_told_a_command_or_a_url() {
        let arguments = |text, transport| {
            let open = ServerSpec::from_text(text).open(transport, PathBuf::new(), None);
            open.map(|open| open.arguments().collect::<Vec<_>>().join(" "))
        };
        assert_eq!(arguments("serve --all", Transport::Stdio).unwrap(), "stdio -- serve --all");
        assert_eq!(arguments("http://[::1]/mcp", Transport::Http).unwrap(), "http http://[::1]/mcp");
        assert_eq!(arguments("http://[::1]/mcp", Transport::Sse).unwrap(), "sse http://[::1]/mcp");
        assert!(arguments("http://[::1]/mcp", Transport::Stdio).is_err());
    }
}
