//! What is in the official suite, and what does one scenario report?
//!
//! Runs one scenario at a time, because the suite's mode for whole sets is too lenient: it ignores a client's exit code
//! and every warning, so a client that breaks right after its handshake still "passes". Here a scenario passes if
//! something succeeded, nothing failed or warned, and the runner exited with code 0.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;

use crate::node::Node;
use crate::run::{self, Result};
use crate::workspace::Workspace;

/// The suite, installed and ready to run.
#[derive(Debug)]
pub(crate) struct Suite {
    node: Node,
    script: PathBuf,
    /// The folder for everything that one run writes; emptied by the next run.
    pub(crate) results: PathBuf,
    client: PathBuf,
    /// The command that starts our client if the shell does not: this program and its arguments, in the client's
    /// directory.
    client_starter: Option<String>,
}

/// The program that a scenario tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Side {
    Server,
    Client,
}

/// One entry of the suite's list for a revision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Scenario {
    pub(crate) side: Side,
    pub(crate) revision: String,
    pub(crate) name: String,
    pub(crate) weight: Scoring,
}

/// The role of a scenario when the suite scores an SDK. We run both kinds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scoring {
    Scored,
    Unscored,
}

/// The checks that did not pass, each with the suite's message; empty when the scenario passed.
pub(crate) type FailedChecks = BTreeMap<String, String>;

impl Suite {
    /// Installs the pinned version and deletes the results of the last run.
    pub(crate) fn install(workspace: &Workspace) -> Result<Self> {
        let prefix = workspace.target.join("conformance");
        let node = Node::install(prefix, &[&format!("{PACKAGE}@{VERSION}")])?;
        let script = node.prefix.join("node_modules").join(PACKAGE).join("dist/index.js");
        let results = node.prefix.join("results");
        if results.exists() {
            fs::remove_dir_all(&results)
                .map_err(|error| format!("could not empty {}: {error}", results.display()))?;
        }
        let client = workspace.debug_program("conformance-client");
        Ok(Self { node, script, results, client, client_starter: None })
    }

    /// Makes the following scenarios write into a folder of their own.
    pub(crate) fn begin_round(&mut self, round: usize) {
        self.results = self.node.prefix.join("results").join(format!("round-{round}"));
    }

    /// Starts our client through `cargo xtask conformance-client`, which delays all messages of the client in both
    /// directions.
    pub(crate) fn delay_client(&mut self, workspace: &Workspace, delay: Duration) -> Result {
        // The suite splits the command at spaces, so only a program in the client's own directory has a safe name.
        let name = workspace.xtask.file_name().filter(|_| workspace.xtask.parent() == self.client.parent());
        let name = name.ok_or_else(|| {
            format!("{} and {} are not in one folder", workspace.xtask.display(), self.client.display())
        })?;
        self.client_starter = Some(format!("./{} conformance-client {} ", name.display(), delay.as_millis()));
        Ok(())
    }

    /// Every scenario of one revision, scored or not.
    pub(crate) fn scenarios(&self, revision: &str) -> Result<Vec<Scenario>> {
        let list = run::output(self.node.command(&self.script).args(["list", "--requirements", revision]))?;
        parse_list(&list, revision)
            .map_err(|why| format!("the suite's list for {revision} is not as expected: {why}"))
    }

    /// The scenarios of clients that meet a server of an old revision.
    pub(crate) fn backward_scenarios() -> impl Iterator<Item = Scenario> {
        BACKWARD_SCENARIOS.into_iter().map(|name| Scenario {
            side: Side::Client,
            revision: BACKWARD_REVISION.to_owned(),
            name: name.to_owned(),
            weight: Scoring::Unscored,
        })
    }

