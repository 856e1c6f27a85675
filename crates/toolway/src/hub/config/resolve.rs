//! How does a client connect to a server, with variables replaced?

use std::collections::HashSet;
use std::fmt;
use std::path::{Path, PathBuf};

use super::checks::{origin_of, wrong_header, wrong_path, wrong_program, wrong_text, wrong_url};
use super::entry::{ServerConfig, UnexpandedText, UnresolvedEndpoint};
use super::env_file;
use super::error::{ConfigError, Mistake, Mistakes};
use super::host::Host;
use super::oauth_config::OAuthConfig;
use super::variables::{BareDollar, ExpandedText, Expander, MAX_EXPANDED, Variables};

/// The values needed to connect to a server.
///
/// Its `Debug` output omits everything that may be secret: arguments, values of variables and headers, and all of a URL
/// except scheme and host.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ServerKind {
    /// A program that is started and uses stdin and stdout.
    #[non_exhaustive]
    Command {
        /// The program: a path, or a name that is searched on `PATH`. It is not passed to a shell.
        program: String,
        /// The arguments.
        args: Vec<String>,
        /// Additional environment variables: first those of `envFile`, then those of `env`, which take precedence.
        env: Vec<(String, String)>,
        /// The working directory.
        cwd: Option<PathBuf>,
    },
    /// A server that is reached over HTTP.
    #[non_exhaustive]
    Url {
        /// The URL, which begins with `https://` or `http://`.
        url: String,
        /// Headers that are sent with every request.
        headers: Vec<(String, String)>,
        /// `true` if the file says that the server uses the oldest transport, with two endpoints. `false` if the file
        /// does not say so; the server may still use that transport.
        sse: bool,
        /// The settings for signing in, if the file has any.
        oauth: Option<OAuthConfig>,
    },
}

/// A description of the program that a server would run, or of the URL that it would connect to, for a question to the
/// user.
///
/// All texts can be shown: text of the file is as it is written, and an environment variable or an input is its name, as
/// in `${TOKEN}`, wherever its value is used. The parts of a text that are the same on every machine of the user, such as
/// `${workspaceFolder}`, are replaced.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ServerPreview {
    /// A program that is started.
    #[non_exhaustive]
    Command {
        /// The program: a path, or a name that is searched on `PATH`.
        program: String,
        /// The arguments.
        args: Vec<String>,
        /// The variables of `env`.
        env: Vec<(String, String)>,
        /// The file of variables that `envFile` names.
        env_file: Option<EnvFilePreview>,
        /// The working directory.
        cwd: Option<String>,
    },
    /// A server that is reached over HTTP.
    #[non_exhaustive]
    Url {
        /// The URL.
        url: String,
        /// The headers that are sent with every request.
        headers: Vec<(String, String)>,
        /// The members of `oauth`.
        oauth: Vec<(String, String)>,
    },
}

/// The file of variables of a [`ServerPreview`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct EnvFilePreview {
    /// The path of the file.
    pub path: String,
    /// The names of the variables that the file sets. In [`ServerKind::Command`], they are the first ones of `env`, in
    /// this order, with their values.
    pub names: Vec<String>,
}

impl ServerConfig {
    /// Replaces the variables, reads the `envFile` if there is one, and returns what is needed to connect.
    ///
    /// A relative `cwd` is relative to the directory of the project.
    ///
    /// # Errors
    ///
    /// Returns all missing variables, each with the field that needs it, and all values that are invalid in their
    /// field. Values are not shown.
    ///
    /// ```
    /// use toolway::hub::Config;
    /// use toolway::hub::config::Variables;
    ///
    /// let config = Config::parse(r#"{ "mcpServers": {
    ///   "mails": { "command": "mails", "env": { "TOKEN": "${MAILS_TOKEN}" } },
    ///   "files": { "command": "files" }
    /// } }"#)?;
    /// let nothing = Variables::from_fn(|_| None);
    /// assert_eq!(
    ///     config.servers[0].resolve(&nothing).unwrap_err().to_string(),
    ///     "2:52: mcpServers.mails.env.TOKEN needs the variable `MAILS_TOKEN`, which is not set: \
    ///      set it, or write `${MAILS_TOKEN:-a default}`"
    /// );
    /// assert!(config.servers[1].resolve(&nothing).is_ok());
    /// # Ok::<(), toolway::hub::ConfigError>(())
    /// ```
    pub fn resolve(&self, variables: &Variables) -> Result<ServerKind, ConfigError> {
        self.resolve_with_preview(variables).map(|(kind, _)| kind)
    }

