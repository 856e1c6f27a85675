//! Where in a file are the servers, and what are their names?

use std::collections::HashSet;
use std::path::Path;

use super::entry::{ConfigReader, URL_MEMBERS, UnresolvedEndpoint};
use super::error::{Mistake, Mistakes, format_name, member_path};
use super::source::Node;
use super::variables::Input;
use crate::closest::closest;

/// The servers of a file, before their entries are read.
pub(super) struct ConfigLayout<'s> {
    pub(super) entries: Vec<EntryLocation<'s>>,
    pub(super) inputs: Vec<Input>,
}

/// The location of one server's entry.
pub(super) struct EntryLocation<'s> {
    /// The key of the entry; entries of lists have none.
    pub(super) key: Option<String>,
    pub(super) path: String,
    pub(super) node: Node<'s>,
}

/// Finds the servers in a file of any format. Returns `None` if the file does not have a known format.
pub(super) fn find_servers<'s>(root: Node<'s>, mistakes: &mut Mistakes) -> Option<ConfigLayout<'s>> {
    let mut layout = ConfigLayout { entries: Vec::new(), inputs: Vec::new() };
    if root.is_list() {
        layout.add("", root, mistakes);
        return Some(layout);
    }
    if !root.is_object() {
        return None;
    }
    let members = match root.members() {
        Ok(members) => members,
        Err(message) => {
            mistakes.push(Mistake::of_file(Some(root.position()), message));
            return Some(layout);
        }
    };
    let (mut servers, mut asked) = (Vec::new(), Vec::new());
    for (key, value) in &members {
        match &**key {
            "mcpServers" | "servers" => servers.push((key.clone(), *value)),
            "inputs" => asked.push((key.clone(), *value)),
            // VS Code kept servers in its settings before it had a separate file for them.
            "mcp" if value.is_object() => {
                for (key, value) in value.members().unwrap_or_default() {
                    match &*key {
                        "servers" => servers.push((member_path("mcp", &key), value)),
                        "inputs" => asked.push((member_path("mcp", &key), value)),
                        _ => {}
                    }
                }
            }
            _ => {}
        }
    }
    if !servers.is_empty() {
        for (index, (path, node)) in servers.iter().enumerate() {
            if servers[..index].iter().any(|(other, _)| other == path) {
                mistakes.push(mistake_at(path.clone(), *node, "occurs twice: remove one".to_owned()));
            }
            layout.add(path, *node, mistakes);
        }
        layout.inputs = asked.iter().flat_map(|(path, node)| read_inputs(path, *node, mistakes)).collect();
        return Some(layout);
    }
    if is_server(root) {
        layout.entries.push(EntryLocation { key: None, path: String::new(), node: root });
        return Some(layout);
    }
    // An object of servers by name at the top level.
    if !members.is_empty() && members.iter().all(|(_, value)| is_server(*value)) {
        layout.add("", root, mistakes);
        return Some(layout);
    }
    None
}

/// Finds the servers that Claude Code keeps for one project in the user's file.
pub(super) fn find_project_servers<'s>(
    root: Node<'s>,
    project: &Path,
    mistakes: &mut Mistakes,
) -> Option<ConfigLayout<'s>> {
    // Claude Code writes `/` on Windows, too.
    let project = project.to_str()?.replace('\\', "/");
    let servers = root.member("projects")?.member(&project)?.member("mcpServers")?;
    let mut layout = ConfigLayout { entries: Vec::new(), inputs: Vec::new() };
    layout.add(&format!("{}.mcpServers", member_path("projects", &project)), servers, mistakes);
    Some(layout)
}

/// Returns the mistake for a file without servers.
pub(super) fn no_servers_mistake(root: Node<'_>) -> Mistake {
    let members = root.members().unwrap_or_default();
    let known = || ["mcpServers", "servers"].into_iter();
    let slip = members.iter().find_map(|(key, _)| Some((key, closest(key, known())?)));
    let message = match slip {
        _ if !root.is_object() => {
            format!("the file must be an object or a list of servers; found {}", root.describe())
        }
        Some((key, meant)) => format!("the file has no servers: is `{}` meant to be `{meant}`?", format_name(key)),
        None => {
            "the file has no servers: write `{ \"mcpServers\": { \"a name\": { \"command\": \"a program\", \"args\": \
             [] } } }`"
                .to_owned()
        }
    };
    Mistake::of_file(Some(root.position()), message)
}

fn mistake_at(field: String, node: Node<'_>, message: String) -> Mistake {
    Mistake { server: None, field, position: Some(node.position()), message }
}

impl<'s> ConfigLayout<'s> {
    /// Adds servers from an object by name, or from a list.
    fn add(&mut self, path: &str, servers: Node<'s>, mistakes: &mut Mistakes) {
        if servers.is_null() {
            return;
        }
        let outcome = if servers.is_list() {
            let named = |(index, node)| EntryLocation { key: None, path: format!("{path}[{index}]"), node };
            servers.items().map(|items| self.entries.extend(items.into_iter().enumerate().map(named)))
        } else {
            let named = |(key, node): (String, Node<'s>)| EntryLocation {
                path: member_path(path, &key),
                key: Some(key),
                node,
            };
            servers.members().map(|members| self.entries.extend(members.into_iter().map(named)))
        };
        if let Err(message) = outcome {
            mistakes.push(mistake_at(path.to_owned(), servers, message));
        }
    }
}

