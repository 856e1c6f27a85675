//! Do names lead back to where they came from, and what is a configuration?

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::sync::{Arc, Mutex};

use toolway::fuzzing::parse_env_file;
use toolway::hub::config::Variables;
use toolway::hub::{Config, NameRules, Names, ServerKind, Uris};
use toolway_protocol::uri_template::{UriTemplate, Values};

use crate::{Outcome, split_lines};

/// Every joined name and URI leads back to its server and element, whatever the others are called, and none depends on
/// the order in which servers were added. The first line has the separator, the limit and the punctuation of names;
/// every other line a server and an element, separated by a space.
pub(crate) fn names(input: &[u8]) -> Outcome {
    let Ok(text) = std::str::from_utf8(input) else { return Outcome::Refused };
    let [rules, pairs] = split_lines(text);
    let mut words = rules.split(' ');
    let mut word = || words.next().unwrap_or_default();
    let rules = NameRules::default().with_separator(word());
    let rules = rules.with_limit(word().parse().unwrap_or(64)).with_punctuation(word());
    let mut servers: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (server, element) in pairs.lines().take(MAX_PAIRS).filter_map(|line| line.split_once(' ')) {
        servers.entry(server).or_default().insert(element);
    }
    names_lead_back(&rules, &servers);
    uris_lead_back(&servers);
    Outcome::of(Names::new(rules).is_ok() && servers.len() > 1)
}

fn names_lead_back(rules: &NameRules, servers: &BTreeMap<&str, BTreeSet<&str>>) {
    let Ok(mut names) = Names::new(rules.clone()) else { return };
    let mut backwards = names.clone();
    for (server, elements) in servers {
        names.set(server, elements.iter().copied());
    }
    backwards.set("", ["a"]);
    for (server, elements) in servers.iter().rev() {
        backwards.set(server, elements.iter().copied());
    }
    if !servers.contains_key("") {
        backwards.remove("");
    }
    for (server, elements) in servers {
        for element in elements {
            let name = names.name(server, element).unwrap();
            assert_eq!(names.route(name), Some((*server, *element)), "{name}");
            let allows = |letter: char| letter.is_ascii_alphanumeric() || rules.punctuation.contains(letter);
            assert!(name.len() <= rules.limit && name.chars().all(allows), "{name} breaks {rules:?}");
            assert!(name.contains(&*rules.separator), "{name} has no server");
            assert_eq!(backwards.name(server, element), Some(name), "the order of servers must not matter");
        }
    }
    assert_eq!(
        names.iter().count(),
        servers.values().map(BTreeSet::len).sum::<usize>(),
        "a name is shadowed"
    );
}

fn uris_lead_back(servers: &BTreeMap<&str, BTreeSet<&str>>) {
    let mut uris = Uris::default();
    for (server, elements) in servers {
        let (templates, resources): (Vec<&str>, Vec<&str>) =
            elements.iter().partition(|uri| uri.contains('{'));
        uris.set(server, resources, templates);
    }
    for (server, elements) in servers {
        for element in elements {
            let uri = uris.uri(server, element).unwrap();
            assert_eq!(uris.route(&uri), Some((*server, *element)), "{uri}");
            // The URI of a resource is not parsed as a template: `:name` after a `/` would be a variable.
            if !element.contains('{') {
                continue;
            }
            let template = uris.template(server, element).unwrap();
            let (Ok(own), Ok(joined)) = (UriTemplate::parse(element), UriTemplate::parse(&template)) else {
                continue;
            };
            let mut values = Values::new();
            for name in own.variables() {
                values.insert(name, "7");
            }
            let (own, joined) = (own.expand(&values), joined.expand(&values));
            // A resource of another server may have just this URI; then it is that server's, and the template's own URI
            // has a prefix.
            let is_listed = servers.values().any(|elements| elements.contains(&*own));
            assert!(is_listed || uris.route(&joined) == Some((*server, &*own)), "{joined} of {template}");
        }
    }
}

