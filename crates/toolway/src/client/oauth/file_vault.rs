//! How are tokens kept in files?
//!
//! Each value is a file that only its user can read. A value is written to a new file, which then takes the place of the old
//! one, so that a program that is killed leaves the old value or the new one. Locks are those of the operating system, which
//! releases them when a process dies.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use bytes::Bytes;

use crate::client::oauth::crypto::random_text;
use crate::client::oauth::vault::{Vault, VaultGuard, VaultKey};
use crate::ground::error::{Error, ErrorKind, Result};
use crate::ground::future::BoxFuture;

/// Keeps tokens in files of a folder. Several processes may share it.
///
/// ```no_run
/// use toolway::client::{FileVault, Http, OAuth};
///
/// let vault = FileVault::new("/home/ada/.local/share/notes");
/// let server = Http::new("https://notes.example/mcp").oauth(OAuth::browser().vault(vault));
/// ```
///
/// On Unix, only the user can read the files, and a file that others can read is refused. The files are not encrypted.
#[derive(Debug, Clone)]
pub struct FileVault {
    /// Empty if the user has none.
    folder: PathBuf,
}

/// A vault in the data folder of the user, such as `~/.local/share/toolway/vault`. All programs of the user share it.
impl Default for FileVault {
    fn default() -> Self {
        let named = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let in_home = |path: &str| std::env::home_dir().map(|home| home.join(path));
        let data = if cfg!(windows) {
            named("LOCALAPPDATA").or_else(|| in_home("AppData/Local"))
        } else if cfg!(target_os = "macos") {
            in_home("Library/Application Support")
        } else {
            named("XDG_DATA_HOME").or_else(|| in_home(".local/share"))
        };
        Self { folder: data.map(|data| data.join("toolway").join("vault")).unwrap_or_default() }
    }
}

impl FileVault {
    /// A vault in a folder, which is made when the first value is kept.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into() }
    }

    /// Does something with files, which blocks.
    async fn work<T: Send + 'static>(
        &self,
        key: &VaultKey,
        work: impl FnOnce(&Files) -> io::Result<T> + Send + 'static,
    ) -> Result<T> {
        if self.folder.as_os_str().is_empty() {
            let message = "this user has no home folder for tokens: name a folder with `FileVault::new`";
            return Err(Error::new(ErrorKind::Misuse, message));
        }
        let files = Files { value: self.folder.join(key.file_name()) };
        let folder = self.folder.display().to_string();
        let failed = |error: io::Error| {
            Error::new(ErrorKind::Application, format!("the vault in {folder} cannot be used"))
                .caused_by(error)
        };
        match tokio::task::spawn_blocking(move || work(&files)).await {
            Ok(outcome) => outcome.map_err(failed),
            Err(error) => Err(failed(io::Error::other(error))),
        }
    }
}

impl Vault for FileVault {
    fn get<'v>(&'v self, key: &'v VaultKey) -> BoxFuture<'v, Result<Option<Bytes>>> {
        Box::pin(self.work(key, Files::read))
    }

    fn swap<'v>(
        &'v self,
        key: &'v VaultKey,
        expected: Option<Bytes>,
        value: Option<Bytes>,
    ) -> BoxFuture<'v, Result<bool>> {
        Box::pin(self.work(key, move |files| files.swap(expected.as_ref(), value.as_ref())))
    }

    fn lock<'v>(&'v self, key: &'v VaultKey) -> BoxFuture<'v, Result<VaultGuard>> {
        Box::pin(async move {
            loop {
                if let Some(locked) = self.work(key, |files| files.try_lock("lock")).await? {
                    return Ok(VaultGuard::new(locked));
                }
                tokio::time::sleep(LOCK_PAUSE).await;
            }
        })
    }
}

/// The files of one key.
struct Files {
    value: PathBuf,
}

impl Files {
    fn read(&self) -> io::Result<Option<Bytes>> {
        let file = match File::open(&self.value) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        check_private(&file, &self.value)?;
        let mut bytes = Vec::new();
        file.take(MAX_VALUE).read_to_end(&mut bytes)?;
        Ok(Some(bytes.into()))
    }

