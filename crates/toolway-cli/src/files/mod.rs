//! What does the file server offer?
//!
//! | file | question |
//! |---|---|
//! | `mod.rs` | Which resources and tools does the file server have? |
//! | `sandboxed_dir.rs` | What is in the directory, and which parts of it are visible to clients? |
//! | `real_path.rs` | Where does a path really lead, and may a client see it there? |
//! | `walk.rs` | Which files are below a directory, in which order? |
//! | `pattern.rs` | Which names does a pattern match? |

mod pattern;
mod real_path;
mod sandboxed_dir;
#[cfg(test)]
mod tests;
mod walk;

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Serialize;
use toolway::prelude::*;
use toolway::server::{CompletionRequest, Cursor, File, ResourceError, ResourcePage, ServerBuilder};
use toolway::types::Resource;

use self::pattern::Pattern;
use self::real_path::HiddenFiles;
use self::sandboxed_dir::{Entry, SandboxedDir};

/// The maximum number of files on one page of the list of resources.
const PAGE_SIZE: usize = 100;
/// The maximum number of files in the result of one search.
const MAX_FOUND: usize = 500;

/// The allowed operations on the files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    Read,
    Write,
}

/// Describes a server of the files below a directory.
pub(crate) fn server(directory: &Path, all: bool, access: Access) -> toolway::Result<ServerBuilder> {
    let hidden = if all { HiddenFiles::Shown } else { HiddenFiles::Skipped };
    let shelf = SandboxedDir::open(directory, hidden)
        .map_err(|error| toolway::Error::new(toolway::ErrorKind::Misuse, error.to_string()))?;
    let server = Server::new("toolway-files", env!("CARGO_PKG_VERSION"))
        .title("Files")
        .instructions(match access {
            Access::Read => {
                "Files of one directory, read-only. Paths are relative to the directory, with `/` as \
                             separator."
            }
            Access::Write => {
                "Files of one directory, for reading and writing. Paths are relative to the directory, \
                              with `/` as separator."
            }
        })
        .state(shelf)
        .resources(resources![file])
        .list_resources(list)
        .tools(tools![list_directory, read_file, search_files])
        .when(access == Access::Write, |server| server.tools(tools![write_file]));
    Ok(server)
}

/// A file below the directory.
#[resource(uri = "files:///{+path}", blocking)]
fn file(#[arg(complete = paths)] path: PathBuf, shelf: State<SandboxedDir>) -> Result<File, ResourceError> {
    match shelf.read(&path) {
        Ok(bytes) => Ok(File::from_bytes(path, bytes)),
        Err(reason) if reason.is_not_found() => Err(ResourceError::not_found()),
        Err(reason) => Err(ResourceError::new(reason.to_string())),
    }
}

/// Completes a path: returns the paths that begin with the typed text.
async fn paths(typed: CompletionRequest, shelf: State<SandboxedDir>) -> Vec<String> {
    let begun = typed.value.clone();
    let found = tokio::task::spawn_blocking(move || {
        shelf.files(None, PAGE_SIZE + 1, |path| path.starts_with(&*begun))
    });
    found.await.map(|(found, _)| found.into_iter().map(|(path, _)| path).collect()).unwrap_or_default()
}

/// Lists every file, page by page. The cursor is the last path that was listed. So a file that is created or deleted
/// in the meantime does not move other files to another page.
async fn list(Cursor(after): Cursor, shelf: State<SandboxedDir>) -> Result<ResourcePage, ResourceError> {
    let (files, is_whole) =
        tokio::task::spawn_blocking(move || shelf.files(after.as_deref(), PAGE_SIZE, |_| true)).await?;
    let next = files.last().filter(|_| !is_whole).map(|(path, _)| path.clone());
    Ok(ResourcePage {
        resources: files.into_iter().map(|(path, size)| to_resource(path, size)).collect(),
        next,
    })
}

fn to_resource(path: String, size: u64) -> Resource {
    // The expansion of `{+path}` keeps `%41` in a value as an encoded letter, so a literal `%` must be encoded first.
    let uri = file::uri(path.replace('%', "%25"));
    let resource = Resource::new(uri, path);
    match i64::try_from(size) {
        Ok(size) => resource.with_size(size),
        Err(_) => resource,
    }
}

#[derive(Debug, Serialize, JsonSchema)]
struct Listing {
    /// The entries of the directory, sorted by name.
    entries: Vec<Entry>,
}

/// List the entries of a directory: names, kinds and sizes.
#[tool(title = "List a directory", read_only, idempotent, open_world = false, blocking)]
fn list_directory(
    /// The directory; by default the one that is served.
    path: Option<String>,
    shelf: State<SandboxedDir>,
) -> Result<Json<Listing>, ToolError> {
    let path = path.unwrap_or_default();
    let entries =
        shelf.entries(Path::new(&path)).map_err(|reason| ToolError::new(format!("`{path}`: {reason}")))?;
    Ok(Json(Listing { entries }))
}

/// Read a file that is text.
#[tool(title = "Read a file", read_only, idempotent, open_world = false, blocking)]
fn read_file(
    /// The file.
    path: String,
    shelf: State<SandboxedDir>,
) -> Result<String, ToolError> {
    let fail = |reason: String| ToolError::new(format!("`{path}`: {reason}"));
    let bytes = shelf.read(Path::new(&path)).map_err(|reason| fail(reason.to_string()))?;
    String::from_utf8(bytes).map_err(|_| {
        fail(format!(
            "it is not text; read the resource {} to get its bytes",
            file::uri(path.replace('%', "%25"))
        ))
    })
}

#[derive(Debug, Serialize, JsonSchema)]
struct Found {
    /// The files, by their paths.
    paths: Vec<String>,
    /// `true` if there are more files than these.
    more: bool,
}

/// Find files by their names: a part of the path, or a pattern with `*` (any letters), `?` (one letter) and `**` (any directories).
#[tool(title = "Search for files", read_only, idempotent, open_world = false, blocking)]
fn search_files(
    /// A part of the path, such as `report`, or a pattern, such as `**/*.md`. Upper and lower case are the same.
    pattern: String,
    shelf: State<SandboxedDir>,
) -> Result<Json<Found>, ToolError> {
    let pattern = Pattern::new(&pattern).map_err(ToolError::new)?;
    let (files, is_whole) = shelf.files(None, MAX_FOUND, |path| pattern.matches(path));
    Ok(Json(Found { paths: files.into_iter().map(|(path, _)| path).collect(), more: !is_whole }))
}

/// Write text to a file. Missing directories are created.
#[tool(title = "Write a file", destructive, idempotent, open_world = false, blocking)]
fn write_file(
    /// The file.
    path: String,
    /// The new content of the file.
    content: String,
    /// `true` to replace an existing file; by default, an existing file is kept.
    #[arg(default = false)]
    overwrite: bool,
    shelf: State<SandboxedDir>,
) -> Result<String, ToolError> {
    let written = shelf.write(Path::new(&path), content.as_bytes(), overwrite);
    written.map_err(|reason| ToolError::new(format!("`{path}`: {reason}")))?;
    Ok(format!("wrote {} bytes to `{path}`", content.len()))
}
