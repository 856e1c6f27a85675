//! Are all limits of servers, clients and the command known, and are the pages of limits right about them?
//!
//! `tests/golden/limits.txt` has every limit with its default, one per line. When a limit changes or is added, rewrite
//! the file with `UPDATE_GOLDEN=1 cargo nextest run -p toolway limits`, and update one of the two pages:
//! `docs/limits.md` has the limits that users set or notice, `docs/design/fixed-limits.md` the others.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use toolway::Server;

#[test]
fn defaults_are_those_of_the_golden_file() {
    let mut actual = String::new();
    for (name, value) in all() {
        writeln!(actual, "{name} {value}").unwrap();
    }
    let path = root().join("crates/toolway/tests/golden/limits.txt");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, &actual).unwrap();
    }
    let golden = std::fs::read_to_string(&path).unwrap();
    assert_eq!(actual, golden, "the defaults differ from {}", path.display());
}

/// The page of the limits that users set or notice.
const FOR_USERS: &str = "docs/limits.md";
/// The page of all other limits.
const FIXED: &str = "docs/design/fixed-limits.md";

#[test]
fn each_limit_is_on_one_of_the_pages_with_its_default() {
    let pages = [FOR_USERS, FIXED].map(|path| (path, std::fs::read_to_string(root().join(path)).unwrap()));
    let rows: Vec<_> =
        pages.iter().flat_map(|(path, page)| rows(page).into_iter().map(move |row| (*path, row))).collect();
    let mut wrong = Vec::new();
    for (name, value) in all() {
        let quoted = format!("`{name}`");
        let said: Vec<_> =
            rows.iter().filter(|(_, row)| row[0].ends_with(&quoted)).map(|(_, row)| row[1]).collect();
        // 4194304 may be followed by an explanation: 4194304 (4 MiB).
        let is_right = |said: &str| said.split(' ').next() == Some(&value);
        if !matches!(said.as_slice(), [one] if is_right(one)) {
            wrong.push(format!("{name} is {value}, but the pages say {said:?}"));
        }
    }
    let known: Vec<_> = all().into_iter().map(|(name, _)| name).collect();
    for (path, row) in &rows {
        let name = row[0].rsplit_once(" `").and_then(|(_, name)| name.strip_suffix('`'));
        let Some(name) = name else { continue };
        if !known.iter().any(|known| known == name) {
            wrong.push(format!("{path} has a limit {name} that is not there"));
        }
        if *path == FIXED && row[2] != "fixed" {
            wrong.push(format!("{name} can be set, so it belongs to {FOR_USERS}"));
        }
    }
    assert!(wrong.is_empty(), "{FOR_USERS}, {FIXED}:\n{}", wrong.join("\n"));
}

#[test]
fn the_page_of_limits_names_calls_that_exist() {
    let page = std::fs::read_to_string(root().join(FOR_USERS)).unwrap();
    let source =
        |path: &str| std::fs::read_to_string(root().join("crates/toolway/src/server").join(path)).unwrap();
    let sources = source("http/service.rs") + &source("build/limits.rs") + &source("build/builder.rs");
    let mut calls = 0;
    for row in rows(&page) {
        let Some(call) = row[2].strip_prefix("`.") else { continue };
        let name = call.split('(').next().unwrap();
        assert!(sources.contains(&format!("pub fn {name}(")), "there is no `.{name}(…)`");
        calls += 1;
    }
    assert!(calls > 10, "the page says how limits are set");
}

/// Returns the rows of all tables of a page, cell by cell.
fn rows(page: &str) -> Vec<Vec<&str>> {
    let rows = page.lines().filter(|line| line.starts_with("| "));
    rows.map(|line| line.trim_matches('|').split(" | ").map(str::trim).collect()).collect()
}

/// Returns every limit: those of the HTTP service from its `Debug`, those of the parser from its type, and the
/// constants of the sources.
fn all() -> Vec<(String, String)> {
    let service = format!("{:?}", Server::new("app", "1.0.0").build().unwrap().http());
    let shown = ["Limits { ", "SessionLimits { "].map(|name| {
        let (_, limits) =
            service.split_once(&format!("imits: {name}")).expect("the service shows its limits");
        limits.split_once(" }").unwrap().0
    });
    let mut all: Vec<_> = shown
        .into_iter()
        .flat_map(|limits| limits.split(", "))
        .map(|limit| limit.split_once(": ").unwrap())
        .map(|(name, value)| (format!("http.{name}"), value.to_owned()))
        .collect();
    let toolway_protocol::json::Limits { depth, nodes, .. } = toolway_protocol::json::Limits::default();
    all.push(("json.depth".to_owned(), depth.to_string()));
    all.push(("json.nodes".to_owned(), nodes.to_string()));
    let from = all.len();
    for (folder, prefix) in [
        ("crates/toolway/src/agent", "agent"),
        ("crates/toolway/src/auth", "auth"),
        ("crates/toolway-cli/src", "cli"),
        ("crates/toolway/src/client", "client"),
        ("crates/toolway/src/hub", "hub"),
        ("crates/toolway/src/gateway", "gateway"),
        ("crates/toolway-schema/src", "schema"),
        ("crates/toolway/src/server", "server"),
        ("crates/toolway-redis/src", "redis"),
        ("crates/toolway/src/store", "store"),
        ("crates/toolway-store/src/memory", "store::memory"),
        ("crates/toolway/src/transport", "transport"),
        ("crates/toolway-protocol/src", "protocol"),
    ] {
        constants(&root().join(folder), prefix, &mut all);
    }
    all[from..].sort();
    all
}

