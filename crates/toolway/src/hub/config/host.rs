//! Which program and which project does a file belong to?

use std::fmt;
use std::path::{Component, Path, PathBuf};

/// A program whose configuration files are supported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Host {
    /// Not a specific program: `mcp.json`.
    Project,
    /// Claude Code: `.mcp.json`, `~/.claude.json`.
    ClaudeCode,
    /// Claude Desktop: `claude_desktop_config.json`.
    ClaudeDesktop,
    /// Cursor: `.cursor/mcp.json`.
    Cursor,
    /// VS Code: `.vscode/mcp.json`, `Code/User/mcp.json`.
    VsCode,
    /// Windsurf: `~/.codeium/windsurf/mcp_config.json`.
    Windsurf,
    /// The Gemini CLI: `.gemini/settings.json`.
    Gemini,
}

impl Host {
    /// Returns the name of the program, for use before a server's name: `cursor:weather`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Project => "project",
            Self::ClaudeCode => "claude-code",
            Self::ClaudeDesktop => "claude-desktop",
            Self::Cursor => "cursor",
            Self::VsCode => "vscode",
            Self::Windsurf => "windsurf",
            Self::Gemini => "gemini",
        }
    }

    /// Returns the programs with this name; `claude` means Claude Code and Claude Desktop. The list is empty if the
    /// name is unknown.
    pub(super) fn by_name(name: &str) -> Vec<Self> {
        let all = [
            Self::Project,
            Self::ClaudeCode,
            Self::ClaudeDesktop,
            Self::Cursor,
            Self::VsCode,
            Self::Windsurf,
            Self::Gemini,
        ];
        let is_called = |host: &Self| {
            let is_claude = matches!(host, Self::ClaudeCode | Self::ClaudeDesktop);
            host.name() == name || (name == "claude" && is_claude)
        };
        all.into_iter().filter(is_called).collect()
    }

    /// Returns the program to which a file belongs, by its name and directory.
    fn from_path(path: &Path) -> Option<Self> {
        match last_three(path) {
            (_, ".vscode", "mcp.json") | ("Code", "User", "mcp.json") => Some(Self::VsCode),
            (_, ".cursor", "mcp.json") => Some(Self::Cursor),
            (_, ".gemini", "settings.json") => Some(Self::Gemini),
            (_, "windsurf", "mcp_config.json") => Some(Self::Windsurf),
            (.., ".mcp.json" | ".claude.json") => Some(Self::ClaudeCode),
            (.., "claude_desktop_config.json") => Some(Self::ClaudeDesktop),
            (.., "mcp.json") => Some(Self::Project),
            _ => None,
        }
    }
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The origin of a configuration.
#[derive(Debug, Default)]
pub(super) struct Origin {
    pub(super) file: Option<PathBuf>,
    pub(super) host: Option<Host>,
    /// The directory of the project to which the file belongs.
    pub(super) project: Option<PathBuf>,
}

impl Origin {
    /// Determines the origin from the path of a file.
    pub(super) fn from_path(path: &Path) -> Self {
        // The relative path `mcp.json` has no directory.
        let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        let host = Host::from_path(&absolute);
        let beside = absolute.parent();
        let around = beside.and_then(Path::parent);
        let project = match last_three(&absolute) {
            // Files of the user do not belong to the directory that contains them.
            ("Code", "User", _) => None,
            (_, ".vscode" | ".cursor" | ".gemini", _) => around.filter(|folder| !is_home(folder)),
            (.., "mcp.json" | ".mcp.json") => beside,
            _ => None,
        };
        Self { file: Some(path.to_owned()), host, project: project.map(Path::to_owned) }
    }
}

/// Returns whether a directory is the home directory, which is not a project: `~/.cursor/mcp.json` belongs to the user.
fn is_home(folder: &Path) -> bool {
    std::env::home_dir().is_some_and(|home| home == folder)
}

/// Returns the names of the directory above a file's directory, of that directory and of the file.
fn last_three(path: &Path) -> (&str, &str, &str) {
    let mut names = path.components().rev().filter_map(|component| match component {
        Component::Normal(name) => name.to_str(),
        _ => None,
    });
    let mut next = || names.next().unwrap_or_default();
    let (file, folder, around) = (next(), next(), next());
    (around, folder, file)
}
