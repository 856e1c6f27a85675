//! May a command use a server from a file of the project?
//!
//! A project is often another person's work. The files of the project are found because they are in the current
//! directory, and they take precedence over the files of the user. So a typed name may mean a different server than the
//! one the user knows, and the entry of that server may start any program, with any variables. Therefore the user is
//! shown all of it and asked first. If the user cannot be asked, nothing is started and nothing is sent. An answer is
//! kept for exactly what was shown (`trust.rs`).

use std::env;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use toolway::hub::config::{SearchPaths, ServerPreview, Variables};
use toolway::hub::{Config, ServerConfig};

use super::code_variables::can_load_code;
use super::endpoint::{CommandSpec, Endpoint};
use super::interrupted::interrupted;
use super::trust::{TextDigest, TrustFile, TrustedServer};
use crate::console::Console;
use crate::failure::{Failure, Result};
use crate::run_on_thread::run_on_thread;
use crate::terminal::{escape_for_terminal, escape_to_line, quote_lines};

/// The maximum number of lines of a question. What does not fit on a few screens is not read.
const MAX_QUESTION_LINES: usize = 100;

/// A server that another person may have configured.
#[derive(Debug)]
pub(crate) struct UntrustedServer {
    /// The agreement to save if the user agrees.
    trust: TrustedServer,
    /// Everything that the server would run, or where it would connect to, one line each, with a label.
    facts: Vec<(&'static str, String)>,
    /// The variables of the server that can load other code into its program.
    code_variables: Vec<String>,
    /// The environment variables that the server would get.
    variables: Vec<String>,
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
    /// Collects the facts about a server of the project, and fixes the program that it starts. `target` is the typed
    /// name.
    pub(super) fn new(
        server: &ServerConfig,
        file: &Path,
        target: &str,
        variables: &VariableLog,
        preview: &ServerPreview,
        endpoint: &mut Endpoint,
    ) -> Self {
        let mut digest = TextDigest::new();
        digest.add("toolway trust 1");
        digest.add(&server.name);
        digest.add(file.as_os_str().as_encoded_bytes());
        let mut facts = Facts { lines: Vec::new(), code_variables: Vec::new(), digest };
        let action = match (preview, endpoint) {
            (ServerPreview::Command { .. }, Endpoint::Command(start)) => facts.add_command(preview, start),
            (preview, _) => facts.add_url(preview),
        };
        // Mistakes in the user's files do not matter here.
        let hidden = Config::find_in(target, &SearchPaths::default().without_project_files()).ok();
        let sha256 = facts.digest.finish();
        Self {
            trust: TrustedServer { name: server.name.clone(), file: file.to_owned(), action, sha256 },
            facts: facts.lines,
            code_variables: facts.code_variables,
            variables: variables.names(),
            shadowed_file: hidden.and_then(|server| server.file().map(Path::to_owned)),
        }
    }

    /// Returns if the user has agreed to use the server, and asks otherwise. Fails if the user does not agree or cannot
    /// be asked.
    pub(super) async fn ask_consent(&self, console: &Console) -> Result<()> {
        let trust_file = TrustFile::of_user();
        if trust_file.as_ref().is_some_and(|file| file.contains(&self.trust)) {
            return Ok(());
        }
        if !console.can_ask {
            return Err(self.refusal("you have not agreed to use it", "run this command in a terminal; or, "));
        }
        let question = self.question();
        if question.lines().count() > MAX_QUESTION_LINES {
            let why = format!("what it says takes more than {MAX_QUESTION_LINES} lines to show");
            return Err(self.refusal(&why, ""));
        }
        console.write_message(&format!("{question}Use it? (y: until it changes, o: only this once, N: no) "));
        let answer = tokio::select! {
            answer = run_on_thread(read_line) => answer,
            () = interrupted() => return Err(Failure::interrupted()),
        };
        match answer.trim().to_ascii_lowercase().as_str() {
            "y" | "yes" => self.save(trust_file, console),
            "o" | "once" => {}
            _ => return Err(Failure::usage(format!("the server `{}` is not used", self.name()))),
        }
        Ok(())
    }

    fn save(&self, trust_file: Option<TrustFile>, console: &Console) {
        let problem = match trust_file {
            Some(file) => match file.add(self.trust.clone()) {
                Ok(()) => return,
                Err(error) => format!("{} cannot be written: {error}", file.path.display()),
            },
            None => "your home directory is not known".to_owned(),
        };
        console.write_lines(&format!("Your answer is not saved, so you will be asked again: {problem}"));
    }

    /// Returns the failure if the user cannot be asked. `first` is what the user can do instead.
    fn refusal(&self, why: &str, first: &str) -> Failure {
        let (name, file) = (self.name(), self.trust.file.display());
        let mut hint = format!("{first}if you trust the server, name its file: --config {file}");
        if let Some(own) = &self.shadowed_file {
            let _ = write!(hint, "; another server `{name}` is in {0}: --config {0}", own.display());
        }
        let words = format!("{}, and {why}: it would {}", self.description(), self.trust.action);
        Failure::usage(escape_to_line(&words)).hint(escape_to_line(&hint))
    }

    fn question(&self) -> String {
        let description = self.description();
        let mut question = quote_lines("T", "  ", &format!("{}. Using it would:", &description[1..]));
        for (label, text) in &self.facts {
            question.push_str(&quote_lines(&format!("  {label:10} "), "           | ", text));
        }
        let mut note = |words: String| question.push_str(&quote_lines("", "  ", &words));
        match &*self.variables {
            [] => {}
            [one] => note(format!("It would get the variable {one} of your environment.")),
            several => {
                note(format!("It would get the variables {} of your environment.", several.join(", ")));
            }
        }
        if let Some(own) = &self.shadowed_file {
            let (name, own) = (self.name(), own.display());
            note(escape_to_line(&format!("Another server `{name}` is in {own}; --config {own} selects it.")));
        }
        if !self.code_variables.is_empty() {
            let names = self.code_variables.join(", ");
            note(format!("CAREFUL: {names} can load other code into the program, or change what it runs."));
        }
        question
    }

    fn description(&self) -> String {
        let (name, file) = (self.name(), self.trust.file.display());
        escape_to_line(&format!(
            "the server `{name}` is described in {file}, a file of this project that another person may have written"
        ))
    }

    fn name(&self) -> String {
        escape_to_line(&self.trust.name)
    }
}

/// Collects what a user agrees to: the lines to show, and the digest of all of it. The digest contains texts as they are
/// shown, not the values of the user's own variables, which are the user's to change.
struct Facts {
    lines: Vec<(&'static str, String)>,
    code_variables: Vec<String>,
    digest: TextDigest,
}

impl Facts {
    /// Adds a program. The file that is shown becomes the program to start, so that no other one is found later. Returns
    /// the action in a few words.
    fn add_command(&mut self, preview: &ServerPreview, start: &mut CommandSpec) -> String {
        let ServerPreview::Command { program, args, env, env_file, cwd, .. } = preview else {
            return String::new();
        };
        let found = start.command().program_file();
        let is_plain = start.program.to_str() == Some(program);
        let shown = match &found {
            Some(file) if is_plain => show(&file.to_string_lossy()),
            Some(_) => show(program),
            None => format!("{} (not found)", show(program)),
        };
        if let Some(file) = found {
            start.program = file.into_os_string();
        }
        self.digest.add("command");
        self.digest.add(program);
        self.digest.add(start.program.as_encoded_bytes());
        self.lines.push(("start", shown.clone()));

        self.digest.add_all(args.iter());
        self.lines.extend(args.iter().map(|arg| ("argument", show(arg))));

        let directory = start.cwd.clone().or_else(|| env::current_dir().ok()).unwrap_or_default();
        self.digest.add(directory.as_os_str().as_encoded_bytes());
        let directory = directory.display().to_string();
        self.lines.push(("directory", show(cwd.as_ref().unwrap_or(&directory))));

        self.add_pairs(env);
        self.lines
            .extend(env.iter().map(|(name, text)| ("variable", format!("{}={}", show(name), show(text)))));
        self.add_code_variables(env.iter().map(|(name, _)| name));
        if let Some(file) = env_file {
            self.digest.add(&file.path);
            // The values of the file are the first variables of the program.
            for (name, value) in start.env.iter().take(file.names.len()) {
                self.digest.add(name.as_encoded_bytes());
                self.digest.add(value.as_encoded_bytes());
            }
            let names: Vec<_> = file.names.iter().map(|name| show(name)).collect();
            self.lines.push(("env file", format!("{}, which sets: {}", show(&file.path), names.join(", "))));
            self.add_code_variables(file.names.iter());
        }
        format!("start {shown}")
    }

