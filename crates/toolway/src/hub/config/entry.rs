//! What does one entry of a file say about its server?
//!
//! Hosts agree on `command`, `args`, `env`, `cwd`, `url`, `headers` and `type`, and each has additional members. Where
//! two names mean the same, both are accepted. Where one name has several meanings, the function that reads the member
//! documents the rule.

use std::collections::HashSet;
use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use toolway_protocol::RawJson;

use super::checks::{wrong_header_name, wrong_url, wrong_variable_name};
use super::error::{Mistake, Mistakes, SourcePosition, format_name, member_path};
use super::host::{Host, Origin};
use super::source::Node;
use super::variables::Input;
use crate::closest::closest;

/// A server as described in a file. [`resolve`](Self::resolve) returns what is needed to connect to it.
#[derive(Clone)]
#[non_exhaustive]
pub struct ServerConfig {
    /// The name in the file. It may contain any characters except control characters.
    /// [`NameRules`](crate::hub::NameRules) determine how it becomes part of the names of tools.
    pub name: String,
    /// `true` if the file disables the server. The entry of a disabled server may have mistakes, which
    /// [`resolve`](Self::resolve) reports.
    pub disabled: bool,
    /// The timeout of a request.
    pub timeout: Option<Duration>,
    /// The maximum size of a message to or from the server, in bytes (`maxMessage`).
    pub max_message: Option<usize>,
    /// The maximum number of items in a list of the server (`maxListItems`).
    pub max_list_items: Option<usize>,
    /// The maximum length of a list of the server, in bytes (`maxListBytes`).
    pub max_list_bytes: Option<usize>,
    /// Members that this library does not use, in the order of the file: `autoApprove`, `trust`, …
    pub other: Vec<(String, RawJson)>,
    pub(crate) tools: Arc<ToolFilter>,
    pub(super) endpoint: UnresolvedEndpoint,
    pub(super) inputs: Arc<[Input]>,
    pub(super) origin: Arc<Origin>,
}

impl ServerConfig {
    /// Returns the file that describes the server, if the configuration was read from a file.
    pub fn file(&self) -> Option<&Path> {
        self.origin.file.as_deref()
    }

    /// Returns the program that the file belongs to, as far as the path shows.
    pub fn host(&self) -> Option<Host> {
        self.origin.host
    }

    /// Returns whether the file allows this tool of the server: it is not in `disabledTools` or `excludeTools`, and it
    /// is in `enabledTools` and `includeTools`, where the file has these lists. A [`Hub`](crate::Hub) offers only
    /// allowed tools.
    ///
    /// ```
    /// use toolway::hub::Config;
    ///
    /// let config = Config::parse(r#"{ "mcpServers": {
    ///   "files": { "command": "files", "disabledTools": ["delete"] }
    /// } }"#)?;
    /// assert!(config.servers[0].allows_tool("read") && !config.servers[0].allows_tool("delete"));
    /// # Ok::<(), toolway::hub::ConfigError>(())
    /// ```
    pub fn allows_tool(&self, tool: &str) -> bool {
        self.tools.allows(tool)
    }

    /// Returns the directory of the project to which the file belongs; `None` for files of a user.
    pub fn project(&self) -> Option<&Path> {
        self.origin.project.as_deref()
    }
}

/// Prints the server without values that may be secret.
impl fmt::Debug for ServerConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, disabled, timeout, max_message, max_list_items, max_list_bytes, .. } = self;
        let Self { other, endpoint, .. } = self;
        let other: Vec<_> = other.iter().map(|(name, _)| name).collect();
        f.debug_struct("ServerConfig")
            .field("name", name)
            .field("kind", endpoint)
            .field("disabled", disabled)
            .field("timeout", timeout)
            .field("max_message", max_message)
            .field("max_list_items", max_list_items)
            .field("max_list_bytes", max_list_bytes)
            .field("other", &other)
            .finish_non_exhaustive()
    }
}

/// The tools of a server that a file allows.
#[derive(Debug, Clone, Default)]
pub(crate) struct ToolFilter {
    /// If present, only these tools are allowed.
    only: Option<HashSet<String>>,
    /// These tools are not allowed.
    without: HashSet<String>,
}

