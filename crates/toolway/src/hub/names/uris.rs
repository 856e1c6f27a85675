//! How are resources of several servers distinguished, and which server has a URI?
//!
//! A URI has a meaning: `https:` can be fetched, `file:` is a path, `ui:` is a page. A URI is therefore kept if only
//! one server claims it, and otherwise gets the prefix `hub://server/`. The lists of the servers determine the claims:
//!
//! - A resource claims its URI. A template claims every URI that begins with the text before the template's first `{`.
//! - A URI that only one server claims is kept. If two servers claim it, neither of them keeps it, so that no server
//!   can impersonate another.
//! - URIs that begin with `hub://`, and templates that do not begin with a scheme, are never kept.
//!
//! A URI with the prefix `hub://server/` always leads to that server, whether or not the prefix is needed. As with
//! names, the order of the servers does not matter. A new server changes URIs of others only where both claim the same
//! URI.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Bound;

use super::tags::Tags;
use crate::ground::insert_all::insert_all;

/// The URIs of the resources, and of the resource templates, of several servers in one list.
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
/// // Both servers have this URI, so neither of them keeps it.
/// assert_eq!(uris.uri("docs", "file:///readme").as_deref(), Some("hub://docs/file:///readme"));
/// assert_eq!(uris.route("hub://docs/file:///readme"), Some(("docs", "file:///readme")));
/// assert_eq!(uris.route("file:///readme"), None);
/// ```
#[derive(Debug, Clone, Default)]
pub struct Uris {
    tags: Tags,
    servers: BTreeMap<String, ServerUris>,
    /// For each listed URI, the server whose URI is kept unchanged; `None` if no server keeps it.
    resources: HashMap<String, Option<String>>,
    /// For each beginning that a template claims, the server that keeps URIs with this beginning; `None` if no server
    /// keeps them.
    templates: BTreeMap<String, Option<String>>,
    /// The only server, to which every URI leads unchanged.
    pub(crate) only_server: Option<String>,
}

/// The resources and templates of one server.
#[derive(Debug, Clone)]
struct ServerUris {
    resources: BTreeSet<String>,
    templates: BTreeSet<String>,
}

impl Uris {
    /// Sets the resources and templates of a server, in place of its previous ones.
    ///
    /// Keep a server that is only temporarily unavailable, so that its URIs stay reserved.
    pub fn set<R: Into<String>, T: Into<String>>(
        &mut self,
        server: &str,
        resources: impl IntoIterator<Item = R>,
        templates: impl IntoIterator<Item = T>,
    ) {
        let resources = insert_all(resources.into_iter().map(Into::into));
        let templates = insert_all(templates.into_iter().map(Into::into));
        self.set_all(server, ServerUris { resources, templates });
    }

    fn set_all(&mut self, server: &str, uris: ServerUris) {
        self.tags.insert(server);
        self.servers.insert(server.to_owned(), uris);
        self.assign_keepers();
    }

    /// Removes a server.
    pub fn remove(&mut self, server: &str) {
        self.tags.remove(server);
        if self.servers.remove(server).is_some() {
            self.assign_keepers();
        }
    }

    /// Returns the URI that a resource of a server has in the hub, whether or not the server lists the resource.
    /// Returns `None` if the server does not exist.
    ///
    /// [`route`](Self::route) is the inverse.
    pub fn uri(&self, server: &str, uri: &str) -> Option<String> {
        let is_kept = self.route(uri) == Some((server, uri));
        if is_kept { Some(uri.to_owned()) } else { self.wrap(server, uri) }
    }

    /// Returns the form that a template of a server has in the hub. The expansions of the returned template lead to the
    /// same server.
    pub fn template(&self, server: &str, template: &str) -> Option<String> {
        let keeper = self.templates.get(literal_prefix(template)).and_then(Option::as_deref);
        let keeper = keeper.or(self.only_server.as_deref());
        if keeper == Some(server) { Some(template.to_owned()) } else { self.wrap(server, template) }
    }