    /// Runs one scenario. `url` is the server's address; it is unused for clients, which get an address from the suite.
    pub(crate) fn run(&self, scenario: &Scenario, url: &str) -> Result<FailedChecks> {
        let directory =
            self.results.join(format!("{}-{}", scenario.side, scenario.revision)).join(&scenario.name);
        let log = fs::create_dir_all(&directory)
            .and_then(|()| File::create(directory.join("runner.txt")))
            .and_then(|file| Ok((file.try_clone()?, file)));
        let (out, err) =
            log.map_err(|error| format!("could not write to {}: {error}", directory.display()))?;
        let mut command = self.node.command(&self.script);
        match scenario.side {
            Side::Server => command.args(["server", "--url", url]),
            Side::Client => {
                // The suite splits the command at spaces; a path relative to the program's directory has none. The
                // suite runs the command in a shell; without `exec` its time limit would end the shell and leave our
                // program running.
                let (parent, name) = (self.client.parent(), self.client.file_name());
                let (parent, name) = parent.zip(name).ok_or("the client program has no directory")?;
                command.current_dir(parent).args(["client", "--timeout", CLIENT_LIMIT, "--command"]);
                let starter = self.client_starter.as_deref().unwrap_or_default();
                command.arg(format!("exec {starter}./{}", name.display()))
            }
        };
        command.args(["--scenario", &scenario.name, "--spec-version", &scenario.revision, "--force", "-o"]);
        command.arg(&directory).stdout(out).stderr(err);
        let Some(status) = run::run_within(RUNNER_LIMIT, &mut command)? else {
            let message = format!("the suite's runner hung and was ended after {} s", RUNNER_LIMIT.as_secs());
            return Ok(FailedChecks::from([("runner-timeout".to_owned(), message)]));
        };
        let checks = read_checks(&directory)?;
        Ok(failed_checks(&checks, status.success(), || {
            format!(
                "the checks pass, but the runner exited with {}: see the output of the client",
                run::describe_exit(status)
            )
        }))
    }
}

/// Reads what `list --requirements REVISION` prints: scored scenarios under a heading per side, then the unscored ones
/// with the side in brackets. The count in the first line is checked, in case the layout changes.
fn parse_list(list: &str, revision: &str) -> Result<Vec<Scenario>> {
    let mut scenarios = Vec::new();
    let mut promised = None;
    let mut heading = None;
    for line in list.lines().map(str::trim) {
        if let Some(rest) = line.strip_prefix("Required for") {
            promised = rest.split(['(', ' ']).find_map(|word| word.parse::<usize>().ok());
        } else if line.starts_with("Server scenarios") {
            heading = Some(Side::Server);
        } else if line.starts_with("Client scenarios") {
            heading = Some(Side::Client);
        } else if let Some(item) = line.strip_prefix("- ") {
            let (name, tag) = item.split_once(" [").map_or((item, None), |(name, tag)| (name, Some(tag)));
            let (side, weight) = match (tag.map(|tag| tag.trim_end_matches(']')), heading) {
                (None, Some(side)) => (side, Scoring::Scored),
                (Some("server"), _) => (Side::Server, Scoring::Unscored),
                (Some("client"), _) => (Side::Client, Scoring::Unscored),
                _ => return Err(format!("cannot tell whether `{item}` is for a server or a client")),
            };
            scenarios.push(Scenario {
                side,
                revision: revision.to_owned(),
                name: name.trim().to_owned(),
                weight,
            });
        } else if line.starts_with("Run and reported") {
            heading = None;
        }
    }
    let scored = scenarios.iter().filter(|scenario| scenario.weight == Scoring::Scored).count();
    match promised {
        Some(promised) if promised == scored => Ok(scenarios),
        Some(promised) => Err(format!("it promises {promised} scored scenarios and names {scored}")),
        None => Err("its first line does not say how many scenarios there are".to_owned()),
    }
}

/// Applies the strict rules. `check-without-id`, `no-success` and `exit-code` are our own names, for failures that the
/// suite does not name.
fn failed_checks(
    checks: &[Value],
    exit_code_is_zero: bool,
    exit_message: impl FnOnce() -> String,
) -> FailedChecks {
    let mut failing = FailedChecks::new();
    for check in checks {
        let status = check["status"].as_str().unwrap_or("no status");
        if matches!(status, "SUCCESS" | "INFO" | "SKIPPED") {
            continue;
        }
        let id = check["id"].as_str().unwrap_or("check-without-id").to_owned();
        let text =
            ["errorMessage", "description"].iter().find_map(|key| check[key].as_str()).unwrap_or_default();
        failing.entry(id).or_insert_with(|| format!("{status}: {text}"));
    }
    if failing.is_empty() && !checks.iter().any(|check| check["status"] == "SUCCESS") {
        failing.insert("no-success".to_owned(), "no check of this scenario succeeded".to_owned());
    }
    if failing.is_empty() && !exit_code_is_zero {
        failing.insert("exit-code".to_owned(), exit_message());
    }
    failing
}

/// Reads all checks. The suite writes into a directory named after the scenario and the time; a name with a slash adds
/// a level.
fn read_checks(directory: &Path) -> Result<Vec<Value>> {
    let mut checks = Vec::new();
    let mut open = vec![directory.to_owned()];
    while let Some(directory) = open.pop() {
        for entry in fs::read_dir(&directory).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                open.push(path);
            } else if entry.file_name() == "checks.json" {
                let text =
                    fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
                let found: Vec<Value> =
                    serde_json::from_str(&text).map_err(|error| format!("{}: {error}", path.display()))?;
                checks.extend(found);
            }
        }
    }
    Ok(checks)
}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Server => "server",
            Self::Client => "client",
        })
    }
}