impl ToolFilter {
    pub(crate) fn allows(&self, tool: &str) -> bool {
        self.only.as_ref().is_none_or(|only| only.contains(tool)) && !self.without.contains(tool)
    }
}

/// How to connect to the server, with variables not yet replaced.
#[derive(Clone)]
pub(super) enum UnresolvedEndpoint {
    Command {
        program: UnexpandedText,
        args: Vec<UnexpandedText>,
        env: Vec<(String, UnexpandedText)>,
        env_file: Option<UnexpandedText>,
        cwd: Option<UnexpandedText>,
    },
    Url {
        url: UnexpandedText,
        headers: Vec<(String, UnexpandedText)>,
        sse: bool,
        oauth: Option<Box<UnresolvedOAuth>>,
    },
    /// The entry has mistakes, which do not matter as long as the server is not used.
    Invalid(Mistakes),
}

/// The member `oauth`, with variables not yet replaced.
#[derive(Clone, Default)]
pub(super) struct UnresolvedOAuth {
    pub(super) client_id: Option<UnexpandedText>,
    pub(super) client_secret: Option<UnexpandedText>,
    pub(super) redirect: Option<UnexpandedText>,
    pub(super) scopes: Option<Vec<UnexpandedText>>,
    pub(super) metadata_url: Option<UnexpandedText>,
}

/// A string of the file that may contain variables.
#[derive(Clone)]
pub(super) struct UnexpandedText {
    pub(super) written: String,
    pub(super) field: String,
    pub(super) position: SourcePosition,
}

/// The kind of server, which determines the relevant members of an entry.
#[derive(Clone, Copy)]
enum EndpointKind {
    Command,
    Url { member: &'static str, sse: bool },
}

/// Reads an entry. If the entry is an item of a list, also returns its member `name`:
/// `{"name": "github", "command": …}`. A disabled entry may have mistakes.
///
/// # Errors
///
/// Returns all mistakes in the entry.
pub(super) fn read(
    node: Node<'_>,
    path: &str,
    key: Option<&str>,
    inputs: &Arc<[Input]>,
    origin: &Arc<Origin>,
) -> Result<(Option<String>, ServerConfig), Mistakes> {
    let mut reader = ConfigReader::new(path, key);
    let blank = ServerConfig {
        name: String::new(),
        disabled: true,
        timeout: None,
        max_message: None,
        max_list_items: None,
        max_list_bytes: None,
        other: Vec::new(),
        tools: Arc::default(),
        endpoint: UnresolvedEndpoint::Invalid(Mistakes::default()),
        inputs: inputs.clone(),
        origin: origin.clone(),
    };
    match reader.read_entry(node, blank.clone()) {
        Some(read) if reader.mistakes.is_empty() => Ok(read),
        _ if is_disabled(node) => {
            let name = node.member("name").filter(|_| key.is_none()).and_then(|name| name.text().ok());
            Ok((name, ServerConfig { endpoint: UnresolvedEndpoint::Invalid(reader.mistakes), ..blank }))
        }
        _ => Err(reader.mistakes),
    }
}

/// Returns whether an entry disables its server, whatever else it contains.
fn is_disabled(node: Node<'_>) -> bool {
    let members = node.members().unwrap_or_default();
    let says = |name: &str, word: bool| {
        members.iter().any(|(key, value)| key == name && value.boolean().is_ok_and(|truth| truth == word))
    };
    says("disabled", true) || says("enabled", false)
}

/// Reads values of a file, and collects their mistakes.
pub(super) struct ConfigReader<'r> {
    path: &'r str,
    server: Option<&'r str>,
    pub(super) mistakes: Mistakes,
}

impl<'r> ConfigReader<'r> {
    pub(super) fn new(path: &'r str, server: Option<&'r str>) -> Self {
        Self { path, server, mistakes: Mistakes::default() }
    }

