//! Do our types read and write what the official schemas say?
//!
//! `cargo xtask schema DIR` takes every definition of every revision, generates values from its schema, lets our type
//! read each and write it again, and checks the output: it must be valid by the same definition, and must keep
//! everything that the schema knows. The messages published as examples are checked in the same way. Questions of a
//! server are written for every revision in which they are allowed. The schemas are not part of this repository; DIR
//! holds them as `REVISION/schema.json`.
//!
//! | question | file |
//! |---|---|
//! | Which of our types is which definition? | `table.rs` |
//! | Which differences are known, and why? | `allow_list.rs` |
//! | What happens to the values of one revision? | `trial.rs` |
//! | What does a schema say, is a value valid? | `validate.rs` |
//! | Which values does a schema allow? | `generate.rs`, with `resolve.rs`, `scalar.rs` and `random.rs` |
//! | Which example messages were published? | `examples.rs` |
//! | Was everything preserved, and written only once? | `compare.rs`, `strict.rs` |
//! | Is a question valid in every revision that allows it? | `questions.rs` |
//! | What is printed? | `report.rs` |

mod allow_list;
mod compare;
mod examples;
mod generate;
mod message;
mod questions;
mod random;
mod report;
mod resolve;
mod scalar;
mod strict;
mod table;
mod trial;
mod validate;

use std::env;
use std::fs;
use std::path::Path;

use toolway_protocol::ProtocolVersion;

use crate::run::Result;
use validate::Document;

/// `cargo xtask schema DIR`.
pub(crate) fn run(directory: &Path) -> Result {
    let seed = seed()?;
    println!("schema: seed {seed}; SEED={seed} repeats this run, another number tries other values");
    for name in unknown_revisions(directory)? {
        println!("schema: {name} is skipped, because toolway-protocol does not know this revision");
    }
    let mut documents = Vec::new();
    let mut reports = Vec::new();
    for version in ProtocolVersion::ALL {
        let folder = directory.join(version.as_str());
        let document = Document::read(&folder, version.as_str())?;
        let examples = examples::read(&folder)?;
        if version == ProtocolVersion::LATEST && examples.is_empty() {
            return Err(format!("{} has no examples, which were published with it", folder.display()));
        }
        reports.push(trial::run(&document, &examples, seed, table::rewrite, &allow_list::ALLOW_LIST)?);
        documents.push(document);
    }
    let asked = questions::run(&documents, seed, &mut reports)?;
    let (text, failed) = report::render(&reports);
    print!("{text}");
    println!("schema: {asked} questions asked in the revisions that have them");
    if failed == 0 {
        Ok(())
    } else {
        Err(format!(
            "schema: {failed} failures, each fault above with its shortest value; fix the type, or list the difference \
             with its reason in xtask/src/schema/allow_list.rs"
        ))
    }
}

fn seed() -> Result<u64> {
    match env::var("SEED") {
        Err(_) => Ok(SEED),
        Ok(text) => text
            .parse()
            .map_err(|_| format!("SEED must be a whole number from 0 to {}, not `{text}`", u64::MAX)),
    }
}

/// Returns the folders with a schema of an unknown revision.
fn unknown_revisions(directory: &Path) -> Result<Vec<String>> {
    let entries = fs::read_dir(directory).map_err(|error| {
        format!("could not list {}, which should hold REVISION/schema.json: {error}", directory.display())
    })?;
    let folders = entries.flatten().filter(|entry| entry.path().join("schema.json").exists());
    let names = folders.map(|entry| entry.file_name().to_string_lossy().into_owned());
    Ok(names.filter(|name| name.parse::<ProtocolVersion>().is_err()).collect())
}

/// Fixed, so that the check gives the same result for the same sources.
const SEED: u64 = 20_260_728;
