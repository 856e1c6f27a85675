//! How does a gateway add the elements of other servers?

use std::sync::Arc;

use crate::server::build::builder::ServerBuilder;
use crate::server::call::required_scopes::RequiredScopes;
use crate::server::catalog::source::{Source, SourceConfig};

impl ServerBuilder {
    /// Adds the elements of a source, including the elements that it offers later. All of them need these scopes.
    pub(crate) fn source(mut self, source: Arc<dyn Source>, scopes: RequiredScopes) -> Self {
        self.sources.push(SourceConfig::new(source, scopes));
        self
    }
}