/// The suite's version, pinned because a newer one may add checks, and the baseline belongs to exactly one version.
pub(crate) const VERSION: &str = "0.2.0-alpha.12";
/// The requirement sets to run.
pub(crate) const REVISIONS: [&str; 2] = ["2025-11-25", "2026-07-28"];
/// The revision of the suite's set for backward compatibility, which no requirement set contains.
pub(crate) const BACKWARD_REVISION: &str = "2025-03-26";
/// The set for backward compatibility. The suite runs it (`--suite backcompat`), but does not list it.
const BACKWARD_SCENARIOS: [&str; 2] =
    ["auth/2025-03-26-oauth-metadata-backcompat", "auth/2025-03-26-oauth-endpoint-fallback"];
const PACKAGE: &str = "@modelcontextprotocol/conformance";
/// Milliseconds after which the suite kills a client that does not end.
const CLIENT_LIMIT: &str = "20000";
/// The suite limits a scenario to 20 or 30 s, but its mock servers may wait for a connection that stays open.
const RUNNER_LIMIT: Duration = Duration::from_secs(60);

#[cfg(test)]
mod tests {
    use super::{Scoring, Side, failed_checks, parse_list};
    use serde_json::json;

    const LIST: &str = "\
Required for 2025-11-25 (3 scenarios, frozen; run at the 2025-11-25 wire):

Server scenarios (test against a server):
  - ping
  - tools-list

Client scenarios (test against a client):
  - auth/basic-cimd

Run and reported, but never scored:
  extension (1):
    - auth/dpop [client]
  pending (1):
    - server-sse-polling [server]
";

    #[test]
    fn the_list_gives_each_scenario_its_side_and_weight() {
        let found: Vec<_> = parse_list(LIST, "2025-11-25")
            .unwrap()
            .into_iter()
            .map(|scenario| (scenario.side, scenario.name, scenario.weight))
            .collect();
        let expected = [
            (Side::Server, "ping", Scoring::Scored),
            (Side::Server, "tools-list", Scoring::Scored),
            (Side::Client, "auth/basic-cimd", Scoring::Scored),
            (Side::Client, "auth/dpop", Scoring::Unscored),
            (Side::Server, "server-sse-polling", Scoring::Unscored),
        ];
        assert_eq!(found, expected.map(|(side, name, weight)| (side, name.to_owned(), weight)));
    }

    #[test]
    fn a_list_with_another_layout_is_refused() {
        let rows = [
            ("Required for 2025-11-25 (4 scenarios", "promises 4 scored scenarios and names 3"),
            ("Scenarios for 2025-11-25 (3", "does not say how many"),
        ];
        for (first_line, message) in rows {
            let list = LIST.replacen("Required for 2025-11-25 (3 scenarios", first_line, 1);
            assert!(parse_list(&list, "2025-11-25").unwrap_err().contains(message), "{first_line}");
        }
        let list = LIST.replace("[client]", "[authorization]");
        assert!(parse_list(&list, "2025-11-25").unwrap_err().contains("auth/dpop"));
    }

    #[test]
    fn only_success_without_failure_warning_or_bad_exit_passes() {
        let check = |id: &str, status: &str| json!({ "id": id, "status": status, "errorMessage": "why" });
        let rows = [
            (vec![check("a", "SUCCESS"), check("b", "INFO"), check("c", "SKIPPED")], true, vec![]),
            (
                vec![check("a", "SUCCESS"), check("b", "WARNING"), check("c", "FAILURE")],
                false,
                vec!["b", "c"],
            ),
            (vec![check("a", "SUCCESS"), check("a", "FAILURE")], true, vec!["a"]),
            (vec![check("a", "SUCCESS")], false, vec!["exit-code"]),
            (vec![check("a", "SKIPPED")], true, vec!["no-success"]),
            (vec![], true, vec!["no-success"]),
            (vec![json!({ "id": "a" })], true, vec!["a"]),
        ];
        for (checks, exit_code_is_zero, expected) in rows {
            let found = failed_checks(&checks, exit_code_is_zero, || "exit code 1".to_owned());
            assert_eq!(found.keys().collect::<Vec<_>>(), expected, "{checks:?}");
        }
    }
}
