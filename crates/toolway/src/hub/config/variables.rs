//! What does `${…}` in a file stand for?
//!
//! | written | stands for |
//! |---|---|
//! | `${NAME}`, `${env:NAME}` | the environment variable |
//! | `${NAME:-text}`, `${env:NAME:-text}` | the environment variable, or the text if the variable is unset or empty |
//! | `${input:id}` | the answer to an input that the file declares |
//! | `${workspaceFolder}`, `${workspaceFolderBasename}` | the directory of the project, and its name |
//! | `${userHome}` | the user's home directory |
//! | `${pathSeparator}`, `${/}` | `/`, or `\` on Windows |
//! | `$NAME` | the environment variable, in files of the Gemini CLI only; literal text elsewhere |
//! | `$${` | the literal text `${` |
//!
//! The value of a variable is literal text: variables in it are not expanded.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::error::format_name;

/// The source of the values of variables.
///
/// The default is the environment of this process. [`from_fn`](Self::from_fn) uses a function instead, and then the
/// environment is not used at all.
///
/// ```
/// use toolway::hub::Config;
/// use toolway::hub::config::{ServerKind, Variables};
///
/// let config = Config::parse(r#"{
///   "inputs": [{ "type": "promptString", "id": "token", "description": "the token of GitHub", "password": true }],
///   "servers": {
///     "github": {
///       "type": "http",
///       "url": "${GITHUB_URL:-https://api.githubcopilot.com/mcp/}",
///       "headers": { "Authorization": "Bearer ${input:token}" }
///     }
///   }
/// }"#)?;
/// let variables = Variables::from_fn(|_| None).on_input(|input| {
///     assert!(input.password);
///     Some("s3cret".to_owned())
/// });
/// let ServerKind::Url { url, headers, .. } = config.servers[0].resolve(&variables)? else { panic!("a URL") };
/// assert_eq!(url, "https://api.githubcopilot.com/mcp/");
/// assert_eq!(headers, [("Authorization".to_owned(), "Bearer s3cret".to_owned())]);
///
/// let error = config.servers[0].resolve(&Variables::from_fn(|_| None)).unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "7:37: servers.github.headers.Authorization needs the input `token` (the token of GitHub): \
///      set the environment variable `INPUT_TOKEN`"
/// );
/// # Ok::<(), toolway::hub::ConfigError>(())
/// ```
#[derive(Clone)]
pub struct Variables {
    lookup: Lookup,
    on_input: Option<InputHandler>,
    workspace: Option<PathBuf>,
    current_dir: Option<PathBuf>,
    home: Option<PathBuf>,
}

type Lookup = Arc<dyn Fn(&str) -> Option<String> + Send + Sync>;
type InputHandler = Arc<dyn Fn(&Input) -> Option<String> + Send + Sync>;

/// A value that a file of VS Code requests from the user: in most cases a token.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Input {
    /// The id in `${input:id}`.
    pub id: String,
    /// The text of the question to the user.
    pub description: Option<String>,
    /// `true` if the answer is hidden while it is typed.
    pub password: bool,
    /// The options to choose from; empty if any text is allowed.
    pub options: Vec<String>,
    /// The value if the user does not answer.
    pub default: Option<String>,
}

impl Default for Variables {
    fn default() -> Self {
        Self {
            lookup: Arc::new(|name| std::env::var(name).ok()),
            on_input: None,
            workspace: None,
            current_dir: std::env::current_dir().ok(),
            home: std::env::home_dir(),
        }
    }
}

impl Variables {
    /// Takes the variables from a function instead of the environment. `${userHome}` is then unknown unless
    /// [`home`](Self::home) sets it. `${workspaceFolder}` is then known only for files of a project, or if
    /// [`workspace`](Self::workspace) sets it.
    pub fn from_fn(lookup: impl Fn(&str) -> Option<String> + Send + Sync + 'static) -> Self {
        Self { lookup: Arc::new(lookup), on_input: None, workspace: None, current_dir: None, home: None }
    }

    /// Sets a function that answers inputs, for example from the user or a store of secrets.
    ///
    /// If the function returns `None`, the variable whose name is `INPUT_` and the input's id in capitals is used. If
    /// that variable is not set, the input's default is used.
    pub fn on_input(mut self, answer: impl Fn(&Input) -> Option<String> + Send + Sync + 'static) -> Self {
        self.on_input = Some(Arc::new(answer));
        self
    }

    /// Sets `${workspaceFolder}`. By default it is the directory of the project that contains the file, or the current
    /// directory for files of the user.
    pub fn workspace(mut self, folder: impl Into<PathBuf>) -> Self {
        self.workspace = Some(folder.into());
        self
    }

    /// Sets `${userHome}`.
    pub fn home(mut self, folder: impl Into<PathBuf>) -> Self {
        self.home = Some(folder.into());
        self
    }
}

