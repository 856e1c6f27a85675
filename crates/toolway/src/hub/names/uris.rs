//! How are resources of several servers told apart, and whose is a URI?
//!
//! A URI means something: `https:` can be fetched, `file:` is a path, `ui:` is a page. So it is kept where only one server can mean it,
//! and is `hub://server/` and the whole of it elsewhere. Which is which follows from what the servers list:
//!
//! - a resource claims its URI, and a template every URI that begins like it, up to its first `{`;
//! - what is claimed by one server only is kept; what two servers claim is kept by neither, so that none can take the place of
//!   another;
//! - `hub://` itself, and templates that do not begin with a scheme, are never kept.
//!
//! A URI with `hub://server/` before it always leads to that server, whether it needs it or not. Like with names, the order
//! in which servers come does not matter. A server that comes changes URIs of others only where both claim the same.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Bound;

use super::tags::Tags;

/// The URIs of resources, and of templates, of several servers in one list.
///
/// ```
/// use toolway::hub::Uris;
///
/// let mut uris = Uris::default();
/// uris.set("notes", ["notes://all", "file:///readme"], ["notes://{id}"]);
/// uris.set("docs", ["file:///readme"], [""; 0]);
///
/// assert_eq!(uris.uri("notes", "notes://all").as_deref(), Some("notes://all"));
/// assert_eq!(uris.route("notes://17"), Some(("notes", "notes://17")));
///
/// // Both have it, so neither keeps it.
/// assert_eq!(uris.uri("docs", "file:///readme").as_deref(), Some("hub://docs/file:///readme"));
/// assert_eq!(uris.route("hub://docs/file:///readme"), Some(("docs", "file:///readme")));
/// assert_eq!(uris.route("file:///readme"), None);
/// ```
#[derive(Debug, Clone, Default)]
pub struct Uris {
    tags: Tags,
    servers: BTreeMap<String, Listed>,
    /// Who keeps a URI that is listed; `None` if nobody does.
    resources: HashMap<String, Option<String>>,
    /// Who keeps what begins like this.
    templates: BTreeMap<String, Option<String>>,
    /// The only server, to which every URI leads as it is.
    pub(crate) alone: Option<String>,
}

/// What one server lists.
#[derive(Debug, Clone)]
struct Listed {
    resources: BTreeSet<String>,
    templates: BTreeSet<String>,
}

impl Uris {
    /// Says which resources and templates a server lists now, in place of those it had.
    ///
    /// A server that is only away for a while is better left as it is: nobody else can keep its URIs then.
    pub fn set<R: Into<String>, T: Into<String>>(
        &mut self,
        server: &str,
        resources: impl IntoIterator<Item = R>,
        templates: impl IntoIterator<Item = T>,
    ) {
        let resources = resources.into_iter().map(Into::into).collect();
        let templates = templates.into_iter().map(Into::into).collect();
        self.tags.insert(server);
        self.servers.insert(server.to_owned(), Listed { resources, templates });
        self.settle();
    }

    /// Takes a server out.
    pub fn remove(&mut self, server: &str) {
        self.tags.remove(server);
        if self.servers.remove(server).is_some() {
            self.settle();
        }
    }

    /// What a resource of a server is called here, whether the server lists it or not. `None` if there is no such server.
    ///
    /// [`route`](Self::route) leads back.
    pub fn uri(&self, server: &str, uri: &str) -> Option<String> {
        let is_kept = self.route(uri) == Some((server, uri));
        if is_kept { Some(uri.to_owned()) } else { self.wrapped(server, uri) }
    }

    /// What a template of a server is called here. What it is expanded to is a URI of the same server.
    pub fn template(&self, server: &str, template: &str) -> Option<String> {
        let keeper = self.templates.get(beginning(template)).and_then(Option::as_deref);
        let keeper = keeper.or(self.alone.as_deref());
        if keeper == Some(server) { Some(template.to_owned()) } else { self.wrapped(server, template) }
    }