    /// Resolves the server as [`resolve`](Self::resolve) does, and returns what can be shown to the user before the
    /// server is used. Both describe the same moment: files are read once.
    ///
    /// ```
    /// use toolway::hub::Config;
    /// use toolway::hub::config::{ServerPreview, Variables};
    ///
    /// let config = Config::parse(r#"{ "mcpServers": {
    ///   "mails": { "command": "mails", "args": ["--quiet"], "env": { "TOKEN": "${MAILS_TOKEN}" } }
    /// } }"#)?;
    /// let variables = Variables::from_fn(|_| Some("s3cret".to_owned()));
    /// let (_, preview) = config.servers[0].resolve_with_preview(&variables)?;
    /// let ServerPreview::Command { program, env, .. } = preview else { panic!("a command") };
    /// assert_eq!(program, "mails");
    /// assert_eq!(env, [("TOKEN".to_owned(), "${MAILS_TOKEN}".to_owned())]);
    /// # Ok::<(), toolway::hub::ConfigError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`resolve`](Self::resolve).
    pub fn resolve_with_preview(
        &self,
        variables: &Variables,
    ) -> Result<(ServerKind, ServerPreview), ConfigError> {
        let dollar =
            if self.origin.host == Some(Host::Gemini) { BareDollar::Variable } else { BareDollar::Text };
        let known = Expander::new(variables, &self.inputs, self.origin.project.as_deref(), dollar);
        let mut values = Resolver {
            server: &self.name,
            expander: known,
            remaining_bytes: MAX_EXPANDED,
            mistakes: Mistakes::default(),
        };
        let resolved = match &self.endpoint {
            UnresolvedEndpoint::Command { program, args, env, env_file, cwd } => {
                let program = values.resolve(program, wrong_program).unwrap_or_default();
                let args = args.iter().filter_map(|arg| values.resolve(arg, wrong_text));
                let (args, shown_args) = args.map(|arg| (arg.value, arg.shown)).unzip();
                let file = env_file.as_ref().and_then(|file| values.read_env_file(file));
                let (env, shown_env) = values.resolve_named(env, wrong_text);
                let names: HashSet<_> = env.iter().map(|(name, _)| name).collect();
                let (path, mut all) = file.map_or((None, Vec::new()), |(path, all)| (Some(path), all));
                all.retain(|(name, _)| !names.contains(name));
                let from_file = all.iter().map(|(name, _)| name.clone()).collect();
                all.extend(env);
                let cwd = cwd.as_ref().and_then(|cwd| values.resolve_path(cwd));
                let (cwd, shown_cwd) = cwd.map(|(path, shown)| (Some(path), Some(shown))).unwrap_or_default();
                let preview = ServerPreview::Command {
                    program: program.shown,
                    args: shown_args,
                    env: shown_env,
                    env_file: path.map(|path| EnvFilePreview { path, names: from_file }),
                    cwd: shown_cwd,
                };
                (ServerKind::Command { program: program.value, args, env: all, cwd }, preview)
            }
            UnresolvedEndpoint::Url { url, headers, sse, oauth } => {
                let url = values.resolve(url, wrong_url).unwrap_or_default();
                let (headers, shown_headers) = values.resolve_named(headers, wrong_header);
                let oauth = oauth.as_ref().map(|oauth| oauth.resolve(&mut values));
                let (oauth, shown_oauth) =
                    oauth.map_or((None, Vec::new()), |(oauth, shown)| (Some(oauth), shown));
                let preview =
                    ServerPreview::Url { url: url.shown, headers: shown_headers, oauth: shown_oauth };
                (ServerKind::Url { url: url.value, headers, sse: *sse, oauth }, preview)
            }
            UnresolvedEndpoint::Invalid(mistakes) => {
                return Err(ConfigError::new(self.file(), mistakes.clone()));
            }
        };
        if values.mistakes.is_empty() {
            Ok(resolved)
        } else {
            Err(ConfigError::new(self.file(), values.mistakes))
        }
    }

    /// Returns the program and its arguments as written in the file, with variables not replaced. Returns `None` for a
    /// URL, and for a disabled server whose entry has mistakes.
    ///
    /// This text can be shown to a user, because it does not contain the values of variables, which are often secrets.
    ///
    /// ```
    /// use toolway::hub::Config;
    ///
    /// let config = Config::parse(r#"{ "mcpServers": { "mails": { "command": "mails", "args": ["${TOKEN}"] } } }"#)?;
    /// assert_eq!(config.servers[0].written_command(), Some(vec!["mails", "${TOKEN}"]));
    /// # Ok::<(), toolway::hub::ConfigError>(())
    /// ```
    pub fn written_command(&self) -> Option<Vec<&str>> {
        match &self.endpoint {
            UnresolvedEndpoint::Command { program, args, .. } => {
                Some(std::iter::once(program).chain(args).map(|text| &*text.written).collect())
            }
            UnresolvedEndpoint::Url { .. } | UnresolvedEndpoint::Invalid(_) => None,
        }
    }