/// All values that variables of one file can have.
pub(super) struct Expander<'a> {
    variables: &'a Variables,
    inputs: &'a [Input],
    pub(super) workspace: Option<&'a Path>,
    dollar: BareDollar,
}

/// A text with its variables replaced, in two forms.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct ExpandedText {
    /// The value to use.
    pub(super) value: String,
    /// The text for a user: the values of environment variables and inputs, which may be secret, are replaced by
    /// `${NAME}`.
    pub(super) shown: String,
}

/// The meaning of a dollar sign without a brace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BareDollar {
    Text,
    Variable,
}

impl<'a> Expander<'a> {
    pub(super) fn new(
        variables: &'a Variables,
        inputs: &'a [Input],
        project: Option<&'a Path>,
        dollar: BareDollar,
    ) -> Self {
        let workspace = variables.workspace.as_deref().or(project).or(variables.current_dir.as_deref());
        Self { variables, inputs, workspace, dollar }
    }

    /// Replaces the variables in a text, or returns all mistakes in it. `room` is the remaining length for all texts
    /// together, in bytes.
    pub(super) fn expand(&self, text: &str, room: &mut usize) -> Result<ExpandedText, Vec<String>> {
        let mut expanded = ExpandedText::default();
        let mut wrong = Vec::new();
        for piece in split_parts(text, self.dollar) {
            let value = match piece {
                // Only a text after the escape `$$` begins with a dollar sign and continues.
                TextPart::Text(text) if text.len() > 1 && text.starts_with('$') => {
                    Ok(ExpandedText { value: text.to_owned(), shown: format!("${text}") })
                }
                TextPart::Text(text) => Ok(literal(text)),
                TextPart::Variable(inside) => self.value(inside),
                TextPart::Unclosed => {
                    Err("has a `${` without a `}`: close it, or write `$${` if it is text".to_owned())
                }
            };
            match value {
                Ok(part) if part.value.len() > *room => {
                    wrong.push(format!(
                        "is too long after its variables are replaced: all texts of a server together may have at \
                         most {MAX_EXPANDED} bytes"
                    ));
                    return Err(wrong);
                }
                Ok(part) => {
                    *room -= part.value.len();
                    expanded.value.push_str(&part.value);
                    expanded.shown.push_str(&part.shown);
                }
                Err(reason) => wrong.push(reason),
            }
        }
        if wrong.is_empty() { Ok(expanded) } else { Err(wrong) }
    }

    fn value(&self, inside: &str) -> Result<ExpandedText, String> {
        if inside.contains("${") {
            return Err("has a variable inside another variable, which is not supported".to_owned());
        }
        match inside {
            "workspaceFolder" => path_text(inside, self.workspace).map(literal),
            "workspaceFolderBasename" => {
                path_text(inside, self.workspace.and_then(Path::file_name).map(Path::new)).map(literal)
            }
            "userHome" => path_text(inside, self.variables.home.as_deref()).map(literal),
            "pathSeparator" | "/" => Ok(literal(std::path::MAIN_SEPARATOR_STR)),
            _ => match inside.split_once(':') {
                Some(("input", id)) => self.input_value(id),
                Some(("env", name)) => self.variable(name, inside),
                _ => self.variable(inside, inside),
            },
        }
    }

    fn variable(&self, text: &str, written: &str) -> Result<ExpandedText, String> {
        let (name, default) = match text.split_once(":-") {
            Some((name, default)) => (name, Some(default)),
            None => (text, None),
        };
        // Windows has names like `ProgramFiles(x86)`, which are accepted only after `env:`.
        let is_name = if text == written { is_name(name) } else { !name.is_empty() };
        if !is_name {
            // A default may be a secret, so the text after a colon is not repeated.
            let name = format_name(name.split(':').next().unwrap_or_default());
            return Err(format!(
                "has `${{{name}…}}`, which is not a known variable: write `$${{` if it is text"
            ));
        }
        let value = (self.variables.lookup)(name);
        match (value, default) {
            (Some(value), None) => Ok(hidden(value, name)),
            (Some(value), Some(_)) if !value.is_empty() => Ok(hidden(value, name)),
            (_, Some(default)) => Ok(literal(default)),
            (None, None) => {
                let name = format_name(name);
                Err(format!(
                    "needs the variable `{name}`, which is not set: set it, or write `${{{name}:-a default}}`"
                ))
            }
        }
    }

