//! Do our server and client conform, and is every failure a known one?
//!
//! Runs the official suite (`suite.rs`) scenario by scenario against the two programs of the crate `conformance`, and
//! compares the results with the baseline (`baseline.rs`).

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::net::{TcpStream, ToSocketAddrs as _};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::arguments::Arguments;
use crate::baseline::{Baseline, Verdict};
use crate::latency::LatencyProxy;
use crate::run::{self, Result};
use crate::server_process::ServerProcess;
use crate::suite::{BACKWARD_REVISION, FailedChecks, REVISIONS, Scenario, Scoring, Side, Suite, VERSION};
use crate::test;
use crate::workspace::Workspace;

/// The scenarios to run, and whether to compare with the baseline or to rewrite it.
#[derive(Debug, Default)]
pub(crate) struct Options {
    only: Option<String>,
    side: Option<Side>,
    revision: Option<String>,
    mode: Mode,
    repeat: Option<usize>,
    latency: Option<Duration>,
}

#[derive(Debug, Default, PartialEq, Eq)]
enum Mode {
    #[default]
    Compare,
    Bless,
}

impl Options {
    pub(crate) fn parse(mut arguments: Arguments) -> Result<Self> {
        let side = match arguments.value("--side")?.as_deref() {
            None => None,
            Some("server") => Some(Side::Server),
            Some("client") => Some(Side::Client),
            Some(other) => {
                return Err(format!("`--side {other}`: there are two sides, `server` and `client`"));
            }
        };
        let revision = arguments.value("--revision")?;
        let is_known = |revision: &str| REVISIONS.contains(&revision) || revision == BACKWARD_REVISION;
        if let Some(revision) = revision.as_deref().filter(|revision| !is_known(revision)) {
            return Err(format!(
                "`--revision {revision}`: the suite is run for {BACKWARD_REVISION}, {}",
                REVISIONS.join(" and ")
            ));
        }
        let only = arguments.value("--only")?;
        let mode = if arguments.flag("--bless") { Mode::Bless } else { Mode::Compare };
        let repeat = Some(arguments.times("--repeat")?);
        if mode == Mode::Bless && repeat != Some(1) {
            return Err("`--bless` takes the results of one round; leave `--repeat` out".to_owned());
        }
        let latency = arguments.value("--latency")?.map(|text| milliseconds(&text)).transpose()?;
        arguments.finish()?;
        Ok(Self { only, side, revision, mode, repeat, latency })
    }

    fn includes(&self, scenario: &Scenario) -> bool {
        self.only.as_ref().is_none_or(|only| *only == scenario.name)
            && self.side.is_none_or(|side| side == scenario.side)
            && self.revision.as_ref().is_none_or(|revision| *revision == scenario.revision)
    }
}

pub(crate) fn run(workspace: &Workspace, options: &Options) -> Result {
    let path = workspace.root.join(BASELINE);
    let text = fs::read_to_string(&path).map_err(|error| format!("could not read {BASELINE}: {error}"))?;
    let mut baseline = Baseline::parse(&text).map_err(|error| format!("{BASELINE}: {error}"))?;
    let mut suite = Suite::install(workspace)?;
    let mut all = Vec::new();
    for revision in REVISIONS {
        all.extend(suite.scenarios(revision)?);
    }
    all.extend(Suite::backward_scenarios());
    let chosen: Vec<Scenario> = all.iter().filter(|scenario| options.includes(scenario)).cloned().collect();
    if chosen.is_empty() {
        let names: BTreeSet<&str> = all.iter().map(|scenario| scenario.name.as_str()).collect();
        let names: Vec<&str> = names.into_iter().collect();
        return Err(format!("no scenario fits these options; the suite has {}", names.join(", ")));
    }
    test::build_programs(workspace, &["--bin=conformance-server", "--bin=conformance-client"])?;
    if let Some(delay) = options.latency {
        suite.delay_client(workspace, delay)?;
    }
    let rounds = options.repeat.unwrap_or(1);
    let mut failed_rounds = Vec::new();
    let mut failed_scenarios = 0;
    for round in 1..=rounds {
        let start = Instant::now();
        if rounds > 1 {
            suite.begin_round(round);
        }
        let results = run_all(workspace, &suite, &chosen, options.latency)?;
        if options.mode == Mode::Bless {
            baseline = baseline.updated(VERSION, &all, &results);
            fs::write(&path, baseline.render())
                .map_err(|error| format!("could not write {BASELINE}: {error}"))?;
            println!("rewrote {BASELINE}; look at the difference before you commit it");
        }
        let failed = report(&suite, &baseline, &results);
        if failed > 0 {
            failed_rounds.push(round.to_string());
            failed_scenarios += failed;
        }
        if rounds > 1 {
            let seconds = start.elapsed().as_secs_f64();
            println!("==== round {round} of {rounds}: {failed} scenarios failed, {seconds:.1} s");
        }
    }
    let broken_rules = check_baseline_file(workspace, &baseline, &all);
    for rule in &broken_rules {
        println!("{rule}");
    }
    match (failed_scenarios, broken_rules.len()) {
        (0, 0) => Ok(()),
        (0, _) => Err(format!("conformance: {BASELINE} breaks its rules; each case is named above")),
        (failed, _) if rounds > 1 => Err(format!(
            "conformance: {} of {rounds} rounds failed ({}), {failed} scenarios in all; each is named above",
            failed_rounds.len(),
            failed_rounds.join(", ")
        )),
        (failed, _) => {
            Err(format!("conformance: {failed} scenarios are not as {BASELINE} says; each is named above"))
        }
    }
}

