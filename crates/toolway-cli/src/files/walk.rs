//! Which files are below a directory, in which order?
//!
//! Names are visited in alphabetical order, and the content of a directory is visited before the next name. So the
//! paths are sorted too, and a walk can continue after any path without visiting the directories before it.

use std::path::Path;

use cap_std::fs::Dir;

use super::real_path::{HiddenFiles, MAX_DEPTH, open_directory};

/// The maximum number of entries that one walk visits.
const MAX_VISITED: usize = 200_000;

/// Returns files with their sizes, and `true` if no limit stopped the walk.
pub(super) fn files(
    directory: &Dir,
    hidden: HiddenFiles,
    after: Option<&Path>,
    most: usize,
    wanted: &dyn Fn(&str) -> bool,
) -> (Vec<(String, u64)>, bool) {
    let mut walk = Walk { hidden, after, most, wanted, found: Vec::new(), visited: 0 };
    let is_whole = walk.visit(directory, "", 0);
    (walk.found, is_whole)
}

struct Walk<'w> {
    hidden: HiddenFiles,
    after: Option<&'w Path>,
    most: usize,
    wanted: &'w dyn Fn(&str) -> bool,
    found: Vec<(String, u64)>,
    visited: usize,
}

impl Walk<'_> {
    /// Visits a directory. Returns `false` if the walk stopped at a limit. Directories that cannot be opened are left
    /// out: one unreadable directory must not make the whole list fail.
    fn visit(&mut self, directory: &Dir, below: &str, depth: usize) -> bool {
        let Ok(entries) = directory.entries() else { return true };
        let mut names = Vec::new();
        for entry in entries.flatten() {
            self.visited += 1;
            if self.visited > MAX_VISITED {
                return false;
            }
            // Links, and names that are not UTF-8, are left out: they have no URI.
            if let (Ok(name), Ok(kind)) = (entry.file_name().into_string(), entry.file_type())
                && self.hidden.allows(&name)
                && (kind.is_dir() || kind.is_file())
            {
                names.push((name, kind.is_dir(), entry));
            }
        }
        names.sort_by(|(a, ..), (b, ..)| a.cmp(b));
        for (name, is_directory, entry) in names {
            let path = if below.is_empty() { name } else { format!("{below}/{name}") };
            let is_past = self.after.is_none_or(|after| Path::new(&path) > after);
            if is_directory {
                let may_hold_more = is_past || self.after.is_some_and(|after| after.starts_with(&path));
                if may_hold_more
                    && depth < MAX_DEPTH
                    && let Ok(inner) = open_directory(directory, entry.file_name())
                    && !self.visit(&inner, &path, depth + 1)
                {
                    return false;
                }
            } else if is_past && (self.wanted)(&path) {
                if self.found.len() == self.most {
                    return false;
                }
                let size = entry.metadata().map_or(0, |about| about.len());
                self.found.push((path, size));
            }
        }
        true
    }
}