    /// Returns the server that a URI of the hub leads to, and the URI on that server. Returns `None` if no server, or
    /// more than one server, claims the URI.
    pub fn route<'u>(&self, uri: &'u str) -> Option<(&str, &'u str)> {
        if let Some(server) = &self.only_server {
            return Some((server, uri));
        }
        if let Some(wrapped) = uri.strip_prefix(HUB_PREFIX) {
            let (tag, uri) = wrapped.split_once('/')?;
            return Some((self.tags.server(tag)?, uri));
        }
        let keeper = self.resources.get(uri).or_else(|| self.longest_match(uri))?;
        keeper.as_deref().map(|server| (server, uri))
    }

    fn wrap(&self, server: &str, uri: &str) -> Option<String> {
        self.tags.get(server).map(|tag| format!("{HUB_PREFIX}{tag}/{uri}"))
    }

    /// Finds the server that keeps the longest claimed beginning of the URI.
    fn longest_match(&self, uri: &str) -> Option<&Option<String>> {
        let mut rest = uri;
        loop {
            let (beginning, keeper) =
                self.templates.range::<str, _>((Bound::Unbounded, Bound::Included(rest))).next_back()?;
            if rest.starts_with(&**beginning) {
                return Some(keeper);
            }
            // Any other claimed beginning of the URI is at most as long as the common prefix of the two.
            let pairs = rest.char_indices().zip(beginning.chars());
            let mut different = pairs.skip_while(|((_, left), right)| left == right);
            let ((common, _), _) = different.next()?;
            rest = &rest[..common];
        }
    }

    /// Recomputes which server keeps each URI and each beginning. One pass over all claims in sorted order is enough,
    /// because the claims that start with a given text directly follow that text.
    fn assign_keepers(&mut self) {
        let mut claims: BTreeMap<&str, Claims<'_>> = BTreeMap::new();
        for (server, listed) in &self.servers {
            for uri in &listed.resources {
                claims.entry(uri).or_default().resource.add(Claimants::One(server));
            }
            for text in listed
                .templates
                .iter()
                .map(|template| literal_prefix(template))
                .filter(|text| can_be_kept(text))
            {
                claims.entry(text).or_default().template.add(Claimants::One(server));
            }
        }
        let mut claims: Vec<_> = claims.into_iter().collect();
        // The templates that enclose the current claim, outermost first, as indices of `claims`.
        let mut around: Vec<usize> = Vec::new();
        for index in 0..claims.len() {
            let text = claims[index].0;
            while let Some(inner) = around.pop_if(|outer| !text.starts_with(claims[*outer].0)) {
                propagate_claims(&mut claims, inner, &around);
            }
            let above = around.last().map_or(Claimants::Nobody, |outer| claims[*outer].1.above);
            let claim = &mut claims[index].1;
            claim.above = above;
            claim.above.add(claim.template);
            claim.below = claim.resource;
            around.push(index);
        }
        while let Some(inner) = around.pop() {
            propagate_claims(&mut claims, inner, &around);
        }
        self.resources.clear();
        self.templates.clear();
        for (text, Claims { resource, template, above, below }) in claims {
            if resource != Claimants::Nobody {
                let keeper = above.union(resource).single().filter(|_| !text.starts_with(HUB_PREFIX));
                self.resources.insert(text.to_owned(), keeper.map(str::to_owned));
            }
            if template != Claimants::Nobody {
                self.templates.insert(text.to_owned(), above.union(below).single().map(str::to_owned));
            }
        }
    }
}

/// The servers that claim a text as a resource, and those that claim it as the beginning of a template. `above` are the
/// servers with a template whose beginning is this text or a prefix of it. `below` are the servers with a claim that
/// starts with this text.
#[derive(Debug, Clone, Copy, Default)]
struct Claims<'s> {
    resource: Claimants<'s>,
    template: Claimants<'s>,
    above: Claimants<'s>,
    below: Claimants<'s>,
}

/// The set of servers that claim something.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Claimants<'s> {
    #[default]
    Nobody,
    One(&'s str),
    Many,
}

impl<'s> Claimants<'s> {
    fn union(self, other: Self) -> Self {
        match (self, other) {
            (Self::Nobody, own) | (own, Self::Nobody) => own,
            (Self::One(left), Self::One(right)) if left == right => self,
            _ => Self::Many,
        }
    }

    fn add(&mut self, other: Self) {
        *self = self.union(other);
    }

    fn single(self) -> Option<&'s str> {
        match self {
            Self::One(server) => Some(server),
            Self::Nobody | Self::Many => None,
        }
    }
}

/// Adds the claims inside a template to the enclosing template, once all claims inside the inner template were seen.
fn propagate_claims(claims: &mut [(&str, Claims<'_>)], inner: usize, around: &[usize]) {
    if let Some(outer) = around.last() {
        let Claims { template, below, .. } = claims[inner].1;
        let outer = &mut claims[*outer].1;
        outer.below.add(template.union(below));
    }
}

/// Returns the literal beginning of all URIs that a template can expand to.
fn literal_prefix(template: &str) -> &str {
    template.split('{').next().unwrap_or_default()
}

/// Returns whether a template can be recognised by its beginning: it has a scheme, which is not `hub`, and all its
/// characters stay the same when it is expanded.
fn can_be_kept(beginning: &str) -> bool {
    let has_scheme = beginning.split_once(':').is_some_and(|(scheme, _)| {
        scheme.starts_with(|letter: char| letter.is_ascii_alphabetic())
            && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte))
    });
    let is_literal = beginning
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || b"-._~:/?#[]@!$&()*+,;=%".contains(&byte));
    has_scheme && is_literal && !beginning.starts_with(HUB_PREFIX) && !HUB_PREFIX.starts_with(beginning)
}

/// The prefix before the server's tag.
const HUB_PREFIX: &str = "hub://";
