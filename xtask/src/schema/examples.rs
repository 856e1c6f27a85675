//! Which example messages were published with a revision?
//!
//! `examples/DEFINITION/NAME.json` beside the schema, one value of the definition in each file. Only the newer
//! revisions have them.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::run::Result;

#[derive(Debug)]
pub(super) struct Example {
    /// The definition that it is a value of.
    pub(super) definition: String,
    /// The name of its file.
    pub(super) name: String,
    pub(super) value: Value,
}

/// Reads every example in the folder of a revision, in order; empty if the revision has no examples.
pub(super) fn read(folder: &Path) -> Result<Vec<Example>> {
    let folder = folder.join("examples");
    if !folder.exists() {
        return Ok(Vec::new());
    }
    let mut examples = Vec::new();
    for definition in entries(&folder)? {
        for file in entries(&definition)? {
            let text =
                fs::read(&file).map_err(|error| format!("could not read {}: {error}", file.display()))?;
            let value = serde_json::from_slice(&text)
                .map_err(|error| format!("{} is not JSON: {error}", file.display()))?;
            examples.push(Example { definition: file_name(&definition), name: file_name(&file), value });
        }
    }
    Ok(examples)
}

fn entries(folder: &Path) -> Result<Vec<PathBuf>> {
    let list = fs::read_dir(folder).and_then(|entries| {
        entries.map(|entry| entry.map(|entry| entry.path())).collect::<std::io::Result<Vec<PathBuf>>>()
    });
    let mut paths = list.map_err(|error| format!("could not list {}: {error}", folder.display()))?;
    paths.sort();
    Ok(paths)
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}
