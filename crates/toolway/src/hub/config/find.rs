//! Which file contains the server with a given name?
//!
//! The files of the project in the current directory are searched first, then the files of the user. Parent directories
//! are not searched. The first file that contains the name is used.

use std::fmt::Write;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::entry::ServerConfig;
use super::error::{ConfigError, Mistake, Mistakes, format_name};
use super::file::{Config, EntryOutcome, read_file, read_servers};
use super::host::{Host, Origin};
use super::layout::{find_project_servers, find_servers};
use super::source::JsonSource;
use crate::closest::closest;

/// The directories in which files of known programs are searched. The default is the current directory, and the
/// directories of the current user.
///
/// ```
/// use toolway::hub::config::SearchPaths;
///
/// let places = SearchPaths::new("/srv/shop").with_home("/home/ada");
/// let files: Vec<_> = places.files().into_iter().map(|(host, file)| (host.name(), file)).collect();
/// assert!(files.contains(&("cursor", "/srv/shop/.cursor/mcp.json".into())));
/// assert!(files.contains(&("cursor", "/home/ada/.cursor/mcp.json".into())));
/// ```
#[derive(Debug, Clone)]
pub struct SearchPaths {
    project: PathBuf,
    /// The files of the project that are searched.
    project_files: &'static [(Host, &'static str)],
    home: Option<PathBuf>,
    config_dir: Option<PathBuf>,
}

impl Default for SearchPaths {
    fn default() -> Self {
        let home = std::env::home_dir();
        let folder =
            |variable: &str| std::env::var_os(variable).map(PathBuf::from).filter(|path| path.is_absolute());
        let inside = |path: &str| home.as_ref().map(|home| home.join(path));
        let settings = if cfg!(windows) {
            folder("APPDATA").or_else(|| inside("AppData/Roaming"))
        } else if cfg!(target_os = "macos") {
            inside("Library/Application Support")
        } else {
            folder("XDG_CONFIG_HOME").or_else(|| inside(".config"))
        };
        let project = std::env::current_dir().unwrap_or_default();
        Self { project, project_files: &PROJECT_FILES, home, config_dir: settings }
    }
}

impl SearchPaths {
    /// Searches only the directory of a project.
    pub fn new(project: impl Into<PathBuf>) -> Self {
        Self { project: project.into(), project_files: &PROJECT_FILES, home: None, config_dir: None }
    }

    /// Excludes the files in the project. They may come from an untrusted author, and would hide servers of the user
    /// with the same name.
    ///
    /// ```
    /// use toolway::hub::config::SearchPaths;
    ///
    /// let places = SearchPaths::new("/srv/shop").with_home("/home/ada").without_project_files();
    /// assert!(places.files().iter().all(|(_, file)| file.starts_with("/home/ada")));
    /// ```
    pub fn without_project_files(mut self) -> Self {
        self.project_files = &[];
        self
    }

    /// Also searches this home directory.
    pub fn with_home(mut self, home: impl Into<PathBuf>) -> Self {
        self.home = Some(home.into());
        self
    }

    /// Also searches this directory, which contains the settings of a user: `~/.config`,
    /// `~/Library/Application Support` or `%APPDATA%`.
    pub fn with_config_dir(mut self, settings: impl Into<PathBuf>) -> Self {
        self.config_dir = Some(settings.into());
        self
    }

    /// Returns the directory with the settings of the user, if it is known: `~/.config`, or the directory that
    /// [`with_config_dir`](Self::with_config_dir) sets.
    ///
    /// ```
    /// use toolway::hub::config::SearchPaths;
    ///
    /// let places = SearchPaths::new("/srv/shop").with_config_dir("/home/ada/.config");
    /// assert_eq!(places.config_dir(), Some("/home/ada/.config".as_ref()));
    /// ```
    pub fn config_dir(&self) -> Option<&Path> {
        self.config_dir.as_deref()
    }

    /// Returns the files that are searched, in order of precedence, each with its program.
    pub fn files(&self) -> Vec<(Host, PathBuf)> {
        let project = self.project_files.iter().map(|(host, file)| (*host, self.project.join(file)));
        let mut files: Vec<(Host, PathBuf)> = Vec::new();
        for (host, file) in project.chain(self.user_files()) {
            // If the project is the home directory, a file can be in both lists.
            if files.iter().all(|(_, other)| *other != file) {
                files.push((host, file));
            }
        }
        files
    }

    fn user_files(&self) -> impl Iterator<Item = (Host, PathBuf)> {
        USER_FILES.iter().filter_map(|(host, folder, file)| {
            let folder = match folder {
                Folder::Home => self.home.as_ref()?,
                Folder::ConfigDir => self.config_dir.as_ref()?,
            };
            Some((*host, folder.join(file)))
        })
    }

    /// Returns whether the file belongs to the project, so that it may come from an untrusted author. A file that is
    /// also one of the user's files counts as the user's.
    fn is_project_file(&self, file: &Path) -> bool {
        self.project_files.iter().any(|(_, name)| self.project.join(name) == file)
            && self.user_files().all(|(_, own)| own != file)
    }
}