    fn read_entry(&mut self, node: Node<'_>, blank: ServerConfig) -> Option<(Option<String>, ServerConfig)> {
        // Computed first, because positions are found faster in the order of the file.
        let place = node.position();
        let members = self.members(self.path.to_owned(), node)?;
        let aim = self.endpoint_kind(&members, place);
        let mut server = ServerConfig { disabled: false, ..blank };
        let (mut name, mut tools) = (None, ToolFilter::default());
        let (mut program, mut args, mut env, mut env_file, mut cwd) =
            (None, Vec::new(), Vec::new(), None, None);
        let (mut url, mut headers, mut oauth) = (None, Vec::new(), None);
        for (key, value) in members {
            let field = member_path(self.path, &key);
            match (&*key, aim) {
                // Some programs write every member they know.
                _ if value.is_null() => {}
                ("name", _) if self.server.is_none() => name = self.read_value(&field, value, Node::text),
                ("type" | "transport", _) => {}
                ("disabled", _) => {
                    server.disabled |= self.read_value(&field, value, Node::boolean) == Some(true);
                }
                ("enabled", _) => {
                    server.disabled |= self.read_value(&field, value, Node::boolean) == Some(false);
                }
                ("timeout", _) => server.timeout = self.read_value(&field, value, timeout),
                ("maxMessage", _) => server.max_message = self.read_value(&field, value, byte_count),
                ("maxListItems", _) => server.max_list_items = self.read_value(&field, value, item_count),
                ("maxListBytes", _) => server.max_list_bytes = self.read_value(&field, value, byte_count),
                // Cline, Windsurf and Roo write `disabledTools`, the Gemini CLI writes `excludeTools`.
                ("disabledTools" | "excludeTools", _) => tools.without.extend(self.read_names(&field, value)),
                ("enabledTools" | "includeTools", _) => {
                    let names: HashSet<_> = self.read_names(&field, value).collect();
                    match &mut tools.only {
                        Some(only) => only.retain(|name| names.contains(name)),
                        None => tools.only = Some(names),
                    }
                }
                ("command", Some(EndpointKind::Command)) => program = self.text(field, value, self::program),
                ("args", Some(EndpointKind::Command)) => args = self.list(&field, value),
                ("env", Some(EndpointKind::Command)) => {
                    env = self.read_named(&field, value, Node::scalar, wrong_variable_name);
                }
                ("envFile", Some(EndpointKind::Command)) => env_file = self.text(field, value, Node::text),
                ("cwd", Some(EndpointKind::Command)) => cwd = self.text(field, value, Node::text),
                ("headers", Some(EndpointKind::Url { .. })) => {
                    headers = self.read_named(&field, value, Node::text, wrong_header_name);
                    self.check_duplicate_headers(&headers);
                }
                ("oauth", Some(EndpointKind::Url { .. })) => oauth = self.oauth(&field, value).map(Box::new),
                (_, Some(EndpointKind::Url { member, .. })) if key == member => {
                    url = self.text(field, value, self::url);
                }
                _ => server.other.push((key, value.raw())),
            }
        }
        server.tools = Arc::new(tools);
        server.endpoint = match aim? {
            EndpointKind::Command => {
                UnresolvedEndpoint::Command { program: program?, args, env, env_file, cwd }
            }
            EndpointKind::Url { sse, .. } => UnresolvedEndpoint::Url { url: url?, headers, sse, oauth },
        };
        Some((name, server))
    }