    /// Adds a server over HTTP. Returns the action in a few words.
    fn add_url(&mut self, preview: &ServerPreview) -> String {
        let ServerPreview::Url { url, headers, oauth, .. } = preview else { return String::new() };
        self.digest.add("url");
        self.digest.add(url);
        self.add_pairs(headers);
        self.lines.push(("connect to", show(url)));
        self.lines.extend(headers.iter().map(|(name, _)| ("header", show(name))));
        if !oauth.is_empty() {
            self.add_pairs(oauth);
            self.lines.extend(oauth.iter().map(|(name, text)| match &**name {
                "clientSecret" => ("sign in", show(name)),
                _ => ("sign in", format!("{}={}", show(name), show(text))),
            }));
        }
        format!("connect to {}", show(url))
    }

    fn add_pairs(&mut self, pairs: &[(String, String)]) {
        self.digest.add_all(pairs.iter().map(|(name, _)| name));
        self.digest.add_all(pairs.iter().map(|(_, text)| text));
    }

    fn add_code_variables<'n>(&mut self, names: impl Iterator<Item = &'n String>) {
        self.code_variables.extend(names.filter(|name| can_load_code(name)).map(|name| show(name)));
    }
}

/// Returns a text as it is, or in quotes if it would not be read as it is.
fn show(text: &str) -> String {
    let is_odd = |letter: char| matches!(letter, '"' | '\\' | '\n' | '\t') || letter.is_control();
    if text.is_empty() || text.trim() != text || text.contains(is_odd) {
        let quoted = serde_json::to_string(text).expect("a string can be written as JSON");
        return escape_for_terminal(&quoted).into_owned();
    }
    escape_for_terminal(text).into_owned()
}

/// Reads a line from stdin; at the end of the input the line is empty.
fn read_line() -> String {
    std::io::stdin().lines().next().and_then(Result::ok).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_shown_so_that_it_cannot_be_misread() {
        for (text, shown) in [
            ("plain text", "plain text"),
            ("", "\"\""),
            (" a", "\" a\""),
            ("a\nb", "\"a\\nb\""),
            ("say \"x\"", "\"say \\\"x\\\"\""),
            ("C:\\x", "\"C:\\\\x\""),
            ("a\u{1b}[2J", "\"a\\u001b[2J\""),
            ("a\u{ad}b", "a\\u00adb"),
        ] {
            assert_eq!(show(text), shown);
        }
    }
}