    fn input_value(&self, id: &str) -> Result<ExpandedText, String> {
        let Some(input) = self.inputs.iter().find(|input| input.id == id) else {
            return Err(format!("needs the input `{}`, which `inputs` does not declare", format_name(id)));
        };
        let variable = input.variable_name();
        let answered = self.variables.on_input.as_ref().and_then(|answer| answer(input));
        let answered = answered.or_else(|| (self.variables.lookup)(&variable));
        let answered = answered.map(|value| hidden(value, &format!("input:{id}")));
        // The default is a text of the file, and not a secret of the user.
        answered.or_else(|| input.default.clone().map(literal)).ok_or_else(|| {
            let about = input.description.as_deref().map(|text| format!(" ({})", format_name(text)));
            let (id, about) = (format_name(id), about.unwrap_or_default());
            format!(
                "needs the input `{id}`{about}: set the environment variable `{}`",
                format_name(&variable)
            )
        })
    }
}

impl Input {
    /// Returns the name of the variable that answers the input.
    fn variable_name(&self) -> String {
        let letters = self.id.chars().map(|letter| match letter {
            letter if letter.is_ascii_alphanumeric() => letter.to_ascii_uppercase(),
            _ => '_',
        });
        "INPUT_".chars().chain(letters).collect()
    }
}

fn path_text(name: &str, path: Option<&Path>) -> Result<String, String> {
    match path.map(Path::to_str) {
        Some(Some(path)) => Ok(path.to_owned()),
        Some(None) => Err(format!("needs `${{{name}}}`, whose path is not UTF-8")),
        None => Err(format!("needs `${{{name}}}`, which is not known here")),
    }
}

/// Returns a text of the file, or a path of this machine, which a user may see.
fn literal(text: impl Into<String>) -> ExpandedText {
    let value = text.into();
    ExpandedText { shown: value.clone(), value }
}

/// Returns a value that may be secret, and that is shown as the variable with this name.
fn hidden(value: String, name: &str) -> ExpandedText {
    ExpandedText { value, shown: format!("${{{name}}}") }
}

/// A part of a text.
enum TextPart<'t> {
    Text(&'t str),
    /// The text between the braces.
    Variable(&'t str),
    Unclosed,
}

fn split_parts(text: &str, dollar: BareDollar) -> Vec<TextPart<'_>> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        let (before, from) = rest.split_at(at);
        pieces.push(TextPart::Text(before));
        let behind = &from[1..];
        let name = &behind[..bare_name_len(behind, dollar)];
        let escaped =
            behind.strip_prefix('$').filter(|text| text.starts_with('{') || bare_name_len(text, dollar) > 0);
        rest = if let Some(text) = escaped {
            // The dollar sign and the text after it, up to the next dollar sign, is literal.
            let end = 1 + text.find('$').unwrap_or(text.len());
            pieces.push(TextPart::Text(&behind[..end]));
            &behind[end..]
        } else if let Some(inside) = behind.strip_prefix('{') {
            let Some((inside, rest)) = inside.split_once('}') else {
                pieces.push(TextPart::Unclosed);
                return pieces;
            };
            pieces.push(TextPart::Variable(inside));
            rest
        } else if !name.is_empty() {
            pieces.push(TextPart::Variable(name));
            &behind[name.len()..]
        } else {
            pieces.push(TextPart::Text("$"));
            behind
        };
    }
    pieces.push(TextPart::Text(rest));
    pieces
}

/// Returns the length of the name at the start of a text, if names are allowed without braces.
fn bare_name_len(text: &str, dollar: BareDollar) -> usize {
    if dollar == BareDollar::Text {
        return 0;
    }
    let length =
        text.find(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_').unwrap_or(text.len());
    if is_name(&text[..length]) { length } else { 0 }
}

fn is_name(text: &str) -> bool {
    let mut letters = text.chars();
    letters.next().is_some_and(|letter| letter.is_ascii_alphabetic() || letter == '_')
        && letters.all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
}

impl fmt::Debug for Variables {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { workspace, current_dir: here, home, .. } = self;
        f.debug_struct("Variables")
            .field("workspace", workspace)
            .field("current_dir", here)
            .field("home", home)
            .finish_non_exhaustive()
    }
}

/// Prints the input without values that may be secret.
impl fmt::Debug for Input {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { id, description, password, options, .. } = self;
        f.debug_struct("Input")
            .field("id", id)
            .field("description", description)
            .field("password", password)
            .field("options", &options.len())
            .finish_non_exhaustive()
    }
}

