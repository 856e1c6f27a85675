//! Where are installed packages kept, so that the next clone can reuse them?
//!
//! In one folder for all clones: `TOOLWAY_CACHE` when it is set, otherwise the user's own cache. Each list of packages
//! has a folder there, named after its first package and a hash of the list. A lock makes concurrent runs safe: the
//! second waits until the first has installed everything, and then uses it. Deleting the whole cache is always safe
//! between runs.

use std::env;
use std::fs::{self, File};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};

use crate::run::Result;

/// A folder whose content belongs to exactly one list of packages.
#[derive(Debug)]
pub(crate) struct CachedPackages<'a> {
    /// The kind of packages, which begins the folder's name.
    pub(crate) kind: &'a str,
    /// Everything that determines what is installed: the packages with their versions, and the platform.
    pub(crate) key: &'a str,
}

impl CachedPackages<'_> {
    /// Returns the folder, filled by `install` unless it is complete and `works` already. Without a cache, `otherwise`
    /// is used.
    pub(crate) fn folder(
        &self,
        otherwise: &Path,
        works: impl Fn(&Path) -> bool,
        install: impl FnOnce(&Path) -> Result,
    ) -> Result<PathBuf> {
        match root() {
            Some(root) => self.folder_in(&root, works, install),
            None => {
                self.fill(otherwise, works, install)?;
                Ok(otherwise.to_owned())
            }
        }
    }

    fn folder_in(
        &self,
        root: &Path,
        works: impl Fn(&Path) -> bool,
        install: impl FnOnce(&Path) -> Result,
    ) -> Result<PathBuf> {
        let folder = root.join(self.name());
        let lock = folder.with_extension("lock");
        // The lock is released when the file is dropped or the process ends.
        let _locked = fs::create_dir_all(root)
            .and_then(|()| File::create(&lock))
            .and_then(|file| file.lock().map(|()| file))
            .map_err(|error| {
                format!(
                    "could not lock {}: {error}; set TOOLWAY_CACHE to a folder that can be written",
                    lock.display()
                )
            })?;
        self.fill(&folder, works, install)?;
        Ok(folder)
    }

    fn fill(
        &self,
        folder: &Path,
        works: impl Fn(&Path) -> bool,
        install: impl FnOnce(&Path) -> Result,
    ) -> Result {
        let marker = folder.join(MARKER);
        if fs::read_to_string(&marker).is_ok_and(|installed| installed == self.key) && works(folder) {
            return Ok(());
        }
        let not_prepared = |error: std::io::Error| format!("could not prepare {}: {error}", folder.display());
        if folder.exists() {
            fs::remove_dir_all(folder).map_err(not_prepared)?;
        }
        fs::create_dir_all(folder).map_err(not_prepared)?;
        install(folder)?;
        if !works(folder) {
            return Err(format!(
                "everything was installed into {}, but it does not run; delete this folder and run this again",
                folder.display()
            ));
        }
        fs::write(&marker, self.key).map_err(not_prepared)
    }

    fn name(&self) -> String {
        let mut hasher = DefaultHasher::new();
        (env::consts::OS, env::consts::ARCH, self.key).hash(&mut hasher);
        let first = self.key.lines().next().unwrap_or_default();
        let plain: String =
            first.chars().map(|letter| if letter.is_ascii_alphanumeric() { letter } else { '-' }).collect();
        format!("{}-{}-{:016x}", self.kind, plain.trim_matches('-'), hasher.finish())
    }
}

/// Returns the folder of the cache; `None` when the environment names neither the cache nor a home.
pub(crate) fn root() -> Option<PathBuf> {
    root_by(|name| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from))
}

fn root_by(variable: impl Fn(&str) -> Option<PathBuf>) -> Option<PathBuf> {
    if let Some(chosen) = variable("TOOLWAY_CACHE") {
        return Some(chosen);
    }
    let caches = if cfg!(windows) {
        variable("LOCALAPPDATA")
    } else if cfg!(target_os = "macos") {
        variable("HOME").map(|home| home.join("Library/Caches"))
    } else {
        variable("XDG_CACHE_HOME").or_else(|| variable("HOME").map(|home| home.join(".cache")))
    };
    caches.map(|caches| caches.join("toolway-xtask"))
}

/// Written last: a folder without this file is incomplete and is filled again.
const MARKER: &str = "installed.txt";

#[cfg(test)]
mod tests {
    use super::{CachedPackages, MARKER, root_by};
    use std::fs;
    use std::path::{Path, PathBuf};
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::thread;

    /// A folder for one test, deleted at its end.
    struct Scratch(PathBuf);

    impl Scratch {
        fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("xtask-cache-{name}-{}", std::process::id()));
            let _ = fs::remove_dir_all(&path);
            Self(path)
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    fn has_file(folder: &Path) -> bool {
        folder.join("file").exists()
    }

    #[test]
    fn runs_at_the_same_time_install_once_and_all_get_a_complete_folder() {
        let scratch = Scratch::new("together");
        let installs = AtomicUsize::new(0);
        thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    let tree = CachedPackages { kind: "node", key: "@a/b@1\n" };
                    let install = |folder: &Path| {
                        installs.fetch_add(1, Ordering::SeqCst);
                        fs::write(folder.join("file"), "").map_err(|error| error.to_string())
                    };
                    let folder = tree.folder_in(&scratch.0, has_file, install).unwrap();
                    assert!(has_file(&folder) && folder.join(MARKER).exists());
                    assert!(folder.file_name().unwrap().to_str().unwrap().starts_with("node-a-b-1-"));
                });
            }
        });
        assert_eq!(installs.load(Ordering::SeqCst), 1);
    }

    #[test]
    fn a_folder_left_half_way_or_broken_is_filled_again() {
        let scratch = Scratch::new("again");
        let tree = CachedPackages { kind: "python", key: "a==1\n" };
        let fill = |folder: &Path| fs::write(folder.join("file"), "").map_err(|error| error.to_string());
        assert_eq!(
            tree.folder_in(&scratch.0, has_file, |_| Err("no network".into())),
            Err("no network".into())
        );
        let folder = tree.folder_in(&scratch.0, has_file, fill).unwrap();
        fs::remove_file(folder.join("file")).unwrap();
        let unfilled = tree.folder_in(&scratch.0, has_file, |_| Ok(())).unwrap_err();
        assert!(unfilled.contains("does not run"), "{unfilled}");
        tree.folder_in(&scratch.0, has_file, fill).unwrap();
        tree.folder_in(&scratch.0, has_file, |_| unreachable!("it is complete")).unwrap();
    }

    #[test]
    fn another_list_has_another_folder() {
        let of = |wanted| CachedPackages { kind: "node", key: wanted }.name();
        assert_ne!(of("a@1\nb@1\n"), of("a@1\nb@2\n"));
    }

    #[test]
    fn the_variable_comes_before_the_home_and_neither_is_no_cache() {
        let chosen =
            |name: &str| Some(PathBuf::from(if name == "TOOLWAY_CACHE" { "/chosen" } else { "/home" }));
        assert_eq!(root_by(chosen), Some(PathBuf::from("/chosen")));
        let of_the_user = |name: &str| (name != "TOOLWAY_CACHE").then(|| PathBuf::from("/home"));
        assert!(root_by(of_the_user).unwrap().ends_with("toolway-xtask"));
        assert_eq!(root_by(|_| None), None);
    }
}