    /// Whose a URI is, and what it is there. `None` if it is nobody's, or more than one can mean it.
    pub fn route<'u>(&self, uri: &'u str) -> Option<(&str, &'u str)> {
        if let Some(server) = &self.alone {
            return Some((server, uri));
        }
        if let Some(wrapped) = uri.strip_prefix(WRAPPER) {
            let (tag, uri) = wrapped.split_once('/')?;
            return Some((self.tags.server(tag)?, uri));
        }
        let keeper = self.resources.get(uri).or_else(|| self.deepest(uri))?;
        keeper.as_deref().map(|server| (server, uri))
    }

    fn wrapped(&self, server: &str, uri: &str) -> Option<String> {
        self.tags.get(server).map(|tag| format!("{WRAPPER}{tag}/{uri}"))
    }

    /// Who keeps the longest beginning that the URI has.
    fn deepest(&self, uri: &str) -> Option<&Option<String>> {
        let mut rest = uri;
        loop {
            let (beginning, keeper) =
                self.templates.range::<str, _>((Bound::Unbounded, Bound::Included(rest))).next_back()?;
            if rest.starts_with(&**beginning) {
                return Some(keeper);
            }
            // Whatever else begins the URI is not longer than what the two have in common.
            let pairs = rest.char_indices().zip(beginning.chars());
            let mut different = pairs.skip_while(|((_, left), right)| left == right);
            let ((common, _), _) = different.next()?;
            rest = &rest[..common];
        }
    }

    /// Finds out again who keeps what: one walk over all claims in their order, in which everything that begins like a
    /// template comes right behind it.
    fn settle(&mut self) {
        let mut claims: BTreeMap<&str, Claims<'_>> = BTreeMap::new();
        for (server, listed) in &self.servers {
            for uri in &listed.resources {
                claims.entry(uri).or_default().resource.add(Own::One(server));
            }
            for text in
                listed.templates.iter().map(|template| beginning(template)).filter(|text| can_be_kept(text))
            {
                claims.entry(text).or_default().template.add(Own::One(server));
            }
        }
        let mut claims: Vec<_> = claims.into_iter().collect();
        // The templates around the current claim, outermost first, by their places in `claims`.
        let mut around: Vec<usize> = Vec::new();
        for index in 0..claims.len() {
            let text = claims[index].0;
            while let Some(inner) = around.pop_if(|outer| !text.starts_with(claims[*outer].0)) {
                tell_outer(&mut claims, inner, &around);
            }
            let above = around.last().map_or(Own::Nobody, |outer| claims[*outer].1.above);
            let claim = &mut claims[index].1;
            claim.above = above;
            claim.above.add(claim.template);
            claim.below = claim.resource;
            around.push(index);
        }
        while let Some(inner) = around.pop() {
            tell_outer(&mut claims, inner, &around);
        }
        self.resources.clear();
        self.templates.clear();
        for (text, Claims { resource, template, above, below }) in claims {
            if resource != Own::Nobody {
                let keeper = above.and(resource).one().filter(|_| !text.starts_with(WRAPPER));
                self.resources.insert(text.to_owned(), keeper.map(str::to_owned));
            }
            if template != Own::Nobody {
                self.templates.insert(text.to_owned(), above.and(below).one().map(str::to_owned));
            }
        }
    }
}

/// Who claims a text, in which way, and who claims what is around it and what begins like it.
#[derive(Debug, Clone, Copy, Default)]
struct Claims<'s> {
    resource: Own<'s>,
    template: Own<'s>,
    above: Own<'s>,
    below: Own<'s>,
}

/// The servers that claim something.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Own<'s> {
    #[default]
    Nobody,
    One(&'s str),
    Many,
}

impl<'s> Own<'s> {
    fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Nobody, own) | (own, Self::Nobody) => own,
            (Self::One(left), Self::One(right)) if left == right => self,
            _ => Self::Many,
        }
    }

    fn add(&mut self, other: Self) {
        *self = self.and(other);
    }

    fn one(self) -> Option<&'s str> {
        match self {
            Self::One(server) => Some(server),
            Self::Nobody | Self::Many => None,
        }
    }
}

/// Passes on what was found inside of a template, when all of it has been seen.
fn tell_outer(claims: &mut [(&str, Claims<'_>)], inner: usize, around: &[usize]) {
    if let Some(outer) = around.last() {
        let Claims { template, below, .. } = claims[inner].1;
        let outer = &mut claims[*outer].1;
        outer.below.add(template.and(below));
    }
}

/// What every URI begins with that a template can become.
fn beginning(template: &str) -> &str {
    template.split('{').next().unwrap_or_default()
}

/// Whether a template can be told by how it begins: there is a scheme, it is not ours, and nothing in it is written in another way
/// when it is expanded.
fn can_be_kept(beginning: &str) -> bool {
    let has_scheme = beginning.split_once(':').is_some_and(|(scheme, _)| {
        scheme.starts_with(|letter: char| letter.is_ascii_alphabetic())
            && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte))
    });
    let is_literal = beginning
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || b"-._~:/?#[]@!$&()*+,;=%".contains(&byte));
    has_scheme && is_literal && !beginning.starts_with(WRAPPER) && !WRAPPER.starts_with(beginning)
}

/// Before the server's tag.
const WRAPPER: &str = "hub://";
