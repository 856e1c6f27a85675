//! What are the tools of several servers called in one list, and whose is a name?
//!
//! A joined name is `server__tool`: the server's tag, a separator, and what stands for the element. No tag has the separator in
//! it, so the first one in a name ends the tag, and names of two servers cannot be equal, whatever their tools are called:
//!
//! | server | tool | joined name |
//! |---|---|---|
//! | `a` | `b__c` | `a__b__c` |
//! | `a__b` | `c` | `a--b-` and a hash, `__c` |
//!
//! A server's name is its tag if only allowed letters are in it and it takes no more than half of the room; an element keeps
//! its name if there is room for it then. Else the name is cleaned, shortened, and ends with a hash of the whole. A
//! name depends on nothing else: not on the order, and not on what other servers have. The one exception is a true
//! collision, where a name equals what was made of another one by hashing: the name that is kept stays, and the other gets
//! another hash.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use super::rules::NameRules;
use super::tags::{Hash, Tags, assign, fnv, hashed};
use crate::ground::error::Result;

/// The names of tools, or of prompts, of several servers in one list.
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
    hash: Hash,
    tags: Tags,
    servers: BTreeMap<String, Server>,
    routes: HashMap<String, (Arc<str>, Arc<str>)>,
    /// There is one server, whose names are kept as they are.
    pub(crate) is_alone: bool,
}

#[derive(Debug, Clone, Default)]
struct Server {
    /// The tag that the joined names begin with.
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
    /// Begins a list whose names follow these rules.
    ///
    /// # Errors
    ///
    /// The separator is empty, longer than 8 or not made of the punctuation; the punctuation is none; or the limit is below 32.
    pub fn new(rules: NameRules) -> Result<Self> {
        rules.check()?;
        Ok(Self::with_hash(rules, fnv))
    }

    pub(crate) fn with_hash(rules: NameRules, hash: Hash) -> Self {
        let tags = Tags::new(rules.clone(), hash);
        Self { rules, hash, tags, servers: BTreeMap::new(), routes: HashMap::new(), is_alone: false }
    }

    /// Says which elements a server has now, in place of those it had.
    ///
    /// A server that is only away for a while is better left as it is: its names stay what they are, and nobody else gets them.
    pub fn set<E: Into<String>>(&mut self, server: &str, elements: impl IntoIterator<Item = E>) {
        self.tags.insert(server);
        let elements = elements.into_iter().map(Into::into).collect();
        self.servers.insert(server.to_owned(), Server { elements, ..Server::default() });
        self.routes.retain(|_, (owner, _)| &**owner != server);
        self.join();
    }

    /// Takes a server and its elements out.
    pub fn remove(&mut self, server: &str) {
        self.tags.remove(server);
        self.servers.remove(server);
        self.routes.retain(|_, (owner, _)| &**owner != server);
        self.join();
    }

    /// The joined name of a server's element.
    pub fn name(&self, server: &str, element: &str) -> Option<&str> {
        self.servers.get(server)?.joined.get(element).map(String::as_str)
    }

    /// Whose a joined name is, and what the element is called there.
    pub fn route(&self, name: &str) -> Option<(&str, &str)> {
        self.routes.get(name).map(|(server, element)| (&**server, &**element))
    }

    /// The server whose elements begin like this name, whether it has that element or not.
    pub(crate) fn owner(&self, name: &str) -> Option<&str> {
        let (tag, _) = name.split_once(&*self.rules.separator)?;
        self.tags.server(tag)
    }

    /// All joined names, with server and element, in no order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str, &str)> {
        self.routes.iter().map(|(name, (server, element))| (&**name, &**server, &**element))
    }

    /// Joins the names of servers that are new or have another tag now.
    fn join(&mut self) {
        let Self { rules, hash, tags, servers, routes, is_alone } = self;
        let changed = |name: &str, server: &Server| tags.get(name) != Some(&*server.tag);
        let changed: Vec<_> = servers.iter_mut().filter(|(name, server)| changed(name, server)).collect();
        // All old names go before the first new one comes, which may be equal to one of them.
        for old in changed.iter().flat_map(|(_, server)| server.joined.values()) {
            routes.remove(old);
        }
        for (name, server) in changed {
            let tag = tags.get(name).unwrap_or_default();
            tag.clone_into(&mut server.tag);
            server.joined = if *is_alone {
                server.elements.iter().map(|element| (element.clone(), element.clone())).collect()
            } else {
                joined(&server.elements, tag, rules, *hash)
            };
            let owner: Arc<str> = Arc::from(&**name);
            for (element, joined) in &server.joined {
                routes.insert(joined.clone(), (owner.clone(), Arc::from(&**element)));
            }
        }
    }
}

/// The joined names of a server's elements.
fn joined(elements: &BTreeSet<String>, tag: &str, rules: &NameRules, hash: Hash) -> HashMap<String, String> {
    let room = rules.limit - tag.len() - rules.separator.len();
    let is_kept = |name: &str| {
        !name.is_empty() && name.len() <= room && name.chars().all(|letter| rules.allows(letter))
    };
    let filler = rules.filler();
    let hashed = |name: &str, attempt| {
        let letters = name.chars().map(|letter| if rules.allows(letter) { letter } else { filler });
        hashed(letters.take(room).collect(), room, hash(name, attempt), filler)
    };
    let assigned = assign(elements.iter().map(String::as_str), is_kept, hashed);
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
