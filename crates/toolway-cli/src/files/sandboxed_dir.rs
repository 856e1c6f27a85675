//! What is in the directory, and which parts of it are visible to clients?
//!
//! Every path from a client is opened below the directory, step by step (`real_path.rs`), by `cap-std`. Absolute paths,
//! and every `..` and link that leads outside or to a hidden name, are refused, even if files are moved at the same
//! time. A check of the path before the file is opened could not guarantee that.

use std::ffi::OsStr;
use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::io::{self, Read, Write};
use std::path::{Component, Path, PathBuf};

use cap_std::ambient_authority;
use cap_std::fs::{Dir, File, OpenOptions};
use schemars::JsonSchema;
use serde::Serialize;

use super::real_path::{HiddenFiles, Missing, RealPath};
use super::walk;
use crate::show::format_size;

/// The maximum size of a file that is read or written. Its Base64 form still fits into a message.
const MAX_FILE: u64 = 2 << 20;

/// The maximum number of entries of one directory that are listed.
const MAX_ENTRIES: usize = 5000;

/// Access to a directory, and to nothing outside of it.
pub(super) struct SandboxedDir {
    directory: Dir,
    hidden: HiddenFiles,
}

/// One thing in a directory.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Entry {
    /// Its name.
    name: String,
    /// Its kind.
    kind: EntryKind,
    /// The size of a file in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    size: Option<u64>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum EntryKind {
    File,
    Directory,
}

/// The reason why a path cannot be used. A forbidden path is reported as missing: "not allowed" would reveal that it
/// exists.
#[derive(Debug)]
pub(super) enum FileError {
    NoFile,
    NoDirectory,
    TooLong,
    Exists,
    Failed(io::ErrorKind),
}

impl FileError {
    pub(super) fn is_not_found(&self) -> bool {
        matches!(self, Self::NoFile | Self::NoDirectory)
    }
}

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoFile => f.write_str("there is no such file"),
            Self::NoDirectory => f.write_str("there is no such directory"),
            Self::TooLong => write!(f, "it is longer than {}", format_size(MAX_FILE)),
            Self::Exists => f.write_str("it exists already; set `overwrite` to replace it"),
            Self::Failed(kind) => write!(f, "the operation failed: {kind}"),
        }
    }
}

impl SandboxedDir {
    pub(super) fn open(path: &Path, hidden: HiddenFiles) -> io::Result<Self> {
        Ok(Self { directory: Dir::open_ambient_dir(path, ambient_authority())?, hidden })
    }

    /// Returns the path below the directory: relative, and without `..`.
    fn check_path(path: &Path) -> Option<PathBuf> {
        let mut inside = PathBuf::new();
        for component in path.components() {
            match component {
                Component::CurDir => {}
                Component::Normal(name) => inside.push(name),
                _ => return None,
            }
        }
        Some(inside)
    }

    fn open_file(&self, path: &Path) -> Option<File> {
        let path = Self::check_path(path)?;
        let file = RealPath::new(&self.directory, self.hidden).ok()?.open(&path).ok()?;
        file.metadata().ok()?.is_file().then_some(file)
    }

    fn open_dir(&self, path: &Path) -> Option<RealPath> {
        let path = Self::check_path(path)?;
        let mut place = RealPath::new(&self.directory, self.hidden).ok()?;
        place.enter(&path, Missing::Fails).ok()?;
        Some(place)
    }

    /// Returns the content of a file.
    pub(super) fn read(&self, path: &Path) -> Result<Vec<u8>, FileError> {
        let file = self.open_file(path).ok_or(FileError::NoFile)?;
        let mut bytes = Vec::new();
        file.take(MAX_FILE + 1).read_to_end(&mut bytes).map_err(|error| FileError::Failed(error.kind()))?;
        if bytes.len() as u64 > MAX_FILE {
            return Err(FileError::TooLong);
        }
        Ok(bytes)
    }