/// `cargo xtask conformance-client MS PROGRAM URL`, which the suite starts in place of our client: runs the client with
/// a proxy in front of the URL.
pub(crate) fn run_client_with_latency(mut arguments: Arguments) -> Result {
    let delay = milliseconds(&arguments.word("the delay")?)?;
    let program = arguments.word("the client program")?;
    let url = arguments.word("the server's URL")?;
    arguments.finish()?;
    let (_latency, url) = start_proxy(&url, delay)?;
    let status = Command::new(&program)
        .arg(url)
        .status()
        .map_err(|error| format!("could not start `{program}`: {error}"))?;
    if status.success() {
        Ok(())
    } else {
        Err(format!("`{program}` failed with {}", run::describe_exit(status)))
    }
}

/// Starts a proxy in front of the server at `url`, and returns the URL of the proxy.
fn start_proxy(url: &str, delay: Duration) -> Result<(LatencyProxy, String)> {
    let unusable =
        || format!("`{url}` does not name a host and a port, so no proxy can stand in front of it");
    let authority = url.strip_prefix("http://").and_then(|rest| rest.split(['/', '?']).next());
    let authority = authority.ok_or_else(unusable)?;
    let mut addresses = authority.to_socket_addrs().map_err(|_| unusable())?;
    // The suite's servers may listen on only one of IPv4 and IPv6.
    let reachable = addresses
        .find(|address| TcpStream::connect_timeout(address, Duration::from_secs(5)).is_ok())
        .ok_or_else(|| format!("no server accepts connections at {authority}"))?;
    let latency = LatencyProxy::in_front_of(reachable, delay)?;
    let url = url.replacen(authority, &latency.address().to_string(), 1);
    Ok((latency, url))
}

fn milliseconds(text: &str) -> Result<Duration> {
    text.parse().map(Duration::from_millis).map_err(|_| {
        format!("`--latency {text}`: it takes a number of milliseconds for each direction, such as 20")
    })
}

/// Runs two scenarios at a time. Each lane has its own server, so that a scenario does not see what another one does to
/// the server.
fn run_all(
    workspace: &Workspace,
    suite: &Suite,
    chosen: &[Scenario],
    latency: Option<Duration>,
) -> Result<Vec<(Scenario, FailedChecks)>> {
    // This scenario measures when the client reconnects, to within a few milliseconds.
    let (alone, together): (Vec<_>, Vec<_>) =
        chosen.iter().partition(|scenario| scenario.name == "sse-retry");
    let next = AtomicUsize::new(0);
    let run_lane = |lane: usize| -> Result<Vec<(Scenario, FailedChecks)>> {
        let mut lane = Lane { workspace, suite, number: lane, latency, server: None };
        let mut results = Vec::new();
        while let Some(scenario) = together.get(next.fetch_add(1, Ordering::Relaxed)) {
            let failing =
                lane.run(scenario).inspect_err(|_| next.store(together.len(), Ordering::Relaxed))?;
            results.push(((*scenario).clone(), failing));
        }
        Ok(results)
    };
    let mut results = Vec::new();
    thread::scope(|scope| {
        let lanes: Vec<_> = (1..=LANES).map(|lane| scope.spawn(move || run_lane(lane))).collect();
        for lane in lanes {
            results.extend(lane.join().map_err(|_| "a lane of the conformance run panicked; see above")??);
        }
        Ok::<(), String>(())
    })?;
    let mut last_lane = Lane { workspace, suite, number: 0, latency, server: None };
    for scenario in alone {
        results.push((scenario.clone(), last_lane.run(scenario)?));
    }
    // The lanes finish in any order; the report follows the suite's order.
    results.sort_by_key(|(ran, _)| chosen.iter().position(|scenario| scenario == ran));
    Ok(results)
}

