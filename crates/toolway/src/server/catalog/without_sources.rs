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
use crate::server::call::layer::stages::Stages;
use crate::server::call::scope::{Arrival, Scope};
use crate::server::call::visibility::Allowed;
use crate::server::catalog::registry::Snapshot;
use crate::server::catalog::resource::Reading;
use crate::server::failure::errors::Failure;

/// A source, which cannot exist here.
#[derive(Debug)]
pub(crate) enum Added {}

impl Added {
    pub(crate) fn prefix(&mut self, _: &str) {
        match *self {}
    }

    pub(crate) fn put_inside(&mut self, _: &Stages) {
        match *self {}
    }

    pub(crate) fn capabilities(&self) -> ServerCapabilities {
        match *self {}
    }
}

/// An empty set of sources.
pub(crate) struct Sources(());

impl Sources {
    pub(crate) fn new(_: Vec<Added>) -> Self {
        Self(())
    }

    pub(crate) async fn read(
        &self,
        _: &Reading,
        _: &Scope,
        _: Option<&Allowed>,
    ) -> Result<ReadResourceResult, Failure> {
        Err(Failure::NotFound)
    }

    pub(crate) fn have_layers(&self) -> bool {
        false
    }

    pub(crate) fn layers_around(&self, _: &Snapshot, _: &Request, _: Option<&Allowed>) -> Option<&Stages> {
        None
    }
}

impl Server {
    pub(crate) fn begin_sources(&self) {}

    pub(crate) fn settling(&self) -> Option<BoxFuture<'static, ()>> {
        None
    }

    pub(crate) fn has_sources(&self) -> bool {
        false
    }

    pub(crate) fn by_own_name(&self, request: Request) -> Request {
        request
    }

    pub(crate) fn tells_of(&self, uri: &str, allowed: &Allowed) -> bool {
        allowed.uri(&self.inner.registry.load(), uri)
    }

    pub(crate) fn add_meta(&self, _: &mut Arrival, _: &Params) {}

    pub(crate) async fn followed(&self) {}
}
