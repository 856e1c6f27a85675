//! Does the manifest of each published crate have the members that a registry shows?

use std::path::Path;

use super::{forbid, root};

const PUBLISHED: [&str; 7] = [
    "toolway",
    "toolway-cli",
    "toolway-macros",
    "toolway-protocol",
    "toolway-redis",
    "toolway-schema",
    "toolway-store",
];
/// Members of `[package]` that a registry shows.
const MEMBERS: [&str; 7] = [
    "description",
    "keywords",
    "categories",
    "readme",
    "license.workspace",
    "repository.workspace",
    "rust-version.workspace",
];

#[test]
fn published_crates_describe_themselves() {
    let mut broken = Vec::new();
    for name in PUBLISHED {
        let folder = root().join("crates").join(name);
        let manifest = std::fs::read_to_string(folder.join("Cargo.toml")).unwrap();
        let package = manifest
            .split("\n[")
            .find(|table| table.trim_start_matches('[').starts_with("package]"))
            .unwrap();
        for member in MEMBERS {
            if !package.lines().any(|line| line.starts_with(&format!("{member} ="))) {
                broken.push(format!("{name}: `{member}` is missing"));
            }
        }
        if !manifest.contains(
            "[package.metadata.docs.rs]\nall-features = true\nrustdoc-args = [\"--cfg\", \"docsrs\"]",
        ) {
            broken.push(format!("{name}: docs.rs is not told to show all features, each with its badge"));
        }
        let readme = package.lines().find_map(|line| line.strip_prefix("readme = ")).unwrap_or_default();
        if !folder.join(readme.trim_matches('"')).is_file() {
            broken.push(format!("{name}: there is no file {readme}"));
        }
        let library = folder.join("src/lib.rs");
        if manifest.contains("[features]") && !has_badges(&library) {
            broken.push(format!("{name}: `src/lib.rs` does not ask for badges of features"));
        }
    }
    forbid("published crates describe themselves", broken);
}

#[test]
fn other_crates_are_not_published() {
    let members = ["bench", "conformance", "examples", "interop", "xtask", "fuzz"];
    let is_private = |name: &&str| {
        let manifest = std::fs::read_to_string(root().join(name).join("Cargo.toml")).unwrap();
        manifest.contains("publish = false")
    };
    let broken = members.iter().filter(|name| !is_private(name)).map(ToString::to_string);
    forbid("crates that only this repository needs say `publish = false`", broken);
}

fn has_badges(library: &Path) -> bool {
    std::fs::read_to_string(library).is_ok_and(|text| text.contains("cfg_attr(docsrs, feature(doc_cfg))"))
}
