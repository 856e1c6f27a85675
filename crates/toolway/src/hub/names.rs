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

use super::tags::{Hash, Tags, assign, fnv, hashed};
use crate::error::{Error, ErrorKind, Result};

/// What joined names look like.
///
/// ```
/// use toolway::hub::{NameRules, Names};
///
/// // Names that OpenAI and Anthropic accept: they allow no dots.
/// let mut names = Names::new(NameRules::default().with_punctuation("_-"))?;
/// names.set("files", ["read.text"]);
/// assert!(names.name("files", "read.text").unwrap().starts_with("files__read-text-"));
/// # Ok::<(), toolway::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct NameRules {
    /// What stands between server and element; `__` by default.
    pub separator: String,
    /// How long a joined name may be; 64 by default.
    pub limit: usize,
    /// Which letters are allowed besides those of ASCII and digits; `_.-` by default.
    pub punctuation: String,
}

impl Default for NameRules {
    fn default() -> Self {
        Self { separator: "__".to_owned(), limit: MAX_JOINED, punctuation: "_.-".to_owned() }
    }
}

impl NameRules {
    /// Says what stands between server and element: some of the punctuation that is allowed.
    pub fn with_separator(mut self, separator: impl Into<String>) -> Self {
        self.separator = separator.into();
        self
    }

    /// Says how long a joined name may be: 32 or more.
    pub fn with_limit(mut self, limit: usize) -> Self {
        self.limit = limit;
        self
    }

    /// Says which letters are allowed besides those of ASCII and digits.
    pub fn with_punctuation(mut self, punctuation: impl Into<String>) -> Self {
        self.punctuation = punctuation.into();
        self
    }

    fn check(&self) -> Result<()> {
        let Self { separator, limit, punctuation } = self;
        let wrong = if !punctuation.bytes().all(|byte| byte.is_ascii_punctuation()) {
            format!("the punctuation of names must be punctuation of ASCII; found {punctuation:?}")
        } else if separator.is_empty() || !separator.chars().all(|letter| punctuation.contains(letter)) {
            format!("the separator of names must be made of {punctuation:?}; found {separator:?}")
        } else if separator.len() > LONGEST_SEPARATOR {
            format!("the separator of names must not be longer than {LONGEST_SEPARATOR}; found {separator:?}")
        } else if *limit < SHORTEST_JOINED {
            format!("the limit of names must be {SHORTEST_JOINED} or more; found {limit}")
        } else {
            return Ok(());
        };
        Err(Error::new(ErrorKind::Misuse, wrong))
    }

    fn allows(&self, letter: char) -> bool {
        letter.is_ascii_alphanumeric() || self.punctuation.contains(letter)
    }

    /// What stands for letters that are not allowed. It is not in the separator, so none arises.
    pub(super) fn filler(&self) -> char {
        let usable = |letter: &char| self.punctuation.contains(*letter) && !self.separator.contains(*letter);
        ['-', '_', '.'].into_iter().find(usable).unwrap_or('x')
    }

    /// Half of what there is, so that there is always room for elements.
    pub(super) fn longest_tag(&self) -> usize {
        (self.limit - self.separator.len()) / 2
    }

    /// Whether a server's name can stand before a separator and be found again: `a_` and `__` make `a___`, in which the first
    /// `__` comes too early.
    pub(super) fn can_be_tag(&self, name: &str) -> bool {
        let joined = format!("{name}{}", self.separator);
        !name.is_empty()
            && name.chars().all(|letter| self.allows(letter))
            && joined.find(&self.separator) == Some(name.len())
    }

    pub(super) fn tag_letter(&self, letter: char) -> char {
        if self.allows(letter) && !self.separator.contains(letter) { letter } else { self.filler() }
    }
}

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

    pub(super) fn with_hash(rules: NameRules, hash: Hash) -> Self {
        let tags = Tags::new(rules.clone(), hash);
        Self { rules, hash, tags, servers: BTreeMap::new(), routes: HashMap::new() }
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
    pub(super) fn owner(&self, name: &str) -> Option<&str> {
        let (tag, _) = name.split_once(&*self.rules.separator)?;
        self.tags.server(tag)
    }

    /// All joined names, with server and element, in no order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str, &str)> {
        self.routes.iter().map(|(name, (server, element))| (&**name, &**server, &**element))
    }

    /// Joins the names of servers that are new or have another tag now.
    fn join(&mut self) {
        let Self { rules, hash, tags, servers, routes } = self;
        let changed = |name: &str, server: &Server| tags.get(name) != Some(&*server.tag);
        let changed: Vec<_> = servers.iter_mut().filter(|(name, server)| changed(name, server)).collect();
        // All old names go before the first new one comes, which may be equal to one of them.
        for old in changed.iter().flat_map(|(_, server)| server.joined.values()) {
            routes.remove(old);
        }
        for (name, server) in changed {
            name_elements(server, tags.get(name).unwrap_or_default(), rules, *hash);
            let owner: Arc<str> = Arc::from(&**name);
            for (element, joined) in &server.joined {
                routes.insert(joined.clone(), (owner.clone(), Arc::from(&**element)));
            }
        }
    }
}

fn name_elements(server: &mut Server, tag: &str, rules: &NameRules, hash: Hash) {
    let room = rules.limit - tag.len() - rules.separator.len();
    let is_kept = |name: &str| {
        !name.is_empty() && name.len() <= room && name.chars().all(|letter| rules.allows(letter))
    };
    let filler = rules.filler();
    let hashed = |name: &str, attempt| {
        let letters = name.chars().map(|letter| if rules.allows(letter) { letter } else { filler });
        hashed(letters.take(room).collect(), room, hash(name, attempt), filler)
    };
    let assigned = assign(server.elements.iter().map(String::as_str), is_kept, hashed);
    let joined = |(element, part)| (element, format!("{tag}{}{part}", rules.separator));
    server.joined = assigned.into_iter().map(joined).collect();
    tag.clone_into(&mut server.tag);
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

/// How long a joined name may be, unless the rules say something else. Most models take no longer ones.
const MAX_JOINED: usize = 64;

/// The least that a limit can be: two halves, with a hash in each and something to read before it.
const SHORTEST_JOINED: usize = 32;

/// A separator that is longer says no more.
const LONGEST_SEPARATOR: usize = 8;