struct Lane<'a> {
    workspace: &'a Workspace,
    suite: &'a Suite,
    number: usize,
    latency: Option<Duration>,
    server: Option<TestServer>,
}

/// A server, and the URL that the suite uses.
struct TestServer {
    server: ServerProcess,
    url: String,
    _latency: Option<LatencyProxy>,
}

impl Lane<'_> {
    fn run(&mut self, scenario: &Scenario) -> Result<FailedChecks> {
        if scenario.side == Side::Client {
            return self.suite.run(scenario, "");
        }
        let mut target = match self.server.take() {
            Some(target) => target,
            None => self.start()?,
        };
        let mut failing = self.suite.run(scenario, &target.url)?;
        match target.server.end_report()? {
            None => self.server = Some(target),
            // The next scenario gets a new server: a crash fails this scenario only.
            Some(how) => {
                failing.insert("server-ended".to_owned(), format!("the server ended with {how}"));
            }
        }
        Ok(failing)
    }

    fn start(&self) -> Result<TestServer> {
        let server = ServerProcess::start(
            &self.workspace.debug_program("conformance-server"),
            |port| vec!["--port".to_owned(), port.to_string()],
            self.suite.results.join(format!("server-{}.log", self.number)),
        )?;
        let (latency, url) = match self.latency {
            None => (None, server.url()),
            Some(delay) => {
                let (latency, url) = start_proxy(&server.url(), delay)?;
                (Some(latency), url)
            }
        };
        Ok(TestServer { server, url, _latency: latency })
    }
}

/// Checks the rules about the baseline file itself.
fn check_baseline_file(workspace: &Workspace, baseline: &Baseline, all: &[Scenario]) -> Vec<String> {
    let mut broken = Vec::new();
    if baseline.suite != VERSION {
        broken.push(format!(
            "{BASELINE} belongs to version {} of the suite, but {VERSION} was run; rewrite it with --bless",
            baseline.suite
        ));
    }
    for entry in baseline.unknown_entries(all) {
        broken.push(format!(
            "{BASELINE}: the suite has no scenario for `{entry}`; remove it (or run with --bless)"
        ));
    }
    match earlier_versions(workspace) {
        Ok(versions) => {
            // An entry may be missing from many commits; naming one is enough.
            let grown: BTreeMap<String, String> = versions
                .into_iter()
                .flat_map(|(commit, older)| {
                    baseline.added_since(&older).into_iter().map(move |entry| (entry, commit.clone()))
                })
                .collect();
            broken.extend(grown.into_iter().map(|(entry, commit)| {
                format!("{BASELINE}: `{entry}` is not in commit {commit}; the list may only shrink, so make it pass")
            }));
        }
        Err(error) => broken.push(format!("cannot compare {BASELINE} with its history: {error}")),
    }
    broken
}

/// Every committed version of the baseline that can still be read.
fn earlier_versions(workspace: &Workspace) -> Result<Vec<(String, Baseline)>> {
    let git =
        |arguments: &[&str]| run::output(Command::new("git").current_dir(&workspace.root).args(arguments));
    if !workspace.root.join(".git").exists() {
        println!("note: no git history here, so whether {BASELINE} has grown is not checked");
        return Ok(Vec::new());
    }
    // The first command fails when git refuses to work here, the second when the branch has no commit yet.
    git(&["rev-parse", "--git-dir"])?;
    if git(&["rev-parse", "--verify", "--quiet", "HEAD"]).is_err() {
        return Ok(Vec::new());
    }
    let mut versions = Vec::new();
    for commit in git(&["rev-list", "HEAD", "--", BASELINE])?.lines() {
        // A commit that deleted the file, or that has an older format, is skipped.
        let Ok(text) = git(&["show", &format!("{commit}:./{BASELINE}")]) else { continue };
        match Baseline::parse(&text) {
            Ok(older) => versions.push((commit.chars().take(10).collect(), older)),
            Err(error) => println!("note: {BASELINE} at commit {commit} is skipped: {error}"),
        }
    }
    Ok(versions)
}

