//! Do the crates that users of `toolway` have to build stay few, single and freely licensed?
//!
//! Counts the normal dependencies on this platform, including the workspace's own crates: those that a user has to
//! compile.

use std::collections::{BTreeMap, BTreeSet};

use crate::licence;
use crate::run::{self, Result};
use crate::workspace::Workspace;

/// Checks the three rules and prints the counts.
pub(crate) fn run(workspace: &Workspace) -> Result {
    let mut broken = Vec::new();
    for Budget { package, title, features, limit } in &BUDGETS {
        let count = tree(workspace, package, features)?.len();
        println!("{count:3} crates of at most {limit}: {package} with {title}");
        if count > *limit {
            broken.push(format!(
                "{package} with {title} depends on {count} crates, but the budget is {limit}: find out with `cargo tree \
                 -p {package} -e normal {}` which one is new, and do without it or raise the budget in \
                 xtask/src/dependencies.rs",
                features.join(" ")
            ));
        }
    }
    broken.extend(duplicates(&tree(workspace, "toolway", &["--all-features"])?));
    let mut everywhere = tree(workspace, "toolway", &["--all-features", "--target=all"])?;
    everywhere.extend(tree(workspace, "toolway-cli", &["--all-features", "--target=all"])?);
    for Crate { name, version, licence } in &everywhere {
        let verdict = match licence::is_allowed(licence) {
            Ok(true) => continue,
            Ok(false) => format!("is under `{licence}`, which is not among the allowed"),
            Err(error) => format!("has the licence expression `{licence}`, which cannot be read: {error}"),
        };
        broken.push(format!("{name} {version} {verdict}; do without it or see xtask/src/licence.rs"));
    }
    println!("{} crates with every feature on every platform, licences checked", everywhere.len());
    if broken.is_empty() { Ok(()) } else { Err(broken.join("\n")) }
}

struct Budget {
    package: &'static str,
    title: &'static str,
    features: &'static [&'static str],
    limit: usize,
}

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Crate {
    name: String,
    version: String,
    licence: String,
}

/// Returns the crates that a package depends on, without itself.
fn tree(workspace: &Workspace, package: &str, features: &[&str]) -> Result<BTreeSet<Crate>> {
    let mut command =
        workspace.cargo(&["tree", "-p", package, "-e", "normal", "--prefix=none", "--format={p}|{l}"]);
    let mut crates = parse_tree(&run::output(command.args(features))?)?;
    crates.retain(|found| found.name != package);
    Ok(crates)
}

/// Parses lines of the form `name vVERSION (a note) …|LICENCE`, followed by ` (*)` when the crate was listed before.
fn parse_tree(text: &str) -> Result<BTreeSet<Crate>> {
    let parse_line = |line: &str| {
        let (package, licence) = line.split_once('|')?;
        let mut words = package.split_whitespace();
        let name = words.next()?.to_owned();
        let version = words.next()?.strip_prefix('v')?.to_owned();
        let licence = licence.trim().trim_end_matches("(*)").trim_end().to_owned();
        Some(Crate { name, version, licence })
    };
    text.lines()
        .filter(|line| !line.trim().is_empty())
        .map(|line| {
            parse_line(line)
                .ok_or_else(|| format!("`cargo tree` printed a line that is not understood: {line}"))
        })
        .collect()
}

fn duplicates(crates: &BTreeSet<Crate>) -> Vec<String> {
    let mut versions: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for found in crates {
        versions.entry(&found.name).or_default().push(&found.version);
    }
    versions.retain(|_, versions| versions.len() > 1);
    let mut broken: Vec<String> = versions
        .iter()
        .filter(|(name, _)| !TWO_VERSIONS.iter().any(|(allowed, _)| allowed == *name))
        .map(|(name, versions)| {
            format!(
                "toolway depends on {name} in the versions {}: `cargo tree -p toolway -e normal --all-features -d` \
                 shows which crate needs which version; use one version, or list it with its reason in \
                 xtask/src/dependencies.rs",
                versions.join(" and ")
            )
        })
        .collect();
    for (name, _) in TWO_VERSIONS.iter().filter(|(name, _)| !versions.contains_key(name)) {
        broken
            .push(format!("{name} comes in one version only now; remove it from xtask/src/dependencies.rs"));
    }
    broken
}