/// The maximum length of all expanded texts of a server together, in bytes.
pub(super) const MAX_EXPANDED: usize = 1 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    fn expander(variables: &Variables, dollar: BareDollar) -> Expander<'_> {
        Expander::new(variables, &[], Some(Path::new("/srv/shop")), dollar)
    }

    fn variables() -> Variables {
        Variables::from_fn(|name| match name {
            "NAME" => Some("Ada".to_owned()),
            "EMPTY" => Some(String::new()),
            "TRICK" => Some("${NAME} $NAME $${NAME}".to_owned()),
            "ProgramFiles(x86)" => Some("C:\\Programs".to_owned()),
            _ => None,
        })
        .home("/home/ada")
    }

    fn expanded(text: &str, dollar: BareDollar) -> Result<String, Vec<String>> {
        let text = expander(&variables(), dollar).expand(text, &mut MAX_EXPANDED.clone())?;
        Ok(text.value)
    }

    #[test]
    fn a_value_of_the_environment_is_shown_by_its_name() {
        for (text, shown) in [
            ("plain", "plain"),
            ("a ${NAME} b ${env:NAME} c", "a ${NAME} b ${NAME} c"),
            ("${NAME:-nobody} ${NOBODY:-nobody} ${EMPTY:-nobody}", "${NAME} nobody nobody"),
            ("${workspaceFolder}/x ${userHome}", "/srv/shop/x /home/ada"),
            ("$${NAME} ${TRICK}", "$${NAME} ${TRICK}"),
        ] {
            let both = expander(&variables(), BareDollar::Text).expand(text, &mut MAX_EXPANDED.clone());
            assert_eq!(both.unwrap().shown, shown, "{text}");
        }
        let both = expander(&variables(), BareDollar::Variable).expand("$NAME $$NAME", &mut 99);
        assert_eq!(both.unwrap().shown, "${NAME} $$NAME");
    }

    #[test]
    fn what_is_written_stands_for_its_value() {
        let separator = std::path::MAIN_SEPARATOR;
        for (text, expected) in [
            ("", ""),
            ("plain", "plain"),
            ("${NAME}", "Ada"),
            ("a ${NAME} b ${env:NAME} c", "a Ada b Ada c"),
            ("${EMPTY}", ""),
            ("${NAME:-nobody}", "Ada"),
            ("${NOBODY:-nobody}", "nobody"),
            ("${env:NOBODY:-no: body -}", "no: body -"),
            ("${EMPTY:-nobody}", "nobody"),
            ("${NOBODY:-}", ""),
            ("${env:ProgramFiles(x86)}", "C:\\Programs"),
            ("${workspaceFolder}/x", "/srv/shop/x"),
            ("${workspaceFolderBasename}", "shop"),
            ("${userHome}", "/home/ada"),
            ("${pathSeparator}${/}", &format!("{separator}{separator}")),
            ("$${NAME}", "${NAME}"),
            ("$${NAME} ${NAME}", "${NAME} Ada"),
            ("$$${NAME}", "$${NAME}"),
            ("$NAME $ $$ $5 $", "$NAME $ $$ $5 $"),
            ("${TRICK}", "${NAME} $NAME $${NAME}"),
        ] {
            assert_eq!(expanded(text, BareDollar::Text).as_deref(), Ok(expected), "{text}");
        }
    }

    #[test]
    fn a_dollar_alone_begins_a_variable_in_files_of_gemini_only() {
        for (text, expected) in [
            ("$NAME", "Ada"),
            ("a$NAME-b ${NAME}", "aAda-b Ada"),
            ("$$NAME $$ $5 $-", "$NAME $$ $5 $-"),
            ("$TRICK", "${NAME} $NAME $${NAME}"),
        ] {
            assert_eq!(expanded(text, BareDollar::Variable).as_deref(), Ok(expected), "{text}");
        }
        assert!(expanded("$NOBODY", BareDollar::Variable).unwrap_err()[0].contains("`NOBODY`"));
    }

    #[test]
    fn everything_that_is_missing_is_told_and_no_default_is_repeated() {
        let wrong = expanded("${ONE} ${NAME} ${TWO}", BareDollar::Text).unwrap_err();
        assert_eq!(
            wrong[0],
            "needs the variable `ONE`, which is not set: set it, or write `${ONE:-a default}`"
        );
        assert!(wrong[1].contains("`TWO`"));
        for text in [
            "${",
            "${NAME",
            "${}",
            "${a b}",
            "${config:x}",
            "${A:-${NAME}}",
            "${input:x}",
            "${1:-s3cret}",
            "${:-s3cret}",
        ] {
            let wrong = expanded(text, BareDollar::Text).unwrap_err();
            assert_eq!(wrong.len(), 1, "{text}: {wrong:?}");
            assert!(!wrong[0].contains("s3cret"), "{text}: {wrong:?}");
        }
    }

    #[test]
    fn a_text_does_not_grow_without_bound() {
        let long = "x".repeat(MAX_EXPANDED / 2);
        let variables = Variables::from_fn(move |_| Some(long.clone()));
        let known = expander(&variables, BareDollar::Text);
        assert_eq!(known.expand("${A}${A}", &mut MAX_EXPANDED.clone()).unwrap().value.len(), MAX_EXPANDED);
        let wrong = known.expand("${A}${A}!", &mut MAX_EXPANDED.clone()).unwrap_err();
        assert!(wrong[0].contains("too long"), "{wrong:?}");
    }
}