    fn swap(&self, expected: Option<&Bytes>, value: Option<&Bytes>) -> io::Result<bool> {
        make_folder(self.folder())?;
        // It is held only while files are read and written.
        let locked = self.open_lock("swap")?;
        locked.lock()?;
        if self.read()?.as_ref() != expected {
            return Ok(false);
        }
        match value {
            Some(value) => self.write(value)?,
            None if expected.is_some() => fs::remove_file(&self.value)?,
            None => return Ok(true),
        }
        sync_folder(self.folder());
        Ok(true)
    }

    fn write(&self, value: &[u8]) -> io::Result<()> {
        let new = self.with_end(&format!("new-{}", random_text()));
        let written =
            private(OpenOptions::new().write(true).create_new(true)).open(&new).and_then(|mut file| {
                file.write_all(value)?;
                file.sync_all()
            });
        if let Err(error) = written.and_then(|()| fs::rename(&new, &self.value)) {
            let _ = fs::remove_file(&new);
            return Err(error);
        }
        Ok(())
    }

    /// Takes a lock, unless another process or task has it.
    fn try_lock(&self, end: &str) -> io::Result<Option<File>> {
        make_folder(self.folder())?;
        let file = self.open_lock(end)?;
        match file.try_lock() {
            Ok(()) => Ok(Some(file)),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    fn open_lock(&self, end: &str) -> io::Result<File> {
        private(OpenOptions::new().write(true).create(true).truncate(false)).open(self.with_end(end))
    }

    fn with_end(&self, end: &str) -> PathBuf {
        let mut path = self.value.clone().into_os_string();
        path.push(".");
        path.push(end);
        path.into()
    }

    fn folder(&self) -> &Path {
        self.value.parent().unwrap_or(Path::new("."))
    }
}

#[cfg(unix)]
fn private(options: &mut OpenOptions) -> &mut OpenOptions {
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600)
}

#[cfg(not(unix))]
fn private(options: &mut OpenOptions) -> &mut OpenOptions {
    options
}

#[cfg(unix)]
fn make_folder(folder: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt as _;
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

#[cfg(not(unix))]
fn make_folder(folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)
}

/// Writes the names of the files to the disk. Without this, the name may still belong to the old value after a power cut:
/// a refresh token that is used up, or one that its user has signed out of.
///
/// Some file systems cannot do it. The new value is in its place all the same, so this is not an error.
#[cfg(unix)]
fn sync_folder(folder: &Path) {
    let _ = File::open(folder).and_then(|folder| folder.sync_all());
}

/// A folder cannot be opened as a file here.
#[cfg(not(unix))]
fn sync_folder(_: &Path) {}

/// Refuses a file that other users can read or change.
#[cfg(unix)]
fn check_private(file: &File, path: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    /// The rights of other users.
    const OTHERS: u32 = 0o077;
    if file.metadata()?.permissions().mode() & OTHERS == 0 {
        return Ok(());
    }
    let path = path.display();
    Err(io::Error::other(format!(
        "other users can read it: make it yours with `chmod 600 {path}`, and sign in again"
    )))
}

#[cfg(not(unix))]
fn check_private(_: &File, _: &Path) -> io::Result<()> {
    Ok(())
}

/// The length of the longest value, in bytes.
const MAX_VALUE: u64 = 64 << 10;
/// How long to wait before a lock is tried again.
const LOCK_PAUSE: Duration = Duration::from_millis(20);

#[cfg(test)]
mod tests {
    use super::*;

