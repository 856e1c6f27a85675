//! A directory as resources, and nothing outside of it: `cargo run -p toolway-examples --example files -- DIRECTORY`.
//!
//! Every path from a client is opened below the directory by `cap-std`. It refuses absolute paths, and every `..` and link
//! that leads out, also when somebody moves things about meanwhile: a check before the reading could not promise that.

use std::path::{Path, PathBuf};

use cap_std::ambient_authority;
use cap_std::fs::Dir;
use toolway::prelude::*;
use toolway::types::Resource;

/// A file below the directory.
// `{+path}` matches slashes, `{path}` would not; `blocking`, because reading files is.
#[resource(uri = "file:///{+path}", blocking)]
fn file(path: PathBuf, directory: State<Dir>) -> Result<File, ResourceError> {
    // Why it cannot be read is nobody's business: whoever is told "not allowed" knows that something is there.
    let about = directory.metadata(&path).map_err(|_| ResourceError::not_found())?;
    if !about.is_file() {
        return Err(ResourceError::not_found());
    }
    if about.len() > LONGEST {
        return Err(ResourceError::new(format!("the file is longer than {LONGEST} bytes")));
    }
    let bytes = directory.read(&path).map_err(|_| ResourceError::not_found())?;
    // Its name tells the media type; what is no text goes out as bytes.
    Ok(File::named(path, bytes))
}

const LONGEST: u64 = 1 << 20;

/// Every file, a hundred a page. The cursor is the last path that was listed, so that a file that comes or goes meanwhile
/// moves none of the others to another page.
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
    // `{+path}` takes `%41` in a value for a letter that is encoded already; a `%` that is one has to be encoded before.
    Resource::new(file::uri(path.replace('%', "%25")), path)
}

/// Links are not listed, and neither are names that are no text: no URI stands for them.
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
