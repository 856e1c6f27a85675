//! Serves the files of a directory as resources, and nothing outside of it: `cargo run -p toolway-examples --example
//! files -- DIRECTORY`.
//!
//! Every path from a client is opened below the directory by `cap-std`. It refuses absolute paths, and every `..` and
//! link that leads outside, even if files are moved at the same time. A check before reading could not guarantee that.

use std::path::{Path, PathBuf};

use cap_std::ambient_authority;
use cap_std::fs::Dir;
use toolway::prelude::*;
use toolway::server::{Cursor, File, ResourceError, ResourcePage};
use toolway::types::Resource;

/// A file below the directory.
// `{+path}` matches slashes, `{path}` would not; `blocking`, because reading files blocks.
#[resource(uri = "file:///{+path}", blocking)]
fn file(path: PathBuf, directory: State<Dir>) -> Result<File, ResourceError> {
    // The reason must not be revealed: an error "not allowed" would tell the client that a file exists.
    let about = directory.metadata(&path).map_err(|_| ResourceError::not_found())?;
    if !about.is_file() {
        return Err(ResourceError::not_found());
    }
    if about.len() > LONGEST {
        return Err(ResourceError::new(format!("the file is longer than {LONGEST} bytes")));
    }
    let bytes = directory.read(&path).map_err(|_| ResourceError::not_found())?;
    // The file name determines the media type; content that is not text is sent as bytes.
    Ok(File::from_bytes(path, bytes))
}

const LONGEST: u64 = 1 << 20;

/// Lists every file, a hundred per page. The cursor is the last path listed, so that a file that is added or removed
/// meanwhile does not move the others to another page.
async fn list(Cursor(after): Cursor, directory: State<Dir>) -> Result<ResourcePage, ResourceError> {
    let mut paths = tokio::task::spawn_blocking(move || {
        let mut paths = Vec::new();
        walk(&directory, Path::new(""), &mut paths).map(|()| paths)
    })
    .await??;
    paths.sort();
    let mut rest =
        paths.into_iter().filter(|path| after.as_ref().is_none_or(|after| path > after)).peekable();
    let page: Vec<String> = rest.by_ref().take(100).collect();
    let next = rest.peek().and(page.last()).cloned();
    Ok(ResourcePage { resources: page.into_iter().map(listed).collect(), next })
}

fn listed(path: String) -> Resource {
    // `{+path}` takes `%41` in a value for an encoded letter, so a literal `%` must be encoded first.
    Resource::new(file::uri(path.replace('%', "%25")), path)
}

/// Collects the paths of all files. Leaves out links, and names that are not UTF-8, because no URI can name them.
fn walk(directory: &Dir, below: &Path, paths: &mut Vec<String>) -> std::io::Result<()> {
    for entry in directory.entries()? {
        let entry = entry?;
        let path = below.join(entry.file_name());
        let kind = entry.file_type()?;
        if kind.is_dir() {
            walk(&entry.open_dir()?, &path, paths)?;
        } else if kind.is_file() {
            paths.extend(path.to_str().map(str::to_owned));
        }
    }
    Ok(())
}

#[tokio::main]
async fn main() -> toolway::Result<()> {
    let path = std::env::args_os().nth(1).unwrap_or_else(|| ".".into());
    let directory = Dir::open_ambient_dir(path, ambient_authority())?;
    Server::new("files", "1.0.0")
        .instructions("Files of one directory, as resources.")
        .state(directory)
        .resources(resources![file])
        .list_resources(list)
        .serve_stdio()
        .await
}