    /// Returns a description of the server's address for messages, without anything that may be secret.
    pub(crate) fn describe_address(&self) -> String {
        match &self.endpoint {
            UnresolvedEndpoint::Command { program, .. } => format!("`{}`", program.written),
            UnresolvedEndpoint::Url { url, .. } => origin_of(&url.written),
            UnresolvedEndpoint::Invalid(_) => "described wrongly".to_owned(),
        }
    }
}

/// Computes the values of one server's texts, and collects mistakes.
pub(super) struct Resolver<'v> {
    server: &'v str,
    expander: Expander<'v>,
    remaining_bytes: usize,
    mistakes: Mistakes,
}

impl Resolver<'_> {
    /// Returns the value, or records what is wrong with it.
    pub(super) fn resolve(
        &mut self,
        text: &UnexpandedText,
        wrong: impl Fn(&str) -> Option<&'static str>,
    ) -> Option<ExpandedText> {
        match self.expander.expand(&text.written, &mut self.remaining_bytes) {
            Ok(expanded) => match wrong(&expanded.value) {
                None => return Some(expanded),
                Some(reason) => self.add_mistake(text, reason.to_owned()),
            },
            Err(reasons) => reasons.into_iter().for_each(|reason| self.add_mistake(text, reason)),
        }
        None
    }

    /// Returns the values, and the texts that are shown for them.
    fn resolve_named(
        &mut self,
        texts: &[(String, UnexpandedText)],
        wrong: impl Fn(&str) -> Option<&'static str>,
    ) -> (NamedTexts, NamedTexts) {
        let resolved = texts.iter().filter_map(|(name, text)| {
            let ExpandedText { value, shown } = self.resolve(text, &wrong)?;
            Some(((name.clone(), value), (name.clone(), shown)))
        });
        resolved.unzip()
    }

    /// Returns a path, and the text that is shown for it. A relative path is relative to the directory of the project.
    fn resolve_path(&mut self, text: &UnexpandedText) -> Option<(PathBuf, String)> {
        let ExpandedText { value, shown } = self.resolve(text, wrong_path)?;
        let inside = |path: &str| {
            self.expander.workspace.map_or_else(|| PathBuf::from(path), |folder| folder.join(path))
        };
        let path = inside(&value);
        // A text with variables may be an absolute path, so the directory is not added to it.
        let shown = if shown == value { path.display().to_string() } else { shown };
        Some((path, shown))
    }

    /// Returns the variables of a file, and the text that is shown for its path.
    fn read_env_file(&mut self, text: &UnexpandedText) -> Option<(String, NamedTexts)> {
        let (path, shown) = self.resolve_path(text)?;
        let variables =
            env_file::read(&path, &shown).map_err(|reason| self.add_mistake(text, reason)).ok()?;
        Some((shown, variables))
    }

    fn add_mistake(&mut self, text: &UnexpandedText, message: String) {
        let (server, field) = (Some(self.server.to_owned()), text.field.clone());
        self.mistakes.push(Mistake { server, field, position: Some(text.position), message });
    }
}

/// Texts by name.
type NamedTexts = Vec<(String, String)>;

fn names_of<T>(named: &[(String, T)]) -> Vec<&str> {
    named.iter().map(|(name, _)| &**name).collect()
}

impl fmt::Debug for ServerKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Command { program, args, env, cwd } => {
                debug_command(f, program, args.len(), &names_of(env), cwd.as_deref())
            }
            Self::Url { url, headers, sse, .. } => debug_url(f, url, &names_of(headers), *sse),
        }
    }
}

impl fmt::Debug for UnresolvedEndpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Command { program, args, env, cwd, .. } => {
                let cwd = cwd.as_ref().map(|cwd| Path::new(&*cwd.written));
                debug_command(f, &program.written, args.len(), &names_of(env), cwd)
            }
            Self::Url { url, headers, sse, .. } => debug_url(f, &url.written, &names_of(headers), *sse),
            Self::Invalid(_) => f.write_str("Invalid"),
        }
    }
}

fn debug_command(
    f: &mut fmt::Formatter<'_>,
    program: &str,
    args: usize,
    env: &[&str],
    cwd: Option<&Path>,
) -> fmt::Result {
    let mut shown = f.debug_struct("Command");
    shown.field("program", &program).field("args", &format_args!("{args} of them")).field("env", &env);
    shown.field("cwd", &cwd).finish()
}

fn debug_url(f: &mut fmt::Formatter<'_>, url: &str, headers: &[&str], sse: bool) -> fmt::Result {
    let mut shown = f.debug_struct("Url");
    shown.field("url", &origin_of(url)).field("headers", &headers).field("sse", &sse).finish()
}