// Servers over HTTP have fourteen more, for sealing the state that a client carries: XChaCha20-Poly1305, the traits and
// arrays of its family, which are a crate each. Encryption should not be written by hand, and `ring` or `aws-lc-rs` would
// need a C compiler.
const BUDGETS: [Budget; 7] = [
    Budget { package: "toolway", title: "its default features", features: &[], limit: 48 },
    Budget {
        package: "toolway",
        title: "server, client, stdio, http and macros",
        features: &["--no-default-features", "--features=server,client,stdio,http,macros"],
        limit: 81,
    },
    // HTTP/2 itself, and the maps that hold its streams.
    Budget {
        package: "toolway",
        title: "these and h2c",
        features: &["--no-default-features", "--features=server,client,stdio,http,macros,h2c"],
        limit: 87,
    },
    // OpenTelemetry's API, and the bridge from `tracing` spans; no exporter.
    Budget {
        package: "toolway",
        title: "these without h2c, and otel",
        features: &["--no-default-features", "--features=server,client,stdio,http,macros,otel"],
        limit: 89,
    },
    // rustls with ring, the lookup of trusted certificates, and proxies (three crates); regular expressions come with `toolway-schema`.
    Budget {
        package: "toolway",
        title: "client and tls",
        features: &["--no-default-features", "--features=client,tls"],
        limit: 67,
    },
    // The library that an author's own program embeds. One crate, `highway`, is the hash of tokens of protected servers: it
    // saves 1,600 instructions with each of their requests.
    Budget { package: "toolway-cli", title: "no features", features: &["--no-default-features"], limit: 121 },
    // `toolway serve --store`: the client of Redis, of which half are the Unicode tables that its URL parser needs.
    Budget { package: "toolway-cli", title: "its default features", features: &[], limit: 160 },
];
/// Crates that may occur in two versions, each with the reason.
const TWO_VERSIONS: [(&str, &str); 2] = [
    ("getrandom", "`tls` brings ring, which still asks for getrandom 0.2; nothing else does"),
    ("syn", "`full-schema` brings jsonschema, whose strum still asks for syn 2; nothing else does"),
];

#[cfg(test)]
mod tests {
    use super::{duplicates, parse_tree};

    const TREE: &str = "\
toolway v0.1.0 (/somewhere/crates/toolway)|MIT OR Apache-2.0
serde v1.0.229|MIT OR Apache-2.0
serde_derive v1.0.229 (proc-macro)|MIT OR Apache-2.0
syn v2.0.1|MIT (*)

syn v3.0.9|MIT
mio v0.8.1|MIT
mio v1.2.4|MIT
serde v1.0.229|MIT OR Apache-2.0 (*)
";

    #[test]
    fn a_crate_counts_once_however_often_the_tree_shows_it() {
        let crates = parse_tree(TREE).unwrap();
        let shown: Vec<_> = crates
            .iter()
            .map(|found| format!("{} {} {}", found.name, found.version, found.licence))
            .collect();
        assert_eq!(
            shown,
            [
                "mio 0.8.1 MIT",
                "mio 1.2.4 MIT",
                "serde 1.0.229 MIT OR Apache-2.0",
                "serde_derive 1.0.229 MIT OR Apache-2.0",
                "syn 2.0.1 MIT",
                "syn 3.0.9 MIT",
                "toolway 0.1.0 MIT OR Apache-2.0",
            ]
        );
        assert!(parse_tree("nonsense").is_err());
    }

    #[test]
    fn two_versions_of_a_crate_are_named() {
        let mut broken = duplicates(&parse_tree(TREE).unwrap());
        // Two versions of `syn` are allowed, with a reason; the other allowed crates are not in this tree.
        broken.retain(|found| found.starts_with("toolway depends on"));
        assert_eq!(broken.len(), 1, "{broken:?}");
        assert!(
            broken[0].starts_with("toolway depends on mio in the versions 0.8.1 and 1.2.4:"),
            "{}",
            broken[0]
        );
    }
}
