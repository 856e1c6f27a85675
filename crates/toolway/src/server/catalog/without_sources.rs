//! The replacement for `source.rs` when the feature `client` is off: all elements are the server's own.
#![expect(
    clippy::unused_self,
    reason = "the functions of `source.rs` have the same signatures and use `self`"
)]

use toolway_protocol::Request;
use toolway_protocol::capability::ServerCapabilities;
use toolway_protocol::jsonrpc::Params;
use toolway_protocol::types::ReadResourceResult;

use crate::ground::future::BoxFuture;
use crate::server::Server;
use crate::server::call::layer::stack::LayerStack;
use crate::server::call::required_scopes::RequiredScopes;
use crate::server::call::scope::{Arrival, Scope};
use crate::server::call::visibility::Visibility;
use crate::server::catalog::registry::Snapshot;
use crate::server::catalog::resource::ReadRequest;
use crate::server::failure::errors::Failure;

/// A source, which cannot exist here.
#[derive(Debug)]
pub(crate) enum SourceConfig {}

impl SourceConfig {
    pub(crate) fn add_prefix(&mut self, _: &str) {
        match *self {}
    }

    pub(crate) fn wrap_with(&mut self, _: &LayerStack) {
        match *self {}
    }

    pub(crate) fn capabilities(&self) -> ServerCapabilities {
        match *self {}
    }
}

/// An empty set of sources.
pub(crate) struct Sources(());

impl Sources {
    pub(crate) fn new(_: Vec<SourceConfig>) -> Self {
        Self(())
    }

    pub(crate) async fn read(
        &self,
        _: &ReadRequest,
        _: &Scope,
        _: Option<&Visibility>,
    ) -> Result<ReadResourceResult, Failure> {
        Err(Failure::NotFound)
    }

    pub(crate) fn have_layers(&self) -> bool {
        false
    }

    pub(crate) fn have_scopes(&self) -> bool {
        false
    }

    pub(crate) fn scopes_for(&self, _: &str) -> impl Iterator<Item = &RequiredScopes> {
        std::iter::empty()
    }

    pub(crate) fn layers_for(
        &self,
        _: &Snapshot,
        _: &Request,
        _: Option<&Visibility>,
    ) -> Option<&LayerStack> {
        None
    }
}

impl Server {
    pub(crate) fn start_sources(&self) {}

    pub(crate) fn wait_for_sources(&self) -> Option<BoxFuture<'static, ()>> {
        None
    }

    pub(crate) fn has_sources(&self) -> bool {
        false
    }

    pub(crate) fn canonical_request(&self, request: Request) -> Request {
        request
    }

    pub(crate) fn may_notify(&self, uri: &str, visibility: &Visibility) -> bool {
        visibility.allows_uri(&self.inner.registry.load(), uri)
    }

    pub(crate) fn add_meta(&self, _: &mut Arrival, _: &Params) {}

    pub(crate) async fn wait_for_subscriptions(&self) {}
}
