//! Which server does the command line name?

use std::env;
use std::ffi::OsString;
use std::path::Path;

use toolway::Server;
use toolway::client::{Command, Connector, Http};
use toolway::hub::config::{OAuthConfig, ServerPreview, Variables};
use toolway::hub::{Config, ConfigError, ServerConfig, ServerKind};

use super::endpoint::BEARER_VARIABLE;
use super::untrusted::{UntrustedServer, VariableLog};
use super::{Address, CommandSpec, Endpoint, ServerLocation};
use crate::args::{LocationArgs, NoLocationArgs, TARGETS};
use crate::closest::unknown_name;
use crate::failure::{Failure, Result};

/// Options that name a server.
pub(crate) trait Find {
    /// Finds the server, and removes the word that names it.
    fn find(&self, words: &mut Vec<String>, own: Option<&Server>) -> Result<ServerLocation>;

    /// Returns the names of the servers in the file that the options name, except disabled ones; `None` if they name no file, or
    /// a command.
    fn names_in_file(&self) -> Result<Option<Vec<String>>>;
}

impl Find for NoLocationArgs {
    fn find(&self, _words: &mut Vec<String>, own: Option<&Server>) -> Result<ServerLocation> {
        let server = own.ok_or_else(|| Failure::usage("this program has no server of its own"))?;
        Ok(Endpoint::Own(Box::new(server.clone())).into())
    }

    fn names_in_file(&self) -> Result<Option<Vec<String>>> {
        Ok(None)
    }
}

impl Find for LocationArgs {
    fn find(&self, words: &mut Vec<String>, _own: Option<&Server>) -> Result<ServerLocation> {
        if let Some((program, args)) = self.command.split_first() {
            return Ok(Endpoint::Command(self.command(program.clone(), args.to_vec())?).into());
        }
        if let Some(line) = &self.line {
            let parsed = Command::parse(line)?;
            let args = parsed.get_args().map(OsString::from).collect();
            return Ok(Endpoint::Command(self.command(parsed.get_program().to_owned(), args)?).into());
        }
        if self.demo {
            let program = env::current_exe().map_err(|error| {
                Failure::usage(format!("the demo cannot be started: this program was not found: {error}"))
            })?;
            let args = ["serve", "--demo"].map(OsString::from).to_vec();
            return Ok(Endpoint::Command(self.command(program.into(), args)?).into());
        }
        if words.is_empty() {
            let failure = Failure::usage("no TARGET is given");
            return Err(match self.names_in_file()? {
                Some(names) => failure.hint(format!("the servers of the file are {}", names.join(", "))),
                None => failure.hint(TARGETS.trim_end()),
            });
        }
        let target = words.remove(0);
        if is_url(&target) {
            // A token in the environment is for servers that the user names directly, not for servers from a file.
            let mut address = self.address(target, Vec::new(), None)?;
            if address.bearer.is_none() {
                address.bearer = env::var(BEARER_VARIABLE).ok().filter(|token| !token.is_empty());
                address.is_from_environment = true;
            }
            return Ok(Endpoint::Url(address).into());
        }
        match &self.config {
            Some(file) => self.named_in(
                &Config::from_file(file).map_err(|error| config_failure(&error))?,
                file,
                &target,
            ),
            None if is_program(&target) => {
                Ok(Endpoint::Command(self.command(target.into(), Vec::new())?).into())
            }
            None => match Config::find(&target) {
                Ok(server) => self.configured(&server, Some(&target)),
                Err(error) => Err(no_server(&target, &error)),
            },
        }
    }

    fn names_in_file(&self) -> Result<Option<Vec<String>>> {
        let Some(file) = self.config.as_ref().filter(|_| self.command.is_empty() && self.line.is_none())
        else {
            return Ok(None);
        };
        let config = Config::from_file(file).map_err(|error| config_failure(&error))?;
        let enabled = config.servers.into_iter().filter(|server| !server.disabled);
        Ok(Some(enabled.map(|server| server.name).collect()))
    }
}

impl LocationArgs {
    /// Returns the server at a URL. `named` is the name that the user typed for it, and the settings of its file.
    fn address(
        &self,
        url: String,
        mut headers: Vec<(String, String)>,
        named: Option<(&str, Option<OAuthConfig>)>,
    ) -> Result<Address> {
        if !self.env.is_empty() || self.cwd.is_some() {
            return Err(Failure::usage(
                "--env and --cwd are for servers that are started here, not for URLs",
            ));
        }
        for header in &self.header {
            // The value may be a secret, so the error does not show it.
            let (name, value) = header.split_once(':').ok_or_else(|| {
                Failure::usage("--header: it must have a name and a value, such as 'X-Api-Key: 123'")
            })?;
            headers.push((name.trim().to_owned(), value.trim().to_owned()));
        }
        let bearer = self.bearer.clone();
        let (login, oauth) = match named {
            Some((name, oauth)) => (self.login_command(name), oauth),
            None => (format!("toolway login {}", quote_word(&Http::new(&url).name())), None),
        };
        Ok(Address { url, headers, bearer, is_from_environment: false, connect_timeout: None, oauth, login })
    }

