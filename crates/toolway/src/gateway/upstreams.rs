//! Whose is a URI, and what is it called on each side?

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use toolway_protocol::types::Content;

use super::edits::Edits;
use super::parked::Parkings;
use super::subscriptions::Uris;
use crate::hub::{Hub, Upstream};

/// The servers of one mount, and what all calls that are passed on to them share.
pub(super) struct Upstreams {
    pub(super) hub: Hub,
    /// The changes of the author.
    pub(super) edits: Edits,
    /// Calls whose callers are being asked.
    pub(super) parkings: Arc<Parkings>,
}

/// A server of a mount, for the elements that it has.
#[derive(Clone)]
pub(super) struct UpstreamRef {
    pub(super) upstreams: Arc<Upstreams>,
    pub(super) upstream: Upstream,
}

impl Upstreams {
    /// Whose a URI is, and what it is there. A resource that the author does not offer has no route.
    pub(super) fn route(&self, uri: &str) -> Option<(Upstream, String)> {
        self.find(uri).filter(|(upstream, original)| self.edits.offers_resource(&upstream.name, original))
    }

    /// The same, offered or not.
    pub(super) fn find(&self, uri: &str) -> Option<(Upstream, String)> {
        let snapshot = self.hub.snapshot();
        let (member, original) = snapshot.resource(uri)?;
        Some((member.upstream()?, original.to_owned()))
    }

    /// What a resource of a server is called here.
    pub(super) fn uri(&self, server: &str, uri: &str) -> Option<String> {
        self.hub.snapshot().uri(server, uri)
    }

    /// Which resources of which server these are.
    pub(super) fn by_server(&self, uris: BTreeSet<String>) -> BTreeMap<Arc<str>, Uris> {
        let mut by_server: BTreeMap<Arc<str>, Uris> = BTreeMap::new();
        for uri in uris {
            if let Some((upstream, original)) = self.route(&uri) {
                by_server.entry(upstream.name).or_default().entry(original).or_default().insert(uri);
            }
        }
        by_server
    }
}

impl UpstreamRef {
    pub(super) fn name(&self) -> &str {
        &self.upstream.name
    }

    /// The name of the part of the server that speaks to the log, as it is called here.
    pub(super) fn logger(&self, logger: Option<String>) -> Option<String> {
        let Upstreams { hub, edits, .. } = &*self.upstreams;
        if hub.is_alone() && edits.prefix.is_none() {
            return logger;
        }
        Some(match logger {
            Some(logger) => format!("{}/{logger}", self.name()),
            None => self.name().to_owned(),
        })
    }

    /// Turns a URI of the server into that of here. One that is called nothing here stays as it is.
    pub(super) fn rename(&self, uri: &mut String) {
        if let Some(here) = self.upstreams.uri(self.name(), uri) {
            *uri = here;
        }
    }

    /// The same for a URI in a result.
    pub(super) fn rename_in(&self, content: &mut Content) {
        match content {
            Content::Link(link) => self.rename(&mut link.uri),
            Content::Resource(embedded) => self.rename(&mut embedded.resource.uri),
            _ => {}
        }
    }
}