    /// Decides whether the server is a command or a URL: by `type`, or by the other members if `type` is missing.
    fn endpoint_kind(
        &mut self,
        members: &[(String, Node<'_>)],
        place: SourcePosition,
    ) -> Option<EndpointKind> {
        let has = |name: &str| members.iter().any(|(key, value)| key == name && !value.is_null());
        let declared = members.iter().find(|(key, value)| {
            // FastMCP and LangChain use `transport`.
            (key == "type" || key == "transport") && !value.is_null()
        });
        let declared = match declared {
            Some((key, value)) => {
                Some(self.read_value(&member_path(self.path, key), *value, self::read_type)?)
            }
            None => None,
        };
        // The Gemini CLI writes `url` for the SSE transport. For other transports, `httpUrl` takes precedence over
        // `url`.
        let addresses =
            if declared == Some(TransportKind::Sse) { ["url", "serverUrl", "httpUrl"] } else { URL_MEMBERS };
        let address = addresses.into_iter().find(|name| has(name));
        let reason = match (declared, has("command"), address) {
            (Some(TransportKind::Stdio), true, _) | (None, true, None) => return Some(EndpointKind::Command),
            (Some(TransportKind::Http | TransportKind::Sse), _, Some(member))
            | (None, false, Some(member)) => {
                return Some(EndpointKind::Url { member, sse: declared == Some(TransportKind::Sse) });
            }
            (None, true, Some(address)) => format!(
                "has both `command` and `{address}`: leave one out, or add `\"type\": \"stdio\"` or `\"type\": \"http\"`"
            ),
            (Some(TransportKind::Stdio), false, _) => {
                format!(
                    "has no `command`, which a server of its type needs{}",
                    spelling_hint(members, &["command"])
                )
            }
            (Some(TransportKind::Http | TransportKind::Sse), _, None) => {
                format!("has no `url`, which a server of its type needs{}", spelling_hint(members, &["url"]))
            }
            (None, false, None) => {
                let meant = spelling_hint(members, &["command", "url", "httpUrl", "serverUrl"]);
                format!(
                    "has neither `command` nor `url`: say how the server is started, or where it is{meant}"
                )
            }
        };
        self.add_mistake(self.path.to_owned(), place, reason);
        None
    }

    pub(super) fn list(&mut self, field: &str, value: Node<'_>) -> Vec<UnexpandedText> {
        let items = self.read_value(field, value, Node::items).unwrap_or_default();
        let items = items.into_iter().enumerate();
        items.filter_map(|(index, item)| self.text(format!("{field}[{index}]"), item, Node::text)).collect()
    }

    fn read_names(&mut self, field: &str, value: Node<'_>) -> impl Iterator<Item = String> + use<> {
        self.list(field, value).into_iter().map(|text| text.written)
    }

    /// Reads an object of names and strings: `env` or `headers`.
    fn read_named<'s>(
        &mut self,
        field: &str,
        value: Node<'s>,
        read: impl Fn(Node<'s>) -> Result<String, String>,
        wrong_name: impl Fn(&str) -> Option<&'static str>,
    ) -> Vec<(String, UnexpandedText)> {
        let mut named = Vec::new();
        let members = self.members(field.to_owned(), value).unwrap_or_default();
        for (name, value) in members.into_iter().filter(|(_, value)| !value.is_null()) {
            let field = member_path(field, &name);
            if let Some(reason) = wrong_name(&name) {
                self.add_mistake(field, value.position(), reason.to_owned());
            } else if let Some(text) = self.text(field, value, &read) {
                named.push((name, text));
            }
        }
        named
    }

    fn check_duplicate_headers(&mut self, headers: &[(String, UnexpandedText)]) {
        let mut seen = HashSet::new();
        for (name, text) in headers {
            if !seen.insert(name.to_ascii_lowercase()) {
                let reason = "occurs twice, because upper and lower case are the same in the name of a header: remove \
                              one";
                self.add_mistake(text.field.clone(), text.position, reason.to_owned());
            }
        }
    }

    /// Returns the members of an object. Duplicates are mistakes.
    pub(super) fn members<'s>(&mut self, field: String, node: Node<'s>) -> Option<Vec<(String, Node<'s>)>> {
        let members = self.read_value(&field, node, Node::members)?;
        let mut seen = HashSet::new();
        let mut twice = Vec::new();
        for (name, value) in &members {
            if !seen.insert(&**name) {
                twice.push((member_path(&field, name), value.position()));
            }
        }
        for (field, place) in twice {
            self.add_mistake(field, place, "occurs twice: remove one".to_owned());
        }
        Some(members)
    }

    pub(super) fn text<'s>(
        &mut self,
        field: String,
        value: Node<'s>,
        read: impl Fn(Node<'s>) -> Result<String, String>,
    ) -> Option<UnexpandedText> {
        let place = value.position();
        self.read_value(&field, value, read).map(|written| UnexpandedText { written, field, position: place })
    }

    pub(super) fn read_value<'s, T>(
        &mut self,
        field: &str,
        value: Node<'s>,
        read: impl Fn(Node<'s>) -> Result<T, String>,
    ) -> Option<T> {
        match read(value) {
            Ok(value) => Some(value),
            Err(reason) => {
                self.add_mistake(field.to_owned(), value.position(), reason);
                None
            }
        }
    }

    pub(super) fn add_mistake(&mut self, field: String, place: SourcePosition, message: String) {
        let server = self.server.map(str::to_owned);
        self.mistakes.push(Mistake { server, field, position: Some(place), message });
    }
}

/// Reads the value of `type`.
fn read_type(value: Node<'_>) -> Result<TransportKind, String> {
    let text = value.text()?;
    let plain: String = text.chars().filter(|letter| !"-_".contains(*letter)).collect();
    match &*plain.to_ascii_lowercase() {
        // Copilot uses `local`.
        "stdio" | "local" => Ok(TransportKind::Stdio),
        "http" | "streamablehttp" => Ok(TransportKind::Http),
        "sse" => Ok(TransportKind::Sse),
        _ => Err(format!("must be `stdio`, `http` or `sse`; found `{}`", format_name(&text))),
    }
}

fn program(value: Node<'_>) -> Result<String, String> {
    let reason = match value.text() {
        Ok(text) if text.is_empty() => "is empty: say which program is to be started",
        Err(_) if value.is_list() => {
            "must be a string; found a list: put the program here, and the rest into `args`"
        }
        read => return read,
    };
    Err(reason.to_owned())
}

pub(super) fn url(value: Node<'_>) -> Result<String, String> {
    let text = value.text()?;
    // A URL that contains a variable can be checked only when the variable's value is known.
    match wrong_url(&text).filter(|_| !text.contains('$')) {
        Some(reason) => Err(reason.to_owned()),
        None => Ok(text),
    }
}

/// Reads a timeout. Claude Code, the Gemini CLI and `FastMCP` use milliseconds, Cline and Roo seconds. The size of the
/// number decides: a number below 1000 is in seconds, because timeouts below one second are not plausible. A larger
/// number is in milliseconds, because timeouts above a quarter of an hour are not plausible.
fn timeout(value: Node<'_>) -> Result<Duration, String> {
    let number = value
        .number()
        .ok_or_else(|| format!("must be a number of milliseconds; found {}", value.describe()))?;
    let seconds = if number < SECONDS_BELOW { number } else { number / 1000.0 };
    let time = Duration::try_from_secs_f64(seconds).ok().filter(|time| !time.is_zero());
    time.ok_or_else(|| format!("must be a positive time that is not too long; found {}", value.describe()))
}

/// Reads a number of bytes. The members `maxMessage` and `maxListBytes` are specific to this library.
fn byte_count(value: Node<'_>) -> Result<usize, String> {
    count(value, "bytes, such as 16777216")
}

/// Reads a number of items. The member `maxListItems` is specific to this library.
fn item_count(value: Node<'_>) -> Result<usize, String> {
    count(value, "items, such as 10000")
}

fn count(value: Node<'_>, of_what: &str) -> Result<usize, String> {
    let is_number = |number: &f64| *number >= 1.0 && *number <= f64::from(u32::MAX) && number.fract() == 0.0;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "it is a whole number that fits"
    )]
    let number = value.number().filter(is_number).map(|number| number as usize);
    number.ok_or_else(|| format!("must be a number of {of_what}; found {}", value.describe()))
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum TransportKind {
    Stdio,
    Http,
    Sse,
}

/// Returns a hint if a member looks like a misspelling of a missing member.
fn spelling_hint(members: &[(String, Node<'_>)], missing: &[&str]) -> String {
    let slip = members.iter().find_map(|(key, _)| Some((key, closest(key, missing.iter().copied())?)));
    slip.map(|(key, meant)| format!(" (is `{}` meant to be `{meant}`?)", format_name(key)))
        .unwrap_or_default()
}

/// The members for the address of a server; the first one present is used.
pub(super) const URL_MEMBERS: [&str; 3] = ["httpUrl", "serverUrl", "url"];

/// A timeout below this number is in seconds, any other timeout in milliseconds.
const SECONDS_BELOW: f64 = 1000.0;