    /// Returns the entries of a directory, sorted by name. Links, and names that are not UTF-8, are left out.
    pub(super) fn entries(&self, path: &Path) -> Result<Vec<Entry>, FileError> {
        let place = self.open_dir(path).ok_or(FileError::NoDirectory)?;
        let directory = place.dir();
        let mut entries = Vec::new();
        for entry in directory.entries().map_err(|_| FileError::NoDirectory)?.take(MAX_ENTRIES).flatten() {
            let Ok(name) = entry.file_name().into_string() else { continue };
            let Ok(kind) = entry.file_type() else { continue };
            if !self.hidden.allows(&name) {
                continue;
            }
            if kind.is_dir() {
                entries.push(Entry { name, kind: EntryKind::Directory, size: None });
            } else if kind.is_file() {
                let size = entry.metadata().ok().map(|about| about.len());
                entries.push(Entry { name, kind: EntryKind::File, size });
            }
        }
        entries.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(entries)
    }

    /// Returns at most `most` files whose paths are accepted by `wanted`, with their sizes. The files have a fixed
    /// order; only those after the path `after` are returned. Also returns `true` if there are no more such files.
    pub(super) fn files(
        &self,
        after: Option<&str>,
        most: usize,
        wanted: impl Fn(&str) -> bool,
    ) -> (Vec<(String, u64)>, bool) {
        walk::files(&self.directory, self.hidden, after.map(Path::new), most, &wanted)
    }

    /// Writes a file, completely or not at all: the content goes to a temporary file, which then gets the name of the
    /// file. So readers see the whole old file, or the whole new one.
    pub(super) fn write(&self, path: &Path, bytes: &[u8], overwrite: bool) -> Result<(), FileError> {
        if bytes.len() as u64 > MAX_FILE {
            return Err(FileError::TooLong);
        }
        let path = Self::check_path(path).ok_or(FileError::NoFile)?;
        let (parent, name) = path.parent().zip(path.file_name()).ok_or(FileError::NoFile)?;
        if !name.to_str().is_some_and(|name| self.hidden.allows(name)) {
            return Err(FileError::NoFile);
        }
        let failed = |error: io::Error| match error.kind() {
            // The path leads outside, or through something that is hidden or not a directory.
            io::ErrorKind::PermissionDenied | io::ErrorKind::NotADirectory | io::ErrorKind::NotFound => {
                FileError::NoDirectory
            }
            io::ErrorKind::AlreadyExists => FileError::Exists,
            kind => FileError::Failed(kind),
        };
        let mut place = RealPath::new(&self.directory, self.hidden).map_err(failed)?;
        place.enter(parent, Missing::IsCreated).map_err(failed)?;
        let folder = place.dir();
        let before = match folder.symlink_metadata(name) {
            Ok(about) if !about.is_file() => return Err(FileError::NoFile),
            Ok(_) if !overwrite => return Err(FileError::Exists),
            Ok(about) => Some(about.permissions()),
            Err(_) => None,
        };
        let part = temporary_name();
        let options = &mut OpenOptions::new();
        let opened = folder.open_with(&part, options.write(true).create_new(true));
        let mut file = opened.map_err(|error| match error.kind() {
            // The file that already exists is the temporary file, not the file to write.
            io::ErrorKind::AlreadyExists => FileError::Failed(io::ErrorKind::ResourceBusy),
            _ => failed(error),
        })?;
        // The new file gets the permissions of the old one before it has any content.
        let allowed = before.map_or(Ok(()), |permissions| file.set_permissions(permissions));
        let written = allowed.and_then(|()| file.write_all(bytes)).and_then(|()| {
            if overwrite {
                folder.rename(&part, folder, name)
            } else {
                rename_without_replacing(folder, &part, name)
            }
        });
        written.map_err(|error| {
            let _ = folder.remove_file(&part);
            failed(error)
        })
    }
}

/// Renames a file, unless the new name is taken.
fn rename_without_replacing(folder: &Dir, old: &str, new: &OsStr) -> io::Result<()> {
    match folder.hard_link(old, folder, new) {
        Ok(()) => folder.remove_file(old),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(error),
        // The file system has no hard links. The name was free a moment ago.
        Err(_) if folder.symlink_metadata(new).is_err() => folder.rename(old, folder, new),
        Err(error) => Err(error),
    }
}

/// Returns a name for the temporary file. The name is random, so that it does not collide with files left by a crash or
/// written by another program. It is short, because the length of names is limited, and begins with a dot, so that
/// clients do not see the file by default.
fn temporary_name() -> String {
    format!(".toolway-part-{:016x}", RandomState::new().hash_one(std::process::id()))
}