/// Prints the tables and returns how many scenarios differ from the baseline.
fn report(suite: &Suite, baseline: &Baseline, results: &[(Scenario, FailedChecks)]) -> usize {
    let mut rows: BTreeMap<(Side, &str), Row> = BTreeMap::new();
    let mut details = Vec::new();
    for (scenario, failing) in results {
        let row = rows.entry((scenario.side, &scenario.revision)).or_default();
        let tally = match scenario.weight {
            Scoring::Scored => &mut row.scored,
            Scoring::Unscored => &mut row.unscored,
        };
        tally.total += 1;
        match baseline.judge(scenario, failing) {
            Verdict::Passed => tally.passed += 1,
            Verdict::Known(entries) => {
                row.known += 1;
                for (entry, reason) in entries {
                    row.reasons.entry(reason).or_default().push(entry);
                }
            }
            Verdict::Failed(lines) => {
                row.failed += 1;
                let Scenario { side, revision, name, .. } = scenario;
                details.push(format!("FAILED {side} {revision} {name}\n    {}", lines.join("\n    ")));
            }
        }
    }
    for ((side, revision), row) in &rows {
        for (reason, entries) in &row.reasons {
            println!(
                "{side} {revision}, {} in the baseline ({reason}): {}",
                entries.len(),
                entries.join(", ")
            );
        }
    }
    for detail in &details {
        println!("{detail}");
    }
    if !details.is_empty() {
        println!("what each of them wrote: {}/SIDE-REVISION/SCENARIO", suite.results.display());
    }
    println!("side    revision    scored passed  unscored passed  in the baseline  failed");
    for ((side, revision), Row { scored, unscored, known, failed, .. }) in &rows {
        let (scored, unscored) = (scored.text(), unscored.text());
        println!("{side:6}  {revision:10}  {scored:>13}  {unscored:>15}  {known:>15}  {failed:>6}");
    }
    let sum = |count: fn(&Row) -> usize| rows.values().map(count).sum::<usize>();
    let passed = sum(|row| row.scored.passed + row.unscored.passed);
    let failed = sum(|row| row.failed);
    println!("conformance: {passed} passed, {failed} failed, {} in the baseline", sum(|row| row.known));
    failed
}

#[derive(Default)]
struct Row {
    scored: Tally,
    unscored: Tally,
    known: usize,
    failed: usize,
    reasons: BTreeMap<String, Vec<String>>,
}

#[derive(Default)]
struct Tally {
    passed: usize,
    total: usize,
}

impl Tally {
    fn text(&self) -> String {
        format!("{} of {}", self.passed, self.total)
    }
}

const BASELINE: &str = "conformance/baseline.toml";
/// The suite starts a Node process for each scenario, and a few scenarios depend on timing, so the number is small.
const LANES: usize = 2;

#[cfg(test)]
mod tests {
    use super::{Options, start_proxy};
    use crate::arguments::Arguments;
    use std::io::{Read as _, Write as _};
    use std::net::{TcpListener, TcpStream};
    use std::time::Duration;

    fn parsed(words: &[&str]) -> Result<Options, String> {
        Options::parse(Arguments::from_words(words))
    }

    #[test]
    fn rounds_and_latency_are_read_and_bad_ones_refused() {
        let options = parsed(&["--repeat", "20", "--latency=30"]).unwrap();
        assert_eq!((options.repeat, options.latency), (Some(20), Some(Duration::from_millis(30))));
        let rows = [
            (vec!["--repeat", "0"], "a number from 1"),
            (vec!["--latency", "soon"], "a number of milliseconds"),
            (vec!["--repeat", "2", "--bless"], "leave `--repeat` out"),
        ];
        for (words, message) in rows {
            let error = parsed(&words).unwrap_err();
            assert!(error.contains(message), "{error}");
        }
    }

    #[test]
    fn a_url_goes_through_the_proxy_and_keeps_its_path() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let url = format!("http://localhost:{port}/mcp?x=1");
        let (latency, url) = start_proxy(&url, Duration::from_millis(1)).unwrap();
        assert_eq!(url, format!("http://{}/mcp?x=1", latency.address()));
        // The first connection only tests whether the port is open.
        drop(listener.accept().unwrap());
        TcpStream::connect(latency.address()).unwrap().write_all(b"hello").unwrap();
        let mut heard = String::new();
        listener.accept().unwrap().0.read_to_string(&mut heard).unwrap();
        assert_eq!(heard, "hello");
        assert!(start_proxy("https://example.com", Duration::ZERO).unwrap_err().contains("no proxy"));
    }
}