impl Config {
    /// Searches for a server by its name in the files of known programs: first those of the project in the current
    /// directory (`mcp.json`, `.mcp.json`, `.vscode/mcp.json`, `.cursor/mcp.json`, `.gemini/settings.json`), then those
    /// of the user (Claude Code, Claude Desktop, Cursor, VS Code, Windsurf, Gemini CLI).
    ///
    /// `cursor:weather` searches only files of Cursor. The part before the colon is the [name of a host](Host::name),
    /// or `claude` for Claude Code and Claude Desktop.
    ///
    /// A project may come from an untrusted author. A program that starts the servers in its files without asking the
    /// user runs untrusted programs, and sends them all variables that the files name. [`ServerConfig::project`] tells
    /// whether the server comes from such a file, [`ServerConfig::resolve_with_preview`] returns what to show to the user
    /// before the server is used, and [`SearchPaths::without_project_files`] searches only the files of the user.
    ///
    /// # Errors
    ///
    /// Returns an error if the server does not exist (the text lists the existing names), if it has mistakes, or if a
    /// file that is searched earlier cannot be read. Mistakes in other servers are ignored.
    pub fn find(name: &str) -> Result<ServerConfig, ConfigError> {
        Self::find_in(name, &SearchPaths::default())
    }

    /// Searches for a server as [`find`](Self::find) does, in the given directories.
    pub fn find_in(name: &str, places: &SearchPaths) -> Result<ServerConfig, ConfigError> {
        let (hosts, server) = match name.split_once(':') {
            Some((host, server)) if !Host::by_name(host).is_empty() => (Host::by_name(host), server),
            _ => (Vec::new(), name),
        };
        let mut seen = Vec::new();
        let mut looked = Vec::new();
        for (host, file) in places.files() {
            if !hosts.is_empty() && !hosts.contains(&host) {
                continue;
            }
            for outcomes in servers_in(host, &file, places)? {
                let mut hit = None;
                for (found, outcome) in outcomes {
                    if found == server {
                        // If a name occurs twice, the second entry has the mistake.
                        hit = Some(outcome);
                    } else {
                        seen.push((found, file.clone()));
                    }
                }
                if let Some(outcome) = hit {
                    return outcome.map_err(|mistakes| ConfigError::new(Some(&file), mistakes));
                }
            }
            looked.push(file);
        }
        Err(ConfigError::from_message(None, not_found(server, &seen, &looked)))
    }
}

/// Reads the servers in a file of a known program. The result is a list of groups, the one with the highest precedence
/// first. Returns nothing if the file does not exist or contains no servers.
fn servers_in(host: Host, file: &Path, places: &SearchPaths) -> Result<Vec<Vec<EntryOutcome>>, ConfigError> {
    match std::fs::metadata(file) {
        // Only regular files are read: reading from a pipe, for example, could block.
        Ok(metadata) if !metadata.is_file() => return Ok(Vec::new()),
        Ok(_) => {}
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return Ok(Vec::new());
        }
        Err(error) => return Err(ConfigError::from_message(Some(file), format!("cannot be read: {error}"))),
    }
    let project = places.is_project_file(file).then(|| places.project.clone());
    let is_of_user = project.is_none();
    let origin = Arc::new(Origin { file: Some(file.to_owned()), host: Some(host), project });
    let bytes = read_file(file)?;
    let wrong = |mistake: Mistake| ConfigError::new(Some(file), mistake.into());
    let source = JsonSource::new(&bytes).map_err(wrong)?;
    if source.is_empty() {
        return Ok(Vec::new());
    }
    let root = source.root().map_err(wrong)?;
    // Mistakes outside of the servers, such as an input without an id, are ignored here. A server that needs such an
    // input fails when its variables are replaced.
    let mut mistakes = Mistakes::default();
    let local = if host == Host::ClaudeCode && is_of_user {
        find_project_servers(root, &places.project, &mut mistakes)
    } else {
        None
    };
    let layouts = [local, find_servers(root, &mut mistakes)];
    Ok(layouts.into_iter().flatten().map(|layout| read_servers(layout, &origin, &mut mistakes)).collect())
}

fn not_found(name: &str, seen: &[(String, PathBuf)], looked: &[PathBuf]) -> String {
    let mut text = format!("no server `{}` is configured", format_name(name));
    if seen.is_empty() {
        let files: Vec<_> = looked.iter().map(|file| file.display().to_string()).collect();
        let _ = write!(text, "; none of these files has servers: {}", files.join(", "));
        return text;
    }
    let meant = closest(name, seen.iter().map(|(name, _)| &**name));
    let _ = match meant {
        Some(meant) => write!(text, ": did you mean `{}`? there are ", format_name(meant)),
        None => write!(text, ": there are "),
    };
    let names = seen
        .iter()
        .take(MAX_LISTED)
        .map(|(name, file)| format!("`{}` ({})", format_name(name), file.display()));
    let names: Vec<_> = names.collect();
    text.push_str(&names.join(", "));
    if let Some(more) = seen.len().checked_sub(MAX_LISTED).filter(|more| *more > 0) {
        let _ = write!(text, " and {more} more");
    }
    text
}

/// The files in a project.
const PROJECT_FILES: [(Host, &str); 5] = [
    (Host::Project, "mcp.json"),
    (Host::ClaudeCode, ".mcp.json"),
    (Host::VsCode, ".vscode/mcp.json"),
    (Host::Cursor, ".cursor/mcp.json"),
    (Host::Gemini, ".gemini/settings.json"),
];

/// The files of a user.
const USER_FILES: [(Host, Folder, &str); 6] = [
    (Host::ClaudeCode, Folder::Home, ".claude.json"),
    (Host::ClaudeDesktop, Folder::ConfigDir, "Claude/claude_desktop_config.json"),
    (Host::Cursor, Folder::Home, ".cursor/mcp.json"),
    (Host::VsCode, Folder::ConfigDir, "Code/User/mcp.json"),
    (Host::Windsurf, Folder::Home, ".codeium/windsurf/mcp_config.json"),
    (Host::Gemini, Folder::Home, ".gemini/settings.json"),
];

enum Folder {
    Home,
    ConfigDir,
}

/// The maximum number of servers in the message for an unknown name.
const MAX_LISTED: usize = 50;
