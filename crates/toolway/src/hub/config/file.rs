//! What is a configuration, and how is it read from a file?

use std::collections::{HashMap, HashSet};
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use super::entry::{self, ServerConfig};
use super::error::{ConfigError, Mistake, Mistakes, SourcePosition};
use super::host::Origin;
use super::layout::{ConfigLayout, EntryLocation, find_servers, generate_name, no_servers_mistake};
use super::source::JsonSource;
use super::variables::Input;

/// The servers of a configuration file.
///
/// ```
/// use toolway::hub::Config;
/// use toolway::hub::config::{ServerKind, Variables};
///
/// let config = Config::parse(r#"{
///   "mcpServers": {
///     // Comments are fine.
///     "files": { "command": "npx", "args": ["-y", "@modelcontextprotocol/server-filesystem", "/data"] },
///     "weather": { "url": "https://weather.example.com/mcp", "disabled": true },
///   },
/// }"#)?;
/// let names: Vec<_> = config.servers.iter().map(|server| &*server.name).collect();
/// assert_eq!(names, ["files", "weather"]);
/// assert!(config.servers[1].disabled);
///
/// match config.servers[0].resolve(&Variables::default())? {
///     ServerKind::Command { program, args, .. } => assert_eq!((&*program, args.len()), ("npx", 3)),
///     other => panic!("{other:?}"),
/// }
/// # Ok::<(), toolway::hub::ConfigError>(())
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Config {
    /// The servers, in the order of the file.
    pub servers: Vec<ServerConfig>,
}

impl Config {
    /// Parses the text of a configuration file.
    ///
    /// # Errors
    ///
    /// Returns all mistakes in the text.
    pub fn parse(text: &str) -> Result<Self, ConfigError> {
        Self::read(text.as_bytes(), Origin::default())
    }

    /// Reads a configuration file.
    ///
    /// `${workspaceFolder}` is the directory of the project that contains the file: the directory with `mcp.json`,
    /// `.mcp.json`, `.vscode`, `.cursor` or `.gemini` in it.
    ///
    /// # Errors
    ///
    /// Returns an error if the file cannot be read, is larger than 16 MiB, or has mistakes; the error lists all of
    /// them.
    pub fn from_file(path: impl AsRef<Path>) -> Result<Self, ConfigError> {
        let path = path.as_ref();
        Self::read(&read_file(path)?, Origin::from_path(path))
    }

    /// Returns the server with this name.
    pub fn server(&self, name: &str) -> Option<&ServerConfig> {
        self.servers.iter().find(|server| server.name == name)
    }

    pub(super) fn read(bytes: &[u8], origin: Origin) -> Result<Self, ConfigError> {
        let origin = Arc::new(origin);
        let mut mistakes = Mistakes::default();
        let mut servers = Vec::new();
        match read_all(bytes, &origin, &mut mistakes) {
            Ok(outcomes) => {
                for (_, outcome) in outcomes {
                    match outcome {
                        Ok(server) => servers.push(server),
                        Err(wrong) => mistakes.extend(wrong),
                    }
                }
            }
            Err(mistake) => mistakes.push(mistake),
        }
        if mistakes.is_empty() {
            Ok(Self { servers })
        } else {
            Err(ConfigError::new(origin.file.as_deref(), mistakes))
        }
    }
}

/// The name of a server, and the server or its mistakes.
pub(super) type EntryOutcome = (String, Result<ServerConfig, Mistakes>);

fn read_all(
    bytes: &[u8],
    origin: &Arc<Origin>,
    mistakes: &mut Mistakes,
) -> Result<Vec<EntryOutcome>, Mistake> {
    if bytes.len() as u64 > MAX_FILE {
        return Err(Mistake::of_file(None, format!("the text is longer than {MAX_FILE} bytes")));
    }
    let source = JsonSource::new(bytes)?;
    if source.is_empty() {
        return Err(Mistake::of_file(None, "there is nothing in it: write `{ \"mcpServers\": {} }`"));
    }
    let root = source.root()?;
    match find_servers(root, mistakes) {
        Some(layout) => Ok(read_servers(layout, origin, mistakes)),
        None => Err(no_servers_mistake(root)),
    }
}

/// Reads all servers of a file.
pub(super) fn read_servers(
    layout: ConfigLayout<'_>,
    origin: &Arc<Origin>,
    mistakes: &mut Mistakes,
) -> Vec<EntryOutcome> {
    let inputs: Arc<[Input]> = layout.inputs.into();
    let mut outcomes = Vec::new();
    let mut names: HashMap<String, SourcePosition> = HashMap::new();
    let mut nameless = Vec::new();
    for (index, EntryLocation { key, path, node }) in layout.entries.into_iter().enumerate() {
        let place = node.position();
        if index == MAX_SERVERS {
            let message =
                format!("this is server number {}: a file may have at most {MAX_SERVERS}", index + 1);
            mistakes.push(Mistake { server: None, field: path, position: Some(place), message });
            break;
        }
        let (given, server, mut wrong) = match entry::read(node, &path, key.as_deref(), &inputs, origin) {
            Ok((given, server)) => (given, Some(server), Mistakes::default()),
            Err(wrong) => (None, None, wrong),
        };
        let name = key.or(given);
        let reason = match &name {
            Some(name) => wrong_name(name).map(str::to_owned).or_else(|| {
                let first = *names.entry(name.clone()).or_insert(place);
                let is_second = first != place;
                is_second
                    .then(|| format!("has the same name as the server in line {}: rename one", first.line))
            }),
            None => {
                nameless.push(outcomes.len());
                None
            }
        };
        if let Some(message) = reason {
            wrong.push(Mistake { server: name.clone(), field: path.clone(), position: Some(place), message });
        }
        let server = server.filter(|_| wrong.is_empty());
        let server = server.map(|server| ServerConfig { name: name.clone().unwrap_or_default(), ..server });
        outcomes.push((name.unwrap_or(path), server.ok_or(wrong)));
    }
    let mut taken: HashSet<String> = names.into_keys().collect();
    for index in nameless {
        if let (name, Ok(server)) = &mut outcomes[index] {
            server.name = generate_name(&server.endpoint, &taken);
            name.clone_from(&server.name);
            taken.insert(server.name.clone());
        }
    }
    outcomes
}

fn wrong_name(name: &str) -> Option<&'static str> {
    if name.trim().is_empty() {
        Some("has no name: give it one")
    } else if name.chars().any(char::is_control) {
        Some("has a control character in its name: remove it")
    } else if name.chars().count() > MAX_NAME {
        Some("has a name of more than 128 characters: shorten it")
    } else {
        None
    }
}

/// Reads a file, up to the maximum size.
pub(super) fn read_file(path: &Path) -> Result<Vec<u8>, ConfigError> {
    let mut bytes = Vec::new();
    let outcome = std::fs::File::open(path).and_then(|file| file.take(MAX_FILE + 1).read_to_end(&mut bytes));
    match outcome {
        Ok(_) if bytes.len() as u64 > MAX_FILE => {
            Err(ConfigError::from_message(Some(path), format!("the file is longer than {MAX_FILE} bytes")))
        }
        Ok(_) => Ok(bytes),
        Err(error) => Err(ConfigError::from_message(Some(path), format!("cannot be read: {error}"))),
    }
}

/// The maximum size of a file in bytes. The file of Claude Code can be large, because it also contains the history of
/// its projects.
const MAX_FILE: u64 = 16 << 20;

/// The maximum number of servers in a file.
pub(super) const MAX_SERVERS: usize = 1000;

/// The maximum length of a server's name, in characters.
const MAX_NAME: usize = 128;
