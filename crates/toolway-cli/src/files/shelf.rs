//! What is in the directory, and what of it may be seen?
//!
//! Every path of a client is opened below the directory by `cap-std`. It refuses absolute paths, and every `..` and link that leads
//! out, also when files are moved meanwhile: a check before the reading could not promise that.

use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::io::{self, Read, Write};
use std::path::{Component, Path, PathBuf};

use cap_std::ambient_authority;
use cap_std::fs::{Dir, OpenOptions};
use schemars::JsonSchema;
use serde::Serialize;

use super::walk::{self, Hidden};
use crate::show::size;

/// The longest file that is read or written. As base64 it still fits into a message.
const MAX_FILE: u64 = 2 << 20;

/// How many entries of one directory are listed.
const MAX_ENTRIES: usize = 5000;

/// A directory, and nothing outside of it.
pub(super) struct Shelf {
    directory: Dir,
    hidden: Hidden,
}

/// One thing in a directory.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Entry {
    /// Its name.
    name: String,
    /// What it is.
    kind: EntryKind,
    /// How many bytes a file has.
    #[serde(skip_serializing_if = "Option::is_none")]
    size: Option<u64>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum EntryKind {
    File,
    Directory,
}

/// Why a path cannot be used. Clients are not told why it is not there: "not allowed" would say that something is.
#[derive(Debug)]
pub(super) enum Refused {
    NoFile,
    NoDirectory,
    TooLong,
    Exists,
    Failed(io::ErrorKind),
}

impl Refused {
    pub(super) fn is_not_found(&self) -> bool {
        matches!(self, Self::NoFile | Self::NoDirectory)
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoFile => f.write_str("there is no such file"),
            Self::NoDirectory => f.write_str("there is no such directory"),
            Self::TooLong => write!(f, "it is longer than {}", size(MAX_FILE)),
            Self::Exists => f.write_str("it is there already; say `overwrite` to replace it"),
            Self::Failed(kind) => write!(f, "it failed: {kind}"),
        }
    }
}

impl Shelf {
    pub(super) fn open(path: &Path, hidden: Hidden) -> io::Result<Self> {
        Ok(Self { directory: Dir::open_ambient_dir(path, ambient_authority())?, hidden })
    }

    /// The path below the directory, if its words may lead there: no root, no `..`, nothing hidden.
    fn inside(&self, path: &Path) -> Option<PathBuf> {
        let mut inside = PathBuf::new();
        for component in path.components() {
            match component {
                Component::CurDir => {}
                Component::Normal(name) if self.hidden.shows(name.to_str()?) => inside.push(name),
                _ => return None,
            }
        }
        Some(inside)
    }

    /// What stands in a file.
    pub(super) fn read(&self, path: &Path) -> Result<Vec<u8>, Refused> {
        let path = self.inside(path).ok_or(Refused::NoFile)?;
        // What is no file, a pipe for one, is not even opened: that could wait for ever.
        let about = self.directory.metadata(&path).map_err(|_| Refused::NoFile)?;
        if !about.is_file() {
            return Err(Refused::NoFile);
        }
        let file = self.directory.open(&path).map_err(|_| Refused::NoFile)?;
        let mut bytes = Vec::new();
        file.take(MAX_FILE + 1).read_to_end(&mut bytes).map_err(|error| Refused::Failed(error.kind()))?;
        if bytes.len() as u64 > MAX_FILE {
            return Err(Refused::TooLong);
        }
        Ok(bytes)
    }

    /// What is in a directory, by name. Links are left out, and so are names that are no text.
    pub(super) fn entries(&self, path: &Path) -> Result<Vec<Entry>, Refused> {
        let path = self.inside(path).ok_or(Refused::NoDirectory)?;
        let opened = if path.as_os_str().is_empty() {
            self.directory.try_clone()
        } else {
            self.directory.open_dir(&path)
        };
        let directory = opened.map_err(|_| Refused::NoDirectory)?;
        let mut entries = Vec::new();
        for entry in directory.entries().map_err(|_| Refused::NoDirectory)?.take(MAX_ENTRIES).flatten() {
            let Ok(name) = entry.file_name().into_string() else { continue };
            let Ok(kind) = entry.file_type() else { continue };
            if !self.hidden.shows(&name) {
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

    /// Files whose paths are wanted, with their sizes, in a fixed order after `after`; at most `most`. Says whether these are all.
    pub(super) fn files(
        &self,
        after: Option<&str>,
        most: usize,
        wanted: impl Fn(&str) -> bool,
    ) -> (Vec<(String, u64)>, bool) {
        walk::files(&self.directory, self.hidden, after.map(Path::new), most, &wanted)
    }

    /// Writes a file, all of it or nothing.
    pub(super) fn write(&self, path: &Path, bytes: &[u8], overwrite: bool) -> Result<(), Refused> {
        if bytes.len() as u64 > MAX_FILE {
            return Err(Refused::TooLong);
        }
        let path = self.inside(path).filter(|path| path.file_name().is_some()).ok_or(Refused::NoFile)?;
        let failed = |error: io::Error| match error.kind() {
            // The way leads out, or through something that is no directory.
            io::ErrorKind::PermissionDenied | io::ErrorKind::NotADirectory => Refused::NoDirectory,
            io::ErrorKind::AlreadyExists => Refused::Exists,
            kind => Refused::Failed(kind),
        };
        if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            self.directory.create_dir_all(folder).map_err(|error| match error.kind() {
                io::ErrorKind::AlreadyExists => Refused::NoDirectory,
                _ => failed(error),
            })?;
        }
        let before = match self.directory.symlink_metadata(&path) {
            Ok(about) if !about.is_file() => return Err(Refused::NoFile),
            Ok(_) if !overwrite => return Err(Refused::Exists),
            Ok(about) => Some(about.permissions()),
            Err(_) => None,
        };
        if !overwrite {
            let mut file = self
                .directory
                .open_with(&path, OpenOptions::new().write(true).create_new(true))
                .map_err(failed)?;
            return file.write_all(bytes).map_err(failed);
        }
        // Readers see the old file or the new one.
        let part = path.with_file_name(part_name());
        let options = &mut OpenOptions::new();
        let opened = self.directory.open_with(&part, options.write(true).create_new(true));
        let mut file = opened.map_err(|error| match error.kind() {
            // Not the file that is to be written.
            io::ErrorKind::AlreadyExists => Refused::Failed(io::ErrorKind::ResourceBusy),
            _ => failed(error),
        })?;
        // Who may do what stays as it was, and that before there is anything to read.
        let allowed = before.map_or(Ok(()), |permissions| file.set_permissions(permissions));
        let written = allowed
            .and_then(|()| file.write_all(bytes))
            .and_then(|()| self.directory.rename(&part, &self.directory, &path));
        written.map_err(|error| {
            let _ = self.directory.remove_file(&part);
            failed(error)
        })
    }
}

/// What a file is called until all of it is written: never twice the same, so that what a crash has left, or another program is writing,
/// is not in the way. Short, because names may not be long; hidden, because it is not for clients.
fn part_name() -> String {
    format!(".toolway-part-{:016x}", RandomState::new().hash_one(std::process::id()))
}
