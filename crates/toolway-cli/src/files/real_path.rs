//! Where does a path really lead, and may a client see it there?
//!
//! A link may lead to a file with another name, so a file is hidden by the names on the way that really leads to it, not
//! only by those that a client writes. Each directory on the way is opened from the one before it. The system never
//! follows a link: this file reads it, and takes its names as further steps. So each name that is used was checked, even
//! if files are moved at the same time.

use std::ffi::OsStr;
use std::io;
use std::path::{Component, Path, PathBuf};

use cap_std::fs::{Dir, File};

/// The maximum depth of directories.
pub(super) const MAX_DEPTH: usize = 100;

/// The maximum number of links on one path.
const MAX_LINKS: usize = 40;

/// The treatment of files whose names begin with a dot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HiddenFiles {
    Shown,
    Skipped,
}

impl HiddenFiles {
    /// Returns whether a name may be seen.
    pub(super) fn allows(self, name: &str) -> bool {
        self == Self::Shown || !name.starts_with('.')
    }
}

/// A place below the served directory, which a path leads to step by step.
pub(super) struct RealPath {
    /// The open directories, the served one first. A link may lead back to each of them.
    opened: Vec<Dir>,
    hidden: HiddenFiles,
    links: usize,
}

/// The treatment of directories on the path that do not exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Missing {
    Fails,
    IsCreated,
}

impl RealPath {
    /// Starts at the served directory.
    pub(super) fn new(directory: &Dir, hidden: HiddenFiles) -> io::Result<Self> {
        Ok(Self { opened: vec![directory.try_clone()?], hidden, links: 0 })
    }

    /// Returns the directory that was reached.
    pub(super) fn dir(&self) -> &Dir {
        self.opened.last().expect("the served directory is never left")
    }

    /// Goes to the directory that a path names.
    pub(super) fn enter(&mut self, path: &Path, missing: Missing) -> io::Result<()> {
        for component in path.components() {
            match component {
                Component::CurDir => {}
                // Only links have such steps: `check_path` refuses them in the path of a client.
                Component::ParentDir if self.opened.len() > 1 => drop(self.opened.pop()),
                Component::Normal(name) => match self.link_target(name)? {
                    Some(target) => self.enter(&target, Missing::Fails)?,
                    None => self.enter_directory(name, missing)?,
                },
                _ => return Err(not_found()),
            }
        }
        Ok(())
    }

    /// Opens the file that a path names. The caller checks that it is a regular file; opening a named pipe does not wait
    /// for its other end.
    pub(super) fn open(&mut self, path: &Path) -> io::Result<File> {
        let (folder, name) = path.parent().zip(path.file_name()).ok_or_else(not_found)?;
        self.enter(folder, Missing::Fails)?;
        match self.link_target(name)? {
            Some(target) => self.open(&target),
            None => open_file(self.dir(), name),
        }
    }

    /// Checks a name in the directory that was reached. If it is a link, returns where it leads.
    fn link_target(&mut self, name: &OsStr) -> io::Result<Option<PathBuf>> {
        if !name.to_str().is_some_and(|name| self.hidden.allows(name)) {
            return Err(not_found());
        }
        match self.dir().symlink_metadata(name) {
            Ok(about) if about.is_symlink() => {}
            _ => return Ok(None),
        }
        self.links += 1;
        if self.links > MAX_LINKS {
            return Err(not_found());
        }
        self.dir().read_link_contents(name).map(Some)
    }

    fn enter_directory(&mut self, name: &OsStr, missing: Missing) -> io::Result<()> {
        if self.opened.len() > MAX_DEPTH {
            return Err(not_found());
        }
        let opened = match open_directory(self.dir(), name) {
            Err(error) if error.kind() == io::ErrorKind::NotFound && missing == Missing::IsCreated => {
                match self.dir().create_dir(name) {
                    Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
                    _ => open_directory(self.dir(), name),
                }
            }
            opened => opened,
        };
        self.opened.push(opened?);
        Ok(())
    }
}

fn not_found() -> io::Error {
    io::ErrorKind::NotFound.into()
}

/// Opens a directory inside another one. Fails if the name is a link.
#[cfg(unix)]
pub(super) fn open_directory(parent: &Dir, name: impl AsRef<Path>) -> io::Result<Dir> {
    use rustix::fs::OFlags;
    let file = parent.open_with(name, &options(OFlags::NOFOLLOW | OFlags::DIRECTORY))?;
    Ok(Dir::from_std_file(file.into_std()))
}

/// Opens a file. Fails if the name is a link.
#[cfg(unix)]
fn open_file(parent: &Dir, name: &OsStr) -> io::Result<File> {
    use rustix::fs::OFlags;
    parent.open_with(name, &options(OFlags::NOFOLLOW | OFlags::NONBLOCK))
}

#[cfg(unix)]
fn options(flags: rustix::fs::OFlags) -> cap_std::fs::OpenOptions {
    use cap_std::fs::{OpenOptions, OpenOptionsExt};
    let mut options = OpenOptions::new();
    options.read(true).custom_flags(flags.bits().cast_signed());
    options
}

/// Opens a directory inside another one. A link that replaces it after it was checked is followed, but only a privileged
/// user of Windows can create one.
#[cfg(not(unix))]
pub(super) fn open_directory(parent: &Dir, name: impl AsRef<Path>) -> io::Result<Dir> {
    parent.open_dir(name)
}

#[cfg(not(unix))]
fn open_file(parent: &Dir, name: &OsStr) -> io::Result<File> {
    parent.open(name)
}
