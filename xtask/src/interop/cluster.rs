//! How do three nodes become one server for the clients, and which programs does that need?
//!
//! The nodes share a Redis. HAProxy is in front of them with the configuration of the guide "Several nodes": each request
//! goes to the next node, and no client stays with one.

use std::fs;
use std::path::{Path, PathBuf};

use crate::run::{self, Result};
use crate::server_process::ServerProcess;
use crate::workspace::Workspace;

/// The programs that are not ours.
#[derive(Clone, Debug)]
pub(super) struct Programs {
    redis: PathBuf,
    balancer: PathBuf,
}

/// The result of the search for the programs.
#[derive(Debug)]
pub(super) enum Search {
    Found(Programs),
    /// Names what is missing and how to get it.
    Missing(String),
}

impl Programs {
    /// Looks for the programs. One that is missing is an error if its variable is set.
    pub(super) fn find() -> Result<Search> {
        Self::find_with(run::find_program, |variable| std::env::var_os(variable).is_some())
    }

    fn find_with(
        find: impl Fn(&str) -> Option<PathBuf>,
        is_required: impl Fn(&str) -> bool,
    ) -> Result<Search> {
        let (redis, balancer) = (find(REDIS), find(BALANCER));
        let all = [(&redis, REDIS, REQUIRE_REDIS), (&balancer, BALANCER, REQUIRE_PROXIES)];
        let missing: Vec<_> = all.iter().filter(|(found, ..)| found.is_none()).collect();
        let (Some(redis), Some(balancer)) = (&redis, &balancer) else {
            let names: Vec<&str> = missing.iter().map(|(_, name, _)| *name).collect();
            let why = format!(
                "no client ran against several nodes, because a program is missing (on Debian: apt-get install {})",
                names.join(" ")
            );
            let is_failure = missing.iter().any(|(.., variable)| is_required(variable));
            return if is_failure { Err(why) } else { Ok(Search::Missing(why)) };
        };
        Ok(Search::Found(Self { redis: redis.clone(), balancer: balancer.clone() }))
    }
}

/// A cluster that was described and not yet started.
#[derive(Clone, Debug)]
pub(super) struct ClusterSpec {
    programs: Programs,
    /// Serves with `--http ADDRESS --store URL`.
    node: PathBuf,
    /// The text of the guide's configuration.
    guide: String,
}

impl ClusterSpec {
    pub(super) fn new(workspace: &Workspace, programs: Programs, node: PathBuf) -> Result<Self> {
        let guide = workspace.root.join(GUIDE);
        let guide = fs::read_to_string(&guide)
            .map_err(|error| format!("could not read {}: {error}", guide.display()))?;
        Ok(Self { programs, node, guide })
    }

    /// Starts everything; all files have names that begin with `prefix`.
    pub(super) fn start(&self, prefix: &Path) -> Result<Cluster> {
        let file = |name: &str| {
            let mut path = prefix.as_os_str().to_owned();
            path.push(format!("-{name}"));
            PathBuf::from(path)
        };
        let data = file("redis");
        fs::create_dir_all(&data).map_err(|error| format!("could not create {}: {error}", data.display()))?;
        let options = |port: u16| {
            let port = port.to_string();
            let data = data.display().to_string();
            let words =
                ["--port", &port, "--bind", "127.0.0.1", "--dir", &data, "--save", "", "--appendonly", "no"];
            words.map(str::to_owned).to_vec()
        };
        let redis = ServerProcess::start(&self.programs.redis, options, file("redis.log"))?;
        let start_node = |name: &&str| {
            let options = |port: u16| {
                let (address, store) = (format!("127.0.0.1:{port}"), format!("redis://{}", redis.address()));
                vec!["--http".to_owned(), address, "--store".to_owned(), store]
            };
            ServerProcess::start(&self.node, options, file(&format!("{name}.log")))
        };
        let nodes: Vec<ServerProcess> = NODES.iter().map(start_node).collect::<Result<_>>()?;

        let (configuration, requests) = (file("haproxy.cfg"), file("haproxy.log"));
        // The requests of an older run must not be counted.
        let _ = fs::remove_file(&requests);
        let mut written = Ok(());
        let options = |port: u16| {
            written = self.configuration(port, &nodes).and_then(|text| {
                fs::write(&configuration, text)
                    .map_err(|error| format!("could not write {}: {error}", configuration.display()))
            });
            // Without `-db` it would continue in the background.
            vec!["-db".to_owned(), "-f".to_owned(), configuration.display().to_string()]
        };
        let balancer = ServerProcess::start(&self.programs.balancer, options, requests.clone());
        written?;
        Ok(Cluster { balancer: balancer?, nodes, redis, requests })
    }