    /// Returns the command that signs in to a server of a file.
    fn login_command(&self, name: &str) -> String {
        let name = quote_word(name);
        match &self.config {
            Some(file) => {
                format!("toolway login {name} --config {}", quote_word(&file.display().to_string()))
            }
            None => format!("toolway login {name}"),
        }
    }

    fn command(&self, program: OsString, args: Vec<OsString>) -> Result<CommandSpec> {
        if !self.header.is_empty() || self.bearer.is_some() {
            return Err(Failure::usage(
                "--header and --bearer are for URLs, not for servers that are started here",
            ));
        }
        let mut variables = Vec::new();
        for variable in &self.env {
            variables.push(match variable.split_once('=') {
                Some((name, value)) if !name.is_empty() => (name.into(), value.into()),
                Some(_) => return Err(Failure::usage("--env: it must have a name, such as LANG=C")),
                // The value in the current environment.
                None => match env::var_os(variable) {
                    Some(value) => (variable.into(), value),
                    None => {
                        return Err(Failure::usage(format!(
                            "--env: the variable `{variable}` is not set here"
                        ))
                        .hint(format!("give it a value: --env {variable}=VALUE")));
                    }
                },
            });
        }
        Ok(CommandSpec { program, args, env: variables, cwd: self.cwd.clone(), written: None })
    }

    fn named_in(&self, config: &Config, file: &Path, name: &str) -> Result<ServerLocation> {
        match config.server(name) {
            Some(server) => self.configured(server, None),
            None => {
                let known: Vec<_> = config.servers.iter().map(|server| &*server.name).collect();
                Err(unknown_name(&format!("{} has no server `{name}`", file.display()), name, &known))
            }
        }
    }

    /// Returns a server that a file describes. `found` is the name that the user typed, if the file was found by a
    /// search for that name.
    fn configured(&self, server: &ServerConfig, found: Option<&str>) -> Result<ServerLocation> {
        let asked = VariableLog::default();
        let untrusted = found.zip(server.file()).filter(|_| server.project().is_some());
        let variables = if untrusted.is_some() { asked.variables() } else { Variables::default() };
        let resolved = server.resolve_with_preview(&variables).map_err(|error| config_failure(&error))?;
        let (kind, mut preview) = resolved;
        let mut way = match kind {
            ServerKind::Url { url, headers, oauth, .. } => {
                let named = Some((found.unwrap_or(&server.name), oauth));
                Endpoint::Url(self.address(url, headers, named)?)
            }
            ServerKind::Command { program, args, env, cwd, .. } => {
                let args = args.into_iter().map(OsString::from).collect();
                let mut start = self.command(program.into(), args)?;
                let set = start.env;
                start.env = env.into_iter().map(|(name, value)| (name.into(), value.into())).collect();
                start.env.extend(set);
                if let (Some(own), ServerPreview::Command { cwd, .. }) = (&start.cwd, &mut preview) {
                    *cwd = Some(own.display().to_string());
                }
                start.cwd = start.cwd.or(cwd);
                let written = server.written_command();
                start.written = written.map(|words| words.into_iter().map(str::to_owned).collect());
                Endpoint::Command(start)
            }
            _ => {
                return Err(Failure::usage(format!(
                    "the server `{}` is reached in a way that this version does not support",
                    server.name
                )));
            }
        };
        let stranger = untrusted
            .map(|(target, file)| UntrustedServer::new(server, file, target, &asked, &preview, &mut way));
        let (timeout, max_message) = (server.timeout, server.max_message);
        Ok(ServerLocation {
            endpoint: way,
            file: server.file().map(Path::to_owned),
            untrusted: stranger,
            timeout,
            max_message,
            max_list: (server.max_list_items, server.max_list_bytes),
        })
    }
}

pub(crate) fn is_url(text: &str) -> bool {
    let scheme = text.split_once("://").map(|(scheme, _)| scheme.to_ascii_lowercase());
    matches!(scheme.as_deref(), Some("http" | "https"))
}

/// Returns whether the text is a path to a file. Names without a directory are names of servers.
fn is_program(text: &str) -> bool {
    text.contains(std::path::is_separator) && Path::new(text).is_file()
}

/// Returns a word as it is typed in a shell.
pub(crate) fn quote_word(word: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || ":/._-@%+=,".contains(letter);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

fn config_failure(error: &ConfigError) -> Failure {
    Failure::usage(error.to_string())
}

/// Returns the failure for an unknown server, or for a file with mistakes.
fn no_server(target: &str, error: &ConfigError) -> Failure {
    if error.file().is_some() {
        return config_failure(error);
    }
    let failure = Failure::not_found(error.to_string());
    if target.contains("://") {
        failure.hint("a URL of a server begins with http:// or https://")
    } else if target.contains(['/', '.', ':']) && !target.contains(char::is_whitespace) {
        failure.hint(format!("if it is a URL, write http://{target}; if it is a program, check its path"))
    } else {
        failure.hint("a command is written after two dashes: -- COMMAND ARG...")
    }
}