/// A configuration is read, or refused with mistakes; a value of a variable is neither expanded nor shown.
pub(crate) fn config(input: &[u8]) -> Outcome {
    let Ok(text) = std::str::from_utf8(input) else { return Outcome::Refused };
    if text.contains(INNER) || text.contains(SECRET) {
        return Outcome::Refused;
    }
    let config = match Config::parse(text) {
        Ok(config) => config,
        Err(error) => {
            assert!(!error.mistakes().is_empty() && !error.to_string().is_empty());
            return Outcome::Refused;
        }
    };
    let names = |config: &Config| config.servers.iter().map(|server| server.name.clone()).collect::<Vec<_>>();
    let commented = Config::parse(&format!("{text}\n// a comment\n/* another */\n")).unwrap();
    assert_eq!(names(&commented), names(&config), "a comment changes nothing");
    assert_eq!(
        names(&config).iter().collect::<BTreeSet<_>>().len(),
        config.servers.len(),
        "names are unique"
    );
    let asked: Arc<Mutex<Vec<String>>> = Arc::default();
    let record = asked.clone();
    let answer = |_: &str| format!("{SECRET}${{{INNER}}}${INNER}$${{{INNER}}}");
    let variables = Variables::from_fn(move |name| {
        record.lock().unwrap().push(name.to_owned());
        Some(answer(name))
    });
    let variables = variables.workspace("/nowhere").home("/nowhere");
    for server in &config.servers {
        match server.resolve_with_preview(&variables) {
            Ok((kind, preview)) => {
                assert!(!format!("{preview:?}").contains(SECRET), "{preview:?} shows a value");
                // A program, a directory and a host are shown, wherever they come from.
                let shown = match &kind {
                    ServerKind::Command { program, cwd, .. } => format!("{program}{cwd:?}"),
                    ServerKind::Url { url, .. } => url.split('/').nth(2).unwrap_or_default().to_owned(),
                    other => panic!("{other:?}"),
                };
                assert!(
                    shown.contains(SECRET) || !format!("{kind:?}").contains(SECRET),
                    "{kind:?} shows a value"
                );
            }
            Err(error) => assert!(!error.to_string().contains(SECRET), "{error} shows a value"),
        }
        assert!(!format!("{server:?}").contains(SECRET));
    }
    assert!(!asked.lock().unwrap().iter().any(|name| name == INNER), "a value was expanded");
    Outcome::of(!config.servers.is_empty())
}

/// A file of variables is read, or refused with the number of a line; the variables can be written and read back.
pub(crate) fn env_file(input: &[u8]) -> Outcome {
    let Ok(text) = std::str::from_utf8(input) else { return Outcome::Refused };
    let variables = match parse_env_file(text) {
        Ok(variables) => variables,
        Err(line) => {
            assert!((1..=text.lines().count()).contains(&line), "line {line}");
            return Outcome::Refused;
        }
    };
    let mut written = String::new();
    for (name, value) in &variables {
        assert!(!name.is_empty() && !name.contains(['=', '\0']) && !value.contains('\0'), "{name:?}");
        let value =
            value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n").replace('\r', "\\r");
        writeln!(written, "{name}=\"{}\" # a comment", value.replace('$', "\\$")).unwrap();
    }
    assert_eq!(parse_env_file(&written).as_ref(), Ok(&variables), "{written}");
    let names: BTreeSet<_> = variables.iter().map(|(name, _)| name).collect();
    assert_eq!(names.len(), variables.len());
    Outcome::of(!variables.is_empty())
}

/// More servers and elements find nothing new, and take longer.
const MAX_PAIRS: usize = 16;
/// The name of a variable that occurs only in the values of others.
const INNER: &str = "INNER_VARIABLE";
/// The value of every variable.
const SECRET: &str = "s3cret";
