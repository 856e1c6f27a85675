//! Which servers of projects has the user agreed to use?
//!
//! The agreement is for one server in one file, and for exactly what was shown: a digest of it is kept. The file is
//! private to the user. A file that cannot be read counts as empty, so the user is asked again.

use std::fmt::Write as _;
use std::fs::{self, DirBuilder, OpenOptions};
use std::hash::{BuildHasher, RandomState};
use std::io::{self, Read, Write as _};
use std::path::{Path, PathBuf};

use ring::digest::{Context, SHA256};
use serde::{Deserialize, Serialize};
use toolway::hub::config::SearchPaths;

/// The maximum size of the file of trusted servers, in bytes.
const MAX_TRUST_FILE: u64 = 1 << 20;

/// A server that the user trusts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct TrustedServer {
    /// The name of the server in its file.
    pub(crate) name: String,
    /// The file of the project.
    pub(crate) file: PathBuf,
    /// The program that is started, or the URL, for a list.
    pub(crate) action: String,
    /// The digest of everything that the user agreed to.
    pub(crate) sha256: String,
}

/// The file with the trusted servers.
#[derive(Debug, Clone)]
pub(crate) struct TrustFile {
    pub(crate) path: PathBuf,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct Content {
    servers: Vec<TrustedServer>,
}

impl TrustFile {
    /// Returns the file of the current user; `None` if the user has no directory for settings.
    pub(crate) fn of_user() -> Option<Self> {
        let places = SearchPaths::default();
        Some(Self { path: places.config_dir()?.join("toolway/trusted.json") })
    }

    /// Returns the trusted servers. The list is empty if there is no file.
    ///
    /// # Errors
    ///
    /// Returns an error if the file cannot be read, or is not a list of servers.
    pub(crate) fn read(&self) -> io::Result<Vec<TrustedServer>> {
        let file = match fs::File::open(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            opened => opened?,
        };
        let mut text = String::new();
        file.take(MAX_TRUST_FILE).read_to_string(&mut text)?;
        Ok(serde_json::from_str::<Content>(&text)?.servers)
    }

    /// Returns whether the user agreed to exactly this. A file that cannot be read contains no agreement.
    pub(super) fn contains(&self, server: &TrustedServer) -> bool {
        self.read().unwrap_or_default().contains(server)
    }

    /// Adds a server, in place of an earlier agreement about the server of this name in this file.
    pub(super) fn add(&self, server: TrustedServer) -> io::Result<()> {
        let mut servers = self.read().unwrap_or_default();
        servers.retain(|other| (&other.name, &other.file) != (&server.name, &server.file));
        servers.push(server);
        self.write(servers)
    }

    /// Replaces the file. A reader sees the old list or the new one, never a part.
    pub(crate) fn write(&self, servers: Vec<TrustedServer>) -> io::Result<()> {
        let text = serde_json::to_string_pretty(&Content { servers })?;
        let folder = self.path.parent().unwrap_or(Path::new(""));
        private(&mut DirBuilder::new()).recursive(true).create(folder)?;
        let part = folder.join(format!(".trusted-{:016x}", RandomState::new().hash_one(std::process::id())));
        let mut options = OpenOptions::new();
        let mut file = private_file(options.write(true).create_new(true)).open(&part)?;
        let written = file
            .write_all(text.as_bytes())
            .and_then(|()| file.sync_all())
            .and_then(|()| fs::rename(&part, &self.path));
        written.inspect_err(|_| {
            let _ = fs::remove_file(&part);
        })
    }
}

#[cfg(unix)]
fn private(builder: &mut DirBuilder) -> &mut DirBuilder {
    use std::os::unix::fs::DirBuilderExt;
    builder.mode(0o700)
}

#[cfg(unix)]
fn private_file(options: &mut OpenOptions) -> &mut OpenOptions {
    use std::os::unix::fs::OpenOptionsExt;
    options.mode(0o600)
}

/// On other systems, the directory of the user's settings is private already.
#[cfg(not(unix))]
fn private(builder: &mut DirBuilder) -> &mut DirBuilder {
    builder
}

#[cfg(not(unix))]
fn private_file(options: &mut OpenOptions) -> &mut OpenOptions {
    options
}

/// Computes a digest of texts. Each text is preceded by its length, so that no two lists have the same digest.
pub(super) struct TextDigest(Context);

impl TextDigest {
    pub(super) fn new() -> Self {
        Self(Context::new(&SHA256))
    }

    pub(super) fn add(&mut self, text: impl AsRef<[u8]>) {
        let text = text.as_ref();
        self.0.update(&(text.len() as u64).to_be_bytes());
        self.0.update(text);
    }

    /// Adds the number of the items, and then each of them.
    pub(super) fn add_all<T: AsRef<[u8]>>(&mut self, texts: impl ExactSizeIterator<Item = T>) {
        self.0.update(&(texts.len() as u64).to_be_bytes());
        texts.for_each(|text| self.add(text));
    }

    pub(super) fn finish(self) -> String {
        let mut text = String::new();
        for byte in self.0.finish().as_ref() {
            let _ = write!(text, "{byte:02x}");
        }
        text
    }
}
