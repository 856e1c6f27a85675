//! May a command use a server from a file of the project?
//!
//! A project is often another person's work. The files of the project are found because they are in the current
//! directory, and they take precedence over the files of the user. So a typed name may mean a different server than the
//! one the user knows, and the entry of that server may request any environment variable. Therefore the user is asked
//! first. If the user cannot be asked, nothing is started and nothing is sent.

use std::env;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use toolway::hub::config::{SearchPaths, Variables};
use toolway::hub::{Config, ServerConfig};

use super::interrupted::interrupted;
use crate::console::Console;
use crate::failure::{Failure, Result};
use crate::run_on_thread::run_on_thread;
use crate::terminal::escape_to_line;

/// A server that another person may have configured.
#[derive(Debug)]
pub(crate) struct UntrustedServer {
    name: String,
    file: PathBuf,
    /// The action to agree to: `start …` or `connect to …`, with the text of the file.
    action: String,
    /// The environment variables that the server would get.
    variables: VariableLog,
    /// The user's own file that has a server with this name.
    shadowed_file: Option<PathBuf>,
}

/// The names of the environment variables that a configuration has read and that are set.
#[derive(Debug, Clone, Default)]
pub(super) struct VariableLog(Arc<Mutex<Vec<String>>>);

impl VariableLog {
    /// Returns the variables of the environment. The name of each variable that is read is recorded.
    pub(super) fn variables(&self) -> Variables {
        let asked = self.clone();
        let variables = Variables::from_fn(move |name| {
            let value = env::var(name).ok()?;
            let mut names = asked.0.lock().unwrap_or_else(PoisonError::into_inner);
            if names.iter().all(|known| known != name) {
                names.push(name.to_owned());
            }
            Some(value)
        });
        match env::home_dir() {
            Some(home) => variables.home(home),
            None => variables,
        }
    }

    fn names(&self) -> Vec<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl UntrustedServer {
    /// Collects the facts about a server of the project. `target` is the typed name.
    pub(super) fn new(server: &ServerConfig, file: &Path, target: &str, variables: VariableLog) -> Self {
        let deed = match server.written_command() {
            // The command is shown completely, because the user agrees to all of it.
            Some(words) => format!("start `{}`", words.join(" ")),
            None => format!("connect to {}", origin(server.written_url().unwrap_or_default())),
        };
        // Mistakes in the user's files do not matter here.
        let hidden = Config::find_in(target, &SearchPaths::default().without_project_files()).ok();
        let hidden = hidden.and_then(|server| server.file().map(Path::to_owned));
        Self {
            name: server.name.clone(),
            file: file.to_owned(),
            action: deed,
            variables,
            shadowed_file: hidden,
        }
    }

    /// Asks the user for consent. Fails if the user does not agree or cannot be asked.
    pub(super) async fn ask_consent(&self, console: &Console) -> Result<()> {
        if !console.can_ask {
            let mut hint =
                format!("if you trust the server, name its file: --config {}", self.file.display());
            if let Some(own) = &self.shadowed_file {
                let _ =
                    write!(hint, "; another server `{}` is in {1}: --config {1}", self.name, own.display());
            }
            return Err(Failure::usage(self.description()).hint(hint));
        }
        let mut question = format!("{}.\n", self.description());
        if let Some(own) = &self.shadowed_file {
            let own = own.display();
            let _ =
                writeln!(question, "Another server `{}` is in {own}; --config {own} selects it.", self.name);
        }
        console.write_message(&format!("{question}Use it? (y/N) "));
        let answer = tokio::select! {
            answer = run_on_thread(read_line) => answer,
            () = interrupted() => return Err(Failure::interrupted()),
        };
        match answer.trim().to_ascii_lowercase().as_str() {
            "y" | "yes" => Ok(()),
            _ => Err(Failure::usage(format!("the server `{}` is not used", self.name))),
        }
    }

    fn description(&self) -> String {
        let Self { name, file, action: deed, variables, .. } = self;
        let names = variables.names();
        let with = match &*names {
            [] => String::new(),
            [one] => format!(", with the variable {one} of your environment"),
            several => format!(", with the variables {} of your environment", several.join(", ")),
        };
        let file = file.display();
        // Text from an untrusted file must not look like a line of this program.
        escape_to_line(&format!(
            "the server `{name}` is described in {file}, a file of this project that another person may have written: \
             using the server would {deed}{with}"
        ))
    }
}

/// Reads a line from stdin; at the end of the input the line is empty.
fn read_line() -> String {
    std::io::stdin().lines().next().and_then(Result::ok).unwrap_or_default()
}

/// Returns the origin of a URL from a file. If the host is not certain, because the URL contains a variable or an `@`
/// before its path, the whole text is returned.
fn origin(written: &str) -> &str {
    let Some((scheme, rest)) = written.split_once("://") else { return written };
    let is_plain = scheme.eq_ignore_ascii_case("https") || scheme.eq_ignore_ascii_case("http");
    let end = rest.find(['/', '?', '#', '\\']).unwrap_or(rest.len());
    let authority = &rest[..end];
    if is_plain && !authority.contains(['@', '$']) { &written[..scheme.len() + 3 + end] } else { written }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_a_url_leads_is_shown_without_its_path() {
        for (written, shown) in [
            ("https://a.example/mcp?key=1", "https://a.example"),
            ("HTTP://a.example:8000", "HTTP://a.example:8000"),
            ("https://a.example?x=${KEY}", "https://a.example"),
            // If the host is not obvious, the whole text is shown.
            ("https://${HOST}/mcp", "https://${HOST}/mcp"),
            ("https://a.example@b.example/mcp", "https://a.example@b.example/mcp"),
            ("${URL:-https://a.example/mcp}", "${URL:-https://a.example/mcp}"),
        ] {
            assert_eq!(origin(written), shown);
        }
    }
}