    /// The file of the guide with the addresses of this machine, and with a line for each request on standard output.
    fn configuration(&self, port: u16, nodes: &[ServerProcess]) -> Result<String> {
        let mut changes = vec![
            ("defaults\n".to_owned(), format!("defaults\n{LOG_REQUESTS}")),
            ("bind :8080\n".to_owned(), format!("bind 127.0.0.1:{port}\n")),
        ];
        for (number, node) in (1..).zip(nodes) {
            changes.push((format!("10.0.0.{number}:8000"), node.address().to_string()));
        }
        let mut text = self.guide.clone();
        for (before, after) in changes {
            if text.matches(&before).count() != 1 {
                return Err(format!("{GUIDE} does not have `{}` once", before.trim_end()));
            }
            text = text.replace(&before, &after);
        }
        Ok(text)
    }
}

/// Everything that runs. It ends when this is dropped, in the order of the fields.
#[derive(Debug)]
pub(super) struct Cluster {
    balancer: ServerProcess,
    nodes: Vec<ServerProcess>,
    redis: ServerProcess,
    /// The file with a line for each request.
    requests: PathBuf,
}

impl Cluster {
    /// The URL of the balancer.
    pub(super) fn url(&self) -> String {
        self.balancer.url()
    }

    /// Returns how the first program ended that has ended.
    pub(super) fn end_report(&mut self) -> Result<Option<String>> {
        let others = [&mut self.balancer, &mut self.redis];
        for process in self.nodes.iter_mut().chain(others) {
            if let Some(how) = process.end_report()? {
                return Ok(Some(how));
            }
        }
        Ok(None)
    }

    /// Returns how many requests each node has answered; an error if one has answered none.
    pub(super) fn request_counts(&self) -> Result<String> {
        let text = fs::read_to_string(&self.requests)
            .map_err(|error| format!("could not read {}: {error}", self.requests.display()))?;
        count_requests(&text)
    }
}

fn count_requests(log: &str) -> Result<String> {
    let count = |name: &&str| {
        let answered_by = format!(" nodes/{name} ");
        // Lines about the state of a node begin with its name.
        log.lines().filter(|line| line.contains(" mcp ") && line.contains(&answered_by)).count()
    };
    let counts: Vec<usize> = NODES.iter().map(count).collect();
    let words: Vec<String> =
        NODES.iter().zip(&counts).map(|(name, count)| format!("{name} {count}")).collect();
    let words = format!("requests by node: {}", words.join(", "));
    if counts.contains(&0) { Err(format!("a node answered nothing; {words}")) } else { Ok(words) }
}

const REDIS: &str = "redis-server";
const BALANCER: &str = "haproxy";
const REQUIRE_REDIS: &str = "TOOLWAY_REQUIRE_REDIS";
const REQUIRE_PROXIES: &str = "TOOLWAY_REQUIRE_PROXIES";
const GUIDE: &str = "docs/guide/several-nodes/haproxy.cfg";
/// The names of the nodes in the guide's file.
const NODES: &[&str] = &["one", "two", "three"];
const LOG_REQUESTS: &str = "    log stdout format raw local0\n    option httplog\n";

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::{BALANCER, Programs, REQUIRE_PROXIES, REQUIRE_REDIS, Search, count_requests};

    #[test]
    fn a_missing_program_is_named_and_fails_only_where_it_is_required() {
        let only_redis = |name: &str| (name != BALANCER).then(|| PathBuf::from(name));
        let words = "no client ran against several nodes, because a program is missing (on Debian: apt-get install haproxy)";
        let optional = Programs::find_with(only_redis, |variable| variable == REQUIRE_REDIS).unwrap();
        assert!(matches!(optional, Search::Missing(why) if why == words));
        let required = Programs::find_with(only_redis, |variable| variable == REQUIRE_PROXIES);
        assert_eq!(required.unwrap_err(), words);
        let none = Programs::find_with(|_| None, |_| true).unwrap_err();
        assert!(none.ends_with("apt-get install redis-server haproxy)"), "{none}");
        let all = Programs::find_with(|name| Some(PathBuf::from(name)), |_| true).unwrap();
        assert!(matches!(all, Search::Found(_)));
    }

    #[test]
    fn requests_are_counted_and_every_node_must_have_some() {
        let line = |node| {
            format!(
                "127.0.0.1:40000 [17/Nov/2026:12:00:00.000] mcp nodes/{node} 0/0/0/1/1 200 190 - - ----\n"
            )
        };
        let log = [line("one"), line("two"), line("two"), "Server nodes/three is DOWN\n".to_owned()].concat();
        let error = count_requests(&log).unwrap_err();
        assert_eq!(error, "a node answered nothing; requests by node: one 1, two 2, three 0");
        let counted = count_requests(&(log + &line("three"))).unwrap();
        assert_eq!(counted, "requests by node: one 1, two 2, three 1");
    }
}