    fn vault(name: &str) -> FileVault {
        let folder = std::env::temp_dir().join(format!("toolway-vault-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        FileVault::new(folder.join("inner"))
    }

    fn bytes(text: &'static str) -> Bytes {
        Bytes::from_static(text.as_bytes())
    }

    #[tokio::test]
    async fn a_value_is_replaced_only_if_it_is_as_expected() {
        let vault = vault("swap");
        let key = VaultKey::new("tokens", &["", "https://a.example/mcp"]);
        assert_eq!(vault.get(&key).await.unwrap(), None);
        assert!(!vault.swap(&key, Some(bytes("x")), Some(bytes("y"))).await.unwrap());
        assert!(vault.swap(&key, None, Some(bytes("one"))).await.unwrap());
        assert!(!vault.swap(&key, None, Some(bytes("two"))).await.unwrap());
        assert!(vault.swap(&key, Some(bytes("one")), Some(bytes("two"))).await.unwrap());
        assert_eq!(vault.get(&key).await.unwrap(), Some(bytes("two")));
        let other = VaultKey::new("tokens", &["https://a.example/mcp", ""]);
        assert_eq!(vault.get(&other).await.unwrap(), None, "parts are kept apart");
        assert!(vault.swap(&key, Some(bytes("two")), None).await.unwrap());
        assert_eq!(vault.get(&key).await.unwrap(), None);
        fs::remove_dir_all(vault.folder.parent().unwrap()).unwrap();
    }

    #[tokio::test]
    async fn tokens_are_kept_in_the_folder_of_the_user() {
        assert!(FileVault::default().folder.ends_with("toolway/vault"));
        let homeless = FileVault::new("");
        let error = homeless.get(&VaultKey::new("tokens", &["a"])).await.unwrap_err();
        assert!(error.to_string().contains("FileVault::new"), "{error}");
    }

    #[tokio::test]
    async fn one_of_many_has_the_lock() {
        let vault = vault("lock");
        let key = VaultKey::new("tokens", &["a"]);
        let first = vault.lock(&key).await.unwrap();
        let second = tokio::time::timeout(LOCK_PAUSE * 3, vault.lock(&key)).await;
        assert!(second.is_err(), "the first has it");
        let free = VaultKey::new("tokens", &["b"]);
        vault.lock(&free).await.unwrap();
        drop(first);
        vault.lock(&key).await.unwrap();
        fs::remove_dir_all(vault.folder.parent().unwrap()).unwrap();
    }

    #[tokio::test]
    async fn of_many_writers_one_wins_each_time() {
        let vault = vault("race");
        let key = VaultKey::new("tokens", &["a"]);
        let mut writers = tokio::task::JoinSet::new();
        for _ in 0..8 {
            let (vault, key) = (vault.clone(), key.clone());
            writers.spawn(async move {
                let mut wins = 0;
                while wins < 5 {
                    let before = vault.get(&key).await.unwrap();
                    let count: u32 = before
                        .as_ref()
                        .map_or(0, |bytes| std::str::from_utf8(bytes).unwrap().parse().unwrap());
                    let next = Some(Bytes::from((count + 1).to_string()));
                    wins += u32::from(vault.swap(&key, before, next).await.unwrap());
                }
            });
        }
        writers.join_all().await;
        assert_eq!(vault.get(&key).await.unwrap(), Some(bytes("40")));
        let left: Vec<_> =
            fs::read_dir(&vault.folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(left.len(), 2, "the value and its lock: {left:?}");
        fs::remove_dir_all(vault.folder.parent().unwrap()).unwrap();
    }

    #[cfg(unix)]
    #[tokio::test]
    async fn a_file_that_others_can_read_is_refused() {
        use std::os::unix::fs::PermissionsExt as _;
        let vault = vault("mode");
        let key = VaultKey::new("tokens", &["a"]);
        assert!(vault.swap(&key, None, Some(bytes("hidden"))).await.unwrap());
        let path = vault.folder.join(key.file_name());
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(fs::metadata(&vault.folder).unwrap().permissions().mode() & 0o777, 0o700);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        let error = vault.get(&key).await.unwrap_err();
        let text = crate::Chain(&error).to_string();
        assert!(text.contains("chmod 600") && !text.contains("hidden"), "{text}");
        fs::remove_dir_all(vault.folder.parent().unwrap()).unwrap();
    }
}
