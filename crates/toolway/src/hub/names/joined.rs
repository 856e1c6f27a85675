//! Which names do the tools of several servers have in one list, and which server has a name?
//!
//! A joined name is `server__tool`: the server's tag, a separator, and a part for the element. No tag contains the
//! separator, so the first separator in a name ends the tag. Names of two servers can therefore never be equal,
//! whatever the names of their tools are:
//!
//! | server | tool | joined name |
//! |---|---|---|
//! | `a` | `b__c` | `a__b__c` |
//! | `a__b` | `c` | `a--b-`, a hash and `__c` |
//!
//! The tag of a server is its name, if the name has only allowed characters, does not contain the separator, and is at
//! most half as long as a joined name may be. An element keeps its name if the name has only allowed characters and
//! fits in the rest. Otherwise the name is cleaned, truncated, and ends with a hash of the original name. A joined name
//! depends neither on the order of servers nor on the elements of other servers. The only exception is a true
//! collision, where an original name equals a hashed name: the original name is kept, and the hashed name gets another
//! hash.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use super::rules::NameRules;
use super::tags::{HashFn, Tags, assign_names, fnv, hashed_name};
use crate::ground::error::Result;
use crate::ground::insert_all::insert_all;

/// The names of the tools, or of the prompts, of several servers in one list.
///
/// ```
/// use toolway::hub::Names;
///
/// let mut names = Names::default();
/// names.set("github", ["search", "create_issue"]);
/// names.set("mails", ["search"]);
/// assert_eq!(names.name("github", "search"), Some("github__search"));
/// assert_eq!(names.name("mails", "search"), Some("mails__search"));
/// assert_eq!(names.route("mails__search"), Some(("mails", "search")));
/// assert_eq!(names.route("mails__create_issue"), None);
/// ```
#[derive(Debug, Clone)]
pub struct Names {
    rules: NameRules,
    hash: HashFn,
    tags: Tags,
    servers: BTreeMap<String, ServerNames>,
    routes: HashMap<String, (Arc<str>, Arc<str>)>,
    /// `true` if there is only one server, whose names are not changed.
    pub(crate) is_single: bool,
}

#[derive(Debug, Clone, Default)]
struct ServerNames {
    /// The prefix of the joined names.
    tag: String,
    elements: BTreeSet<String>,
    joined: HashMap<String, String>,
}

impl Default for Names {
    fn default() -> Self {
        Self::with_hash(NameRules::default(), fnv)
    }
}

impl Names {
    /// Creates an empty list whose names follow these rules.
    ///
    /// # Errors
    ///
    /// Returns an error if the separator is empty, longer than 8 characters or not made of the punctuation, if the
    /// punctuation is not ASCII punctuation, or if the limit is below 32.
    pub fn new(rules: NameRules) -> Result<Self> {
        rules.check()?;
        Ok(Self::with_hash(rules, fnv))
    }

    pub(crate) fn with_hash(rules: NameRules, hash: HashFn) -> Self {
        let tags = Tags::new(rules.clone(), hash);
        Self { rules, hash, tags, servers: BTreeMap::new(), routes: HashMap::new(), is_single: false }
    }

    /// Sets the elements of a server, in place of its previous ones.
    ///
    /// Keep a server that is only temporarily unavailable, so that its names stay reserved and do not change.
    pub fn set<E: Into<String>>(&mut self, server: &str, elements: impl IntoIterator<Item = E>) {
        self.set_all(server, insert_all(elements.into_iter().map(Into::into)));
    }

    fn set_all(&mut self, server: &str, elements: BTreeSet<String>) {
        self.tags.insert(server);
        self.servers.insert(server.to_owned(), ServerNames { elements, ..ServerNames::default() });
        self.routes.retain(|_, (owner, _)| &**owner != server);
        self.join();
    }

    /// Removes a server and its elements.
    pub fn remove(&mut self, server: &str) {
        self.tags.remove(server);
        self.servers.remove(server);
        self.routes.retain(|_, (owner, _)| &**owner != server);
        self.join();
    }

    /// Returns the joined name of an element of a server.
    pub fn name(&self, server: &str, element: &str) -> Option<&str> {
        self.servers.get(server)?.joined.get(element).map(String::as_str)
    }

    /// Returns the server of a joined name, and the element's name on that server.
    pub fn route(&self, name: &str) -> Option<(&str, &str)> {
        self.routes.get(name).map(|(server, element)| (&**server, &**element))
    }

    /// Returns the server to which the prefix of this name belongs, whether or not the server has that element.
    pub(crate) fn owner(&self, name: &str) -> Option<&str> {
        let (tag, _) = name.split_once(&*self.rules.separator)?;
        self.tags.server(tag)
    }

    /// Iterates over all joined names, each with its server and element, in arbitrary order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str, &str)> {
        self.routes.iter().map(|(name, (server, element))| (&**name, &**server, &**element))
    }

    /// Joins the names of servers that are new or whose tag changed.
    fn join(&mut self) {
        let Self { rules, hash, tags, servers, routes, is_single: is_alone } = self;
        let changed = |name: &str, server: &ServerNames| tags.get(name) != Some(&*server.tag);
        let changed: Vec<_> = servers.iter_mut().filter(|(name, server)| changed(name, server)).collect();
        // All old names are removed first, because a new name may be equal to an old one.
        for old in changed.iter().flat_map(|(_, server)| server.joined.values()) {
            routes.remove(old);
        }
        for (name, server) in changed {
            let tag = tags.get(name).unwrap_or_default();
            tag.clone_into(&mut server.tag);
            server.joined = if *is_alone {
                server.elements.iter().map(|element| (element.clone(), element.clone())).collect()
            } else {
                join_names(&server.elements, tag, rules, *hash)
            };
            let owner: Arc<str> = Arc::from(&**name);
            for (element, joined) in &server.joined {
                routes.insert(joined.clone(), (owner.clone(), Arc::from(&**element)));
            }
        }
    }
}

/// Creates the joined names of the elements of a server.
fn join_names(
    elements: &BTreeSet<String>,
    tag: &str,
    rules: &NameRules,
    hash: HashFn,
) -> HashMap<String, String> {
    let room = rules.limit - tag.len() - rules.separator.len();
    let is_kept = |name: &str| {
        !name.is_empty() && name.len() <= room && name.chars().all(|letter| rules.allows(letter))
    };
    let filler = rules.filler();
    let hashed = |name: &str, attempt| {
        let letters = name.chars().map(|letter| if rules.allows(letter) { letter } else { filler });
        hashed_name(letters.take(room).collect(), room, hash(name, attempt), filler)
    };
    let assigned = assign_names(elements.iter().map(String::as_str), is_kept, hashed);
    let join = |(element, part)| (element, format!("{tag}{}{part}", rules.separator));
    assigned.into_iter().map(join).collect()
}

impl<S: Into<String>, E: Into<String>> FromIterator<(S, E)> for Names {
    fn from_iter<P: IntoIterator<Item = (S, E)>>(pairs: P) -> Self {
        let mut servers: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for (server, element) in pairs {
            servers.entry(server.into()).or_default().push(element.into());
        }
        let mut names = Self::default();
        for (server, elements) in servers {
            names.set(&server, elements);
        }
        names
    }
}