fn is_server(node: Node<'_>) -> bool {
    let members = if node.is_object() { node.members().unwrap_or_default() } else { Vec::new() };
    members
        .iter()
        .any(|(key, value)| !value.is_object() && (key == "command" || URL_MEMBERS.contains(&&**key)))
}

fn read_inputs(path: &str, node: Node<'_>, mistakes: &mut Mistakes) -> Vec<Input> {
    let mut inputs = Vec::new();
    let mut reader = ConfigReader::new(path, None);
    let items = if node.is_null() { None } else { reader.read_value(path, node, Node::items) };
    for (index, item) in items.unwrap_or_default().into_iter().enumerate() {
        let field = format!("{path}[{index}]");
        let Some(members) = reader.read_value(&field, item, Node::members) else { continue };
        let (mut id, mut description, mut password, mut options, mut default) =
            (None, None, None, None, None);
        for (key, value) in members.into_iter().filter(|(_, value)| !value.is_null()) {
            let field = member_path(&field, &key);
            match &*key {
                "id" => id = reader.read_value(&field, value, Node::text).or(id),
                "description" => description = reader.read_value(&field, value, Node::text).or(description),
                "password" => password = reader.read_value(&field, value, Node::boolean).or(password),
                "default" => default = reader.read_value(&field, value, Node::scalar).or(default),
                "options" => options = reader.read_value(&field, value, Node::items).or(options),
                _ => {}
            }
        }
        match id.filter(|id| !id.is_empty()) {
            Some(id) => inputs.push(Input {
                id,
                description,
                password: password.unwrap_or_default(),
                options: options.unwrap_or_default().into_iter().filter_map(read_option).collect(),
                default,
            }),
            None => {
                reader.add_mistake(
                    field,
                    item.position(),
                    "has no `id` by which a variable can refer to it".to_owned(),
                );
            }
        }
    }
    mistakes.extend(reader.mistakes);
    inputs
}

/// Reads an option, which is a text or an object with a `value`.
fn read_option(node: Node<'_>) -> Option<String> {
    let value = if node.is_object() { node.member("value")? } else { node };
    value.scalar().ok()
}

/// Returns a name for a server without a name: the name of its program or host, with a number if that name is taken.
pub(super) fn generate_name(endpoint: &UnresolvedEndpoint, taken: &HashSet<String>) -> String {
    let name = match endpoint {
        UnresolvedEndpoint::Command { program, args, .. } => {
            let program = stem(&program.written);
            // For an interpreter or a package runner, the first argument that is not an option is more specific than
            // the name of the program.
            let run = args.iter().map(|arg| &*arg.written).find(|arg| !arg.starts_with('-'));
            match run.map(stem).filter(|run| RUNNERS.contains(&program) && !run.is_empty()) {
                Some(run) => run,
                None => program,
            }
        }
        UnresolvedEndpoint::Url { url, .. } => {
            let behind = url.written.split_once("://").map_or("", |(_, behind)| behind);
            let authority = behind.split(['/', '?', '#']).next().unwrap_or_default();
            let host = authority.rsplit('@').next().unwrap_or_default();
            host.split(':').next().unwrap_or_default()
        }
        UnresolvedEndpoint::Invalid(_) => "",
    };
    let safe = |letter: char| letter.is_ascii_alphanumeric() || "._-".contains(letter);
    let name: String =
        name.chars().take(MAX_GENERATED_NAME).map(|letter| if safe(letter) { letter } else { '-' }).collect();
    let name = name.trim_matches(['-', '.']);
    let name = if name.is_empty() { "server" } else { name };
    let numbered = (2..).map(|number| format!("{name}-{number}"));
    let mut names = std::iter::once(name.to_owned()).chain(numbered);
    names.find(|name| !taken.contains(name)).expect("there is always a free number")
}

/// Returns `weather` for `/usr/lib/weather.py`, `@acme/weather@1.2` and `C:\tools\weather.exe`.
fn stem(path: &str) -> &str {
    let last = path.trim_end_matches(['/', '\\']).rsplit(['/', '\\']).next().unwrap_or_default();
    let last = last.split_once('@').map_or(last, |(name, _)| name);
    match last.rsplit_once('.') {
        Some((stem, ending)) if !stem.is_empty() && EXTENSIONS.contains(&ending) => stem,
        _ => last,
    }
}

const RUNNERS: [&str; 12] =
    ["npx", "bunx", "pnpx", "uvx", "pipx", "node", "bun", "tsx", "python", "python3", "ruby", "php"];

const EXTENSIONS: [&str; 9] = ["js", "mjs", "cjs", "ts", "py", "rb", "php", "exe", "cmd"];

/// The maximum length of a generated name, in characters.
const MAX_GENERATED_NAME: usize = 40;
