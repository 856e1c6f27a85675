//! Which server has a URI, and what is the URI on each side?

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use toolway_protocol::types::Content;

use super::caller_clients::CallerClients;
use super::edits::Edits;
use super::parked::ParkingTable;
use super::subscriptions::SubscribedUris;
use crate::client::Client;
use crate::ground::error::Result;
use crate::hub::{Hub, Upstream};
use crate::server::Principal;

/// The servers of one mount, and the state that all calls to them share.
pub(super) struct Upstreams {
    pub(super) hub: Hub,
    /// The edits of the author.
    pub(super) edits: Edits,
    /// The clients of callers that have rights of their own; `None` if all use the client of the hub.
    pub(super) caller_clients: Option<CallerClients>,
    /// Calls whose callers have to answer questions.
    pub(super) parking: Arc<ParkingTable>,
}

/// One server of a mount. Every mounted element holds a reference to its server.
#[derive(Clone)]
pub(super) struct UpstreamRef {
    pub(super) upstreams: Arc<Upstreams>,
    pub(super) upstream: Upstream,
}

impl Upstreams {
    /// Returns the server of a URI, and the URI on that server. Returns `None` for a resource that the author does not
    /// offer.
    pub(super) fn route(&self, uri: &str) -> Option<(Upstream, String)> {
        self.find(uri).filter(|(upstream, original)| self.edits.offers_resource(&upstream.name, original))
    }

    /// Returns the server of a URI, and the URI on that server, whether or not the resource is offered.
    pub(super) fn find(&self, uri: &str) -> Option<(Upstream, String)> {
        let snapshot = self.hub.snapshot();
        let (member, original) = snapshot.resource(uri)?;
        Some((member.upstream()?, original.to_owned()))
    }

    /// Returns the URI that a resource of a server has on the gateway.
    pub(super) fn uri(&self, server: &str, uri: &str) -> Option<String> {
        self.hub.snapshot().uri(server, uri)
    }

    /// Groups resources by their server.
    pub(super) fn group_by_server(&self, uris: BTreeSet<String>) -> BTreeMap<Arc<str>, SubscribedUris> {
        let mut by_server: BTreeMap<Arc<str>, SubscribedUris> = BTreeMap::new();
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

    /// Returns the client that carries the calls of a caller.
    pub(super) async fn client_for(&self, caller: Option<&Principal>) -> Result<Client> {
        match &self.upstreams.caller_clients {
            Some(clients) => clients.get(&self.upstream.name, caller).await,
            None => Ok(self.upstream.client.clone()),
        }
    }

    /// Returns the name of a logger of the server. In a hub or a mount with a prefix, the server's name is put before
    /// it.
    pub(super) fn logger(&self, logger: Option<String>) -> Option<String> {
        let Upstreams { hub, edits, .. } = &*self.upstreams;
        if hub.is_single() && edits.prefix.is_none() {
            return logger;
        }
        Some(match logger {
            Some(logger) => format!("{}/{logger}", self.name()),
            None => self.name().to_owned(),
        })
    }

    /// Translates a URI of the server to the URI on the gateway. A URI without a translation is not changed.
    pub(super) fn translate_uri(&self, uri: &mut String) {
        if let Some(here) = self.upstreams.uri(self.name(), uri) {
            *uri = here;
        }
    }

    /// Translates the URI in a content block of a result.
    pub(super) fn translate_content(&self, content: &mut Content) {
        match content {
            Content::Link(link) => self.translate_uri(&mut link.uri),
            Content::Resource(embedded) => self.translate_uri(&mut embedded.resource.uri),
            _ => {}
        }
    }
}