/// Numbers that are not limits, or do not limit a peer.
const NO_LIMITS: [&str; 26] = [
    // The version of a format, and how many bytes of a value are compared first.
    "client::record::cassette::FORMAT",
    "client::record::secrets::PREFIX",
    // Weights and bits of algorithms.
    "protocol::json::plain::LOW_BITS",
    "protocol::json::keys::MIX",
    "schema::terms::number::MAX_POWER",
    "schema::check::walk::WRONG_TYPE_DISTANCE",
    "schema::check::walk::WRONG_TAG_DISTANCE",
    "schema::check::walk::SHARED_NODE_WORK",
    "schema::terms::work::STEP",
    "schema::dialects::unfold::VALUE_OVERHEAD",
    // How the store in memory removes expired entries.
    "store::memory::expiring::CHECKS_PER_CALL",
    "store::memory::expiring::MAX_TTL",
    "store::memory::expiring::MIN_SHRINK_CAPACITY",
    // The test suite of stores.
    "store::contract::CASE_TIMEOUT",
    "store::contract::trial::LONG_TTL",
    "store::contract::trial::SHORT_TTL",
    // More than the budgets allow: a counter.
    "server::http::endpoint::request::RUNNING",
    // The overhead of each remembered value.
    "server::call::replay::ITEM_OVERHEAD",
    // The memory of values that are counted towards a limit.
    "client::notifications::footprint::VALUE_OVERHEAD",
    "client::notifications::footprint::OBJECT_OVERHEAD",
    "client::notifications::footprint::UNKNOWN_MEMBER_OVERHEAD",
    "client::connect::list_limit::PART_OVERHEAD",
    // The same limit as `json.depth`.
    "protocol::json::scan::MAX_DEPTH",
    // The number of a stream.
    "cli::proxy::http::streams::GENERAL",
    // The size of a check, and of a drawing.
    "cli::doctor::session::REQUESTS",
    "cli::progress::BAR_WIDTH",
];

/// Adds the numeric and duration constants in the files of a folder.
fn constants(folder: &Path, prefix: &str, all: &mut Vec<(String, String)>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let stem = path.file_stem().unwrap().to_str().unwrap().to_owned();
        let name =
            if stem == "mod" || stem == "lib" { prefix.to_owned() } else { format!("{prefix}::{stem}") };
        if path.is_dir() {
            constants(&path, &name, all);
            continue;
        }
        // Modules that are compiled for tests only.
        if stem.ends_with("tests") {
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap();
        // Tests are at the end, unless they have their own file.
        let end = text.find("\n#[cfg(test)]\nmod tests {").unwrap_or(text.len());
        for line in text[..end].lines() {
            let Some((head, rest)) = line.split_once("const ") else { continue };
            if !head.is_empty() && !head.starts_with("pub") {
                continue;
            }
            let Some((constant, rest)) = rest.split_once(": ") else { continue };
            let Some((kind, value)) = rest.split_once(" = ") else { continue };
            let name = format!("{name}::{constant}");
            if !NO_LIMITS.contains(&name.as_str())
                && let Some(value) = value_of(&name, kind, value.trim_end_matches(';'))
            {
                all.push((name, value));
            }
        }
    }
}

/// Returns the value of a constant, if it is a number or a duration.
fn value_of(name: &str, kind: &str, text: &str) -> Option<String> {
    let number = |text: &str| -> u64 {
        let plain = |text: &str| text.replace('_', "").parse::<u64>().ok();
        let value = match (text.split_once(" << "), text.split_once(" * ")) {
            (Some((left, right)), _) => plain(left).zip(plain(right)).map(|(left, right)| left << right),
            (_, Some((left, right))) => plain(left).zip(plain(right)).map(|(left, right)| left * right),
            (None, None) => plain(text),
        };
        value.unwrap_or_else(|| panic!("{name}: write `{text}` as a number, `1 << 2` or `3 * 4`"))
    };
    match kind {
        "usize" | "u64" | "u32" | "u16" | "u8" => Some(number(text).to_string()),
        "Duration" => {
            let (unit, amount) = text.strip_prefix("Duration::from_")?.split_once('(')?;
            let amount = number(amount.trim_end_matches(')'));
            let time = match unit {
                "millis" => Duration::from_millis(amount),
                "secs" => Duration::from_secs(amount),
                _ => panic!("{name}: write `{text}` in milliseconds or seconds"),
            };
            Some(format!("{time:?}"))
        }
        _ => None,
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}
